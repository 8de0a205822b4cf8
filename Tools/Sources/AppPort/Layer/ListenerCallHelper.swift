/// What layers in the event listener style need beside the SDK: one handler for what its listeners are told, with views that stay with
/// a participant's streams.
enum ListenerCallHelper {
  static let files = [
    LayerHelper(
      fileName: "ListenerCall.swift", typeNames: ["ListenerCall", "ListenerReport", "ListenerKind"], source: call),
    LayerHelper(fileName: "ListenerEvents.swift", typeNames: [], source: events),
  ]

  /// What layers read from the stage strategy style need in addition to `StageCallHelper`.
  static let ofStage = [token, LayerHelper(fileName: "ListenerStageMedia.swift", typeNames: [], source: media)]
  /// What layers read from the call agent style need in addition to `AgentCallHelper`.
  static let ofAgent = [token, LayerHelper(fileName: "ListenerAgentMedia.swift", typeNames: [], source: agentMedia)]
  private static let token = LayerHelper(fileName: "ListenerToken.swift", typeNames: [], source: answer)

  private static let call = #"""
    // What layers that `koine port --to event-listener` writes need beside the SDK: the same file for every app.
    import AVFoundation
    import VideoSDKRTC
    import WebRTC

    /// A meeting with one handler for what its listeners are told.
    final class ListenerCall: @unchecked Sendable {  // used on the main queue only, where the SDK calls its listeners
      typealias Meeting = VideoSDKRTC.Meeting
      typealias Participant = VideoSDKRTC.Participant
      let meeting: Meeting
      var handler: ((ListenerReport, ListenerCall) -> Void)?
      var hasEntered = false, isLost = false, topics: Set<String> = []
      /// Why the participant is gone that is reported to have left.
      var departure: LeaveReason?
      private var isLeaving = false
      /// Why the meeting is over, and the error that has ended it.
      private(set) var reason: LeaveReason?
      var failure: VideoSDKError?
      /// Where the camera is that is on.
      var side: AVCaptureDevice.Position?
      private var views: [String: RTCMTLVideoView] = [:], wanted: [String: Set<ListenerKind>]?
      var isOver: Bool { reason != nil }
      var localParticipant: Participant { meeting.localParticipant }
      var participants: [String: Participant] { meeting.participants }

      init(
        room: String, credential: String?, participantID: String = "", name: String = "Guest", isMicrophoneOn: Bool = true,
        isCameraOn: Bool = true
      ) {
        if let credential { VideoSDK.config(token: credential) }
        meeting = VideoSDK.initMeeting(
          meetingId: room, participantId: participantID, participantName: name, micEnabled: isMicrophoneOn,
          webcamEnabled: isCameraOn)
      }
      func join(side: AVCaptureDevice.Position = .front) {
        meeting.addEventListener(self)
        meeting.localParticipant.addEventListener(self)
        meeting.join(cameraPosition: side)
      }
      func leave() {
        isLeaving = true
        meeting.leave()
      }
      /// - Parameter reason: nil: the meeting has not told it, because it was never joined.
      func end(_ reason: LeaveReason?) {
        guard !isOver else { return }
        self.reason =
          reason ?? (isLeaving ? .manualLeaveCalled : isLost ? .websocketConnectionAttemptsExhausted : .joinRoomFailed)
        if let failure { report(.failed(failure)) }
        report(.phaseChanged(.CLOSED))
        if let reason { report(.left(reason)) }
        meeting.localParticipant.removeEventListener(self)
        meeting.removeEventListener(self)
      }
      func report(_ event: ListenerReport) { handler?(event, self) }

      func setStream(kind: ListenerKind, isOn: Bool) {
        switch (kind, isOn) {
        case (.microphone, true): meeting.unmuteMic()
        case (.microphone, false): meeting.muteMic()
        case (.camera, true): meeting.enableWebcam()
        case (.camera, false): meeting.disableWebcam()
        case (.screen, true): Task { @MainActor [meeting] in await meeting.enableScreenShare() }
        case (.screen, false): Task { @MainActor [meeting] in await meeting.disableScreenShare() }
        }
      }
      /// A topic can be subscribed to once the meeting is joined.
      func observe(topic: String) {
        if topics.insert(topic).inserted, hasEntered { meeting.pubsub.subscribe(topic: topic, forListener: self) }
      }
      func stopObserving(topic: String) {
        if topics.remove(topic) != nil, hasEntered { meeting.pubsub.unsubscribe(topic: topic, forListener: self) }
      }
      func send(text: String, topic: String, isPersistent: Bool = false) {
        meeting.pubsub.publish(topic: topic, message: text, options: ["persist": isPersistent])
      }
      func messages(topic: String) -> [PubSubMessage] { meeting.pubsub.getMessagesForTopic(topic) }

