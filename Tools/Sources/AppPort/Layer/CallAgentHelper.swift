/// What layers over the common layer need that are read from the call agent style, beside `KoineHelper`.
enum CallAgentHelper {
  static let files = [
    LayerHelper(
      fileName: "RoomAgent.swift",
      typeNames: ["RoomAgent", "IncomingRing"], source: roomAgent),
    LayerHelper(fileName: "AgentCall.swift", typeNames: ["AgentCall"], source: agentCall),
    LayerHelper(
      fileName: "CallSetup.swift", typeNames: ["RoomCredential", "AgentCallState", "CallSetup"], source: callSetup),
    LayerHelper(
      fileName: "RoomVideo.swift",
      typeNames: ["RoomFrame", "RoomVideo"], source: roomVideo),
    LayerHelper(
      fileName: "RoomRenderer.swift", typeNames: ["RoomRenderer", "FrameSizes"], source: roomRenderer),
    LayerHelper(
      fileName: "RoomChannel.swift",
      typeNames: ["RoomChannel", "RoomInbox"], source: roomChannel),
    LayerHelper(fileName: "AgentAwait.swift", typeNames: [], source: agentAwait),
  ]

  private static let agentAwait = #"""
    // What layers that `koine port` writes of the call agent style need to wait with `await`: the same file for every app.
    import Foundation
    import Koine

    /// What a completion handler gets.
    private func value<Value: Sendable>(
      isolation: isolated (any Actor)? = #isolation, _ begin: (@escaping (Value?, (any Error)?) -> Void) -> Void
    ) async throws -> Value {
      try await withCheckedThrowingContinuation(isolation: isolation) { continuation in
        begin { value, error in
          continuation.resume(with: value.map { .success($0) } ?? .failure(error ?? Failure(.ended, "the call is over")))
        }
      }
    }
    private func done(isolation: isolated (any Actor)? = #isolation, _ begin: (@escaping RoomDone) -> Void) async throws {
      let _: Bool = try await value { completion in begin { completion($0 == nil ? true : nil, $0) } }
    }

    extension RoomAgent {
      func register(
        credential: RoomCredential, setup: CallSetup?, isolation: isolated (any Actor)? = #isolation
      ) async throws -> RoomAgent {
        try await value { register(credential: credential, setup: setup, completion: $0) }
      }
      func machine(isolation: isolated (any Actor)? = #isolation) async throws -> Machine {
        try await value { machine(completion: $0) }
      }
      func start(
        room: String? = nil, callees: [String] = [], setup: CallSetup?, isolation: isolated (any Actor)? = #isolation
      ) async throws -> AgentCall {
        try await value { start(room: room, callees: callees, setup: setup, completion: $0) }
      }
    }

    extension IncomingRing {
      func accept(setup: CallSetup?, isolation: isolated (any Actor)? = #isolation) async throws -> AgentCall {
        try await value { accept(setup: setup, completion: $0) }
      }
      func decline(isolation: isolated (any Actor)? = #isolation) async throws {
        try await done { decline(completion: $0) }
      }
    }

    extension AgentCall {
      func hangUp(isolation: isolated (any Actor)? = #isolation) async throws {
        try await done { hangUp(completion: $0) }
      }
      func hangUp(setup: CallSetup?, isolation: isolated (any Actor)? = #isolation) async throws {
        try await done { hangUp(setup: setup, completion: $0) }
      }
      func setMuted(_ isMuted: Bool, isolation: isolated (any Actor)? = #isolation) async throws {
        try await done { setMuted(isMuted, completion: $0) }
      }
      func start(_ video: RoomVideo, isolation: isolated (any Actor)? = #isolation) async throws {
        try await done { start(video, completion: $0) }
      }
      func stop(_ video: RoomVideo, isolation: isolated (any Actor)? = #isolation) async throws {
        try await done { stop(video, completion: $0) }
      }
    }

