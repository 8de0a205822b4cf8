/// A file that new layers need, the same for every app.
public struct LayerHelper: Sendable {
  public let fileName: String
  /// The types in it, which the app must not have.
  let typeNames: [String]
  public let source: String
}

/// What layers over the common layer need beside `Session`.
enum KoineHelper {
  static let file = LayerHelper(
    fileName: "RoomCall.swift", typeNames: ["RoomCall", "RoomParticipant", "RoomTrack"], source: source)

  private static let source = #"""
    // What layers that `koine port --to koine` writes need beside `Session`: the same file for every app.
    import Foundation
    import Koine
    import KoineBackends

    /// A session with the streams of the user's devices and the messages of the room.
    class RoomCall: @unchecked Sendable {  // used on the main queue only, where the session's events arrive
      /// Nil if `KOINE_BACKEND` is no address: then joining is refused.
      var session: Session? { try? opened.get() }
      var handler: ((SessionEvent, RoomCall) -> Void)?
      private(set) var hasEntered = false
      private let opened: Result<Session, any Error>
      private var wanted: Set<Track.Kind>, streams: [Track.Kind: LocalStream] = [:], messages: [ReceivedMessage] = []

      init(
        room: String, credential: String?, participantID: String = "", name: String = "Guest", isMicrophoneOn: Bool = true,
        isCameraOn: Bool = true, reconnectTimeout: Duration = .seconds(60), in world: World? = nil
      ) {
        let known = participantID.isEmpty ? nil : participantID
        let found = Result { try world ?? Backends.world(room: room, participant: known) }
        let id = known ?? (try? found.get())?.participantID ?? UUID().uuidString.lowercased()
        var request = JoinRequest(room: room, credential: credential, participantID: id, name: name)
        request.reconnectTimeout = reconnectTimeout
        opened = found.map { Session(request, in: $0) }
        wanted = Set((isMicrophoneOn ? [Track.Kind.microphone] : []) + (isCameraOn ? [.camera] : []))
      }

      func join(side: Machine.Attachment = .front) {
        if case .failure(let error) = opened { receive(.stateChanged(.ended(.refused(Failure(.unreachable, "\(error)"))))) }
        guard let session else { return }
        session.observe { [weak self] event in self?.receive(event) }
        chooseCamera(at: side)
        for kind in [Track.Kind.microphone, .camera] where wanted.contains(kind) { start(kind, in: session) }
        session.join { _ in }  // the events report how it goes
      }
      func receive(_ event: SessionEvent) {
        if case .messageReceived(let message) = event { messages.append(message) }
        handler?(event, self)
        if case .stateChanged(.connected) = event { hasEntered = true }
      }
      var localParticipant: RoomParticipant {
        RoomParticipant(call: self, last: session?.localParticipant ?? Participant(id: "", name: "", isLocal: true))
      }
      var participants: [Participant.ID: RoomParticipant] {
        (session?.participants ?? []).reduce(into: [:]) { $0[$1.id] = RoomParticipant(call: self, last: $1) }
      }
      func name(of id: String) -> String? { (id == localParticipant.id ? localParticipant : participants[id])?.name }
      func send(text: String, topic: String, isPersistent: Bool = false) {
        var message = DataMessage(topic: topic, payload: Array(text.utf8), isPersistent: isPersistent)
        message.returnsToSender = true
        do throws(Failure) { try session?.send(message) } catch { report(.failed(error)) }
      }
      func messages(topic: String) -> [ReceivedMessage] { messages.filter { $0.topic == topic } }
      /// Turns a stream of the user's on or off. A microphone stays, muted; other streams come and go.
      func setStream(kind: Track.Kind, isOn: Bool) {
        if isOn { wanted.insert(kind) } else { wanted.remove(kind) }
        guard let session, session.state != .idle else { return }
        guard let stream = streams[kind], !stream.isOver else { return isOn ? start(kind, in: session) : () }
        if kind == .microphone { stream.setMuted(!isOn) } else if !isOn { stream.unpublish() }
      }
      private func start(_ kind: Track.Kind, in session: Session) {
        let (world, isCamera) = (session.world, kind == .camera)
        do {
          guard kind == .screen || world.machine.permission(isCamera ? .camera : .microphone) != .denied else {
            throw Failure(isCamera ? .cameraDenied : .microphoneDenied, "the user has denied it")
          }
          streams[kind] =
            switch kind {
            case .camera: try session.publish(camera: world.machine.makeCamera())
            case .microphone: try session.publish(microphone: world.machine.makeMicrophone())
            case .screen, .screenSound: try session.publish(camera: Devices.camera(world.devices.screen), as: .screen)
            }
        } catch {
          let track = Track(id: Track.ID(participant: session.localParticipant.id, track: kind.rawValue), kind: kind)
          report(.publishFailed(track, error as? Failure ?? Failure(.device, "\(error)")))
        }
      }
      private func report(_ event: SessionEvent) { session?.world.delivery.deliver { [weak self] in self?.receive(event) } }
      func switchCamera() {
        chooseCamera(at: session?.world.machine.current(.camera)?.attachment == .front ? .back : .front)
      }
      private func chooseCamera(at side: Machine.Attachment) {
        guard let machine = session?.world.machine else { return }
        if let camera = machine.devices(.camera).first(where: { $0.attachment == side }) { machine.choose(camera.id) }
      }
    }

    /// A participant of a call, with the tracks that it sends at the moment of reading.
    @dynamicMemberLookup struct RoomParticipant: Equatable {
      let call: RoomCall, last: Participant
      subscript<Value>(dynamicMember path: KeyPath<Participant, Value>) -> Value { last[keyPath: path] }
      var sentTracks: [String: RoomTrack] {
        guard let session = call.session, !session.state.isEnded else { return [:] }
        let now = last.isLocal ? session.localParticipant : session.participants.first { $0.id == last.id }
        let sent = (now?.tracks ?? []).filter { !$0.isMuted && $0.kind != .screenSound }
        return Dictionary(sent.map { ($0.id.track, RoomTrack(call: call, track: $0)) }, uniquingKeysWith: { $1 })
      }
      func mute(kind: Track.Kind) {
        if last.isLocal { return call.setStream(kind: kind, isOn: false) }
        for track in sentTracks.values where track.kind == kind { call.session?.mute(track.id) }
      }
      func remove() { if last.isLocal { call.session?.leave {} } else { call.session?.remove(last.id) } }
      static func == (one: RoomParticipant, other: RoomParticipant) -> Bool { one.last.id == other.last.id }
    }

    /// A track of a call, which views show.
    @dynamicMemberLookup struct RoomTrack: Equatable {
      let call: RoomCall, track: Track
      subscript<Value>(dynamicMember path: KeyPath<Track, Value>) -> Value { track[keyPath: path] }
      var video: RoomTrack? { track.kind.isVideo ? self : nil }
      func attach(view: any VideoSink) { call.session?.attach(view, to: track.id) }
      func detach(view: any VideoSink) { call.session?.detach(view, from: track.id) }
      static func == (one: Self, other: Self) -> Bool { one.call === other.call && one.track.id == other.track.id }
    }

    extension Failure.Code {
      static let camera = Self(rawValue: "camera"), microphone = Self(rawValue: "microphone")
      static let cameraDenied = Self(rawValue: "cameraDenied"), microphoneDenied = Self(rawValue: "microphoneDenied")
      static let screen = Self(rawValue: "screen"), duplicate = Self(rawValue: "duplicate")
    }

    """#
}
