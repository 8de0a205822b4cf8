/// What layers in the call agent style need beside the SDK: a call with its participants and what they send, messages, and one handler of
/// all that.
enum AzureCallHelper {
  static let files = [
    LayerHelper(fileName: "AzureCall.swift", typeNames: ["AzureCall"], source: call),
    LayerHelper(
      fileName: "AzureStreams.swift",
      typeNames: [
        "AzureReport", "AzurePhase", "AzureMessage", "AzureFailure", "AzureEnd", "AzurePerson", "AzureStream",
      ],
      source: streams),
    LayerHelper(fileName: "AzureObservers.swift", typeNames: [], source: observers),
    LayerHelper(fileName: "AzureDiagnostics.swift", typeNames: [], source: diagnostics),
    LayerHelper(fileName: "AzureMedia.swift", typeNames: [], source: media),
    LayerHelper(fileName: "AzureViews.swift", typeNames: ["AzureVideoView"], source: views),
    LayerHelper(fileName: "AzureFeed.swift", typeNames: ["AzureFeed", "AzureCapture"], source: feed),
    LayerHelper(fileName: "AzureMessages.swift", typeNames: [], source: messages),
  ]

  /// What layers read from the stage strategy style need in addition to `StageCallHelper`.
  static let stageMedia = LayerHelper(fileName: "AzureStageMedia.swift", typeNames: [], source: stage)

  private static let call = #"""
    // What layers that `koine port --to call-agent` writes need beside the SDK: the same file for every app.
    import AVFoundation
    import AzureCommunicationCalling
    import AzureCommunicationCommon
    import Foundation

    /// A call in a room, its participants, and what they send.
    final class AzureCall: NSObject, @unchecked Sendable {  // used on the main queue only: see `onMain`
      let room: String, localParticipant: AzurePerson
      var handler: ((AzureReport, AzureCall) -> Void)?
      var participants: [String: AzurePerson] = [:], presenters: [String] = [], speaker: String?
      var views: [String: AzureVideoView] = [:], received: [String: Set<AzureStream.Kind>] = [:]
      var messages: [AzureMessage] = [], topics: Set<String> = [], senders: [String: DataChannelSender] = [:]
      var receivers: [DataChannelReceiver] = []
      /// What is sent beside the microphone. A feed has the camera's place.
      var camera: LocalVideoStream?, screen: AzureFeed?, feed: AzureFeed?
      var side = CameraFacing.front, wanted: Set<AzureStream.Kind>
      /// The app may have a type of this name.
      typealias Call = AzureCommunicationCalling.Call
      private(set) var call: Call?, devices: DeviceManager?, hasMicrophone = true, hasEntered = false
      var isPathLost = false, isPathPoor = false
      private let token: String, client = CallClient()
      private var agent: CallAgent?, isLeaving = false
      /// Why the call is over, and what has ended it.
      private(set) var reason: AzureEnd?, failure: AzureFailure?
      var isOver: Bool { reason != nil }

      /// - Parameters:
      ///   - room: the id of a room, or the UUID of a group call.
      ///   - credential: a user access token.
      ///   - participantID: the raw id of the token's user, which the answer to the request for the token has, too.
      init(
        room: String, credential: String?, participantID: String = "", name: String = "Guest", isMicrophoneOn: Bool = true,
        isCameraOn: Bool = true
      ) {
        let id = participantID.isEmpty ? UUID().uuidString : participantID
        (self.room, token, localParticipant) = (room, credential ?? "", AzurePerson(id: id, localName: name))
        wanted = Set((isMicrophoneOn ? [AzureStream.Kind.microphone] : []) + (isCameraOn ? [.camera] : []))
      }

