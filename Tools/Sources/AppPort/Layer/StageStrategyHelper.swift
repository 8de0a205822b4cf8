/// What layers in the stage strategy style need beside the SDK: a strategy and a renderer, participants with what they send, and one
/// handler of all that.
enum StageStrategyHelper {
  static let files = [
    LayerHelper(fileName: "StageCall.swift", typeNames: ["StageCall"], source: call),
    LayerHelper(
      fileName: "StageStreams.swift",
      typeNames: [
        "StageReport", "StagePhase", "StageFailure", "StageEnd", "StagePerson", "StageStream", "StageStreamView",
        "StageCapture", "StageMeter",
      ],
      source: streams),
    LayerHelper(fileName: "StageObservers.swift", typeNames: [], source: observers),
  ]

  /// What layers read from the call agent style need in addition to `AgentCallHelper`.
  static let ofAgent = [
    LayerHelper(fileName: "StageToken.swift", typeNames: [], source: token),
    LayerHelper(fileName: "StageAgentMedia.swift", typeNames: [], source: agentMedia),
    LayerHelper(fileName: "StageAgentScreen.swift", typeNames: [], source: agentScreen),
  ]

  private static let call = #"""
    // What layers that `koine port --to stage-strategy` writes need beside the SDK: the same file for every app.
    import AVFoundation
    import AmazonIVSBroadcast

    /// A stage, its participants, and what they send.
    final class StageCall: NSObject, @unchecked Sendable {  // used on the main queue only, where the SDK calls renderers
      enum Side { case front, back }
      let token: String, localParticipant: StagePerson, discovery = IVSDeviceDiscovery(), microphones: IVSMicrophone?
      var handler: ((StageReport, StageCall) -> Void)?, side = Side.front, hasEntered = false, isEntering = true
      var participants: [String: StagePerson] = [:], presenters: [String] = [], meter = StageMeter()
      /// Participants that were there before, until their streams are known.
      var expected: Set<String> = []
      /// What the strategy publishes. Each is the same object for as long as it is published.
      private(set) var microphone: IVSLocalStageStream?, camera: IVSLocalStageStream?, screen: StageCapture?
      var cameras: IVSCamera?, room = "", stage: IVSStage?
      var received: [String: Set<StageStream.Kind>] = [:]  // what the app has chosen, by participants
      private var wanted: Set<StageStream.Kind>, isLeaving = false
      /// Why the call is over, and the error that has ended it.
      private(set) var reason: StageEnd?, failure: StageFailure?
      var isOver: Bool { reason != nil }

