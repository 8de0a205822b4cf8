/// What layers in the meeting session style need beside the SDK: attendees with what they send, messages, and one handler of them all.
enum MeetingCallHelper {
  static let files = [
    LayerHelper(fileName: "MeetingCall.swift", typeNames: ["MeetingCall"], source: call),
    LayerHelper(
      fileName: "MeetingStreams.swift",
      typeNames: [
        "MeetingReport", "MeetingPhase", "MeetingFailure", "MeetingMessage", "MeetingPerson", "MeetingStream",
      ],
      source: streams),
    LayerHelper(fileName: "MeetingObservers.swift", typeNames: [], source: observers),
  ]

  /// What layers read from the stage strategy style need in addition to `StageCallHelper`.
  static let ofStage = [token, LayerHelper(fileName: "MeetingStageMedia.swift", typeNames: [], source: media)]
  /// What layers read from the call agent style need in addition to `AgentCallHelper`.
  static let ofAgent = [
    token, LayerHelper(fileName: "MeetingAgentMedia.swift", typeNames: [], source: agentMedia),
    LayerHelper(fileName: "MeetingAgentScreen.swift", typeNames: [], source: agentScreen),
  ]
  private static let token = LayerHelper(
    fileName: "MeetingToken.swift", typeNames: ["MeetingFeed"], source: tokenAndFeed)

  private static let call = #"""
    // What layers that `koine port --to meeting-session` writes need beside the SDK: the same file for every app.
    import AmazonChimeSDK
    import Foundation

    /// A meeting, its attendees, and what they send.
    final class MeetingCall: @unchecked Sendable {  // used on the main queue only, where the SDK calls its observers
      enum Side { case front, back }
      let session: DefaultMeetingSession, localParticipant: MeetingPerson, observerId = UUID().uuidString
      var handler: ((MeetingReport, MeetingCall) -> Void)?
      var participants: [String: MeetingPerson] = [:]
      var views: [String: any VideoRenderView] = [:], tiles: [String: Int] = [:]
      var sources: [String: RemoteVideoSource] = [:]
      /// The kinds of streams that the app wants to receive, by participants; of other participants, all kinds.
      var received: [String: Set<MeetingStream.Kind>] = [:], hasChosen = false
      var wanted: Set<MeetingStream.Kind>, presenters: [String] = []
      var messages: [MeetingMessage] = [], topics: Set<String> = [], known: Set<String> = []
      var screen: (any VideoSource)?, isShareStarting = false, hasEntered = false
      /// Why the meeting is over.
      private(set) var code: MeetingSessionStatusCode?
      var isOver: Bool { code != nil }
      var media: any AudioVideoFacade { session.audioVideo }

      init(_ configuration: MeetingSessionConfiguration, isMicrophoneOn: Bool = false, isCameraOn: Bool = false) {
        session = DefaultMeetingSession(configuration: configuration, logger: ConsoleLogger(name: "meeting", level: .ERROR))
        let attendee = configuration.credentials
        localParticipant = MeetingPerson(id: attendee.attendeeId, name: attendee.externalUserId, isLocal: true)
        wanted = Set((isMicrophoneOn ? [MeetingStream.Kind.microphone] : []) + (isCameraOn ? [.camera] : []))
      }
      /// - Parameter placement: of the answer to CreateMeeting. Without it the addresses reach no service of the vendor's.
      convenience init(
        room: String, credential: String?, participantID: String = "", name: String = "Guest", isMicrophoneOn: Bool = true,
        isCameraOn: Bool = true, placement: MediaPlacement? = nil
      ) {
        let (none, id) = ("https://meeting.invalid", participantID.isEmpty ? UUID().uuidString : participantID)
        let addresses = MediaPlacement(
          audioFallbackUrl: none, audioHostUrl: none, signalingUrl: none, turnControlUrl: none)
        let meeting = AmazonChimeSDK.Meeting(
          externalMeetingId: nil, mediaPlacement: placement ?? addresses, mediaRegion: "", meetingId: room)
        let attendee = AmazonChimeSDK.Attendee(attendeeId: id, externalUserId: name, joinToken: credential ?? "")
        let configuration = MeetingSessionConfiguration(
          createMeetingResponse: CreateMeetingResponse(meeting: meeting),
          createAttendeeResponse: CreateAttendeeResponse(attendee: attendee))
        self.init(configuration, isMicrophoneOn: isMicrophoneOn, isCameraOn: isCameraOn)
      }

