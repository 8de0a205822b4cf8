/// What layers read from the call agent style need beside the call of a vendor's style: users, rings, calls with states and numeric ends,
/// views, videos, and data channels. Each style adds a file with its cameras and the numbers of its ends (`MeetingAgentMedia.swift`).
///
/// Beside the members that all helpers have, a style adds to its call: `init?(token:isMicrophoneOn:)`, `reads(_:)`, `isIn(_:)`,
/// `numbersOfEnd`, and `messageLimit` if it has messages; to its streams: `attach(view:)` and `detach(view:)` for a `Screen`; to its
/// failures: `ofVideo(isCamera:)`, the error of such a video; and to the agent: `Device.type`, `Screen` (a view that tells the size of its
/// frames) and `Source` (a camera or the app's frames, for screens and for the call). Of its reports, these are read: `phaseChanged`, `joined`, `personJoined`, `personLeft`,
/// `streamsKnown`, `streamAdded`, `streamRemoved`, `levelsChanged`, `speakerChanged`, `messageReceived` and `failed`.
enum AgentCallHelper {
  static func files(for writer: VendorWriter.Type) -> [LayerHelper] {
    [
      ("Agent", agent), ("AgentCall", call), ("AgentPeople", people), ("AgentVideo", video), ("AgentViews", views),
      ("AgentChannel", channel), ("AgentAwait", wait),
    ].filter { $0.0 != "AgentChannel" || writer.hasWord("ReceivedMessage") }.map { name, text in
      LayerHelper(
        fileName: "\(writer.prefix)\(name).swift", typeNames: name == "Agent" ? [writer.prefix + name] : [],
        source: writer.filled(text))
    }
  }

  private static let agent = #"""
    // What layers read from the call agent style need for users (`koine port --to ‹style›`): the same for every app.
    ‹import AVFoundation Foundation›

    /// A user who signs in and makes calls. The SDK rings nobody: the app's own server does, through `ringer` and `receive`.
    final class ‹RoomAgent›: @unchecked Sendable {  // used on the main queue only, as are all of its types
      typealias Done = ((any Error)?) -> Void
      enum Failure: Error { case unauthorized, duplicate, ended, camera, microphoneDenied, cameraDenied, notRung, notSent }

      var handler: ((Ring, ‹RoomAgent›) -> Void)?
      var callsHandler: (((added: [Call], removed: [Call]), ‹RoomAgent›) -> Void)?
      /// Has the app's own server ring users, who join the call. If they do not, it calls `noAnswer` of the call.
      var ringer: (([String], Call) -> Void)?
      private var token = ""
      private weak var call: Call?

      func register(
        credential: Credential, setup: Setup?, completion: @escaping (‹RoomAgent›?, (any Error)?) -> Void
      ) {
        credential.read { [self] result in
          do { token = try result.get() } catch { return completion(nil, error) }
          completion(self, nil)
        }
      }
      func machine(completion: @escaping (Machine?, (any Error)?) -> Void) {
        let machine = Machine()
        Self.onMain { completion(machine, nil) }
      }
      /// Reports a call of which the app's own server has told.
      func receive(_ ring: Ring) {
        ring.agent = self
        handler?(ring, self)
      }

      /// Gives the app a call, and then begins it: the app's handler misses no event.
      /// - Parameter room: the call has to be in it; nil: in any.
      func start(
        room: String? = nil, callees: [String] = [], answering ring: Ring? = nil, setup: Setup?,
        completion: @escaping (Call?, (any Error)?) -> Void
      ) {
        let setup = setup ?? Setup(), session = ‹Session›(token: ring?.token ?? token, isMicrophoneOn: !setup.isMuted)
        let failure = refusal(session, callees, setup)
        Self.onMain { [self] in
          guard failure == nil, let session else { return completion(nil, failure) }
          let isOneToOne = ring.map { !$0.isGroup } ?? (callees.count == 1)
          let call = Call(session, room: room, callees, isOneToOne: isOneToOne, setup)
          self.call = call
          completion(call, nil)
          callsHandler?((added: [call], removed: []), self)
          call.didEnd = { [weak self] call in
            if let self { callsHandler?((added: [], removed: [call]), self) }
          }
          call.begin(ringer)
        }
      }
      private func refusal(_ session: ‹Session›?, _ callees: [String], _ setup: Setup) -> Failure? {
        let isDenied = { (kind: AVMediaType) in AVCaptureDevice.authorizationStatus(for: kind) == .denied }
        if isDenied(.audio) { return .microphoneDenied }
        if setup.videos.contains(where: \.isCamera), isDenied(.video) { return .cameraDenied }
        // A token is of one participant, who is in one call.
        if let call, call.state != .ended { return .duplicate }
        return session == nil ? .unauthorized : callees.isEmpty || ringer != nil ? nil : .notRung
      }