      /// - Parameter credential: a participant token. It decides on the stage, the permissions, and the name that others see. The
      ///   id is in the answer to CreateParticipantToken, too.
      init(
        credential: String?, participantID: String = "", name: String = "Guest", isMicrophoneOn: Bool = true,
        isCameraOn: Bool = true
      ) {
        let id = participantID.isEmpty ? UUID().uuidString : participantID, devices = discovery.listLocalDevices()
        (token, localParticipant) = (credential ?? "", StagePerson(id: id, name: name, isLocal: true))
        wanted = Set((isMicrophoneOn ? [StageStream.Kind.microphone] : []) + (isCameraOn ? [.camera] : []))
        cameras = devices.lazy.compactMap { $0 as? IVSCamera }.first
        microphones = devices.lazy.compactMap { $0 as? IVSMicrophone }.first
        super.init()
        cameras?.errorDelegate = self
        microphones?.errorDelegate = self
      }
      func join(side: Side = .front) {
        use(side)
        do {
          let stage = try IVSStage(token: token, strategy: self)
          (stage.errorDelegate, self.stage) = (self, stage)
          stage.addRenderer(self)
          for kind in StageStream.Kind.allCases where wanted.contains(kind) { setStream(kind: kind, isOn: true) }
          try stage.join()
        } catch { end(error) }
      }
      func leave() {
        isLeaving = true
        stage?.leave()
      }
      func end(_ error: (any Error)?) {
        guard !isOver else { return }
        setStream(kind: .screen, isOn: false)
        let code = error.map { ($0 as NSError).code }, reason = StageEnd(code, isLeaving: isLeaving, hasEntered: hasEntered)
        (self.reason, failure, stage) = (reason, StageFailure(code), nil)
        switch reason {
        case .left, .removed, .closed: break
        case .lost: report(.connectionLost)
        case .replaced: report(.failed(.joinedElsewhere))
        case .refused, .failed: report(.failed(StageFailure(code)))
        }
        report(.phaseChanged(.ended))
        if hasEntered { report(.left(reason)) }
      }
      func setStream(kind: StageStream.Kind, isOn: Bool) {
        if isOn { wanted.insert(kind) } else { wanted.remove(kind) }
        guard stage != nil else { return }
        switch (kind, isOn) {
        case (.microphone, false): microphone?.setMuted(true)
        case (_, false): withdraw(kind)
        case (.screen, true): if hasEntered, screen == nil { share() }
        case (_, true): start(kind)
        }
      }
      /// The SDK does not ask for permissions by itself.
      private func start(_ kind: StageStream.Kind) {
        let type = kind == .microphone ? AVMediaType.audio : .video
        switch AVCaptureDevice.authorizationStatus(for: type) {
        case .authorized: publish(kind)
        case .notDetermined:
          AVCaptureDevice.requestAccess(for: type) { [weak self] isGranted in
            DispatchQueue.main.async { [weak self] in isGranted ? self?.publish(kind) : self?.fail(kind, isDenied: true) }
          }
        default: fail(kind, isDenied: true)
        }
      }
      private func publish(_ kind: StageStream.Kind) {
        guard let stage, wanted.contains(kind) else { return }
        let isCamera = kind == .camera, device: (any IVSDevice)? = isCamera ? cameras : microphones
        guard let stream = (isCamera ? camera : microphone) ?? device.map({ IVSLocalStageStream(device: $0) }) else {
          return fail(kind)
        }
        if isCamera { camera = stream } else { microphone = stream }
        stream.setMuted(false)
        stage.refreshStrategy()
      }
      func fail(_ kind: StageStream.Kind, isDenied: Bool = false) {
        if isOver { return }
        wanted.remove(kind)
        withdraw(kind)
        report(.failed(kind == .camera ? isDenied ? .cameraDenied : .camera : isDenied ? .microphoneDenied : .microphone))
      }
      private func withdraw(_ kind: StageStream.Kind) {
        let old = kind == .microphone ? microphone : kind == .camera ? camera : screen?.stream
        if kind == .microphone { microphone = nil } else if kind == .camera { camera = nil } else { screen = nil }
        if let old { remove([old], of: localParticipant) }
        stage?.refreshStrategy()
      }
      /// A stage takes one video of each participant: the screen has the camera's place, and others see it as a camera.
      func share(_ frames: (any IVSCustomImageSource)? = nil) {
        let new = StageCapture(discovery, frames)
        screen = new
        new.start { [weak self, weak new] in
          guard let self, let new, new === screen else { return }
          if !new.isOn { (screen, _) = (nil, report(.failed(.screen))) }
          stage?.refreshStrategy()
        }
      }
    }

    """#

  private static let streams = #"""
    // Participants, what they send, and ends of calls (`koine port --to stage-strategy`): the same file for every app.
    import AmazonIVSBroadcast
    import ReplayKit
    import UIKit

    /// What a stage reports, about one participant at a time.
    enum StageReport: Sendable {
      case phaseChanged(StagePhase), joined, left(StageEnd), connectionLost, failed(StageFailure)
      case personJoined(StagePerson), personLeft(StagePerson)
      case streamAdded(StageStream, StagePerson), streamRemoved(StageStream, StagePerson)
      case speakerChanged(String?), presenterChanged(String?), levelsChanged([String: Float])
      /// From now on it is known what a participant sends.
      case streamsKnown(StagePerson)
    }
    enum StagePhase: Sendable { case connecting, connected, reconnecting, ended }
    enum StageFailure: String, Error {
      case rejected, full, closed, joinedElsewhere, microphone, microphoneDenied, camera, cameraDenied, screen, failed