      func join(side: CameraFacing = .front) {
        self.side = side
        report(.phaseChanged(.connecting))
        guard let credential = try? CommunicationTokenCredential(token: token) else { return end(.refused, .rejected) }
        let options = CallAgentOptions()
        options.displayName = localParticipant.name
        client.createCallAgent(userCredential: credential, options: options) { [weak self] agent, error in
          self?.onMain { $0.signedIn(agent, error) }
        }
      }
      private func signedIn(_ agent: CallAgent?, _ error: (any Error)?) {
        self.agent = agent
        if isLeaving { return end(.left) }
        if agent == nil { return end(.refused, AzureFailure(error)) }
        client.getDeviceManager { [weak self] devices, _ in
          AVCaptureDevice.requestAccess(for: .audio) { [weak self] isGranted in
            self?.onMain { $0.enter(devices, hasMicrophone: isGranted) }
          }
        }
      }
      private func enter(_ devices: DeviceManager?, hasMicrophone: Bool) {
        if isLeaving { return end(.left) }
        (self.devices, self.hasMicrophone) = (devices, hasMicrophone)
        let options = JoinCallOptions(), audio = OutgoingAudioOptions(), video = IncomingVideoOptions()
        audio.muted = !wanted.contains(.microphone)
        if !hasMicrophone {
          // Without the permission, a call takes sound of the app's only.
          audio.stream = RawOutgoingAudioStream(options: RawOutgoingAudioStreamOptions())
          report(.failed(.microphoneDenied))
        }
        video.streamType = .remoteIncoming
        (options.outgoingAudioOptions, options.incomingVideoOptions) = (audio, video)
        let locator = UUID(uuidString: room).map { GroupCallLocator(groupId: $0) } ?? RoomCallLocator(roomId: room)
        agent?.join(with: locator, joinCallOptions: options) { [weak self] call, error in
          // Before the change of queues: what comes without a delegate is lost.
          if let call { self?.observe(call) }
          self?.onMain { $0.begin(call, error) }
        }
      }
      private func begin(_ call: Call?, _ error: (any Error)?) {
        self.call = call
        if call == nil { return end(.refused, AzureFailure(error)) }
        if isLeaving { leave() } else { update() }
      }
      func leave() { leave(forEveryone: false) }
      func endForAll() { leave(forEveryone: true) }
      private func leave(forEveryone: Bool) {
        isLeaving = true
        let options = HangUpOptions()
        options.forEveryone = forEveryone
        call?.hangUp(options: options) { _ in }
      }
      func entered() {
        hasEntered = true
        report(.phaseChanged(.connected))
        report(.joined)
        for kind in [AzureStream.Kind.microphone, .camera] { setStream(kind: kind, isOn: wanted.contains(kind)) }
      }
      func ended(_ reason: CallEndReason) {
        let numbers = (reason.code, reason.subcode)
        let end = AzureEnd(numbers, isLeaving: isLeaving, hasEntered: hasEntered)
        self.end(end, end == .refused || end == .failed ? AzureFailure(numbers) : nil)
      }
      func end(_ reason: AzureEnd, _ failure: AzureFailure? = nil) {
        guard !isOver else { return }
        (self.reason, self.failure, screen, camera, feed) = (reason, failure, nil, nil, nil)
        views.values.forEach { $0.show(nil) }
        senders.values.forEach { $0.closeSender() }
        if reason == .lost { report(.connectionLost) } else if let failure { report(.failed(failure)) }
        report(.phaseChanged(.ended))
        if hasEntered { report(.left(reason)) }
        agent?.dispose()
        (agent, call, devices) = (nil, nil, nil)
      }
      func report(_ event: AzureReport) { handler?(event, self) }
    }

    """#

  private static let streams = #"""
    // Participants, what they send, and ends of calls (`koine port --to call-agent`): the same file for every app.
    import AzureCommunicationCalling
    import Foundation
    import UIKit

    /// What a call reports, about one participant at a time.
    enum AzureReport: @unchecked Sendable {  // made and used on the main queue only
      case phaseChanged(AzurePhase), joined, left(AzureEnd), connectionLost, failed(AzureFailure)
      case personJoined(AzurePerson), personLeft(AzurePerson), messageReceived(AzureMessage)
      case streamAdded(AzureStream, AzurePerson), streamRemoved(AzureStream, AzurePerson)
      case speakerChanged(String?), presenterChanged(String?), levelsChanged([String: Float])
      /// The connection carries less than is to be sent or received.
      case pathChanged(isPoor: Bool)
      /// From now on it is known what a participant sends.
      case streamsKnown(AzurePerson)
    }
    enum AzurePhase: Sendable { case connecting, connected, reconnecting, ended }
    struct AzureMessage: Sendable {
      let id, topic, senderID, senderName, text: String
      let channel: Int32
      /// When it came: the SDK does not say when it was sent.
      let received = Date()
    }

    enum AzureFailure: String, Error {
      case rejected, forbidden, closed, joinedElsewhere, microphone, microphoneDenied, camera, cameraDenied, screen, message
      case failed