      static func onMain(_ work: @escaping () -> Void) {
        nonisolated(unsafe) let work = work
        DispatchQueue.main.async { work() }
      }
    }

    extension ‹RoomAgent› {
      /// A call that rings here: the app's own server tells the app of it, and is told of the answer.
      final class Ring: @unchecked Sendable {
        enum State: Sendable { case ringing, accepted, declined, missed }
        let caller, callerName, token: String, isGroup: Bool
        private(set) var state = State.ringing
        var handler: ((State, Ring) -> Void)?, answered: ((State) -> Void)?
        fileprivate weak var agent: ‹RoomAgent›?

        /// - Parameter token: of this user, for the call.
        init(caller: String, callerName: String, token: String, isGroup: Bool = false) {
          (self.caller, self.callerName, self.token, self.isGroup) = (caller, callerName, token, isGroup)
        }
        func accept(setup: Setup?, completion: @escaping (Call?, (any Error)?) -> Void) {
          guard state == .ringing, let agent else { return onMain { completion(nil, Failure.ended) } }
          agent.start(answering: self, setup: setup) { [self] call, error in
            if call != nil { end(.accepted) }
            completion(call, error)
          }
        }
        func decline(completion: @escaping Done) {
          let isRinging = state == .ringing
          end(.declined)
          onMain { completion(isRinging ? nil : Failure.ended) }
        }
        /// The app's own server says that the caller has hung up.
        func miss() {
          guard state == .ringing else { return }
          state = .missed
          handler?(.missed, self)
        }
        private func end(_ answer: State) {
          guard state == .ringing else { return }
          state = answer
          answered?(answer)
        }
      }
    }

    """#

  private static let call = #"""
    // What layers read from the call agent style need for a call (`koine port --to ‹style›`): the same for every app.
    ‹import Foundation›

    extension ‹RoomAgent› {
      enum State: Sendable { case none, connecting, ringing, inLobby, connected, leaving, ended }

      /// What a call reports, about one person at a time.
      enum Event {
        case stateChanged, microphoneMuted, speakerChanged
        case personJoined(Person), personLeft(Person), muted(Person)
        case streamAdded(Stream, Person), streamRemoved(Stream, Person)
      }

      /// A call as the style has it: with a state of its own, and with ends in numbers.
      final class Call: @unchecked Sendable {
        let session: ‹Session›, id = UUID().uuidString.lowercased()
        private(set) var state = State.none, end: (code: Int32, subcode: Int32) = (0, 0)
        var isMuted: Bool, others: [Person] = []
        /// Participants that have been the dominant speaker, the latest first.
        private(set) var speakers: [String] = []
        var agentHandler: ((Event, Call) -> Void)?, didEnd: ((Call) -> Void)?
        var inboxHandler: ((Inbox, Call) -> Void)?, inboxes: [String: Inbox] = [:]  ‹with ReceivedMessage›
        let isOneToOne: Bool
        /// Users that are rung, until one of them answers.
        var callees: [String]
        /// Whether it is known what those send who were there first: they are reported with it, and later ones before it.
        var isSettled = false
        var videos: [Video] = [], numbers: [String] = []
        private let room: String?
        private var hasEntered = false, untilItsEnd: Call?
        private var waiting: [(video: Video, completion: Done)] = [], hangUps: [Done] = []

