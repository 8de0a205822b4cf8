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
  static let stageMedia = LayerHelper(fileName: "MeetingStageMedia.swift", typeNames: [], source: media)

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
      var views: [String: DefaultVideoRenderView] = [:], tiles: [String: Int] = [:], sources: Set<String> = []
      var wanted: Set<MeetingStream.Kind>, presenters: [String] = []
      var messages: [MeetingMessage] = [], topics: Set<String> = [], known: Set<String> = []
      var screen: InAppScreenCaptureSource?, isShareStarting = false, hasEntered = false
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
        let meeting = Meeting(
          externalMeetingId: nil, mediaPlacement: placement ?? addresses, mediaRegion: "", meetingId: room)
        let attendee = Attendee(attendeeId: id, externalUserId: name, joinToken: credential ?? "")
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
          source.removeCaptureSourceObserver(observer: self)
          source.stop()
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
      /// A meeting has an attendee's name only.
      var attributes: [String: String] { [:] }
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
      func attach(view: DefaultVideoRenderView) { call?.show(view, id) }
      func detach(view: DefaultVideoRenderView) {
        guard let call, call.views[id] === view else { return }
        call.views[id] = nil
        if let tile = call.tiles[id] { call.media.unbindVideoView(tileId: tile) }
      }
      static func == (one: MeetingStream, other: MeetingStream) -> Bool { one === other }
    }

    extension MeetingCall {
      func show(_ view: DefaultVideoRenderView, _ stream: String) {
        views[stream] = view
        if let tile = tiles[stream] { media.bindVideoView(videoView: view, tileId: tile) }
      }
      func update(_ sources: [RemoteVideoSource], areSent: Bool) {
        for id in sources.map(\.attendeeId) {
          if areSent { self.sources.insert(id) } else { self.sources.remove(id) }
          let modality = DefaultModality(id: id)
          set(modality.isOfType(type: .content) ? .screen : .camera, of: modality.base, isSent: areSent)
        }
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
        if !hasEntered { (hasEntered, _) = (true, report(.joined)) }
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
          if sources.contains(id) { set(.camera, of: id, isSent: true) }
          if sources.contains(id + "#content") { set(.screen, of: id, isSent: true) }
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
        guard let screen else { return }
        let content = ContentShareSource()
        content.videoSource = screen
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
      private struct Answers: Decodable {
        struct Parts: Decodable {
          let Meeting: CreateMeetingResponse
          let Attendee: CreateAttendeeResponse
        }
        let JoinInfo: Parts
      }
      /// - Parameter token: the answers to CreateMeeting and CreateAttendee, as JSON: `{"JoinInfo": {"Meeting": …, "Attendee": …}}`.
      convenience init?(token: String) {
        guard let answers = try? JSONDecoder().decode(Answers.self, from: Data(token.utf8)).JoinInfo else { return nil }
        self.init(
          MeetingSessionConfiguration(createMeetingResponse: answers.Meeting, createAttendeeResponse: answers.Attendee))
      }
      func isSent(_ kind: MeetingStream.Kind, by person: MeetingPerson) -> Bool { person.streams["\(kind)"] != nil }
      func show(_ view: DefaultVideoRenderView, _ kind: MeetingStream.Kind, of person: String) {
        show(view, person + (kind == .screen ? "#content" : ""))
      }
      /// Receives these kinds of streams, by participants. Sound comes mixed.
      func receive(_ wanted: [String: Set<MeetingStream.Kind>]) {
        let receivesVideo = wanted.values.contains { $0.contains(.camera) }
        if receivesVideo { media.startRemoteVideo() } else { media.stopRemoteVideo() }
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

      /// Pictures of the app's own.
      final class Feed: VideoSource, @unchecked Sendable {  // `sinks` is guarded
        var videoContentHint = VideoContentHint.text
        private let lock = NSLock()
        private var sinks: [any AmazonChimeSDK.VideoSink] = []
        func addVideoSink(sink: any AmazonChimeSDK.VideoSink) { lock.withLock { sinks.append(sink) } }
        func removeVideoSink(sink: any AmazonChimeSDK.VideoSink) { lock.withLock { sinks.removeAll { $0 === sink } } }
        func push(_ buffer: CMSampleBuffer) {
          guard let image = CMSampleBufferGetImageBuffer(buffer) else { return }
          let time = Int64(DispatchTime.now().uptimeNanoseconds)
          let frame = VideoFrame(timestampNs: time, rotation: .rotation0, buffer: VideoFramePixelBuffer(pixelBuffer: image))
          for sink in lock.withLock({ sinks }) { sink.onVideoFrameReceived(frame: frame) }
        }
      }
    }

    """#
}