      // MARK: Streams

      /// The stream that a participant sends now.
      func stream(_ kind: ListenerKind, of person: Participant) -> MediaStream? {
        person.streams.values.first { ListenerKind($0.kind) == kind }
      }
      func isSent(_ kind: ListenerKind, by person: Participant) -> Bool { stream(kind, of: person) != nil }
      private func track(_ kind: ListenerKind, of person: String) -> RTCVideoTrack? {
        let owner = person == localParticipant.id ? localParticipant : participants[person]
        return owner.flatMap { stream(kind, of: $0) }?.track as? RTCVideoTrack
      }
      /// Shows a participant's video, also that which comes after a pause: the SDK makes a new track each time.
      func show(_ view: RTCMTLVideoView, _ kind: ListenerKind, of person: String) {
        let old = views.updateValue(view, forKey: "\(person) \(kind)"), track = track(kind, of: person)
        if let old { track?.remove(old) }
        track?.add(view)
      }
      func hide(_ view: RTCMTLVideoView, _ kind: ListenerKind, of person: String) {
        if views["\(person) \(kind)"] === view { views["\(person) \(kind)"] = nil }
        track(kind, of: person)?.remove(view)
      }
      func begin(_ stream: MediaStream, of person: Participant) {
        let kind = ListenerKind(stream.kind)
        if let view = views["\(person.id) \(kind)"] { (stream.track as? RTCVideoTrack)?.add(view) }
        update(stream, of: person)
        report(.streamAdded(stream, person))
      }
      /// Receives these kinds of streams, by participants, and no others.
      func receive(_ wanted: [String: Set<ListenerKind>]) {
        self.wanted = wanted
        for person in participants.values { person.streams.values.forEach { update($0, of: person) } }
      }
      private func update(_ stream: MediaStream, of person: Participant) {
        guard let wanted, !person.isLocal else { return }
        if wanted[person.id]?.contains(ListenerKind(stream.kind)) == true { stream.resume() } else { stream.pause() }
      }
    }

    """#

  private static let events = #"""
    // What the SDK's listeners are told, as reports (`koine port --to event-listener`): the same file for every app.
    import VideoSDKRTC
    import WebRTC

    /// What a meeting reports.
    enum ListenerReport: @unchecked Sendable {  // made and used on the main queue only
      typealias Participant = VideoSDKRTC.Participant
      case phaseChanged(MeetingState), joined, left(LeaveReason), connectionLost, failed(VideoSDKError)
      case personJoined(Participant), personLeft(Participant), messageReceived(PubSubMessage)
      case streamAdded(MediaStream, Participant), streamRemoved(MediaStream, Participant)
      case speakerChanged(String?), presenterChanged(String?), levelsChanged([String: Float])
      /// Whether the network is too slow for the video.
      case pathChanged(isPoor: Bool)
      /// From now on it is known what a participant sends.
      case streamsKnown(Participant)
    }
    /// What a stream shows or plays, in one word.
    enum ListenerKind: Sendable, CaseIterable {
      case microphone, camera, screen
      init(_ type: MediaType) { self = type == .share ? .screen : type == .state(value: .video) ? .camera : .microphone }
      var isVideo: Bool { self != .microphone }
      var isAudio: Bool { self == .microphone }
    }

    extension MediaStream {
      var streamKind: ListenerKind { ListenerKind(kind) }
    }

    extension VideoSDKError {
      /// The stream that it is about.
      var kind: ListenerKind? {
        switch self {
        case .ERROR_GET_AUDIO_MEDIA, .ERROR_GET_AUDIO_MEDIA_PERMISSION_DENIED: .microphone
        case .ERROR_GET_VIDEO_MEDIA, .ERROR_GET_VIDEO_MEDIA_PERMISSION_DENIED: .camera
        case .ERROR_GET_DISPLAY_MEDIA, .ERROR_GET_DISPLAY_MEDIA_PERMISSION_DENIED: .screen
        default: nil
        }
      }
    }