      /// - Parameter code: an error's, as the vendor's guide lists them.
      init(_ code: Int?) {
        switch code {
        case 1000, 1001, 1026: self = .rejected
        case 1024: self = .full
        case 1027: self = .closed
        default: self = .failed
        }
      }
    }
    enum StageEnd: String, Sendable {
      case left, replaced, removed, closed, lost, refused, failed

      /// A stage has one error for a token that it refuses and for a removal, and none for the same token on another device.
      init(_ code: Int?, isLeaving: Bool, hasEntered: Bool) {
        switch code {
        case nil: self = isLeaving ? .left : .replaced
        case 1300: self = .lost
        case 1026 where hasEntered: self = .removed
        case 1027 where hasEntered: self = .closed
        default: self = hasEntered ? .failed : .refused
        }
      }
    }

    /// A participant with what it sends now.
    final class StagePerson: Equatable, @unchecked Sendable {  // used on the main queue only
      let id, name: String, isLocal: Bool
      var streams: [String: StageStream] = [:]
      /// What the stage has of it, also while it is muted.
      var sources: [StageStream] = []
      init(id: String, name: String, isLocal: Bool) { (self.id, self.name, self.isLocal) = (id, name, isLocal) }
      static func == (one: StagePerson, other: StagePerson) -> Bool { one === other }
    }

    /// A microphone, a camera or a shared screen.
    final class StageStream: Equatable, @unchecked Sendable {  // used on the main queue only
      enum Kind: Sendable, CaseIterable { case microphone, camera, screen }
      let id: String, kind: Kind, source: IVSStageStream
      init(_ kind: Kind, of id: String, _ source: IVSStageStream) {
        (self.id, self.kind, self.source) = ("\(id) \(kind)", kind, source)
      }
      var video: StageStream? { kind == .microphone ? nil : self }
      @MainActor func attach(view: StageStreamView) { view.device = source.device as? any IVSImageDevice }
      @MainActor func detach(view: StageStreamView) { if view.device === source.device { view.device = nil } }
      static func == (one: StageStream, other: StageStream) -> Bool { one === other }
    }

    /// A view that shows one stream after the other. The SDK makes a view for each device.
    final class StageStreamView: UIView {
      var device: (any IVSImageDevice)? { didSet { if device !== oldValue { show() } } }
      override var contentMode: UIView.ContentMode { didSet { if contentMode != oldValue { show() } } }
      private func show() {
        subviews.forEach { $0.removeFromSuperview() }
        let mode: IVSBroadcastConfiguration.AspectMode = contentMode == .scaleAspectFit ? .fit : .fill
        guard let view = try? device?.previewView(with: mode) else { return }
        view.frame = bounds
        view.autoresizingMask = [.flexibleWidth, .flexibleHeight]
        addSubview(view)
      }
    }

    /// The screen, captured for as long as the object is there. The SDK has no capture of its own.
    final class StageCapture: @unchecked Sendable {  // used on the main queue only
      let stream: IVSLocalStageStream
      private(set) var isOn = false
      private let source: any IVSCustomImageSource, recorder: RPScreenRecorder?
      /// - Parameter frames: of the app's own; nil: of the screen.
      init(_ discovery: IVSDeviceDiscovery, _ frames: (any IVSCustomImageSource)?) {
        source = frames ?? discovery.createImageSource(withName: "screen")
        (recorder, stream) = (frames == nil ? .shared() : nil, IVSLocalStageStream(device: source))
      }
      deinit { recorder?.stopCapture { _ in } }
      /// - Parameter completion: called on the main queue; `isOn` says whether the capture has begun.
      func start(_ completion: @escaping @Sendable () -> Void) {
        isOn = recorder == nil
        if isOn { completion() }
        recorder?.startCapture { [source] sample, type, _ in
          if type == .video { source.onSampleBuffer(sample) }
        } completionHandler: { [weak self] error in
          DispatchQueue.main.async { [weak self] in
            self?.isOn = error == nil
            completion()
          }
        }
      }
    }

    /// Finds the active speaker: a stage measures, and names no speaker.
    struct StageMeter {
      private(set) var speaker: String?
      private var levels: [String: Float] = [:]
      /// - Parameter rms: in dBFS; nil: the participant sends no sound.
      mutating func measure(_ id: String, _ rms: Float?) {
        levels[id] = rms.flatMap { $0 > -45 ? $0 : nil }  // breath and fans are below
        let loudest = levels.max { $0.value < $1.value }
        // Another participant needs a lead of 3 dB, so that the mark does not flicker.
        if let speaker, let level = levels[speaker], let loudest, loudest.value <= level + 3 { return }
        speaker = loudest?.key
      }
    }

