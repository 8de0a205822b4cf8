import CrossVendorConventions
import Foundation
import Koine
import KoineComposition

// A co-located recorder, hidden from the participants, makes recordings, live streams and playlists. If a room's router cannot
// have a recorder, or for live streams if its server sends none, the client that starts the output composes the room. All
// participants are notified.

/// State of a meeting's recording.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/properties)
public enum RecordingState: String, Sendable {
  case RECORDING_STARTED, RECORDING_STARTING, RECORDING_STOPPED, RECORDING_STOPPING
}

/// State of a meeting's RTMP live streams.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/properties)
public enum LiveStreamState: String, Sendable {
  case LIVESTREAM_STARTED, LIVESTREAM_STARTING, LIVESTREAM_STOPPED, LIVESTREAM_STOPPING
}

/// State of a meeting's HLS stream.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/properties)
public enum HLSState: String, Sendable {
  case HLS_STARTED, HLS_STARTING, HLS_STOPPED, HLS_STOPPING, HLS_PLAYABLE
}

/// An RTMP destination: its URL and stream key.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/meeting-class/methods)
public struct LivestreamOutput: Codable, Sendable {
  public let url: String
  public let streamKey: String
  public init(url: String, streamKey: String) { (self.url, self.streamKey) = (url, streamKey) }
}

extension Meeting {
  /// Records the room into `<awsDirPath>/<meeting>-<time>.webm`. Files need a call of `MediaFiles.register()`
  /// before; without it the error is `START_RECORDING_FAILED`.
  /// - Parameters:
  ///   - webhookUrl: without effect; no webhook is called.
  ///   - awsDirPath: a folder of this machine; nil: the folder in `KOINE_RECORDINGS`, else the temporary folder. A server
  ///     ignores it and records into a folder of its own.
  public func startRecording(webhookUrl: String, awsDirPath: String? = nil, config: RecordingConfig? = nil) {
    if !webhookUrl.isEmpty { NoEffect.webhook.log() }
    let name = "\(RecordingService.fileName(for: id))-\(Self.milliseconds).webm"
    start(
      .recording, [Self.folder(awsDirPath).appendingPathComponent(name)], config?.layout.gridSize ?? 4, config?.look)
  }

  /// The same, as in releases from 2.1.2 on.
  /// - Parameter transcription: without effect: no text is written after the recording.
  public func startRecording(
    webhookUrl: String, awsDirPath: String? = nil, config: RecordingConfig? = nil,
    transcription: PostTranscriptionConfig?
  ) {
    if transcription?.enabled == true { NoEffect.postTranscription.log() }
    startRecording(webhookUrl: webhookUrl, awsDirPath: awsDirPath, config: config)
  }

  public func stopRecording() { stop(.recording) }

  /// Sends a live stream of the room to each output, at `url` and `streamKey` joined by a slash.
  public func startLivestream(outputs: [LivestreamOutput]) {
    let places = outputs.compactMap { output in
      output.url.isEmpty ? nil : URL(string: output.url + (output.streamKey.isEmpty ? "" : "/" + output.streamKey))
    }
    guard !places.isEmpty, places.count == outputs.count else { return report(.INVALID_LIVESTREAM_CONFIG) }
    start(.livestream, places, 4, nil)
  }

  public func stopLivestream() { stop(.livestream) }

  /// Writes a playlist and its pieces into a folder of this machine, as recordings.
  public func startHLS(config: HLSConfig? = nil) {
    let folder = Self.folder(nil).appendingPathComponent(
      "\(RecordingService.fileName(for: id))-\(Self.milliseconds)-hls")
    start(.playlist, [folder.appendingPathComponent("index.m3u8")], config?.layout.gridSize ?? 25, config?.look)
  }

  /// The same, as in releases from 2.1.2 on.
  /// - Parameter transcription: without effect: no text is written after the recording.
  public func startHLS(config: HLSConfig? = nil, transcription: PostTranscriptionConfig?) {
    if transcription?.enabled == true { NoEffect.postTranscription.log() }
    startHLS(config: config)
  }

  public func stopHLS() { stop(.playlist) }

  public var recordingState: RecordingState {
    switch report(of: .recording).stage {
    case .starting: .RECORDING_STARTING
    case .started, .playable: .RECORDING_STARTED
    case .stopping: .RECORDING_STOPPING
    case .stopped: .RECORDING_STOPPED
    }
  }

  public var liveStreamState: LiveStreamState {
    switch report(of: .livestream).stage {
    case .starting: .LIVESTREAM_STARTING
    case .started, .playable: .LIVESTREAM_STARTED
    case .stopping: .LIVESTREAM_STOPPING
    case .stopped: .LIVESTREAM_STOPPED
    }
  }

  public var hlsState: HLSState {
    switch report(of: .playlist).stage {
    case .starting: .HLS_STARTING
    case .started: .HLS_STARTED
    case .playable: .HLS_PLAYABLE
    case .stopping: .HLS_STOPPING
    case .stopped: .HLS_STOPPED
    }
  }