    extension RoomVideo {
      func choose(camera: Machine.Device, isolation: isolated (any Actor)? = #isolation) async throws {
        try await done { choose(camera: camera, completion: $0) }
      }
      func send(_ frame: RoomFrame, isolation: isolated (any Actor)? = #isolation) async throws {
        try await done { send(frame, completion: $0) }
      }
    }

    """#

  private static let roomAgent = #"""
    // What layers that `koine port` writes of the call agent style need for users: the same file for every app.
    import Foundation
    import Koine
    import KoineBackends
    import KoineTokens

    typealias RoomDone = ((any Error)?) -> Void

    extension World {
      func tell(_ completion: @escaping RoomDone, _ error: (any Error)? = nil) {
        nonisolated(unsafe) let done = completion
        delivery.deliver { done(error) }
      }
    }

    /// A user who signs in, is rung and makes calls. All of this file is used on the main queue only, where events arrive.
    final class RoomAgent: @unchecked Sendable {
      private(set) var endpoint: Endpoint!
      var handler: ((IncomingRing, RoomAgent) -> Void)?
      var callsHandler: (((added: [AgentCall], removed: [AgentCall]), RoomAgent) -> Void)?
      private var token = "", ringing: [Ring.ID: IncomingRing] = [:]

      func register(
        credential: RoomCredential, setup: CallSetup?, completion: @escaping (RoomAgent?, (any Error)?) -> Void
      ) {
        nonisolated(unsafe) let done = completion
        credential.read { [self] result in
          do {
            let (token, identity) = try result.get(), world = try World.holding(identity: identity) ?? Backends.world()
            self.token = token
            endpoint = Endpoint(identity: identity, name: setup?.name ?? "", credential: token, in: world)
            endpoint.observe { [weak self] in self?.receive($0) }
            endpoint.register { outcome in do { done(try outcome.map { self }.get(), nil) } catch { done(nil, error) } }
          } catch { done(nil, error) }
        }
      }
      func machine(completion: @escaping (Machine?, (any Error)?) -> Void) {
        nonisolated(unsafe) let done = completion
        do {
          let world = try Backends.world()
          world.delivery.deliver { done(world.machine, nil) }
        } catch { done(nil, error) }
      }

      private func receive(_ event: EndpointEvent) {
        if case .invited(let ring) = event {
          let incoming = IncomingRing(ring, self)
          ringing[ring.id] = incoming
          handler?(incoming, self)
        } else if case .answered(let ring, _, let answer) = event, answer.isOver {
          let incoming = ringing.removeValue(forKey: ring.id)
          if let incoming, answer != .accepted { incoming.handler?(answer, incoming) }
        }
      }

      /// Gives the app a call, and then begins it: the app's handler misses no event.
      func start(
        room: String? = nil, callees: [String] = [], answering ring: Ring? = nil, setup: CallSetup?,
        completion: @escaping (AgentCall?, (any Error)?) -> Void
      ) {
        nonisolated(unsafe) let (done, setup) = (completion, setup ?? CallSetup())
        let machine = endpoint.world.machine
        endpoint.world.delivery.deliver { [self] in
          let isBlind = setup.videos.contains { $0.isCamera } && machine.permission(.camera) == .denied
          guard !isBlind, machine.permission(.microphone) != .denied else {
            return done(nil, Failure(isBlind ? .cameraDenied : .microphoneDenied, "the user has denied it"))
          }
          if let ring { endpoint.reply(.accept, to: ring.id) }
          let room = room ?? ring?.room ?? "call-" + UUID().uuidString.lowercased()
          let call = AgentCall(room, endpoint, token, isMuted: setup.isMuted)
          done(call, nil)
          callsHandler?((added: [call], removed: []), self)
          call.didEnd = { [self] call in callsHandler?((added: [], removed: [call]), self) }
          call.begin(callees, isOneToOne: callees.count == 1 || ring?.callees.count == 1, setup.videos)
        }
      }
    }