      func join(side: Side = .front) {
        media.addAudioVideoObserver(observer: self)
        media.addRealtimeObserver(observer: self)
        media.addVideoTileObserver(observer: self)
        media.addContentShareObserver(observer: self)
        media.addActiveSpeakerObserver(policy: DefaultActiveSpeakerPolicy(), observer: self)
        do {
          do { try start(.inputAndOutput) } catch PermissionError.audioPermissionError {
            wanted.remove(.microphone)
            report(.failed(.microphoneDenied))
            try start(.outputOnly)
          }
        } catch { return end(.audioServiceUnavailable) }
        media.startRemoteVideo()
        if side == .back { media.switchCamera() }
        if !wanted.contains(.microphone) { _ = media.realtimeLocalMute() }
        if wanted.contains(.camera) { setStream(kind: .camera, isOn: true) }
      }
      private func start(_ devices: AudioDeviceCapabilities) throws {
        try media.start(
          audioVideoConfiguration: AudioVideoConfiguration(
            audioMode: .stereo48K, audioDeviceCapabilities: devices, callKitEnabled: false, enableAudioRedundancy: true,
            videoMaxResolution: .videoResolutionHD, reconnectTimeoutMs: 60_000))
      }
      func leave() {
        setStream(kind: .screen, isOn: false)
        media.stop()
      }
      func end(_ code: MeetingSessionStatusCode) {
        guard !isOver else { return }
        self.code = code
        leave()  // after a failure only the sound has ended
        switch code {
        case .ok, .audioServerHungup: break
        case .audioDisconnected: report(.connectionLost)
        case .audioAuthenticationRejected: report(.failed(.rejected))
        case .audioCallAtCapacity: report(.failed(.full))
        case .audioJoinedFromAnotherDevice: report(.failed(.joinedElsewhere))
        case .audioInputDeviceNotResponding: report(.failed(.microphone))
        default: report(.failed(.failed))
        }
        report(.phaseChanged(.ended))
        if hasEntered { report(.left(code)) }
        media.removeAudioVideoObserver(observer: self)
        media.removeRealtimeObserver(observer: self)
        media.removeVideoTileObserver(observer: self)
        media.removeActiveSpeakerObserver(observer: self)
        if !isShareStarting { media.removeContentShareObserver(observer: self) }
        for topic in topics { media.removeRealtimeDataMessageObserverFromTopic(topic: topic) }
      }
      func report(_ event: MeetingReport) { handler?(event, self) }

      func setStream(kind: MeetingStream.Kind, isOn: Bool) {
        switch (kind, isOn) {
        case (.microphone, _): _ = isOn ? media.realtimeLocalUnmute() : media.realtimeLocalMute()
        case (.camera, true): do { try media.startLocalVideo() } catch { report(.failed(.cameraDenied)) }
        case (.camera, false): media.stopLocalVideo()
        case (.screen, true):
          guard screen == nil, hasEntered, !isOver else { return }
          let source = InAppScreenCaptureSource(logger: session.logger)
          screen = source
          source.addCaptureSourceObserver(observer: self)
          source.start()
        case (.screen, false):
          guard let source = screen else { return }
          screen = nil
          (source as? InAppScreenCaptureSource)?.removeCaptureSourceObserver(observer: self)
          (source as? InAppScreenCaptureSource)?.stop()
          media.stopContentShare()
        }
      }
    }

    """#

  private static let streams = #"""
    // Attendees, what they send, and messages (`koine port --to meeting-session`): the same file for every app.
    import AmazonChimeSDK
    import Foundation