    """#

  private static let token = #"""
    // Tokens of layers for a stage (`koine port --to stage-strategy`): the same file for every app.
    import Foundation

    extension StageCall {
      private struct Answer: Decodable { let token, stage, participantId, name: String }
      private static func answer(_ token: String) -> Answer? {
        try? JSONDecoder().decode(Answer.self, from: Data(token.utf8))
      }
      static func reads(_ token: String) -> Bool { answer(token) != nil }
      /// - Parameter token: what the app's server answers, as JSON: `{"token": …, "stage": …, "participantId": …, "name": …}`. A
      ///   participant token is opaque, so that the app does not read the rest from it.
      convenience init?(token: String, isMicrophoneOn: Bool = false) {
        guard let answer = Self.answer(token) else { return nil }
        self.init(
          credential: answer.token, participantID: answer.participantId, name: answer.name,
          isMicrophoneOn: isMicrophoneOn, isCameraOn: false)
        room = answer.stage
      }
      /// Whether it is the stage with this id of the app's server.
      func isIn(_ room: String) -> Bool { self.room == room }
    }

    """#

  private static let agentMedia = #"""
    // Cameras and ends of layers read from the call agent style, on a stage: the same for every app.
    import AVFoundation
    import AmazonIVSBroadcast
    import CoreMedia
    import CoreVideo
    import Foundation

    extension StageCall {
      /// Why the call is over, in the numbers of a call agent.
      var numbersOfEnd: (Int32, Int32) {
        switch (reason, failure) {
        case (nil, _), (.left, _), (.closed, _): (0, 0)
        case (.removed, _): (0, 5300)
        case (.replaced, _): (0, 5000)
        case (.lost, _): (490, 0)
        case (_, .rejected): (401, 0)
        case (_, .full): (403, 0)
        case (_, .closed): (404, 0)
        default: (500, 0)
        }
      }
    }

    extension StageFailure {
      /// The error of a camera or of a share, if it is about that.
      func ofVideo(isCamera: Bool) -> StageAgent.Failure? {
        switch self {
        case .camera: isCamera ? .camera : nil
        case .cameraDenied: isCamera ? .cameraDenied : nil
        case .screen: isCamera ? nil : .notSent
        default: nil
        }
      }
    }

    extension StageAgent.Device {
      /// Nil: at neither side.
      var type: StageCall.Side? { position == .front ? .front : position == .back ? .back : nil }
    }

    extension StageAgent {
      /// A camera, or pictures of the app's, for views and for the stage.
      final class Source: NSObject, IVSErrorDelegate, @unchecked Sendable {  // used on the main queue only
        private let discovery = IVSDeviceDiscovery()
        private var device: Device?, camera: IVSCamera?, frames: (any IVSCustomImageSource)?, screens: [Screen] = []
        private weak var call: StageCall?