    /// A call that rings here.
    @dynamicMemberLookup final class IncomingRing {
      private let ring: Ring
      private weak var agent: RoomAgent?
      var handler: ((Ring.State, IncomingRing) -> Void)?
      init(_ ring: Ring, _ agent: RoomAgent) { (self.ring, self.agent) = (ring, agent) }
      subscript<Value>(dynamicMember path: KeyPath<Ring, Value>) -> Value { ring[keyPath: path] }
      func accept(setup: CallSetup?, completion: @escaping (AgentCall?, (any Error)?) -> Void) {
        agent?.start(answering: ring, setup: setup, completion: completion)
      }
      func decline(completion: @escaping RoomDone) {
        agent?.endpoint.reply(.decline, to: ring.id)
        completion(nil)
      }
    }

    """#

  private static let callSetup = #"""
    // What layers that `koine port` writes of the call agent style need for options: the same file for every app.
    import Foundation
    import Koine
    import KoineBackends
    import KoineTokens

    /// A user's token, or the app's way to one. A token names the identity that it was issued to.
    struct RoomCredential {
      typealias Refresher = (@escaping (String?, (any Error)?) -> Void) -> Void
      private let token: String?, refresher: Refresher?
      init(token: String) throws { (self.token, refresher) = (try Self.checked(token).token, nil) }
      init(initialToken: String? = nil, refresher: @escaping Refresher) {
        (token, self.refresher) = (initialToken, refresher)
      }
      init(of other: RoomCredential) throws { self = other }
      private static func checked(_ token: String) throws -> (token: String, identity: String) {
        (token, try AzureUserToken.reading(token).identity ?? UUID().uuidString)
      }
      /// Hands over a token; one that the app fetches comes on the main queue.
      func read(_ completion: @escaping (Result<(token: String, identity: String), any Error>) -> Void) {
        if let token { return completion(Result { try Self.checked(token) }) }
        let delivery: Delivery
        do { delivery = try Backends.world().delivery } catch { return completion(.failure(error)) }
        nonisolated(unsafe) var waiting = Optional(completion)
        refresher? { token, error in
          let result = Result {
            if let error { throw error }
            return try Self.checked(token ?? "")
          }
          delivery.deliver { waiting.take()?(result) }
        }
      }
    }

    enum AgentCallState { case none, connecting, ringing, inLobby, connected, leaving, ended }

    /// What a user, a call or a channel begins with, and how a call ends.
    final class CallSetup {
      var name = "", channel: Int32 = 0, endsForAll = false
      /// The options of the microphone and those of the sent videos, where the app makes them apart.
      var audio: CallSetup?, sent: CallSetup?
      private var ownMute = false, ownVideos: [RoomVideo] = []
      var isMuted: Bool {
        get { audio?.isMuted ?? ownMute }
        set { if let audio { audio.isMuted = newValue } else { ownMute = newValue } }
      }
      var videos: [RoomVideo] {
        get { sent?.videos ?? ownVideos }
        set { if let sent { sent.videos = newValue } else { ownVideos = newValue } }
      }
      var video: [RoomVideo]? {
        get { videos }
        set { videos = newValue ?? [] }
      }
    }

    extension AgentCall {
      func hangUp(setup: CallSetup?, completion: @escaping RoomDone) {
        if setup?.endsForAll == true { session?.closeRoom() }
        hangUp(completion: completion)
      }
    }

    """#

  private static let agentCall = #"""
    // What layers that `koine port` writes of the call agent style need for a call: the same file for every app.
    import Foundation
    import Koine