  /// Where the playlist lies, while there is one.
  public var hlsUrls: HLSUrl? {
    let report = report(of: .playlist)
    return report.stage == .playable ? HLSUrl(downstreamUrl: report.place, playbackHlsUrl: report.place) : nil
  }

  private static var milliseconds: Int { Int(Date().timeIntervalSince1970 * 1_000) }

  private static func folder(_ path: String?) -> URL {
    let named = path ?? ProcessInfo.processInfo.environment["KOINE_RECORDINGS"]
    return named.map { URL(fileURLWithPath: $0, isDirectory: true) } ?? FileManager.default.temporaryDirectory
  }

  /// Location of the current recording, made by this client or elsewhere.
  package var recordingPlace: URL? { URL(string: report(of: .recording).place) }

  // MARK: Starting and stopping

  var outputs: [Output] { state.withLock { Array($0.outputs.values) } }
  private func report(of kind: Output.Kind) -> Output.Report { state.withLock { $0.stages[kind] } ?? Output.Report() }

  /// - Parameters:
  ///   - people: most participants that are shown at a time.
  ///   - look: nil: what is usual for the recorder.
  private func start(_ kind: Output.Kind, _ places: [URL], _ people: Int, _ look: OutputLook?) {
    var wish = OutputRequest(shownParticipants: min(max(people, 1), 25), destinations: places)
    if let look { wish.look = look }
    guard let session = state.withLock({ $0.isOver || !$0.hasJoined ? nil : $0.session }) else { return }
    guard report(of: kind).stage == .stopped, state.withLock({ $0.outputs[kind] == nil }) else { return }
    if session.services.contains(kind.rawValue) { return ask(kind, session, wish) }
    // If the backend can record but does not offer it in this room, the client does not record in its place. It composes live
    // streams itself.
    guard kind == .livestream || !session.world.backend.capabilities.contains(.recording) else {
      return report(kind.startFailure)
    }
    announce(kind, .starting, "")
    do {
      for place in places where place.isFileURL {  // found out before anything is composed
        try FileManager.default.createDirectory(
          at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
      }
      // It may break before it is known here, and before it is said that it has started.
      let early = Lock((isOver: false, hasBroken: false))
      let tellBroken: @Sendable () -> Void = { [weak self, weak session] in
        session?.world.delivery.deliver { [weak self] in self?.broke(kind) }
      }
      let pinned: @Sendable () -> [String] = { [weak self] in self?.state.withLock { $0.pinned } ?? [] }
      let output = try Output(kind, wish, of: session, microphone: sharedMicrophone, pinned: pinned) {
        let isEarly = early.withLock { early in
          early.hasBroken = true
          return !early.isOver
        }
        if !isEarly { tellBroken() }
      }
      state.withLock { $0.outputs[kind] = output }
      let place = RecordingService.name(of: places, kind.rawValue)
      if kind != .livestream { announce(kind, .started, place) }
      let hasBroken = early.withLock { early in
        early.isOver = true
        return early.hasBroken
      }
      guard !hasBroken else { return tellBroken() }
      guard kind != .recording else { return }
      output.onReadable { [weak self, weak session] in
        session?.world.delivery.deliver { [weak self] in self?.opened(kind, place) }
      }
    } catch {
      report(kind.startFailure)
      announce(kind, .stopped, "")
    }
  }

  /// On the delivery queue: players can open this client's playlist, or the live stream's server has answered.
  private func opened(_ kind: Output.Kind, _ place: String) {
    guard state.withLock({ $0.outputs[kind] != nil }) else { return }
    switch (kind, report(of: kind).stage) {
    case (.livestream, .starting): announce(kind, .started, place)
    case (.playlist, .started): announce(kind, .playable, place)
    default: break
    }
  }

  /// Asks the co-located recorder for the output, which continues after the local participant leaves.
  private func ask(_ kind: Output.Kind, _ session: Session, _ wish: OutputRequest) {
    let isHere = RecordingService.isInProcess(session.world)
    if isHere { wish.destinations.forEach(BroadcastOutputs.reserve) }
    var wish = wish
    // A server records into a folder of its own.
    if !isHere, kind != .livestream { wish.destinations = [] }
    do throws(Failure) {
      try session.send(DataMessage(topic: kind.rawValue, payload: wish.payload, to: [kind.rawValue]))
    } catch {
      report(kind.startFailure)
    }
  }

  /// On the delivery queue: the recorder's report on an output.
  func recorderSaid(_ kind: Output.Kind, _ words: RecorderStatus, as name: String) {
    switch words.stage {
    case .failed: notifyListeners { $0.onError(error: kind.startFailure) }
    case .broken: notifyListeners { $0.onError(error: kind.failure) }
    case .unfinished: notifyListeners { $0.onError(error: kind.stopFailure) }
    case .starting: changed(kind, Output.Report(stage: .starting, by: name))
    case .interrupted:  // it goes on, in another file, of which `started` reports
      if report(of: kind).stage == .stopped { changed(kind, Output.Report(stage: .starting, by: name)) }
    case .started: changed(kind, Output.Report(stage: .started, place: words.destination, by: name))
    case .playable: changed(kind, Output.Report(stage: .playable, place: words.destination, by: name))
    case .stopping: changed(kind, Output.Report(stage: .stopping, by: name))
    case .stopped: changed(kind, Output.Report())
    }
  }

  private var sharedMicrophone: SharedMicrophone? { state.withLock { $0.sharedMicrophone } }

  private func stop(_ kind: Output.Kind) {
    guard let session = state.withLock({ $0.isOver ? nil : $0.session }) else { return }
    if state.withLock({ $0.outputs[kind] != nil }) { return stopOutput(named: kind.rawValue) }
    let report = report(of: kind)
    guard [.starting, .started, .playable].contains(report.stage), report.by != session.localParticipant.id else {
      return
    }
    let stop = DataMessage(topic: Convention.stop, payload: Array(kind.rawValue.utf8), to: [report.by])
    do throws(Failure) { try session.send(stop) } catch { self.report(kind.stopFailure) }
  }

  /// Stops an output that this client makes.
  func stopOutput(named name: String) {
    guard let kind = Output.Kind(rawValue: name),
      let output = state.withLock({ $0.outputs.removeValue(forKey: kind) })
    else { return }
    announce(kind, .stopping, "")
    do { try output.stop() } catch { report(kind.stopFailure) }
    announce(kind, .stopped, "")
  }

  /// On the delivery queue: an output that this client makes has failed.
  private func broke(_ kind: Output.Kind) {
    guard let output = state.withLock({ $0.outputs.removeValue(forKey: kind) }) else { return }
    try? output.stop()  // fails for the reason that is told
    report(report(of: kind).stage == .starting ? kind.startFailure : kind.failure)
    announce(kind, .stopped, "")
  }

  /// The meeting is over: finishes this client's outputs without notifying listeners.
  func endOutputs() {
    let outputs = state.withLock { state in
      defer { (state.outputs, state.stages) = ([:], [:]) }
      return state.outputs
    }
    for output in outputs.values { try? output.stop() }
  }

  /// On the delivery queue: the room is left for another one. Finishes this client's outputs. Those of the room count as stopped.
  func leaveOutputs() {
    let outputs = state.withLock { state in
      defer { state.outputs = [:] }
      return state.outputs
    }
    for output in outputs.values { try? output.stop() }
    for kind in Output.Kind.allCases { changed(kind, Output.Report()) }
  }

  // MARK: Telling

  /// Announces the stage of this client's output to the room.
  private func announce(_ kind: Output.Kind, _ stage: Output.Stage, _ place: String) {
    guard let session = state.withLock({ $0.session }) else { return }
    setAttribute(kind.rawValue, to: stage == .stopped ? nil : "\(stage.rawValue) \(place)")
    let id = session.localParticipant.id
    session.world.delivery.deliver { [weak self] in
      self?.changed(kind, Output.Report(stage: stage, place: place, by: stage == .stopped ? "" : id))
    }
  }

  /// On the delivery queue: a remote participant's announcements of its outputs have changed.
  func outputsChanged(_ participant: Koine.Participant, isGone: Bool = false) {
    guard !participant.isLocal else { return }
    for kind in Output.Kind.allCases {
      let words = isGone ? nil : participant.attributes[kind.rawValue]?.split(separator: " ", maxSplits: 1)
      let stage = words?.first.flatMap { Output.Stage(rawValue: String($0)) } ?? .stopped
      if stage == .stopped, report(of: kind).by != participant.id { continue }
      let place = words.flatMap { $0.count > 1 ? String($0[1]) : nil } ?? ""
      changed(kind, Output.Report(stage: stage, place: place, by: stage == .stopped ? "" : participant.id))
    }
  }

  private func changed(_ kind: Output.Kind, _ new: Output.Report) {
    if new.stage == .playable, report(of: kind).stage != .started {
      var first = new
      first.stage = .started
      changed(kind, first)
    }
    let old = state.withLock { state in
      defer { state.stages[kind] = new }
      return state.stages[kind] ?? Output.Report()
    }
    guard old.stage != new.stage else { return }
    switch kind {
    case .recording:
      notifyListeners { $0.onRecordingStateChanged(state: recordingState) }
      if new.stage == .started { notifyListeners { $0.onRecordingStarted() } }
      if new.stage == .stopped, old.stage != .starting {
        notifyListeners { listener in
          listener.onRecordingStoppped()
          listener.onRecordingStopped()
        }
      }
    case .livestream:
      notifyListeners { $0.onLivestreamStateChanged(state: liveStreamState) }
      if new.stage == .started { notifyListeners { $0.onLivestreamStarted() } }
      if new.stage == .stopped, old.stage != .starting { notifyListeners { $0.onLivestreamStopped() } }
    case .playlist:
      notifyListeners { $0.onHlsStateChanged(state: hlsState, hlsUrl: hlsUrls) }
    }
  }
}