        init(_ session: ‹Session›, room: String?, _ callees: [String], isOneToOne: Bool, _ setup: Setup) {
          (self.session, self.room, self.callees, self.isOneToOne) = (session, room, callees, isOneToOne)
          (isMuted, waiting) = (setup.isMuted, setup.videos.map { (video: $0, completion: { _ in }) })
        }
        func begin(_ ringer: (([String], Call) -> Void)?) {
          guard state == .none else { return }  // the app has left already
          guard room.map(session.isIn) ?? true else { return finish((404, 0)) }
          session.handler = { [weak self] report, _ in self?.receive(report) }
          session.join()
          if !callees.isEmpty { ringer?(callees, self) }
        }
        /// The app's own server says why the users that are rung do not answer: 603 they decline, 486 busy, 480 not there, 408.
        func noAnswer(code: Int32) {
          guard !callees.isEmpty else { return }
          end.code = code
          hangUp { _ in }
        }
        func hangUp(completion: @escaping Done) {
          guard state != .ended else { return onMain { completion(nil) } }
          (untilItsEnd, hangUps) = (self, hangUps + [completion])
          if state == .none { return finish((0, 0)) }
          if !callees.isEmpty, end.code == 0 { end.code = 487 }
          change(to: .leaving)
          session.leave()
        }
        func change(to new: State) {
          guard new != state, state != .ended, state != .leaving || new == .ended else { return }
          state = new
          report(.stateChanged)
        }
        func report(_ event: Event) { agentHandler?(event, self) }

        private func receive(_ event: ‹Prefix›Report) {
          switch event {
          case .phaseChanged(.‹SessionState.connecting›): change(to: .connecting)
          case .phaseChanged(.‹SessionState.connected›): change(to: callees.isEmpty ? .connected : .ringing)
          case .phaseChanged(.‹SessionState.ended›): finish(session.numbersOfEnd)
          case .joined: enter()
          case .personJoined(let one): if isSettled { join(one, isKnown: false) }
          case .streamsKnown(let one): know(one)
          case .levelsChanged: isSettled = true
          case .personLeft(let one): leave(one)
          case .streamAdded(let stream, let one): update(stream, of: one, isSent: true)
          case .streamRemoved(let stream, let one): update(stream, of: one, isSent: false)
          case .failed(let failure): for video in videos { failure.ofVideo(isCamera: video.isCamera).map(video.stop) }
          case .speakerChanged(let speaker):
            for one in others { one.isSpeaking = one.id == speaker }
            guard let speaker else { break }
            speakers = [speaker] + speakers.filter { $0 != speaker }.prefix(4)
            report(.speakerChanged)
          case .messageReceived(let message): receive(message)  ‹with ReceivedMessage›
          default: break
          }
        }
        private func enter() {
          hasEntered = true
          for (video, completion) in waiting { start(video, completion: completion) }
          waiting = []
        }
        private func finish(_ numbers: (Int32, Int32)) {
          if end.code == 0 { end = numbers }
          for video in videos { video.stop() }
          for (_, completion) in waiting { completion(Failure.ended) }
          for person in others { remove(person) }
          change(to: .ended)
          didEnd?(self)
          for completion in hangUps { completion(nil) }
          (videos, waiting, hangUps, untilItsEnd) = ([], [], [], nil)
        }
        /// Begins once the call is entered.
        func start(_ video: Video, completion: @escaping Done) {
          guard state != .ended, !videos.contains(where: { $0 === video }) else { return onMain { completion(nil) } }
          guard hasEntered else { return waiting.append((video, completion)) }
          videos.append(video)
          video.start(in: session, completion)
        }
        func stop(_ video: Video, completion: @escaping Done) {
          (waiting, videos) = (waiting.filter { $0.video !== video }, videos.filter { $0 !== video })
          video.stop()
          onMain { completion(nil) }
        }
      }
    }

    """#

  private static let people = #"""
    // What layers read from the call agent style need for participants and options (`koine port --to ‹style›`): the same for every app.
    ‹import Foundation›

    extension ‹RoomAgent› {
      /// What a user, a call or a channel begins with. The token has the user's name.
      final class Setup {
        var name = "", channel: Int32 = 0
        /// The options of the microphone and those of the sent videos, where the app makes them apart.
        var audio: Setup?, sent: Setup?
        private var ownMute = false, ownVideos: [Video] = []
        var isMuted: Bool {
          get { audio?.isMuted ?? ownMute }
          set { if let audio { audio.isMuted = newValue } else { ownMute = newValue } }
        }
        var videos: [Video] {
          get { sent?.videos ?? ownVideos }
          set { if let sent { sent.videos = newValue } else { ownVideos = newValue } }
        }
        var video: [Video]? {
          get { videos }
          set { videos = newValue ?? [] }
        }
      }