    /// What a meeting reports, about one attendee at a time.
    enum MeetingReport: Sendable {
      case phaseChanged(MeetingPhase), joined, left(MeetingSessionStatusCode), connectionLost, failed(MeetingFailure)
      case personJoined(MeetingPerson), personLeft(MeetingPerson), messageReceived(MeetingMessage)
      case streamAdded(MeetingStream, MeetingPerson), streamRemoved(MeetingStream, MeetingPerson)
      case speakerChanged(String?), presenterChanged(String?), levelsChanged([String: Float])
      /// From now on it is known what a participant sends.
      case streamsKnown(MeetingPerson)
    }
    enum MeetingPhase: Sendable { case connecting, connected, reconnecting, ended }
    enum MeetingFailure: String, Error {
      case rejected, full, joinedElsewhere, microphone, microphoneDenied, cameraDenied, screen, message, failed
    }
    struct MeetingMessage: Sendable { let id, topic, senderID, senderName, text: String }

    /// An attendee with what it sends now. A share is a stream of its owner's.
    final class MeetingPerson: Equatable, @unchecked Sendable {  // used on the main queue only
      let id, name: String, isLocal: Bool
      var streams: [String: MeetingStream] = [:]
      /// A meeting has an attendee's name only: it is there under the keys of the stage vendor's samples.
      var attributes: [String: String] { ["name": name, "username": name] }
      init(id: String, name: String, isLocal: Bool) { (self.id, self.name, self.isLocal) = (id, name, isLocal) }
      static func == (one: MeetingPerson, other: MeetingPerson) -> Bool { one === other }
    }

    /// A microphone, a camera or a shared screen, which views show from its first tile on.
    final class MeetingStream: Equatable, @unchecked Sendable {  // used on the main queue only
      enum Kind: Sendable, CaseIterable {
        case microphone, camera, screen
        var isVideo: Bool { self != .microphone }
        var isAudio: Bool { self == .microphone }
      }
      let id: String, kind: Kind
      private weak var call: MeetingCall?
      init(_ kind: Kind, of id: String, in call: MeetingCall) {
        (self.id, self.kind, self.call) = (id + (kind == .screen ? "#content" : ""), kind, call)
      }
      var video: MeetingStream? { kind == .microphone ? nil : self }
      /// In dBov, from the five steps of a meeting's volumes.
      static func level(of volume: VolumeLevel) -> Float {
        switch volume {
        case .muted, .notSpeaking: -127
        case .low: -48
        case .medium: -33
        case .high: -20
        }
      }
      func attach(view: any VideoRenderView) { call?.show(view, id) }
      func detach(view: any VideoRenderView) {
        guard let call, call.views[id] === view else { return }
        call.views[id] = nil
        if let tile = call.tiles[id] { call.media.unbindVideoView(tileId: tile) }
      }
      static func == (one: MeetingStream, other: MeetingStream) -> Bool { one === other }
    }

