public import Koine

/// A remote participant in a test room that the test controls.
///
/// A `Person` uses the common layer, so an app of any style meets it like any other participant. An action begins at once;
/// `run` or `until` lets time pass, so that it takes effect. The person stays until it leaves, is removed, or the room is
/// released, even if the test keeps no reference to it.
public final class Person: Sendable {
  /// The person's name, which is unique in the room.
  public let name: String
  /// The participant's id in the room.
  public let id: Participant.ID
  /// The identity that a caller rings: a communication user's raw id, which contains the room's id too.
  public let identity: String
  let room: TestRoom
  let camera: TestCamera?
  let microphone: TestMicrophone?
  private let frameWatcher: FrameWatcher
  private let audioWatcher: AudioWatcher
  let transcriptLog = TranscriptLog()
  let outgoingStates = Lock<[Ring.State]>([])
  private let state: Lock<State>

  private struct State {
    var session: Session?
    /// Id of the room that the person is in, or was in last.
    var roomID: String?
    var camera, microphone, share: LocalStream?
    var isCameraOff = false
    var isMuted = false
    var endpoint: Endpoint?
    var messages: [ReceivedMessage] = []
    var attributes: [String: String]
  }

  init(
    _ name: String, id: Participant.ID?, in room: TestRoom, camera: TestCamera?, microphone: TestMicrophone?,
    attributes: [String: String]
  ) {
    let entry = room.people.entry(named: name)
    self.name = name
    self.id = id ?? entry.id
    identity = room.identity(of: name)
    self.room = room
    self.camera = camera
    self.microphone = microphone
    frameWatcher = FrameWatcher(people: room.people)
    audioWatcher = AudioWatcher(clock: room.scheduler)
    state = Lock(State(attributes: attributes))
    if case .tone(let frequency?)? = microphone?.kind { room.people.setTone(frequency, of: entry.id) }
  }

  // MARK: Coming and going

  /// The person's session in the room, for features that `Person` does not offer.
  public var session: Session? { state.withLock { $0.session } }
  var roomID: String? { state.withLock { $0.roomID } }
  /// Whether the person is in the room.
  public var isInRoom: Bool { session?.state == .connected }

  /// Begins to enter a room.
  func enter(_ roomID: String, as id: Participant.ID) throws -> Outcome {
    let session = Session(
      JoinRequest(
        room: roomID, participantID: id, name: name, externalUserID: name,
        attributes: state.withLock { $0.attributes }),
      in: room.world(of: name), options: SessionOptions(loudspeaker: audioWatcher))
    let entry = room.people.entry(named: name)
    let cameraStream = try camera.map {
      try session.publish(camera: Devices.camera(room.camera(for: entry, $0)))
    }
    let microphoneStream = try microphone.map {
      try session.publish(microphone: Devices.microphone(room.microphone(for: entry, $0)))
    }
    frameWatcher.follow(session)
    session.observe { [weak self] event in
      if case .messageReceived(let message) = event { self?.state.withLock { $0.messages.append(message) } }
      if case .transcribed(let segment) = event { self?.transcriptLog.add(segment) }
    }
    let (isMuted, isCameraOff) = state.withLock { state in
      (state.session, state.camera, state.microphone) = (session, cameraStream, microphoneStream)
      state.roomID = roomID
      return (state.isMuted, state.isCameraOff)
    }
    room.people.keep(session, [cameraStream, microphoneStream].compactMap { $0 }, as: id)
    if isMuted { microphoneStream?.setMuted(true) }
    if isCameraOff { cameraStream?.setMuted(true) }
    let outcome = Outcome()
    session.join { outcome.set($0) }
    return outcome
  }

  /// Leaves the room.
  public func leave() {
    let session = state.withLock { state in
      (state.camera, state.microphone, state.share) = (nil, nil, nil)
      return state.session
    }
    room.people.leaves(id)
    session?.leave {}
  }