      /// Another participant, with what it has sent so far.
      final class Person: @unchecked Sendable {
        let id, ‹Participant.name›: String
        fileprivate(set) var streams: [Stream] = [], isKnown = false
        fileprivate(set) var state = State.connected
        var isSpeaking = false
        init(id: String, name: String) { (self.id, self.‹Participant.name›) = (id, name) }
        var isMuted: Bool { !streams.contains { $0.‹Track.kind› == .microphone && $0.isSent } }
        var videos: [Stream] { streams.filter { $0.‹Track.kind› != .microphone && $0.isSent } }
      }

      /// A stream of another participant. The call gives it a number, which it keeps.
      final class Stream: @unchecked Sendable {
        let ‹Track.kind›: ‹Track.Kind›, number: Int32
        fileprivate(set) var sent: ‹Track›?
        init(_ kind: ‹Track.Kind›, number: Int32) { (self.‹Track.kind›, self.number) = (kind, number) }
        var isSent: Bool { sent != nil }
        var video: Stream? { ‹Track.kind› == .microphone ? nil : self }
      }
    }

    extension ‹RoomAgent›.Call {
      private typealias Person = ‹RoomAgent›.Person

      func join(_ one: ‹Participant›, isKnown: Bool) {
        let person = Person(id: one.id, name: one.‹Participant.name›)
        person.isKnown = isKnown
        if isKnown { for sent in one.streams.values { stream(sent.‹Track.kind›, of: person).sent = sent } }
        others.append(person)
        report(.personJoined(person))
        callees = []
        change(to: .connected)
      }
      /// From now on it is known what a participant sends.
      func know(_ one: ‹Participant›) {
        guard let person = others.first(where: { $0.id == one.id }) else { return join(one, isKnown: true) }
        person.isKnown = true
        for sent in one.streams.values { update(sent, of: one, isSent: true) }
      }
      func leave(_ one: ‹Participant›) {
        guard let person = others.first(where: { $0.id == one.id }) else { return }
        remove(person)
        if isOneToOne, others.isEmpty { hangUp { _ in } }
      }
      func remove(_ person: ‹RoomAgent›.Person) {
        others = others.filter { $0 !== person }
        person.state = .ended
        report(.personLeft(person))
      }
      func update(_ sent: ‹Track›, of one: ‹Participant›, isSent: Bool) {
        let kind = sent.‹Track.kind›
        if one.isLocal { return updateLocal(kind, isSent: isSent) }
        guard let person = others.first(where: { $0.id == one.id }), person.isKnown else { return }
        let stream = stream(kind, of: person)
        stream.sent = isSent ? sent : nil
        if kind == .microphone { return report(.muted(person)) }
        report(isSent ? .streamAdded(stream, person) : .streamRemoved(stream, person))
      }
      private func updateLocal(_ kind: ‹Track.Kind›, isSent: Bool) {
        if kind == .microphone {
          // What is withdrawn with the call was not muted.
          guard state != .leaving else { return }
          let isNew = isMuted == isSent
          isMuted = !isSent
          if isNew { report(.microphoneMuted) }
        } else if isSent {
          videos.first { $0.isCamera == (kind == .camera) }?.started()
        }
      }
      private func stream(_ kind: ‹Track.Kind›, of person: Person) -> ‹RoomAgent›.Stream {
        if let known = person.streams.first(where: { $0.‹Track.kind› == kind }) { return known }
        let key = "\(person.id) \(kind)"
        if !numbers.contains(key) { numbers.append(key) }
        let stream = ‹RoomAgent›.Stream(kind, number: Int32(numbers.firstIndex(of: key)!) + 1)
        person.streams.append(stream)
        return stream
      }
      func setMuted(_ isMuted: Bool, completion: @escaping ‹RoomAgent›.Done) {
        session.setStream(kind: .microphone, isOn: !isMuted)
        ‹RoomAgent›.onMain { completion(nil) }
      }
    }

    """#

  private static let video = #"""
    // What layers read from the call agent style need for videos (`koine port --to ‹style›`): the same for every app.
    ‹import AVFoundation CoreVideo Foundation›