    extension MeetingCall {
      func show(_ view: any VideoRenderView, _ stream: String) {
        views[stream] = view
        if let tile = tiles[stream] { media.bindVideoView(videoView: view, tileId: tile) }
      }
      func update(_ sources: [RemoteVideoSource], areSent: Bool) {
        for source in sources {
          self.sources[source.attendeeId] = areSent ? source : nil
          let modality = DefaultModality(id: source.attendeeId)
          set(modality.isOfType(type: .content) ? .screen : .camera, of: modality.base, isSent: areSent)
        }
        if areSent { select() }
      }
      /// A meeting receives all videos until an app chooses some.
      func select() {
        let isWanted = { (id: String) in self.received[DefaultModality(id: id).base]?.contains(.camera) ?? true }
        let (chosen, left) = (sources.filter { isWanted($0.key) }.values, sources.filter { !isWanted($0.key) }.values)
        guard hasChosen || !left.isEmpty else { return }
        hasChosen = true
        let added = chosen.map { ($0, VideoSubscriptionConfiguration()) }
        media.updateVideoSourceSubscriptions(addedOrUpdated: Dictionary(uniqueKeysWithValues: added), removed: Array(left))
      }
      func set(_ kind: MeetingStream.Kind, of id: String, isSent: Bool) {
        guard let person = id == localParticipant.id ? localParticipant : participants[id] else { return }
        let key = "\(kind)", (old, before) = (person.streams[key], presenters.last)
        guard isSent == (old == nil) else { return }
        let stream = old ?? MeetingStream(kind, of: id, in: self)
        person.streams[key] = isSent ? stream : nil
        if kind == .screen { presenters = presenters.filter { $0 != id } + (isSent ? [id] : []) }
        if presenters.last != before { report(.presenterChanged(presenters.last)) }
        report(isSent ? .streamAdded(stream, person) : .streamRemoved(stream, person))
      }
      func observe(topic: String) {
        if topics.insert(topic).inserted { media.addRealtimeDataMessageObserver(topic: topic, observer: self) }
      }
      func stopObserving(topic: String) {
        if topics.remove(topic) != nil { media.removeRealtimeDataMessageObserverFromTopic(topic: topic) }
      }
      /// A meeting does not send a message back to its sender, and keeps it for five minutes at most.
      func send(text: String, topic: String, isPersistent: Bool = false) {
        guard hasEntered, !isOver else { return }
        do {
          try media.realtimeSendDataMessage(topic: topic, data: text, lifetimeMs: isPersistent ? 300_000 : 0)
        } catch { return report(.failed(.message)) }
        let sender = (id: localParticipant.id, name: localParticipant.name)
        receive(
          MeetingMessage(
            id: UUID().uuidString, topic: topic, senderID: sender.id, senderName: sender.name, text: text))
      }
      func receive(_ message: MeetingMessage) {
        messages.append(message)
        if topics.contains(message.topic) { report(.messageReceived(message)) }
      }
      func messages(topic: String) -> [MeetingMessage] { messages.filter { $0.topic == topic } }
    }

    """#

  private static let observers = #"""
    // The SDK's callbacks as reports about one attendee (`koine port --to meeting-session`): the same file for every app.
    import AmazonChimeSDK