  /// Whether the person has left, has been removed, or has lost the connection for good. True before the first join, too.
  public var isOut: Bool { session?.state.isEnded ?? true }
  /// The reason why the session has ended; nil while it has not.
  public var endReason: EndReason? { if case .ended(let reason)? = session?.state { reason } else { nil } }

  // MARK: What they show and say

  /// Whether the person's microphone is muted.
  public var isMuted: Bool { state.withLock { $0.isMuted } }
  /// Mutes the person's microphone.
  public func mute() { setMuted(true) }
  /// Unmutes the person's microphone.
  public func unmute() { setMuted(false) }

  private func setMuted(_ isMuted: Bool) {
    let stream = state.withLock { state in
      state.isMuted = isMuted
      return state.microphone
    }
    stream?.setMuted(isMuted)
  }

  /// Turns the person's camera off.
  public func turnCameraOff() { setCameraOff(true) }
  /// Turns the person's camera on again.
  public func turnCameraOn() { setCameraOff(false) }

  private func setCameraOff(_ isOff: Bool) {
    let stream = state.withLock { state in
      state.isCameraOff = isOff
      return state.camera
    }
    stream?.setMuted(isOff)
  }

  /// Shares a screen.
  /// - Throws: `.device` if they share already; `.notConnected` outside of the room.
  public func share(_ picture: TestCamera = .stamp(width: 640, height: 360)) throws {
    guard let session else { throw Failure(.notConnected, "\(name) is not in the room") }
    guard state.withLock({ $0.share == nil }) else { throw Failure(.device, "\(name) shares already") }
    let source = try Devices.camera(room.camera(for: room.people.entry(named: name), picture))
    let stream = try session.publish(camera: source, as: .screen)
    state.withLock { $0.share = stream }
  }

  /// Stops sharing the person's screen.
  public func stopSharing() {
    let stream = state.withLock { state in
      defer { state.share = nil }
      return state.share
    }
    stream?.unpublish()
  }

  /// Sends a message to all participants in the room.
  /// - Parameter lifetime: how long the room keeps the message for later joiners; nil: later joiners do not get it.
  /// - Throws: `Failure` if the message is too large, or the person is not in the room.
  public func send(_ text: String, topic: String = "chat", lifetime: Duration? = nil) throws {
    guard let session else { throw Failure(.notConnected, "\(name) is not in the room") }
    try session.send(DataMessage(topic: topic, payload: Array(text.utf8), lifetime: lifetime))
  }

  /// Replaces the person's attributes in the room.
  public func setAttributes(_ attributes: [String: String]) {
    state.withLock { $0.attributes = attributes }
    session?.setAttributes(attributes)
  }

  // MARK: What they see and hear

  /// Whether a stamped camera frame of the participant with this name has reached this person.
  /// - Parameter time: the frame was captured after it; nil: within the last second.
  public func sees(_ name: String, newerThan time: Tick? = nil) -> Bool {
    frameWatcher.sees(name, newerThan: time ?? room.now - .seconds(1))
  }

  /// Whether video of the screen that the participant of this name shares has reached this person, captured after `time`, or
  /// within the last second. It needs no stamp: an app may share frames of its own.
  public func seesScreen(of name: String, newerThan time: Tick? = nil) -> Bool {
    frameWatcher.seesScreen(of: name, newerThan: time ?? room.now - .seconds(1))
  }

  /// The size of the newest stamped camera frame of the participant with this name, as it reached this person, in pixels.
  public func size(of name: String) -> (width: Int, height: Int)? { frameWatcher.size(of: name) }
  /// Whether the person hears the tone of the named person now.
  public func hears(_ name: String) -> Bool {
    audioWatcher.hears(room.people.entry(named: name), among: room.people.all, at: room.now)
  }