    extension ListenerCall: MeetingEventListener {
      func onMeetingStateChanged(meetingState: MeetingState) {
        switch meetingState {
        case .CONNECTING, .RECONNECTING: report(.phaseChanged(meetingState))
        case .CONNECTED: if hasEntered { report(.phaseChanged(.CONNECTED)) }  // before that, see `onMeetingJoined`
        case .CLOSED, .CANCELLED, .DISCONNECTED, .FAILED: if !hasEntered { end(nil) }
        default: break
        }
      }
      func onMeetingJoined() {
        hasEntered = true
        for topic in topics { meeting.pubsub.subscribe(topic: topic, forListener: self) }
        report(.phaseChanged(.CONNECTED))
        report(.joined)
      }
      func onMeetingLeft(reason: LeaveReason) { end(reason) }
      func onParticipantJoined(_ participant: Participant) {
        participant.addEventListener(self)
        report(.personJoined(participant))
        report(.streamsKnown(participant))
      }
      func onParticipantLeft(_ participant: Participant, reason: LeaveReason) {
        participant.removeEventListener(self)
        departure = reason
        report(.personLeft(participant))
      }
      /// The SDK names the active speaker, and measures nobody: in dBov, as one that is heard and others that are silent.
      func onSpeakerChanged(participantId: String?) {
        let people = [localParticipant.id] + participants.keys
        report(.levelsChanged(Dictionary(uniqueKeysWithValues: people.map { ($0, $0 == participantId ? -20 : -127) })))
        report(.speakerChanged(participantId))
      }
      func onPresenterChanged(activePresenterId: String?) { report(.presenterChanged(activePresenterId)) }
      func onQualityLimitation(type: QualityLimitationType, state: QualityLimitationState, timestamp: String) {
        if type == .CONGESTION { report(.pathChanged(isPoor: state == .DETECTED)) }
      }
      /// An error that ends the meeting is reported with the end.
      func onError(error: VideoSDKError) {
        let isFinal = error == .DUPLICATE_PARTICIPANT || !hasEntered && !(3_000..<4_000).contains(error.rawValue)
        if isFinal { failure = error } else { report(.failed(error)) }
      }
      func onSocketError(message: String) {
        isLost = true
        report(.connectionLost)
      }
    }

    extension ListenerCall: ParticipantEventListener, PubSubMessageListener {
      func onMessageReceived(_ message: PubSubMessage) { report(.messageReceived(message)) }
      func onStreamEnabled(_ stream: MediaStream, forParticipant participant: Participant) {
        begin(stream, of: participant)
      }
      func onStreamDisabled(_ stream: MediaStream, forParticipant participant: Participant) {
        report(.streamRemoved(stream, participant))
      }
    }

    """#

  private static let answer = #"""
    // Tokens of layers for a VideoSDK meeting (`koine port --to event-listener`): the same file for every app.
    import Foundation

    extension ListenerCall {
      private struct Answer: Decodable { let token, meetingId, participantId, name: String }
      private static func answer(_ token: String) -> Answer? {
        try? JSONDecoder().decode(Answer.self, from: Data(token.utf8))
      }
      static func reads(_ token: String) -> Bool { answer(token) != nil }
      /// - Parameter token: what the app's server answers, as JSON: `{"token": …, "meetingId": …, "participantId": …, "name": …}`.
      convenience init?(token: String, isMicrophoneOn: Bool = false) {
        guard let answer = Self.answer(token) else { return nil }
        self.init(
          room: answer.meetingId, credential: answer.token, participantID: answer.participantId, name: answer.name,
          isMicrophoneOn: isMicrophoneOn, isCameraOn: false)
      }
    }

    """#

  private static let agentMedia = #"""
    // Cameras, views and ends of layers read from the call agent style, in a VideoSDK meeting: the same for every app.
    import AVFoundation
    import CoreVideo
    import Foundation
    import UIKit
    import VideoSDKRTC
    import WebRTC

    extension ListenerCall {
      /// In bytes.
      static let messageLimit = 15_360
      func isIn(_ room: String) -> Bool { meeting.id == room }
      /// Why the call is over, in the numbers of a call agent.
      var numbersOfEnd: (Int32, Int32) {
        switch (reason, failure) {
        case (.removePeer, _), (.removeAll, _), (.removePeerApi, _): (0, 5300)
        case (.duplicateParticipant, _): (0, 5000)
        case (nil, _), (.manualLeaveCalled, _), (.roomClose, _), (.meetingEndApi, _): (0, 0)
        case (.websocketDisconnected, _), (.websocketConnectionAttemptsExhausted, _): (490, 0)
        case (_, .INVALID_API_KEY), (_, .INVALID_TOKEN): (401, 0)
        case (_, .INVALID_PERMISSIONS), (_, .MAX_PARTCIPANT_REACHED): (403, 0)
        case (_, .INVALID_MEETING_ID): (404, 0)
        default: (500, 0)
        }
      }
    }