        init(camera device: Device?) {
          super.init()
          if device == nil { frames = discovery.createImageSource(withName: "screen") }
          if device != nil { camera = discovery.listLocalDevices().lazy.compactMap { $0 as? IVSCamera }.first }
          device.map(choose)
        }
        func choose(_ device: Device) {
          self.device = device
          let source = camera?.listAvailableInputSources().first { $0.friendlyName == device.name }
          if let source { camera?.setPreferredInputSource(source) }
        }
        func push(_ picture: CVPixelBuffer) {
          var (description, sample): (CMVideoFormatDescription?, CMSampleBuffer?)
          CMVideoFormatDescriptionCreateForImageBuffer(
            allocator: nil, imageBuffer: picture, formatDescriptionOut: &description)
          let now = CMTime(value: Int64(DispatchTime.now().uptimeNanoseconds), timescale: 1_000_000_000)
          var timing = CMSampleTimingInfo(duration: .invalid, presentationTimeStamp: now, decodeTimeStamp: .invalid)
          guard let description else { return }
          CMSampleBufferCreateReadyWithImageBuffer(
            allocator: nil, imageBuffer: picture, formatDescription: description, sampleTiming: &timing,
            sampleBufferOut: &sample)
          if let sample { frames?.onSampleBuffer(sample) }
        }
        /// - Returns: whether there is a camera, or there are pictures.
        func attach(_ screen: Screen) -> Bool {
          screens.append(screen)
          if call == nil { camera?.errorDelegate = self }
          screen.show(camera ?? frames)
          return camera != nil || frames != nil
        }
        func detach(_ screen: Screen) {
          screens.removeAll { $0 === screen }
          screen.show(nil)
        }
        /// - Parameter failed: not called: the call reports what fails.
        func start(in call: StageCall, failed: @escaping (Failure) -> Void) {
          self.call = call
          if let frames { return call.share(frames) }
          if let camera { (call.cameras, camera.errorDelegate) = (camera, call) }
          device.map(choose)
          call.setStream(kind: .camera, isOn: true)
        }
        func stop() {
          call?.setStream(kind: frames == nil ? .camera : .screen, isOn: false)
          call = nil
        }
        func source(_ source: any IVSErrorSource, didEmitError error: any Error) {
          onMain { [weak self] in for screen in self?.screens ?? [] { screen.didFail?() } }
        }
      }
    }

    """#

  private static let agentScreen = #"""
    // Views of layers read from the call agent style, on a stage: the same for every app.
    import AmazonIVSBroadcast
    import UIKit

    extension StageStream {
      func attach(view: StageAgent.Screen) { view.show(source.device as? any IVSImageDevice) }
      func detach(view: StageAgent.Screen) { if view.device === source.device { view.show(nil) } }
    }

    extension StageAgent {
      /// A view, and the size of what it shows.
      final class Screen: @unchecked Sendable {  // used on the main queue only
        let view: StageStreamView
        var sizeHandler: ((Int32, Int32) -> Void)?, didFail: (() -> Void)?
        private(set) var device: (any IVSImageDevice)?
        init(_ mode: UIView.ContentMode) {
          view = MainActor.assumeIsolated { StageStreamView(frame: .zero) }
          MainActor.assumeIsolated { view.contentMode = mode }
        }
        func show(_ device: (any IVSImageDevice)?) {
          self.device?.setOnFrameCallback(nil)
          self.device = device
          MainActor.assumeIsolated { view.device = device }
          device?.setOnFrameCallback { [weak self] frame in
            self?.sizeHandler?(Int32(frame.size.width), Int32(frame.size.height))
          }
        }
        func clear() { show(nil) }
      }
    }

    """#

  private static let observers = #"""
    // The SDK's questions and callbacks (`koine port --to stage-strategy`): the same file for every app.
    import AmazonIVSBroadcast
    import Foundation

    extension StageCall: IVSStageStrategy {
      func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { true }
      func stage(
        _ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo
      ) -> [IVSLocalStageStream] {
        [screen?.isOn == true ? screen?.stream : camera, microphone].compactMap { $0 }
      }
      func stage(
        _ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo
      ) -> IVSStageSubscribeType { received[participant.participantId] == [.microphone] ? .audioOnly : .audioVideo }
      func report(_ event: StageReport) { handler?(event, self) }
    }