    /// A call as the style has it: with a state of its own, and with ends in numbers.
    final class AgentCall: RoomCall, @unchecked Sendable {
      private(set) var state = AgentCallState.none, isMuted: Bool, end: (code: Int32, subcode: Int32) = (0, 0)
      /// Whether the latest event has changed the state, or the microphone.
      private(set) var hasNewState = false, hasNewMute = false
      /// Participants that have been the dominant speaker, the latest first.
      private(set) var speakers: [String] = []
      var agentHandler: ((SessionEvent, AgentCall) -> Void)?, inboxHandler: ((RoomInbox, AgentCall) -> Void)?
      var didEnd: ((AgentCall) -> Void)?
      let id = UUID().uuidString.lowercased()
      private let endpoint: Endpoint
      private var ring: Ring?, isOneToOne = false
      private var videos: [RoomVideo] = [], numbers: [Track.ID] = [], inboxes: [String: RoomInbox] = [:]

      init(_ room: String, _ endpoint: Endpoint, _ token: String, isMuted: Bool) {
        (self.endpoint, self.isMuted) = (endpoint, isMuted)
        super.init(
          room: room, credential: token, participantID: endpoint.identity, name: endpoint.name, isMicrophoneOn: !isMuted,
          isCameraOn: false, in: endpoint.world)
      }
      func begin(_ callees: [String], isOneToOne: Bool, _ videos: [RoomVideo]) {
        self.isOneToOne = isOneToOne
        join()
        for video in videos { start(video) { _ in } }
        guard !callees.isEmpty else { return }
        endpoint.observe { [weak self] event in
          if case .answered(let ring, _, let answer) = event { self?.answered(ring, answer) }
        }
        ring = endpoint.invite(callees, to: session?.request.room, hasVideo: !videos.isEmpty)
      }
      private func answered(_ ring: Ring, _ answer: Ring.State) {
        guard ring.id == self.ring?.id, [.none, .connecting, .ringing].contains(state) else { return }
        if answer == .ringing { change(to: .ringing) }
        let codes = ring.callees.compactMap { ring.answers[$0].flatMap { Self.codes[$0] } }
        guard codes.count == ring.callees.count, let code = Self.codes[answer] else { return }
        end.code = code
        session?.leave {}
      }
      private static let codes: [Ring.State: Int32] = [
        .declined: 603, .handledElsewhere: 603, .busy: 486, .unanswered: 408, .unreachable: 480, .cancelled: 487,
      ]
      private func change(to new: AgentCallState, by event: SessionEvent? = nil) {
        (hasNewState, state) = (new != state, new)
        let event = event ?? .stateChanged(session?.state ?? .idle)
        super.receive(event)
        agentHandler?(event, self)
        if hasNewState, new == .ended { didEnd?(self) }
      }