    extension MeetingCall: AudioVideoObserver {
      func audioSessionDidStartConnecting(reconnecting: Bool) {
        report(.phaseChanged(reconnecting ? .reconnecting : .connecting))
      }
      func audioSessionDidStart(reconnecting: Bool) {
        if wanted.contains(.microphone), !hasEntered { set(.microphone, of: localParticipant.id, isSent: true) }
        report(.phaseChanged(.connected))
        if hasEntered { return }
        hasEntered = true
        report(.joined)
      }
      func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) { end(sessionStatus.statusCode) }
      func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource]) { update(sources, areSent: true) }
      func remoteVideoSourcesDidBecomeUnavailable(sources: [RemoteVideoSource]) { update(sources, areSent: false) }
      func audioSessionDidDrop() {}
      func audioSessionDidCancelReconnect() {}
      func connectionDidRecover() {}
      func connectionDidBecomePoor() {}
      func videoSessionDidStartConnecting() {}
      func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) {}
      func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {}
    }

    extension MeetingCall: RealtimeObserver, ActiveSpeakerObserver {
      func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) {
        for one in attendeeInfo where !DefaultModality(id: one.attendeeId).isOfType(type: .content) {
          let id = one.attendeeId
          if id == localParticipant.id || participants[id] != nil { continue }
          let person = MeetingPerson(id: id, name: one.externalUserId, isLocal: false)
          (participants[id], _) = (person, report(.personJoined(person)))
          set(.microphone, of: id, isSent: true)  // an attendee without a mute callback is not muted
          if sources[id] != nil { set(.camera, of: id, isSent: true) }
          if sources[id + "#content"] != nil { set(.screen, of: id, isSent: true) }
        }
      }
      func attendeesDidLeave(attendeeInfo: [AttendeeInfo]) {
        for person in attendeeInfo.compactMap({ participants[$0.attendeeId] }) {
          for stream in Array(person.streams.values) { set(stream.kind, of: person.id, isSent: false) }
          (participants[person.id], _, _) = (nil, known.remove(person.id), report(.personLeft(person)))
        }
      }
      func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) { attendeesDidLeave(attendeeInfo: attendeeInfo) }
      func attendeesDidMute(attendeeInfo: [AttendeeInfo]) {
        for one in attendeeInfo { set(.microphone, of: one.attendeeId, isSent: false) }
      }
      func attendeesDidUnmute(attendeeInfo: [AttendeeInfo]) {
        for one in attendeeInfo { set(.microphone, of: one.attendeeId, isSent: true) }
      }
      func activeSpeakerDidDetect(attendeeInfo: [AttendeeInfo]) { report(.speakerChanged(attendeeInfo.first?.attendeeId)) }
      func volumeDidChange(volumeUpdates: [VolumeUpdate]) {
        let levels = volumeUpdates.map { ($0.attendeeInfo.attendeeId, MeetingStream.level(of: $0.volumeLevel)) }
        for update in volumeUpdates where update.attendeeInfo.attendeeId == localParticipant.id {
          set(.microphone, of: localParticipant.id, isSent: update.volumeLevel != .muted)
        }
        // Whether an attendee is muted is known with its first volume.
        for person in levels.compactMap({ participants[$0.0] }) where known.insert(person.id).inserted {
          report(.streamsKnown(person))
        }
        report(.levelsChanged(Dictionary(levels, uniquingKeysWith: { $1 })))
      }
      func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {}
    }

    extension MeetingCall: VideoTileObserver, ContentShareObserver, CaptureSourceObserver, DataMessageObserver {
      func videoTileDidAdd(tileState: VideoTileState) {
        tiles[tileState.attendeeId] = tileState.tileId
        if let view = views[tileState.attendeeId] { media.bindVideoView(videoView: view, tileId: tileState.tileId) }
        if tileState.isLocalTile { set(.camera, of: localParticipant.id, isSent: true) }
      }
      func videoTileDidRemove(tileState: VideoTileState) {
        tiles[tileState.attendeeId] = nil
        if tileState.isLocalTile { set(.camera, of: localParticipant.id, isSent: false) }
      }
      func videoTileDidPause(tileState: VideoTileState) {}
      func videoTileDidResume(tileState: VideoTileState) {}
      func videoTileSizeDidChange(tileState: VideoTileState) {}
      func captureDidStart() {
        if let screen { startShare(screen) }
      }
      func startShare(_ frames: any VideoSource) {
        let content = ContentShareSource()
        content.videoSource = frames
        isShareStarting = true
        media.startContentShare(source: content)
      }
      func captureDidStop() { setStream(kind: .screen, isOn: false) }
      func captureDidFail(error: CaptureSourceError) {
        report(.failed(.screen))
        setStream(kind: .screen, isOn: false)
      }
      /// A share cannot be stopped before it has begun: a stop that came too early is made up for here.
      func contentShareDidStart() {
        isShareStarting = false
        if screen == nil { media.stopContentShare() } else { set(.screen, of: localParticipant.id, isSent: true) }
      }
      func contentShareDidStop(status: ContentShareStatus) {
        isShareStarting = false
        if status.statusCode != .ok { report(.failed(.screen)) }
        setStream(kind: .screen, isOn: false)
        set(.screen, of: localParticipant.id, isSent: false)
        if isOver { media.removeContentShareObserver(observer: self) }
      }
      func dataMessageDidReceived(dataMessage: DataMessage) {
        if dataMessage.throttled { return report(.failed(.message)) }
        guard let text = dataMessage.text(), dataMessage.senderAttendeeId != localParticipant.id else { return }
        let (sender, time) = (dataMessage.senderAttendeeId, dataMessage.timestampMs)
        let id = "\(sender) \(time) \(text)"  // after a reconnect the service sends kept messages again
        guard !messages.contains(where: { $0.id == id }) else { return }
        let name = dataMessage.senderExternalUserId
        receive(MeetingMessage(id: id, topic: dataMessage.topic, senderID: sender, senderName: name, text: text))
      }
    }

    """#

  private static let media = #"""
    // Devices and errors of layers read from the stage strategy style, in a meeting: the same for every app.
    import AmazonChimeSDK
    import CoreMedia
    import Foundation

    extension MeetingCall {
      func show(_ view: DefaultVideoRenderView, _ kind: MeetingStream.Kind, of person: String) {
        show(view, person + (kind == .screen ? "#content" : ""))
      }
      /// Receives these kinds of streams, by participants. Sound comes mixed.
      func receive(_ wanted: [String: Set<MeetingStream.Kind>]) {
        received = wanted
        if wanted.values.contains(where: { $0.contains(.camera) }) {
          media.startRemoteVideo()
          select()
        } else {
          media.stopRemoteVideo()
        }
      }
      /// - Returns: whether the user has allowed the device.
      func send(
        _ kind: MeetingStream.Kind, isOn: Bool, _ device: MeetingStage.Device?, _ feed: MeetingStage.Feed?,
        _ options: MeetingStage.Video
      ) -> Bool {
        let video = LocalVideoConfiguration(maxBitRateKbps: UInt32(options.maximumBitrate / 1_000), simulcastEnabled: true)
        switch (kind, feed) {
        case (.microphone, _): return isOn ? media.realtimeLocalUnmute() : media.realtimeLocalMute()
        case (_, let feed?) where isOn: media.startLocalVideo(source: feed, config: video)
        case (_, nil) where isOn:
          device?.turn()
          do { try media.startLocalVideo(config: video) } catch { return false }
        default: media.stopLocalVideo()
        }
        return true
      }
      /// Why the call is over, in the numbers of a stage. Nil: the user has left, or joins on another device.
      var fault: NSError? { code.flatMap(Self.fault) }
      static func fault(of code: MeetingSessionStatusCode) -> NSError? {
        let fault: MeetingStage.Fault? =
          switch code {
          case .ok, .audioJoinedFromAnotherDevice: nil
          case .audioAuthenticationRejected, .audioServerHungup: .refused
          case .audioCallAtCapacity: .full
          case .audioCallEnded: .closed
          case .audioDisconnected, .audioServiceUnavailable: .lost
          default: .answer
          }
        return fault?.error(code.description)
      }
    }

    extension MeetingFailure {
      /// The stream that it is about.
      var kind: MeetingStream.Kind? { self == .microphoneDenied ? .microphone : nil }
    }

    extension MeetingStage {
      /// A camera or a microphone. The meeting uses the microphone that the system has chosen.
      final class Device {
        let kind: MeetingStream.Kind, name: String
        private(set) var type: MediaDeviceType
        weak var call: MeetingCall?
        private init(_ kind: MeetingStream.Kind, _ name: String, _ type: MediaDeviceType) {
          (self.kind, self.name, self.type) = (kind, name, type)
        }
        private static var cameras: [Device] {
          MediaDevice.listVideoDevices().map { Device(.camera, $0.label, $0.type) }
        }
        static var all: [Device] {
          let camera = cameras.first { $0.type == .videoFrontCamera } ?? cameras.first
          return [camera, Device(.microphone, "microphone", .audioBuiltInSpeaker)].compactMap { $0 }
        }
        /// The devices that can be used in its place.
        var sources: [Device] { kind == .camera ? Self.cameras : [self] }
        func choose(_ source: Device, completion: ((any Error)?) -> Void = { _ in }) {
          type = source.type
          turn()
          completion(nil)
        }
        /// Has the meeting use this side of the camera.
        func turn() {
          if kind == .camera, let media = call?.media, media.getActiveCamera()?.type != type { media.switchCamera() }
        }
      }

      typealias Feed = MeetingFeed
    }

    extension MeetingFeed {
      func push(_ buffer: CMSampleBuffer) { if let image = CMSampleBufferGetImageBuffer(buffer) { push(image) } }
    }

    """#

  private static let tokenAndFeed = #"""
    // Tokens and pictures of the app's own, in a meeting (`koine port --to meeting-session`): the same file for every app.
    import AmazonChimeSDK
    import CoreVideo
    import Foundation

    extension MeetingCall {
      private struct Answers: Decodable {
        struct Parts: Decodable {
          let Meeting: CreateMeetingResponse
          let Attendee: CreateAttendeeResponse
        }
        let JoinInfo: Parts
      }
      private static func answers(_ token: String) -> Answers.Parts? {
        try? JSONDecoder().decode(Answers.self, from: Data(token.utf8)).JoinInfo
      }
      static func reads(_ token: String) -> Bool { answers(token) != nil }
      /// - Parameter token: the answers to CreateMeeting and CreateAttendee, as JSON: `{"JoinInfo": {"Meeting": …, "Attendee": …}}`.
      convenience init?(token: String, isMicrophoneOn: Bool = false) {
        guard let answers = Self.answers(token) else { return nil }
        self.init(
          MeetingSessionConfiguration(createMeetingResponse: answers.Meeting, createAttendeeResponse: answers.Attendee),
          isMicrophoneOn: isMicrophoneOn)
      }
      func isSent(_ kind: MeetingStream.Kind, by person: MeetingPerson) -> Bool { person.streams["\(kind)"] != nil }
    }

    /// Pictures of the app's own.
    final class MeetingFeed: VideoSource, @unchecked Sendable {  // `sinks` and `newest` are guarded
      var videoContentHint = VideoContentHint.text
      private let lock = NSLock()
      private var sinks: [any AmazonChimeSDK.VideoSink] = [], newest: VideoFrame?
      /// The meeting listens from now on. A picture that came earlier may be the only one.
      func addVideoSink(sink: any AmazonChimeSDK.VideoSink) {
        let frame = lock.withLock { () -> VideoFrame? in
          sinks.append(sink)
          return newest
        }
        if let frame { sink.onVideoFrameReceived(frame: frame) }
      }
      func removeVideoSink(sink: any AmazonChimeSDK.VideoSink) { lock.withLock { sinks.removeAll { $0 === sink } } }
      func push(_ image: CVPixelBuffer) {
        let time = Int64(DispatchTime.now().uptimeNanoseconds)
        let frame = VideoFrame(timestampNs: time, rotation: .rotation0, buffer: VideoFramePixelBuffer(pixelBuffer: image))
        let sinks = lock.withLock { () -> [any AmazonChimeSDK.VideoSink] in
          newest = frame
          return self.sinks
        }
        for sink in sinks { sink.onVideoFrameReceived(frame: frame) }
      }
    }

    """#

  private static let agentMedia = #"""
    // Cameras and ends of layers read from the call agent style, in a meeting: the same for every app.
    import AVFoundation
    import AmazonChimeSDK
    import CoreVideo
    import Foundation

    extension MeetingCall {
      /// In bytes.
      static let messageLimit = 2_048
      /// Whether it is the meeting with this id, or with this id of the app's server.
      func isIn(_ room: String) -> Bool {
        [session.configuration.meetingId, session.configuration.externalMeetingId].contains(room)
      }
      /// Why the call is over, in the numbers of a call agent.
      var numbersOfEnd: (Int32, Int32) {
        switch code {
        case .audioServerHungup: (0, 5300)
        case .audioJoinedFromAnotherDevice: (0, 5000)
        case .audioDisconnected: (490, 0)
        case .audioAuthenticationRejected: (401, 0)
        case .audioCallAtCapacity: (403, 0)
        case .audioCallEnded: (404, 0)
        case nil, .ok: (0, 0)
        default: (500, 0)
        }
      }
      /// Shares pictures of the app's instead of its screen.
      func share(_ frames: MeetingFeed) {
        guard screen == nil, hasEntered, !isOver else { return report(.failed(.screen)) }
        screen = frames
        startShare(frames)
      }
    }

    extension MeetingFailure {
      /// The error of a camera or of a share, if it is about that.
      func ofVideo(isCamera: Bool) -> MeetingAgent.Failure? { self == .screen && !isCamera ? .notSent : nil }
    }

    extension MeetingAgent.Device {
      var type: MediaDeviceType {
        switch position {
        case .front: .videoFrontCamera
        case .back: .videoBackCamera
        default: .other
        }
      }
    }

    extension MeetingAgent {
      /// A camera, or pictures of the app's, for views and for the meeting. The camera runs as long as one of them needs it.
      final class Source: CaptureSourceObserver, @unchecked Sendable {
        private let camera: DefaultCameraCaptureSource?, feed = MeetingFeed()
        private var screens: [Screen] = [], isRunning = false, hasStarted = false
        private weak var call: MeetingCall?
        private var failed: ((Failure) -> Void)?
        private var frames: any VideoSource { camera ?? feed }

        init(camera device: Device?) {
          camera = device.map { _ in DefaultCameraCaptureSource(logger: ConsoleLogger(name: "camera", level: .OFF)) }
          device.map(choose)
        }
        func choose(_ device: Device) { camera?.device = MediaDevice(label: device.name, type: device.type) }
        func push(_ picture: CVPixelBuffer) { feed.push(picture) }
        func attach(_ screen: Screen) -> Bool {
          screens.append(screen)
          frames.addVideoSink(sink: screen)
          run()
          return true
        }
        func detach(_ screen: Screen) {
          frames.removeVideoSink(sink: screen)
          screens.removeAll { $0 === screen }
          rest()
        }
        func start(in call: MeetingCall, failed: @escaping (Failure) -> Void) {
          let isDenied = AVCaptureDevice.authorizationStatus(for: .video) == .denied
          (self.call, self.failed) = (call, { failed(isDenied ? .cameraDenied : $0) })
          guard camera != nil else { return call.share(feed) }
          if hasStarted { call.media.startLocalVideo(source: frames) } else { run() }
        }
        func stop() {
          guard let call else { return rest() }
          (self.call, failed) = (nil, nil)
          if camera == nil { call.setStream(kind: .screen, isOn: false) }
          if camera != nil, !call.isOver { call.media.stopLocalVideo() }
          rest()
        }
        private func run() {
          guard let camera, !isRunning else { return }
          isRunning = true
          camera.addCaptureSourceObserver(observer: self)
          camera.start()
        }
        private func rest() { if screens.isEmpty, call == nil { halt() } }
        private func halt() {
          guard let camera, isRunning else { return }
          (isRunning, hasStarted) = (false, false)
          camera.removeCaptureSourceObserver(observer: self)
          camera.stop()
        }
        func captureDidStart() {
          hasStarted = true
          if let call, !call.isOver { call.media.startLocalVideo(source: frames) }
        }
        func captureDidStop() {}
        func captureDidFail(error: CaptureSourceError) {
          halt()
          for screen in screens { screen.didFail?() }
          failed?(.camera)
        }
      }
    }

    """#

  private static let agentScreen = #"""
    // Views of layers read from the call agent style, in a meeting: the same for every app.
    import AmazonChimeSDK
    import Foundation
    import UIKit

    extension MeetingAgent {
      /// A view, and the size of what it shows.
      final class Screen: VideoRenderView, @unchecked Sendable {  // `size` is guarded
        let view: DefaultVideoRenderView
        var sizeHandler: ((Int32, Int32) -> Void)?, didFail: (() -> Void)?
        private let lock = NSLock()
        private var size = (width: 0, height: 0)
        init(_ mode: UIView.ContentMode) {
          view = DefaultVideoRenderView(frame: .zero)
          view.contentMode = mode
        }
        func clear() { view.resetImage() }
        func onVideoFrameReceived(frame: VideoFrame) {
          view.onVideoFrameReceived(frame: frame)
          let new = (width: frame.width, height: frame.height)
          let isNew = lock.withLock {
            defer { size = new }
            return size != new
          }
          if isNew { onMain { [self] in sizeHandler?(Int32(clamping: new.width), Int32(clamping: new.height)) } }
        }
      }
    }

    """#
}