      /// - Parameter error: of the SDK, whose codes are those of `CallingCommunicationErrors`.
      init(_ error: (any Error)?) {
        switch error.map({ CallingCommunicationErrors(rawValue: ($0 as NSError).code) }) {
        case .invalidTokenProvider: self = .rejected
        case .noMultipleConnectionsWithSameIdentity: self = .joinedElsewhere
        default: self = .failed
        }
      }
      /// - Parameter numbers: code and subcode of the end of a call, as the vendor's list has them.
      init(_ numbers: (Int32, Int32)) {
        switch numbers {
        case (401, _): self = .rejected
        case (403, _), (0, 5854): self = .forbidden
        case (404, _): self = .closed
        default: self = .failed
        }
      }
      /// The stream that it is about.
      var kind: AzureStream.Kind? {
        switch self {
        case .microphone, .microphoneDenied: .microphone
        case .camera, .cameraDenied: .camera
        case .screen: .screen
        default: nil
        }
      }
    }
    enum AzureEnd: String, Sendable {
      case left, removed, closed, lost, refused, failed

      /// - Parameter numbers: code and subcode. A call that ends for all has those of one that the user has left.
      init(_ numbers: (Int32, Int32), isLeaving: Bool, hasEntered: Bool) {
        switch numbers {
        case (0, _) where isLeaving: self = .left
        case (0, 5000), (0, 5300): self = .removed
        case (0, _) where hasEntered: self = .closed
        case (490...498, _) where hasEntered: self = .lost
        default: self = hasEntered ? .failed : .refused
        }
      }
    }

    /// A participant with what it sends now.
    final class AzurePerson: Equatable, @unchecked Sendable {  // used on the main queue only
      let id: String, remote: RemoteParticipant?
      var streams: [String: AzureStream] = [:]
      private let localName: String
      private weak var call: AzureCall?
      /// The SDK has a participant's name only: it is there under the keys of the stage vendor's samples.
      var attributes: [String: String] { ["name": name, "username": name] }
      var isLocal: Bool { remote == nil }
      var name: String { remote.map { $0.displayName.isEmpty ? id : $0.displayName } ?? localName }

      init(id: String, localName: String) { (self.id, self.localName, remote) = (id, localName, nil) }
      init(_ remote: RemoteParticipant, in call: AzureCall) {
        (id, self.remote, self.call, localName) = (remote.identifier.rawId, remote, call, "")
      }
      static func == (one: AzurePerson, other: AzurePerson) -> Bool { one === other }
      /// Asks the participant's app, which obeys. A microphone only: the SDK has no word for another participant's camera.
      func mute(kind: AzureStream.Kind) { if kind == .microphone { remote?.mute { _ in } } }
      func remove() { if let remote { call?.call?.remove(participant: remote) { _ in } } }
    }

    /// A microphone, a camera or a shared screen.
    final class AzureStream: Equatable, @unchecked Sendable {  // used on the main queue only
      enum Kind: Sendable, CaseIterable {
        case microphone, camera, screen
        var isVideo: Bool { self != .microphone }
        var isAudio: Bool { self == .microphone }
      }
      let kind: Kind, owner: String, source: CallVideoStream?
      private weak var call: AzureCall?
      var id: String { "\(owner) \(kind)" }
      init(_ kind: Kind, of owner: String, _ source: CallVideoStream?, in call: AzureCall) {
        (self.kind, self.owner, self.source, self.call) = (kind, owner, source, call)
      }
      var video: AzureStream? { kind == .microphone ? nil : self }
      func attach(view: AzureVideoView) { call?.show(view, kind, of: owner) }
      func detach(view: AzureVideoView) { call?.hide(view, id) }
      static func == (one: AzureStream, other: AzureStream) -> Bool { one === other }
    }

    """#

  private static let observers = #"""
    // The SDK's callbacks as reports about one participant (`koine port --to call-agent`): the same file for every app.
    import AzureCommunicationCalling
    import Foundation

    extension AzureCall {
      /// The SDK promises no queue for its callbacks.
      func onMain(_ work: @escaping (AzureCall) -> Void) {
        nonisolated(unsafe) let work = work
        DispatchQueue.main.async { [weak self] in if let self { work(self) } }
      }
      func observe(_ call: Call) {
        call.delegate = self
        call.feature(Features.dominantSpeakers).delegate = self
        call.feature(Features.dataChannel).delegate = self
        call.feature(Features.localUserDiagnostics).networkDiagnostics.delegate = self
      }