    extension [AVCaptureDevice] {
      /// A meeting changes between the front and the back camera. Other cameras are listed only if it has neither.
      var sided: Self {
        let sided = filter { $0.position != .unspecified }
        return sided.isEmpty ? self : sided
      }
    }

    extension VideoSDKError {
      /// The error of a camera or of a share, if it is about that.
      func ofVideo(isCamera: Bool) -> ListenerAgent.Failure? {
        switch self {
        case .ERROR_GET_VIDEO_MEDIA: isCamera ? .camera : nil
        case .ERROR_GET_VIDEO_MEDIA_PERMISSION_DENIED: isCamera ? .cameraDenied : nil
        case .ERROR_GET_DISPLAY_MEDIA, .ERROR_GET_DISPLAY_MEDIA_PERMISSION_DENIED: isCamera ? nil : .notSent
        default: nil
        }
      }
    }

    extension MediaStream {
      func attach(view: ListenerAgent.Screen) { (track as? RTCVideoTrack)?.add(view.view) }
      func detach(view: ListenerAgent.Screen) { (track as? RTCVideoTrack)?.remove(view.view) }
    }

    extension ListenerAgent {
      /// The camera, or the screen of the device. The SDK has the pictures of both: views show the camera while the meeting sends it, and
      /// the screen takes the place of pictures of the app's.
      final class Source: @unchecked Sendable {  // used on the main queue only
        private var camera: Device?
        private var screens: [Screen] = []
        private weak var call: ListenerCall?
        private var side: AVCaptureDevice.Position { camera?.position == .back ? .back : .front }

        init(camera: Device?) { self.camera = camera }
        func choose(_ camera: Device) {
          self.camera = camera
          guard let call, let old = call.side, old != side else { return }
          call.side = side
          call.meeting.switchWebcam()
        }
        /// The screen shows what is shared.
        func push(_ picture: CVPixelBuffer) {}
        func attach(_ screen: Screen) -> Bool {
          screens.append(screen)
          show(screen)
          return true
        }
        func detach(_ screen: Screen) {
          screens.removeAll { $0 === screen }
          if let call { call.hide(screen.view, .camera, of: call.localParticipant.id) }
        }
        private func show(_ screen: Screen) {
          if let call { call.show(screen.view, .camera, of: call.localParticipant.id) }
        }
        /// - Parameter failed: not called: the meeting reports what fails.
        func start(in call: ListenerCall, failed: @escaping (Failure) -> Void) {
          self.call = call
          guard camera != nil else { return call.setStream(kind: .screen, isOn: true) }
          call.side = side
          for screen in screens { show(screen) }
          let track = try? VideoSDK.createCameraVideoTrack(
            encoderConfig: .h720p_w1280p, facingMode: side, multiStream: true)
          call.meeting.enableWebcam(customVideoStream: track)
        }
        func stop() {
          guard let call else { return }
          for screen in screens { call.hide(screen.view, .camera, of: call.localParticipant.id) }
          if camera != nil { call.side = nil }
          call.setStream(kind: camera == nil ? .screen : .camera, isOn: false)
          self.call = nil
        }
      }

      /// A view, and the size of what it shows.
      final class Screen: NSObject, RTCVideoViewDelegate {
        let view: RTCMTLVideoView
        var sizeHandler: ((Int32, Int32) -> Void)?, didFail: (() -> Void)?
        init(_ mode: UIView.ContentMode) {
          view = RTCMTLVideoView(frame: .zero)
          super.init()
          view.videoContentMode = mode
          view.delegate = self
        }
        func clear() { view.renderFrame(nil) }
        func videoView(_ videoView: any RTCVideoRenderer, didChangeVideoSize size: CGSize) {
          sizeHandler?(Int32(size.width), Int32(size.height))
        }
      }
    }

    """#

  private static let media = #"""
    // Devices and errors of layers read from the stage strategy style, in a VideoSDK meeting: the same for every app.
    import AVFoundation
    import CoreMedia
    import CoreVideo
    import Foundation
    import VideoSDKRTC
    import WebRTC