    extension StageCall: IVSStageRenderer {
      func stage(_ stage: IVSStage, didChange connectionState: IVSStageConnectionState, withError error: (any Error)?) {
        switch connectionState {
        case .connecting: report(.phaseChanged(hasEntered ? .reconnecting : .connecting))
        case .connected:
          report(.phaseChanged(.connected))
          if !hasEntered { (hasEntered, _) = (true, report(.joined)) }
        case .disconnected: end(error)
        @unknown default: break
        }
      }
      func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {
        let id = participant.participantId
        guard !participant.isLocal, participants[id] == nil else { return }
        let names = [participant.attributes["username"], participant.attributes["name"], participant.userId, id]
        let name = names.lazy.compactMap { $0 }.first { !$0.isEmpty } ?? id
        let person = StagePerson(id: id, name: name, isLocal: false)
        participants[id] = person
        if isEntering, participant.capabilities.contains(.subscribe) { expected.insert(id) } else { arrive(person) }
      }
      private func arrive(_ person: StagePerson) {
        report(.personJoined(person))
        report(.streamsKnown(person))
      }
      func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) {
        guard !participant.isLocal, let person = participants[participant.participantId] else { return }
        remove(person.sources.map(\.source), of: person)
        participants[person.id] = nil
        if expected.remove(person.id) == nil { report(.personLeft(person)) }
      }
      func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didAdd streams: [IVSStageStream]) {
        guard let person = person(participant) else { return }
        isEntering = false
        if expected.remove(person.id) != nil { arrive(person) }
        for stream in streams {
          let isAudio = stream.device is any IVSAudioDevice
          // A share of another participant is a video beside the one that came first.
          let isScreen = person.isLocal ? stream === screen?.stream : person.sources.contains { $0.kind == .camera }
          if isAudio, person.sources.contains(where: { $0.kind == .microphone }) { continue }
          let new = StageStream(isAudio ? .microphone : isScreen ? .screen : .camera, of: person.id, stream)
          person.sources.append(new)
          set(new, of: person, isSent: !stream.isMuted)
        }
      }
      func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didRemove streams: [IVSStageStream]) {
        if let person = person(participant) { remove(streams, of: person) }
      }
      func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChangeMutedStreams streams: [IVSStageStream]) {
        guard let person = person(participant) else { return }
        for one in person.sources where streams.contains(where: { $0 === one.source }) {
          set(one, of: person, isSent: !one.source.isMuted)
        }
      }

      private func person(_ info: IVSParticipantInfo) -> StagePerson? {
        info.isLocal ? localParticipant : participants[info.participantId]
      }
      func remove(_ streams: [IVSStageStream], of person: StagePerson) {
        for one in person.sources where streams.contains(where: { $0 === one.source }) {
          person.sources.removeAll { $0 === one }
          set(one, of: person, isSent: false)
        }
      }
      private func set(_ stream: StageStream, of person: StagePerson, isSent: Bool) {
        let key = "\(stream.kind)", before = presenters.last
        guard isSent == (person.streams[key] == nil) else { return }
        person.streams[key] = isSent ? stream : nil
        if stream.kind == .screen { presenters = presenters.filter { $0 != person.id } + (isSent ? [person.id] : []) }
        if presenters.last != before { report(.presenterChanged(presenters.last)) }
        if let device = stream.source.device as? any IVSAudioDevice { measure(isSent ? device : nil, device, person.id) }
        report(isSent ? .streamAdded(stream, person) : .streamRemoved(stream, person))
      }
      /// - Parameter sent: nil: the participant sends no sound.
      private func measure(_ sent: (any IVSAudioDevice)?, _ device: any IVSAudioDevice, _ id: String) {
        device.setStatsCallback(sent == nil ? nil : { [weak self] in self?.measure(id, $0.rms) })
        if sent == nil { measure(id, nil) }
      }
      private func measure(_ id: String, _ rms: Float?) {
        let before = meter.speaker
        if let rms, !isOver { report(.levelsChanged([id: rms])) }
        meter.measure(id, rms)
        if meter.speaker != before, !isOver { report(.speakerChanged(meter.speaker)) }
      }
    }

    extension StageCall: IVSErrorDelegate {
      func switchCamera() { use(side == .front ? .back : .front) }
      func use(_ side: Side) {
        self.side = side
        let position = side == .front ? IVSDevicePosition.front : .back
        let source = cameras?.listAvailableInputSources().first { $0.position == position }
        if let source { cameras?.setPreferredInputSource(source) }
      }
      /// On any thread. The SDK tries again itself after 1020 to 1022, which it also reports of a device that fails.
      func source(_ source: any IVSErrorSource, didEmitError error: any Error) {
        let kind: StageStream.Kind? = source is IVSCamera ? .camera : source is IVSMicrophone ? .microphone : nil
        let code = (error as NSError).code
        DispatchQueue.main.async { [weak self] in
          guard let self, !isOver else { return }
          if let kind { fail(kind) } else if !(1020...1022).contains(code) { report(.failed(StageFailure(code))) }
        }
      }
    }

    """#
}