      /// Reports how the call differs from what has been reported.
      func update() {
        guard let call, !isOver else { return }
        if call.state == .disconnected { return ended(call.callEndReason) }
        guard [.connected, .localHold, .remoteHold].contains(call.state) else { return }
        if !hasEntered { entered() }
        let present = call.remoteParticipants.filter { [.connected, .hold].contains($0.state) }
        for person in participants.values where !present.contains(where: { $0 === person.remote }) { remove(person) }
        for remote in present where participants[remote.identifier.rawId] == nil { add(remote) }
        for person in Array(participants.values) { update(person) }
        updateLocal(call)
        updateSpeaker(call)
      }
      private func add(_ remote: RemoteParticipant) {
        let person = AzurePerson(remote, in: self)
        participants[person.id] = person
        remote.delegate = self
        report(.personJoined(person))
        report(.streamsKnown(person))
      }
      private func remove(_ person: AzurePerson) {
        for stream in Array(person.streams.values) { set(stream.kind, of: person, nil, isSent: false) }
        participants[person.id] = nil
        report(.personLeft(person))
      }
      private func update(_ person: AzurePerson) {
        guard let remote = person.remote else { return }
        set(.microphone, of: person, nil, isSent: !remote.isMuted)
        for (kind, type) in [(AzureStream.Kind.camera, VideoStreamSourceType.video), (.screen, .screenSharing)] {
          let stream = remote.incomingVideoStreams.last { $0.sourceType == type && $0.state != .notAvailable }
          set(kind, of: person, stream, isSent: stream != nil)
        }
      }
      private func updateLocal(_ call: Call) {
        set(.microphone, of: localParticipant, nil, isSent: hasMicrophone && !call.isOutgoingAudioMuted)
        let video: CallVideoStream? = camera ?? feed?.stream, share = screen?.stream
        set(.camera, of: localParticipant, video, isSent: video?.state == .started)
        set(.screen, of: localParticipant, share, isSent: share?.state == .started)
      }
      private func set(_ kind: AzureStream.Kind, of person: AzurePerson, _ source: CallVideoStream?, isSent: Bool) {
        let key = "\(kind)", old = person.streams[key], before = presenters.last
        if isSent == (old != nil), old?.source === source || !isSent { return }
        let new = isSent ? AzureStream(kind, of: person.id, source, in: self) : nil
        person.streams[key] = new
        if kind == .screen { presenters = presenters.filter { $0 != person.id } + (isSent ? [person.id] : []) }
        if presenters.last != before { report(.presenterChanged(presenters.last)) }
        if let old {
          views[old.id]?.show(nil)
          report(.streamRemoved(old, person))
        }
        if let new {
          views[new.id]?.show(video(kind, of: person))
          report(.streamAdded(new, person))
        }
      }
    }