      override func receive(_ event: SessionEvent) {
        var new = state
        hasNewMute = false
        switch event {
        case .waitingForAdmission: new = .inLobby
        case .stateChanged(.connecting): new = .connecting
        case .stateChanged(.connected) where ring == nil && state != .leaving: new = .connected
        case .participantJoined where state != .leaving: new = .connected
        case .participantLeft where isOneToOne && others.isEmpty: (_, new) = (hangUp { _ in }, state)
        case .stateChanged(.ended(let reason)):
          if end.code == 0 { end = Self.numbers(of: reason) }
          for video in videos { video.stop() }
          for one in session?.participants ?? [] { change(to: state, by: .participantLeft(one, .left)) }
          new = .ended
        case .streamAdded(let track, let owner) where owner.isLocal, .streamMuted(let track, let owner) where owner.isLocal:
          if track.kind == .microphone { (hasNewMute, isMuted) = (track.isMuted != isMuted, track.isMuted) }
          videos.first { $0.isOf(track) }?.started()
        case .publishFailed(let track, let failure): videos.first { $0.isOf(track) }?.stop(failure)
        case .dominantSpeakerChanged(let speaker?): speakers = [speaker] + speakers.filter { $0 != speaker }.prefix(4)
        case .messageReceived(let message): received(message)
        default: break
        }
        change(to: new, by: event)
      }
      private func received(_ message: ReceivedMessage) {
        guard let channel = RoomChannel.number(of: message) else { return }
        let inbox = inboxes[message.sender + message.topic] ?? RoomInbox(channel: channel, sender: message.sender)
        if inboxes.updateValue(inbox, forKey: message.sender + message.topic) == nil { inboxHandler?(inbox, self) }
        inbox.receive(message)
      }
      /// A small number for a stream, the same for all of the call.
      func number(of track: Track.ID) -> Int32 {
        if !numbers.contains(track) { numbers.append(track) }
        return Int32(numbers.firstIndex(of: track)!) + 1
      }
      private static let refusals: [Failure.Code: Int32] = [
        .unauthorized: 401, .forbidden: 403, .roomFull: 403, .invalidRoom: 404, .ended: 404,
      ]
      private static func numbers(of reason: EndReason) -> (Int32, Int32) {
        switch reason {
        case .left, .roomClosed, .roomClosedByService: (0, 0)
        case .removed: (0, 5300)
        case .duplicate, .removedByService: (0, 5000)
        case .lost: (490, 0)
        case .expired: (401, 0)
        case .refused(let failure): failure.code == .denied ? (0, 5854) : (refusals[failure.code] ?? 500, 0)
        }
      }
      func start(_ video: RoomVideo, completion: @escaping RoomDone) {
        guard let session, !videos.contains(where: { $0 === video && !$0.isOver }) else {
          return endpoint.world.tell(completion)
        }
        videos = videos.filter { $0 !== video && !$0.isOver } + [video]
        video.start(in: session, completion)
      }
      func stop(_ video: RoomVideo, completion: @escaping RoomDone) {
        video.stop()
        endpoint.world.tell(completion)
      }
      func hangUp(completion: @escaping RoomDone) {
        guard state != .ended, state != .leaving else { return endpoint.world.tell(completion) }
        if let ring, state != .connected { (end.code, _) = (487, endpoint.cancel(ring.id)) }
        change(to: .leaving)
        nonisolated(unsafe) let done = completion
        session?.leave { [self] in endpoint.world.tell(done) }
      }
    }

    """#

  private static let roomVideo = #"""
    // What layers that `koine port` writes need for videos: the same file for every app.
    import CoreVideo
    import Foundation
    import Koine
    import KoineBackends

    /// A frame of the app's.
    final class RoomFrame { var buffer: CVPixelBuffer? }

    /// A camera, or frames of the app's as a shared screen. Used on the main queue only, as is all of this file.
    final class RoomVideo: @unchecked Sendable {
      let isCamera: Bool
      private(set) var device: Machine.Device
      private(set) var isSent = false
      var isOver: Bool { published?.isOver ?? true }
      var handler: ((RoomVideo) -> Void)?
      let format: VideoFormat
      private let world: World?, shared: SharedCamera?, feed: VideoFeed
      private var published: LocalStream?, completion: RoomDone?