    extension ‹RoomAgent› {
      /// A camera. Two values are of one camera if their ids are equal.
      struct Device: Sendable {
        let id, name: String, position: AVCaptureDevice.Position
        init(_ camera: AVCaptureDevice) { (id, name, position) = (camera.uniqueID, camera.localizedName, camera.position) }
        /// Frames of the app's in a camera's place.
        init() { (id, name, position) = ("frames", "Frames", .unspecified) }
      }

      /// The cameras, and which of them come and go.
      final class Machine: @unchecked Sendable {
        private let session = AVCaptureDevice.DiscoverySession(
          deviceTypes: [.builtInWideAngleCamera, .external], mediaType: .video, position: .unspecified)
        private var known: [AVCaptureDevice] = [], tokens: [any NSObjectProtocol] = []
        private var handler: (((added: [Device], removed: [Device])) -> Void)?
        private var present: [AVCaptureDevice] {
          session.devices  ‹with Device.external›
          session.devices.sided  ‹without Device.external›
        }
        var cameras: [Device] { present.map(Device.init) }
        func observe(_ handler: @escaping ((added: [Device], removed: [Device])) -> Void) {
          if self.handler == nil {
            known = present
            for name in [AVCaptureDevice.wasConnectedNotification, AVCaptureDevice.wasDisconnectedNotification] {
              tokens.append(
                NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { [weak self] note in
                  if (note.object as? AVCaptureDevice)?.hasMediaType(.video) == true { self?.changed() }
                })
            }
          }
          self.handler = handler
        }
        private func changed() {
          let before = known
          known = present
          let lost = before.filter { !known.contains($0) }, added = known.filter { !before.contains($0) }
          if !lost.isEmpty || !added.isEmpty { handler?((added: added.map(Device.init), removed: lost.map(Device.init))) }
        }
        deinit { for token in tokens { NotificationCenter.default.removeObserver(token) } }
      }

      struct Format: Sendable { var width = 1_280, height = 720, framesPerSecond = 30 }

      /// A frame of the app's.
      final class Frame { var buffer: CVPixelBuffer? }

      /// A camera, or frames of the app's as a shared screen.
      final class Video: @unchecked Sendable {
        let isCamera: Bool, format: Format, source: Source
        private(set) var device = Device(), isSent = false
        var handler: ((Video) -> Void)?
        private var completion: Done?

        init(camera: Device) {
          (isCamera, format, source) = (true, Format(), Source(camera: camera))
          device = camera
        }
        init(formats: [Format]) {
          (isCamera, format, source) = (false, formats.first ?? Format(), Source(camera: nil))
        }
        /// Goes on with another camera, wherever the video is shown and sent.
        func choose(camera: Device, completion: @escaping Done) {
          device = camera
          source.choose(camera)
          onMain { completion(nil) }
        }
        func send(_ frame: Frame, completion: @escaping Done) {
          let isSent = isSent && frame.buffer != nil
          if isSent, let buffer = frame.buffer { source.push(buffer) }
          onMain { completion(isSent ? nil : Failure.notSent) }
        }
        /// - Parameter completion: called once the call has the stream.
        func start(in call: ‹Session›, _ completion: @escaping Done) {
          self.completion = completion
          source.start(in: call) { [weak self] failure in self?.stop(failure) }
        }
        func started() { change(true, nil) }
        func stop(_ error: (any Error)? = nil) {
          source.stop()
          change(false, error)
        }
        private func change(_ isSent: Bool, _ error: (any Error)?) {
          completion?(error)
          completion = nil
          guard isSent != self.isSent else { return }
          self.isSent = isSent
          handler?(self)
        }
      }
    }

    """#

  private static let views = #"""
    // What layers read from the call agent style need for views (`koine port --to ‹style›`): the same for every app.
    ‹import Foundation UIKit›