  /// Names of the remote participants in the room, in the order in which they came.
  public var others: [String] { session?.participants.map(\.name) ?? [] }
  /// The named participant as this person's session sees it; nil if it is not in the room.
  public func participant(_ name: String) -> Participant? { session?.participants.first { $0.name == name } }
  /// Messages from remote participants, in the order in which they arrived.
  public var messages: [ReceivedMessage] { state.withLock { $0.messages } }
  /// The payloads of `messages`, decoded as UTF-8 text.
  public var texts: [String] { messages.map { String(decoding: $0.payload, as: UTF8.self) } }

  // MARK: Calls

  var endpoint: Endpoint? { state.withLock { $0.endpoint } }
  func setEndpoint(_ endpoint: Endpoint) { state.withLock { $0.endpoint = endpoint } }
}

/// The outcome of an asynchronous operation, once it is known.
final class Outcome: Sendable {
  private let result = Lock<Result<Void, Failure>?>(nil)

  var isKnown: Bool { result.withLock { $0 != nil } }
  func set(_ new: Result<Void, Failure>) { result.withLock { $0 = new } }
  func get() throws { try result.withLock { $0 }?.get() }
}

/// Keeps the newest frame of each remote camera and screen in the room. It reads a camera frame's stamp only on request.
private final class FrameWatcher: Sendable {
  private let people: People
  private let cameras = Lock<[Track.ID: Camera]>([:])
  private let screens = Lock<[Track.ID: (owner: String, newest: Camera)]>([:])

  init(people: People) { self.people = people }

  func follow(_ session: Session) {
    session.observe { [weak self, weak session] event in
      guard let self, let session else { return }
      switch event {
      case .streamAdded(let stream, let owner) where !owner.isLocal && stream.kind == .camera:
        let camera = Camera()
        cameras.withLock { $0[stream.id] = camera }
        session.attach(camera as any VideoSink, to: stream.id)
      case .streamAdded(let stream, let owner) where !owner.isLocal && stream.kind == .screen:
        let newest = Camera()
        screens.withLock { $0[stream.id] = (owner.name, newest) }
        session.attach(newest as any VideoSink, to: stream.id)
      case .streamRemoved(let stream, _):
        cameras.withLock { $0[stream.id] = nil }
        screens.withLock { $0[stream.id] = nil }
      default: break
      }
    }
  }

  func sees(_ name: String, newerThan time: Tick) -> Bool { newest(of: name).map { $0.captured > time } ?? false }

  func seesScreen(of name: String, newerThan time: Tick) -> Bool {
    let newest = screens.withLock { screens in screens.values.filter { $0.owner == name }.map(\.newest) }
    return newest.contains { $0.captured.map { $0 > time } ?? false }
  }

  func size(of name: String) -> (width: Int, height: Int)? { newest(of: name).map { ($0.width, $0.height) } }

  private func newest(of name: String) -> (captured: Tick, width: Int, height: Int)? {
    let label = people.entry(named: name).label
    let pictures = cameras.withLock { Array($0.values) }.compactMap { $0.read() }.filter { $0.stamp.name == label }
    return pictures.max { $0.stamp.captured < $1.stamp.captured }.map { ($0.stamp.captured, $0.width, $0.height) }
  }

  private final class Camera: VideoSink, Sendable {
    private let newest = Lock((frame: VideoFrame?.none, stamp: Stamp?.none))

    func render(_ frame: VideoFrame) { newest.withLock { $0 = (frame, nil) } }

    var captured: Tick? { newest.withLock { $0.frame?.captured } }

    func read() -> (stamp: Stamp, width: Int, height: Int)? {
      newest.withLock { newest in
        guard let frame = newest.frame else { return nil }
        if newest.stamp == nil { newest.stamp = StampReader.read(frame) }
        return newest.stamp.map { ($0, frame.width, frame.height) }
      }
    }
  }
}

extension Person: CustomStringConvertible {
  public var description: String { isInRoom ? "\(name) in the room, sees \(others)" : "\(name), not in the room" }
}