      init(camera: Machine.Device) {
        (isCamera, device, world) = (true, camera, try? Backends.world())
        (format, feed) = (VideoFormat(), VideoFeed())
        shared = world.flatMap { world in (try? world.machine.makeCamera(camera.id)).map { SharedCamera($0, in: world) } }
      }
      init(formats: [VideoFormat]) {
        format = formats.first ?? VideoFormat()
        (isCamera, world, shared, feed) = (false, try? Backends.world(), nil, VideoFeed(format: format))
        device = Machine.Device(id: "frames", kind: .camera, name: "Frames", attachment: .virtual, source: "")
      }
      /// Goes on with another camera, wherever the video is shown and sent.
      func choose(camera: Machine.Device, completion: @escaping RoomDone) {
        do {
          guard let world, let shared else { throw Failure(.camera, "there is no such camera") }
          shared.replace(try world.machine.makeCamera(camera.id))
          if let failure = shared.failure { throw Failure(.camera, "\(failure)") }
          device = camera
          world.tell(completion)
        } catch { world?.tell(completion, error) }
      }
      func send(_ frame: RoomFrame, completion: @escaping RoomDone) {
        let picture = world.flatMap { frame.buffer?.videoFrame(captured: $0.backend.scheduler.now) }
        if isSent, let picture { feed.push(picture) }
        world?.tell(completion, isSent && picture != nil ? nil : Failure(.wrongState, "the video is not sent"))
      }
      func start(in session: Session, _ completion: @escaping RoomDone) {
        do {
          if isCamera, shared == nil { throw Failure(.camera, "there is no such camera") }
          if let failure = shared?.failure, session.state != .connected { throw failure }
          let lower = isCamera ? [VideoLayer.small] : []
          published = try session.publish(
            camera: shared?.makeSource() ?? feed, as: isCamera ? .camera : .screen, options: .init(lowerLayers: lower))
          self.completion = completion
        } catch { world?.tell(completion, error) }
      }
      func isOf(_ track: Track) -> Bool { published?.id == track.id }
      func started() { change(true, nil) }
      func stop(_ error: (any Error)? = nil) {
        published?.unpublish()
        change(false, error)
      }
      private func change(_ isSent: Bool, _ error: (any Error)?) {
        completion?(error)
        completion = nil
        guard isSent != self.isSent else { return }
        self.isSent = isSent
        handler?(self)
      }
      func attach(_ view: any VideoSink) -> Bool {
        shared?.addSink(view)
        return shared?.failure == nil && shared != nil
      }
      func detach(_ view: any VideoSink) { shared?.removeSink(view) }
    }

    """#

  private static let roomRenderer = #"""
    // What layers that `koine port` writes need for views of videos: the same file for every app.
    import Foundation
    import Koine
    import UIKit

    /// Shows one video in one view.
    final class RoomRenderer: @unchecked Sendable {
      var handler: ((RoomRenderer) -> Void)?, frameHandler: ((RoomRenderer) -> Void)?
      /// Of the newest frame, in pixels; nought before the first.
      private(set) var size: (width: Int32, height: Int32) = (0, 0)
      private let attach: (any VideoSink) -> Bool, detach: (any VideoSink) -> Void
      private var view: VideoView?
      private lazy var sizes = FrameSizes { [weak self] in self?.received($0) }

      init(video: RoomVideo) throws { (attach, detach) = (video.attach, video.detach) }
      init(track: RoomTrack) throws {
        attach = { view in
          track.attach(view: view)
          return track.isSent
        }
        detach = { track.detach(view: $0) }
      }
      func makeView(_ mode: UIView.ContentMode = .scaleAspectFill) throws -> VideoView {
        let view = UIView.makeOnAnyThread { () -> VideoView in
          let view = VideoView(frame: .zero)
          view.contentMode = mode
          return view
        }
        self.view = view
        if !attach(view) { DispatchQueue.main.async { [self] in handler?(self) } }
        _ = attach(sizes)
        return view
      }
      private func received(_ new: (width: Int32, height: Int32)) {
        let isFirst = size == (0, 0)
        size = new
        if isFirst, view != nil { frameHandler?(self) }
      }
      func dispose() {
        if let view { [view, sizes].forEach(detach) }
        view?.clear()
        view = nil
      }
    }

    /// Reports the size of frames on the main queue when it changes.
    private final class FrameSizes: VideoSink, @unchecked Sendable {  // `last` is guarded by `lock`
      private let lock = NSLock(), handler: ((width: Int32, height: Int32)) -> Void
      private var last: (width: Int32, height: Int32) = (0, 0)
      init(_ handler: @escaping ((width: Int32, height: Int32)) -> Void) { self.handler = handler }
      func render(_ frame: VideoFrame) {
        let size = (width: Int32(clamping: frame.width), height: Int32(clamping: frame.height))
        let isNew = lock.withLock {
          defer { last = size }
          return size != last
        }
        if isNew { DispatchQueue.main.async { [self] in handler(size) } }
      }
    }