    extension ‹RoomAgent› {
      /// A participant's token, as the app's own server answers it, or the app's way to one.
      struct Credential {
        typealias Refresher = (@escaping (String?, (any Error)?) -> Void) -> Void
        private let token: String?, refresher: Refresher?
        init(token: String) throws { (self.token, refresher) = (try Self.checked(token), nil) }
        init(initialToken: String? = nil, refresher: @escaping Refresher) {
          (token, self.refresher) = (initialToken, refresher)
        }
        init(of other: Credential) throws { self = other }
        private static func checked(_ token: String?) throws -> String {
          guard let token, ‹Session›.reads(token) else { throw Failure.unauthorized }
          return token
        }
        /// Hands over a token, on the main queue.
        func read(_ completion: @escaping (Result<String, any Error>) -> Void) {
          if let token {
            let result = Result { try Self.checked(token) }
            return ‹RoomAgent›.onMain { completion(result) }
          }
          nonisolated(unsafe) var waiting = Optional(completion)
          refresher? { token, error in
            let result = Result { if let error { throw error } else { try Self.checked(token) } }
            ‹RoomAgent›.onMain { waiting.take()?(result) }
          }
        }
      }

      /// Shows one video in one view.
      final class Renderer: @unchecked Sendable {
        var handler: ((Renderer) -> Void)?, frameHandler: ((Renderer) -> Void)?
        /// Of the newest frame, in pixels; nought before the first.
        private(set) var size: (width: Int32, height: Int32) = (0, 0)
        private let attach: (Screen) -> Bool, detach: (Screen) -> Void
        private var screen: Screen?
        init(video: Video) throws { (attach, detach) = (video.source.attach, video.source.detach) }
        init(track: Stream) throws {
          attach = { track.sent?.attach(view: $0) != nil }
          detach = { track.sent?.detach(view: $0) }
        }
        func makeView(_ mode: UIView.ContentMode = .scaleAspectFill) throws -> ‹VideoView› {
          let screen = Screen(mode)
          screen.sizeHandler = { [weak self] in self?.changed($0, $1) }
          screen.didFail = { [weak self] in if let self { handler?(self) } }
          self.screen = screen
          if !attach(screen) { onMain { screen.didFail?() } }
          return screen.view
        }
        private func changed(_ width: Int32, _ height: Int32) {
          let isFirst = size == (0, 0)
          size = (width, height)
          if isFirst, screen != nil { frameHandler?(self) }
        }
        func dispose() {
          guard let screen else { return }
          detach(screen)
          screen.clear()
          self.screen = nil
        }
      }
    }

    """#

  private static let channel = #"""
    // What layers read from the call agent style need for messages (`koine port --to ‹style›`): the same for every app.
    ‹import Foundation›

    extension ‹RoomAgent› {
      /// Sends bytes to all: texts as they are, other bytes in Base64 on a topic beside.
      final class Channel: @unchecked Sendable {
        let limit = ‹Session›.messageLimit / 4 * 3
        private weak var call: Call?
        private let topic: String
        fileprivate static let texts = "channel-", bytes = "bytes-"
        fileprivate init(_ call: Call, _ number: Int32) {
          (self.call, topic) = (call, "\(number == 0 ? Int32.random(in: 1_000...Int32.max) : number)")
          for prefix in [Self.texts, Self.bytes] { call.session.observe(topic: prefix + topic) }
        }
        func send(_ data: Data) {
          let text = String(data: data, encoding: .utf8), bytes = data.base64EncodedString()
          call?.session.send(text: text ?? bytes, topic: (text == nil ? Self.bytes : Self.texts) + topic)
        }
        func close() {
          for prefix in [Self.texts, Self.bytes] { call?.session.stopObserving(topic: prefix + topic) }
        }
      }

      /// Messages of one sender on a channel for which the app has a sender of its own.
      final class Inbox: @unchecked Sendable {
        let channel: Int32, sender: String
        var handler: ((‹ReceivedMessage›, Inbox) -> Void)?
        private var messages: [Data] = []
        init(channel: Int32, sender: String) { (self.channel, self.sender) = (channel, sender) }
        func next() -> Data? { messages.isEmpty ? nil : messages.removeFirst() }
        fileprivate func receive(_ data: Data, _ message: ‹ReceivedMessage›) {
          messages.append(data)
          handler?(message, self)
        }
      }
    }