    extension AzureCall: CallDelegate, RemoteParticipantDelegate, LocalVideoStreamDelegate {
      func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) { onMain { $0.update() } }
      func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) { onMain { $0.update() } }
      func call(_ call: Call, didUpdateOutgoingAudioState args: PropertyChangedEventArgs) { onMain { $0.update() } }
      func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeState args: PropertyChangedEventArgs) {
        onMain { $0.update() }
      }
      func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs) {
        onMain { $0.update() }
      }
      func remoteParticipant(
        _ remoteParticipant: RemoteParticipant, didChangeVideoStreamState args: VideoStreamStateChangedEventArgs
      ) { onMain { $0.update() } }
      /// The SDK says whether a participant speaks, and measures no level: in dBov, as one that is heard or silent.
      func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeSpeakingState args: PropertyChangedEventArgs)
      {
        let level = [remoteParticipant.identifier.rawId: remoteParticipant.isSpeaking ? Float(-20) : -127]
        onMain { if !$0.isOver { $0.report(.levelsChanged(level)) } }
      }
      func localVideoStream(_ localVideoStream: LocalVideoStream, didChangeState args: VideoStreamStateChangedEventArgs) {
        onMain { $0.update() }
      }
    }

    """#

  private static let diagnostics = #"""
    // The active speaker and the connection (`koine port --to call-agent`): the same file for every app.
    import AzureCommunicationCalling

    extension AzureCall: DominantSpeakersCallFeatureDelegate {
      func dominantSpeakersCallFeature(
        _ dominantSpeakersCallFeature: DominantSpeakersCallFeature, didChangeDominantSpeakers args: PropertyChangedEventArgs
      ) { onMain { $0.update() } }
      /// The SDK's list keeps participants after they mute.
      func updateSpeaker(_ call: Call) {
        let speakers = call.feature(Features.dominantSpeakers).dominantSpeakersInfo.speakers.map(\.rawId)
        let new = speakers.first { participants[$0]?.streams["\(AzureStream.Kind.microphone)"] != nil }
        guard speaker != new else { return }
        speaker = new
        report(.speakerChanged(new))
      }
    }

    extension AzureCall: NetworkDiagnosticsDelegate {
      /// A call stays connected while it tries to get its connection back.
      func networkDiagnostics(
        _ networkDiagnostics: NetworkDiagnostics,
        didChangeNetworkReconnectionQuality args: DiagnosticQualityChangedEventArgs
      ) {
        let isLost = args.value == .bad
        onMain { call in
          guard call.hasEntered, !call.isOver, isLost != call.isPathLost else { return }
          call.isPathLost = isLost
          call.report(.phaseChanged(isLost ? .reconnecting : .connected))
        }
      }
      func networkDiagnostics(
        _ networkDiagnostics: NetworkDiagnostics, didChangeNetworkSendQuality args: DiagnosticQualityChangedEventArgs
      ) { look(at: networkDiagnostics) }
      func networkDiagnostics(
        _ networkDiagnostics: NetworkDiagnostics, didChangeNetworkReceiveQuality args: DiagnosticQualityChangedEventArgs
      ) { look(at: networkDiagnostics) }
      private func look(at diagnostics: NetworkDiagnostics) {
        let latest = diagnostics.latest, qualities = [latest.networkSendQuality, latest.networkReceiveQuality]
        let isPoor = qualities.contains(.poor) || qualities.contains(.bad)
        onMain { call in
          guard call.hasEntered, !call.isOver, isPoor != call.isPathPoor else { return }
          call.isPathPoor = isPoor
          call.report(.pathChanged(isPoor: isPoor))
        }
      }
    }

    """#

  private static let media = #"""
    // Cameras and the screen (`koine port --to call-agent`): the same file for every app.
    import AVFoundation
    import AzureCommunicationCalling

    extension AzureCall {
      func setStream(kind: AzureStream.Kind, isOn: Bool) {
        if isOn { wanted.insert(kind) } else { wanted.remove(kind) }
        guard let call, hasEntered, !isOver else { return }
        switch (kind, isOn) {
        case (.microphone, _) where !hasMicrophone: if isOn { fail(.microphone, isDenied: true) }
        case (.microphone, true): call.unmuteOutgoingAudio { _ in }
        case (.microphone, false): call.muteOutgoingAudio { _ in }
        case (.camera, true):
          AVCaptureDevice.requestAccess(for: .video) { [weak self] isGranted in
            self?.onMain { isGranted ? $0.startCamera() : $0.fail(.camera, isDenied: true) }
          }
        case (.screen, true): if screen == nil { share() }
        case (_, false): withdraw(kind)
        }
      }
      private func device(on side: CameraFacing) -> VideoDeviceInfo? {
        let cameras = devices?.cameras ?? []
        return cameras.first { $0.cameraFacing == side } ?? cameras.first
      }
      private func startCamera() {
        guard let call, !isOver, wanted.contains(.camera), camera == nil else { return }
        guard let device = device(on: side) else { return fail(.camera) }
        let new = LocalVideoStream(camera: device)
        (camera, new.delegate) = (new, self)
        call.startVideo(stream: new) { [weak self] error in
          self?.onMain { if $0.camera === new { error == nil ? $0.update() : $0.fail(.camera) } }
        }
      }
      func switchCamera() {
        side = side == .front ? .back : .front
        guard let camera, let device = device(on: side) else { return }
        camera.switchSource(camera: device) { [weak self] error in if error != nil { self?.onMain { $0.fail(.camera) } } }
      }
      private func share() {
        let new = AzureCapture(.screen, in: self)
        screen = new
        new.start { [weak self, weak new] error in
          self?.onMain { if error != nil, $0.screen === new { $0.fail(.screen) } }
        }
      }
      private func withdraw(_ kind: AzureStream.Kind) {
        let streams: [OutgoingVideoStream?] = kind == .camera ? [camera, feed?.stream] : [screen?.stream]
        if kind == .camera { (camera, feed) = (nil, nil) } else { screen = nil }
        for stream in streams.compactMap(\.self) { call?.stopVideo(stream: stream) { _ in } }
        update()
      }
      func fail(_ kind: AzureStream.Kind, isDenied: Bool = false) {
        guard !isOver else { return }
        wanted.remove(kind)
        if kind.isVideo { withdraw(kind) }
        switch kind {
        case .microphone: report(.failed(isDenied ? .microphoneDenied : .microphone))
        case .camera: report(.failed(isDenied ? .cameraDenied : .camera))
        case .screen: report(.failed(.screen))
        }
      }
    }

    """#

  private static let views = #"""
    // Views of videos, and received streams (`koine port --to call-agent`): the same file for every app.
    import AzureCommunicationCalling
    import UIKit

    extension AzureCall {
      func isSent(_ kind: AzureStream.Kind, by person: AzurePerson) -> Bool { person.streams["\(kind)"] != nil }
      /// Receives these kinds of streams, by participants, and all of others: a video while a view shows it. Sound comes mixed.
      func receive(_ wanted: [String: Set<AzureStream.Kind>]) {
        received = wanted
        for person in participants.values {
          for kind in AzureStream.Kind.allCases { views["\(person.id) \(kind)"]?.show(video(kind, of: person)) }
        }
        let isMuted = !wanted.isEmpty && !wanted.values.contains { $0.contains(.microphone) }
        guard let call, isMuted != call.isIncomingAudioMuted else { return }
        isMuted ? call.muteIncomingAudio { _ in } : call.unmuteIncomingAudio { _ in }
      }
      /// The video that a view shows; nil: there is none, or it is not to be received.
      func video(_ kind: AzureStream.Kind, of person: AzurePerson) -> CallVideoStream? {
        received[person.id]?.contains(kind) == false ? nil : person.streams["\(kind)"]?.source
      }
      /// Shows a participant's video, also that which comes after a pause.
      func show(_ view: AzureVideoView, _ kind: AzureStream.Kind, of person: String) {
        let owner = person == localParticipant.id ? localParticipant : participants[person]
        if let old = views.updateValue(view, forKey: "\(person) \(kind)"), old !== view { old.show(nil) }
        view.show(owner.flatMap { video(kind, of: $0) })
      }
      func hide(_ view: AzureVideoView, _ stream: String) {
        guard views[stream] === view else { return }
        views[stream] = nil
        view.show(nil)
      }
    }

    /// A view that shows one stream after the other. The SDK makes a view for each, and one at a time.
    final class AzureVideoView: UIView {
      private var renderer: VideoStreamRenderer?, picture: RendererView?, source: CallVideoStream?
      private var scaling: ScalingMode { contentMode == .scaleAspectFill ? .crop : .fit }
      override var contentMode: UIView.ContentMode { didSet { picture?.update(scalingMode: scaling) } }
      nonisolated func show(_ new: CallVideoStream?) {
        MainActor.assumeIsolated { if new !== source { set(new) } }
      }
      private func set(_ new: CallVideoStream?) {
        picture?.removeFromSuperview()
        renderer?.dispose()
        (source, picture) = (new, nil)
        renderer = new?.renderer()
        guard let view = try? renderer?.createView(withOptions: CreateViewOptions(scalingMode: scaling)) else { return }
        (picture, view.frame, view.autoresizingMask) = (view, bounds, [.flexibleWidth, .flexibleHeight])
        addSubview(view)
      }
    }

    extension CallVideoStream {
      /// A new renderer, if the stream can be shown and has none.
      func renderer() -> VideoStreamRenderer? {
        try? (self as? RemoteVideoStream).map { try VideoStreamRenderer(remoteVideoStream: $0) }
          ?? (self as? LocalVideoStream).map { try VideoStreamRenderer(localVideoStream: $0) }
      }
    }

    """#

  private static let feed = #"""
    // The shared screen, and pictures of the app's own (`koine port --to call-agent`): the same file for every app.
    import AzureCommunicationCalling
    import Foundation
    import ReplayKit

    /// Pictures of the app's own, as a shared screen or in the camera's place. The first of them says the size of the stream.
    class AzureFeed: NSObject, @unchecked Sendable {  // used on the main queue only
      private(set) var stream: RawOutgoingVideoStream?
      private let kind: AzureStream.Kind
      private weak var call: AzureCall?
      private var newest: CVPixelBuffer?
      private var isSent: Bool { kind == .screen ? call?.screen === self : call?.feed === self }

      init(_ kind: AzureStream.Kind, in call: AzureCall?) { (self.kind, self.call) = (kind, call) }
      override convenience init() { self.init(.camera, in: nil) }
      func enter(_ call: AzureCall) {
        (self.call, stream) = (call, nil)
        if let newest { add(newest) }
      }
      func add(_ picture: CVPixelBuffer) {
        newest = picture
        if stream != nil { return send() }
        guard let call = call?.call, isSent else { return }
        let format = VideoStreamFormat(), options = RawOutgoingVideoStreamOptions()
        (format.width, format.height) = (Int32(CVPixelBufferGetWidth(picture)), Int32(CVPixelBufferGetHeight(picture)))
        let stride = { Int32(CVPixelBufferGetBytesPerRowOfPlane(picture, $0)) }
        (format.pixelFormat, format.stride1, format.stride2, format.framesPerSecond) = (.nv12, stride(0), stride(1), 15)
        options.formats = [format]
        let new = kind == .screen ? shared(options) : virtual(options)
        stream = new
        call.startVideo(stream: new) { [weak self] error in
          self?.call?.onMain { [weak self] in if error != nil, let self, isSent { $0.fail(kind) } }
        }
      }
      private func shared(_ options: RawOutgoingVideoStreamOptions) -> RawOutgoingVideoStream {
        let new = ScreenShareOutgoingVideoStream(videoStreamOptions: options)
        new.delegate = self
        return new
      }
      private func virtual(_ options: RawOutgoingVideoStreamOptions) -> RawOutgoingVideoStream {
        let new = VirtualOutgoingVideoStream(videoStreamOptions: options)
        new.delegate = self
        return new
      }
      private func send() {
        guard let stream, let newest, stream.state == .started else { return }
        let frame = RawVideoFrameBuffer()
        (frame.buffer, frame.streamFormat, frame.timestampInTicks) = (newest, stream.format, stream.timestampInTicks)
        stream.send(frame: frame) { _ in }
      }
      private func changed() {
        call?.onMain { [weak self] in
          self?.send()
          $0.update()
        }
      }
    }
    extension AzureFeed: ScreenShareOutgoingVideoStreamDelegate, VirtualOutgoingVideoStreamDelegate {
      func screenShareOutgoingVideoStream(
        _ screenShareOutgoingVideoStream: ScreenShareOutgoingVideoStream,
        didChangeState args: VideoStreamStateChangedEventArgs
      ) { changed() }
      func virtualOutgoingVideoStream(
        _ virtualOutgoingVideoStream: VirtualOutgoingVideoStream, didChangeState args: VideoStreamStateChangedEventArgs
      ) { changed() }
    }

    /// The screen, captured for as long as the object is there. The SDK has no capture of its own.
    final class AzureCapture: AzureFeed, @unchecked Sendable {
      private let recorder = RPScreenRecorder.shared()
      deinit { recorder.stopCapture { _ in } }
      func start(_ completion: @escaping @Sendable ((any Error)?) -> Void) {
        recorder.startCapture(
          handler: { [weak self] sample, type, _ in
            guard type == .video, let picture = CMSampleBufferGetImageBuffer(sample) else { return }
            DispatchQueue.main.async { [weak self] in self?.add(picture) }
          }, completionHandler: completion)
      }
    }

    """#

  private static let messages = #"""
    // Messages (`koine port --to call-agent`): the same file for every app.
    import AzureCommunicationCalling
    import Foundation

    extension AzureCall: DataChannelCallFeatureDelegate, DataChannelReceiverDelegate {
      /// A data channel has a number instead of a topic: 1 to 65,535, made from the topic's letters (FNV-1a).
      static func channel(of topic: String) -> Int32 {
        Int32(topic.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 } % 65_535) + 1
      }
      func observe(topic: String) { topics.insert(topic) }
      func stopObserving(topic: String) { topics.remove(topic) }
      /// Messages of this call: a data channel keeps nothing for those that come later.
      func messages(topic: String) -> [AzureMessage] { messages.filter { $0.channel == Self.channel(of: topic) } }
      /// A data channel does not send a message back to its sender, and keeps none.
      func send(text: String, topic: String, isPersistent: Bool = false) {
        guard let call, hasEntered, !isOver else { return }
        let options = DataChannelSenderOptions(), data = Data(text.utf8)
        (options.channelId, options.reliability) = (Self.channel(of: topic), .durable)
        let sender = senders[topic] ?? call.feature(Features.dataChannel).getDataChannelSender(options: options)
        senders[topic] = sender
        guard data.count <= sender.maxMessageSizeInBytes else { return report(.failed(.message)) }
        sender.sendMessage(data: data)
        receive(text, on: options.channelId, from: localParticipant.id, name: localParticipant.name)
      }
      private func receive(_ text: String, on channel: Int32, from id: String, name: String) {
        let topic = topics.first { Self.channel(of: $0) == channel }
        let message = AzureMessage(
          id: UUID().uuidString, topic: topic ?? "channel \(channel)", senderID: id, senderName: name, text: text,
          channel: channel)
        messages.append(message)
        if topic != nil { report(.messageReceived(message)) }
      }
      func dataChannelCallFeature(
        _ dataChannelCallFeature: DataChannelCallFeature, didCreateReceiver args: DataChannelReceiverCreatedEventArgs
      ) {
        let receiver = args.receiver
        receiver.delegate = self
        onMain { call in
          call.receivers.append(receiver)
          call.read(receiver)
        }
      }
      func dataChannelReceiver(_ dataChannelReceiver: DataChannelReceiver, didReceiveMessage args: PropertyChangedEventArgs)
      {
        onMain { $0.read(dataChannelReceiver) }
      }
      func dataChannelReceiver(_ dataChannelReceiver: DataChannelReceiver, didClose args: PropertyChangedEventArgs) {
        onMain { call in call.receivers.removeAll { $0 === dataChannelReceiver } }
      }
      private func read(_ receiver: DataChannelReceiver) {
        while let message = receiver.receiveMessage() {
          if isOver { continue }
          let id = receiver.senderIdentifier.rawId, text = String(decoding: message.data, as: UTF8.self)
          receive(text, on: receiver.channelId, from: id, name: participants[id]?.name ?? id)
        }
      }
    }

    """#

  private static let stage = #"""
    // Devices and errors of layers read from the stage strategy style, in a call: the same for every app.
    import AVFoundation
    import AzureCommunicationCalling
    import CoreMedia
    import Foundation

    extension AzureCall {
      private struct Answer: Decodable { let token, roomId, id, name: String }
      /// - Parameter token: what the app's server answers, as JSON: `{"token": …, "roomId": …, "id": …, "name": …}`, with the raw id of the
      ///   token's user.
      convenience init?(token: String) {
        guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(token.utf8)) else { return nil }
        self.init(
          room: answer.roomId, credential: answer.token, participantID: answer.id, name: answer.name, isMicrophoneOn: false,
          isCameraOn: false)
      }
      /// The SDK chooses the size of a camera's video.
      /// - Returns: true: the call reports a device that fails or is not allowed.
      func send(
        _ kind: AzureStream.Kind, isOn: Bool, _ device: AzureStage.Device?, _ feed: AzureStage.Feed?,
        _ options: AzureStage.Video
      ) -> Bool {
        if kind == .camera, isOn { side = device?.facing ?? side }
        guard let feed, isOn else {
          setStream(kind: kind, isOn: isOn)
          return true
        }
        setStream(kind: .camera, isOn: false)
        self.feed = feed
        feed.enter(self)
        return true
      }
      /// Why the call is over, in the numbers of a stage. Nil: the user has left.
      var fault: NSError? { reason.flatMap { Self.fault(of: $0, failure) } }
      static func fault(of reason: AzureEnd, _ failure: AzureFailure? = nil) -> NSError? {
        let fault: AzureStage.Fault? =
          switch (reason, failure) {
          case (.left, _), (_, .joinedElsewhere): nil
          case (.removed, _), (_, .rejected), (_, .forbidden): .refused
          case (.closed, _), (_, .closed): .closed
          case (.lost, _): .lost
          default: .answer
          }
        return fault?.error(failure?.rawValue ?? reason.rawValue)
      }
    }

    extension AzureStage {
      /// A camera or a microphone. The call uses the microphone that the system has chosen.
      final class Device {
        let kind: AzureStream.Kind, name: String
        private(set) var facing: CameraFacing
        weak var call: AzureCall?
        private init(_ kind: AzureStream.Kind, _ device: AVCaptureDevice) {
          (self.kind, name) = (kind, device.localizedName)
          facing = device.position == .front ? .front : device.position == .back ? .back : .external
        }
        private static var cameras: [Device] {
          AVCaptureDevice.DiscoverySession(
            deviceTypes: [.builtInWideAngleCamera], mediaType: .video, position: .unspecified
          ).devices.map { Device(.camera, $0) }
        }
        static var all: [Device] {
          let camera = cameras.first { $0.facing == .front } ?? cameras.first
          let microphone = AVCaptureDevice.default(for: .audio).map { Device(.microphone, $0) }
          return [camera, microphone].compactMap { $0 }
        }
        /// The devices that can be used in its place.
        var sources: [Device] { kind == .camera ? Self.cameras : [self] }
        func choose(_ source: Device, completion: ((any Error)?) -> Void = { _ in }) {
          facing = source.facing
          if kind == .camera, let call, call.side != facing { call.switchCamera() }
          completion(nil)
        }
      }

      typealias Feed = AzureFeed
    }

    extension AzureFeed {
      func push(_ buffer: CMSampleBuffer) {
        guard let picture = CMSampleBufferGetImageBuffer(buffer) else { return }
        DispatchQueue.main.async { [weak self] in self?.add(picture) }
      }
    }

    """#
}