    """#

  private static let roomChannel = #"""
    // What layers that `koine port` writes of the call agent style need for messages: the same file for every app.
    import Foundation
    import Koine

    extension AgentCall {
      /// Empty once the call has ended.
      var others: [RoomParticipant] {
        guard let session, !session.state.isEnded else { return [] }
        return session.participants.map { RoomParticipant(call: self, last: $0) }
      }
      func channel(setup: CallSetup) -> RoomChannel { RoomChannel(self, setup: setup) }
      func setMuted(_ isMuted: Bool, completion: @escaping RoomDone) {
        setStream(kind: .microphone, isOn: !isMuted)
        session?.world.tell(completion)
      }
    }

    extension RoomTrack {
      var number: Int32 { (call as? AgentCall)?.number(of: track.id) ?? 0 }
      var isSent: Bool { call.participants[track.id.participant]?.sentTracks[track.id.track] != nil }
    }

    extension RoomParticipant {
      var isMuted: Bool { !sentTracks.values.contains { $0.kind == .microphone } }
      var isSpeaking: Bool { call.session?.dominantSpeaker == last.id }
      var state: AgentCallState { call.participants[last.id] == nil ? .ended : .connected }
      /// The videos that it sends; after it has left, the videos that it sent.
      var videos: [RoomTrack] {
        let tracks = (call.participants[last.id] ?? self).last.tracks.filter { $0.kind.isVideo && !$0.isMuted }
        return tracks.map { RoomTrack(call: call, track: $0) }
      }
    }

    /// Sends bytes to all. In front of them are their kind (0: the app's, 1: the end), a number, and the time in
    /// milliseconds, as apps of the style have them.
    final class RoomChannel {
      let limit = 64 * 1_024 - RoomChannel.header
      private static let header = 13, prefix = "koine.channel."
      private weak var call: AgentCall?
      private let topic: String
      private var sent: UInt64 = 0
      init(_ call: AgentCall, setup: CallSetup) {
        let number = setup.channel == 0 ? Int32.random(in: 1_000...Int32.max) : setup.channel
        (self.call, topic) = (call, Self.prefix + String(number))
      }
      func send(_ data: Data) {
        sent += 1
        pass(0, data)
      }
      func close() { pass(1, Data()) }
      private func pass(_ kind: UInt8, _ data: Data) {
        guard let session = call?.session else { return }
        let time = UInt32(truncatingIfNeeded: session.world.backend.scheduler.now.nanoseconds / 1_000_000)
        let head = withUnsafeBytes(of: sent.bigEndian) { Array($0) } + withUnsafeBytes(of: time.bigEndian) { Array($0) }
        try? session.send(DataMessage(topic: topic, payload: [kind] + head + data))
      }
      /// The channel of a message of the app's; nil for other messages.
      static func number(of message: ReceivedMessage) -> Int32? {
        guard message.topic.hasPrefix(prefix), message.payload.count >= header, message.payload[0] == 0 else { return nil }
        return Int32(message.topic.dropFirst(prefix.count))
      }
      static func data(of message: ReceivedMessage) -> Data { Data(message.payload[header...]) }
    }

    /// Messages of one sender on one channel.
    final class RoomInbox: @unchecked Sendable {
      let channel: Int32, sender: String
      var handler: ((ReceivedMessage, RoomInbox) -> Void)?
      private var messages: [Data] = []
      init(channel: Int32, sender: String) { (self.channel, self.sender) = (channel, sender) }
      func next() -> Data? { messages.isEmpty ? nil : messages.removeFirst() }
      func receive(_ message: ReceivedMessage) {
        messages.append(RoomChannel.data(of: message))
        handler?(message, self)
      }
    }

    """#
}