    extension ListenerCall {
      /// - Returns: true: the meeting reports a device that fails or is not allowed.
      func send(
        _ kind: ListenerKind, isOn: Bool, _ device: ListenerStage.Device?, _ feed: ListenerStage.Feed?,
        _ options: ListenerStage.Video
      ) -> Bool {
        guard kind != .microphone, isOn else {
          if kind == .camera { side = nil }
          setStream(kind: kind, isOn: isOn)
          return true
        }
        side = device?.position ?? .front
        meeting.setVideoProcessor(processor: feed)
        let track = try? VideoSDK.createCameraVideoTrack(
          encoderConfig: options.encoderConfig, facingMode: side, multiStream: true)
        meeting.enableWebcam(customVideoStream: track)
        return true
      }
      /// Why the call is over, in the numbers of a stage. Nil: the user has left, or joins on another device.
      var fault: NSError? { reason.flatMap { Self.fault(of: $0, failure) } }
      static func fault(of reason: LeaveReason, _ failure: VideoSDKError? = nil) -> NSError? {
        let fault: ListenerStage.Fault? =
          switch (reason, failure) {
          case (.manualLeaveCalled, _), (.duplicateParticipant, _): nil
          case (.removePeer, _), (.removeAll, _), (.removePeerApi, _): .refused
          case (.roomClose, _), (.meetingEndApi, _): .closed
          case (.websocketDisconnected, _), (.websocketConnectionAttemptsExhausted, _): .lost
          case (_, .INVALID_API_KEY), (_, .INVALID_TOKEN), (_, .INVALID_PERMISSIONS): .refused
          case (_, .INVALID_MEETING_ID), (_, .INVALID_PARTICIPANT_ID): .token
          case (_, .MAX_PARTCIPANT_REACHED): .full
          default: .answer
          }
        return fault?.error(failure.map { "\($0)" } ?? "\(reason)")
      }
    }

    extension VideoSDKRTC.Participant {
      /// A participant has an id and a name only: the name is there under the keys of the stage vendor's samples.
      var attributes: [String: String] { ["name": displayName, "username": displayName] }
    }

    extension ListenerStage.Video {
      /// The smallest of the SDK's settings that has the wanted size.
      var encoderConfig: CustomVideoTrackConfig {
        let (long, short) = (max(maximumWidth, maximumHeight), min(maximumWidth, maximumHeight))
        let sizes: [(Int, Int, CustomVideoTrackConfig)] = [
          (320, 180, .h180p_w320p), (640, 360, .h360p_w640p), (960, 540, .h540p_w960p), (1_280, 720, .h720p_w1280p),
        ]
        return sizes.first { $0 >= long && $1 >= short || $2 == .h720p_w1280p }?.2 ?? .h720p_w1280p
      }
    }

    extension ListenerStage {
      /// A camera or a microphone. The meeting uses the microphone that the system has chosen.
      final class Device {
        let kind: ListenerKind, name: String
        private(set) var position: AVCaptureDevice.Position
        weak var call: ListenerCall?
        private init(_ kind: ListenerKind, _ device: AVCaptureDevice) {
          (self.kind, name, position) = (kind, device.localizedName, device.position)
        }
        private static var cameras: [Device] {
          AVCaptureDevice.DiscoverySession(
            deviceTypes: [.builtInWideAngleCamera], mediaType: .video, position: .unspecified
          ).devices.map { Device(.camera, $0) }
        }
        static var all: [Device] {
          let camera = cameras.first { $0.position == .front } ?? cameras.first
          let microphone = AVCaptureDevice.default(for: .audio).map { Device(.microphone, $0) }
          return [camera, microphone].compactMap { $0 }
        }
        /// The devices that can be used in its place.
        var sources: [Device] { kind == .camera ? Self.cameras : [self] }
        func choose(_ source: Device, completion: ((any Error)?) -> Void = { _ in }) {
          position = source.position
          if kind == .camera, let call, let side = call.side, side != position {
            call.side = position
            call.meeting.switchWebcam()
          }
          completion(nil)
        }
      }

      /// Pictures of the app's own, which the SDK sends in the place of those of the camera.
      final class Feed: VideoSDKVideoProcessor, @unchecked Sendable {  // `newest` is guarded
        private let lock = NSLock()
        private var newest: CVPixelBuffer?
        func push(_ buffer: CMSampleBuffer) {
          if let image = CMSampleBufferGetImageBuffer(buffer) { lock.withLock { newest = image } }
        }
        func onFrameReceived(frame: RTCVideoFrame) -> RTCVideoFrame? {
          lock.withLock { newest }.map {
            RTCVideoFrame(buffer: RTCCVPixelBuffer(pixelBuffer: $0), rotation: ._0, timeStampNs: frame.timeStampNs)
          }
        }
      }
    }

    """#
}