    extension ‹RoomAgent›.Call {
      func channel(setup: ‹RoomAgent›.Setup) -> ‹RoomAgent›.Channel { ‹RoomAgent›.Channel(self, setup.channel) }
      func receive(_ message: ‹ReceivedMessage›) {
        let (topic, isBytes) = (message.topic, message.topic.hasPrefix(‹RoomAgent›.Channel.bytes))
        let prefix = isBytes ? ‹RoomAgent›.Channel.bytes : ‹RoomAgent›.Channel.texts
        guard message.‹ReceivedMessage.sender› != session.localParticipant.id, topic.hasPrefix(prefix),
          let number = Int32(topic.dropFirst(prefix.count)),
          let data = isBytes ? Data(base64Encoded: message.‹ReceivedMessage.text›) : Data(message.‹ReceivedMessage.text›.utf8)
        else { return }
        let sender = message.‹ReceivedMessage.sender›, key = "\(sender) \(number)", known = inboxes[key]
        let inbox = known ?? ‹RoomAgent›.Inbox(channel: number, sender: sender)
        inboxes[key] = inbox
        if known == nil { inboxHandler?(inbox, self) }
        inbox.receive(data, message)
      }
    }

    """#

  private static let wait = #"""
    // What layers read from the call agent style need to wait with `await` (`koine port --to ‹style›`): the same for every app.
    ‹import Foundation›

    /// What a completion handler gets.
    private func value<Value: Sendable>(
      isolation: isolated (any Actor)? = #isolation, _ begin: (@escaping (Value?, (any Error)?) -> Void) -> Void
    ) async throws -> Value {
      try await withCheckedThrowingContinuation(isolation: isolation) { continuation in
        begin { value, error in
          continuation.resume(with: value.map { .success($0) } ?? .failure(error ?? ‹RoomAgent›.Failure.ended))
        }
      }
    }
    private func done(
      isolation: isolated (any Actor)? = #isolation, _ begin: (@escaping ‹RoomAgent›.Done) -> Void
    ) async throws {
      let _: Bool = try await value { completion in begin { completion($0 == nil ? true : nil, $0) } }
    }

    extension ‹RoomAgent› {
      func register(
        credential: Credential, setup: Setup?, isolation: isolated (any Actor)? = #isolation
      ) async throws -> ‹RoomAgent› {
        try await value { register(credential: credential, setup: setup, completion: $0) }
      }
      func machine(isolation: isolated (any Actor)? = #isolation) async throws -> Machine {
        try await value { machine(completion: $0) }
      }
      func start(
        room: String? = nil, callees: [String] = [], setup: Setup?, isolation: isolated (any Actor)? = #isolation
      ) async throws -> Call {
        try await value { start(room: room, callees: callees, setup: setup, completion: $0) }
      }
    }

    extension ‹RoomAgent›.Ring {
      func accept(
        setup: ‹RoomAgent›.Setup?, isolation: isolated (any Actor)? = #isolation
      ) async throws -> ‹RoomAgent›.Call {
        try await value { accept(setup: setup, completion: $0) }
      }
      func decline(isolation: isolated (any Actor)? = #isolation) async throws {
        try await done { decline(completion: $0) }
      }
    }

    extension ‹RoomAgent›.Call {
      func hangUp(isolation: isolated (any Actor)? = #isolation) async throws {
        try await done { hangUp(completion: $0) }
      }
      /// The options of an end have no effect: the app's own server ends a call for all.
      func hangUp(setup: ‹RoomAgent›.Setup?, completion: @escaping ‹RoomAgent›.Done) { hangUp(completion: completion) }
      func hangUp(setup: ‹RoomAgent›.Setup?, isolation: isolated (any Actor)? = #isolation) async throws {
        try await done { hangUp(setup: setup, completion: $0) }
      }
      func setMuted(_ isMuted: Bool, isolation: isolated (any Actor)? = #isolation) async throws {
        try await done { setMuted(isMuted, completion: $0) }
      }
      func start(_ video: ‹RoomAgent›.Video, isolation: isolated (any Actor)? = #isolation) async throws {
        try await done { start(video, completion: $0) }
      }
      func stop(_ video: ‹RoomAgent›.Video, isolation: isolated (any Actor)? = #isolation) async throws {
        try await done { stop(video, completion: $0) }
      }
    }

    extension ‹RoomAgent›.Video {
      func choose(camera: ‹RoomAgent›.Device, isolation: isolated (any Actor)? = #isolation) async throws {
        try await done { choose(camera: camera, completion: $0) }
      }
      func send(_ frame: ‹RoomAgent›.Frame, isolation: isolated (any Actor)? = #isolation) async throws {
        try await done { send(frame, completion: $0) }
      }
    }

    """#
}
