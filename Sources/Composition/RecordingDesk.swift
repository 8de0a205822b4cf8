import Dispatch
public import Foundation
public import Koine

/// Records rooms for those in them who ask, beside the router: a recording goes on when who began it leaves, and ends with
/// the last participant, or when somebody stops it.
///
/// What is asked, and what becomes of it, are messages of the room (`RoomWord.ofRecorder`). With a folder of its own recordings
/// lie there: `<room>-<time>.webm`, and playlists as `<room>-<time>-hls/index.m3u8`; else where those who ask say, who are
/// in this process then.
public final class RecordingDesk: Sendable {
  /// As rooms know it.
  public static var names: [String] { RoomWord.ofRecorder }
  /// Without what sends rooms on to other servers.
  public static var namesOfFiles: [String] { RoomWord.ofRecorder.filter { $0 != RoomWord.livestream } }

  public struct Rules: Sendable {
    /// Where all files go; nil: where those say who ask.
    public var folder: URL?
    /// Whether rooms are sent on to servers that those name who ask (RTMP).
    public var sendsOn: Bool
    /// How many go on at a time: each decodes its room, and codes a picture and a sound of it.
    public var limit: Int
    /// What recordings are like, but for their room and how many are seen.
    public var look = RecordingRequest(room: "")

    public init(folder: URL? = nil, sendsOn: Bool = true, limit: Int = .max) {
      (self.folder, self.sendsOn, self.limit) = (folder, sendsOn, limit)
    }
  }

  /// What the desk says in a room, as one of its names.
  public struct Word: Sendable {
    public let room: String
    public let name: String
    public let payload: [UInt8]
    /// Nil: everybody, who comes later too.
    public let participant: Participant.ID?
    /// Whether it stands until the next word of that name.
    public let stands: Bool
  }

  private struct Key: Hashable {
    let room, kind: String
  }

  private struct State {
    var underWay: [Key: AskedRecording] = [:]
    var isClosed = false
  }

  private let rules: Rules
  private let world: @Sendable () -> World?
  private let credential: @Sendable (_ room: String) throws -> String
  private let say: @Sendable (Word) -> Void
  private let log: @Sendable (String) -> Void
  private let state = Lock(State())

  /// - Parameters:
  ///   - world: how the rooms are reached, asked for each recording; nil: not any more.
  ///   - credential: what lets the recorder into a room: to receive, unseen.
  ///   - say: called for what the desk says, one word after the other for each recording.
  ///   - log: told what begins, ends and fails, in words for people.
  public init(
    _ rules: Rules, world: @escaping @Sendable () -> World?,
    credential: @escaping @Sendable (_ room: String) throws -> String, say: @escaping @Sendable (Word) -> Void,
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    (self.rules, self.world, self.credential, self.say, self.log) = (rules, world, credential, say, log)
  }

  /// What somebody in a room has said to the desk. From any thread; returns at once.
  public func hear(_ topic: String, _ payload: [UInt8], from sender: Participant.ID, in room: String) {
    switch topic {
    case RoomWord.stop:
      let key = Key(room: room, kind: String(decoding: payload, as: UTF8.self))
      state.withLock { $0.underWay[key] }?.stop(for: sender)
    case let kind where RoomWord.ofRecorder.contains(kind): begin(kind, payload, for: sender, in: room)
    default: break
    }
  }

  private func begin(_ kind: String, _ payload: [UInt8], for sender: Participant.ID, in room: String) {
    let key = Key(room: room, kind: kind)
    guard state.withLock({ $0.underWay[key] == nil }) else { return }  // it goes on already
    do {
      guard let wish = RecordingWish(payload) else { throw Refusal(reason: "it is not understood what is wished") }
      let places = try places(kind, wish, room)
      guard let world = world() else { throw Refusal(reason: "nothing to record with") }
      var request = rules.look
      (request.room, request.credential) = (room, try credential(room))
      request.people = wish.people
      let recording = AskedRecording(
        kind, request, to: places, knownAs: name(of: places, kind), for: sender, in: world, say: say, log: log
      ) {
        [weak self] in self?.state.withLock { $0.underWay[key] = nil }
      }
      let isTaken = state.withLock { state in
        guard !state.isClosed, state.underWay.count < rules.limit, state.underWay[key] == nil else { return false }
        state.underWay[key] = recording
        return true
      }
      guard isTaken else { throw Refusal(reason: "\(rules.limit) recordings go on, and there is room for no more") }
      recording.start()
    } catch {
      log("does not record \(LogText(room)): \(error)")
      let words = RecorderWords(.failed)
      say(Word(room: room, name: kind, payload: Array(words.text.utf8), participant: sender, stands: false))
    }
  }

  /// Ends all of them: returns once their files are finished. Nothing is begun any more.
  public func close() async {
    let recordings = state.withLock { state in
      state.isClosed = true
      return Array(state.underWay.values)
    }
    for recording in recordings { await recording.close() }
    log("recordings closed: \(recordings.count)")
  }

  // MARK: Places

  private struct Refusal: Error, CustomStringConvertible {
    let reason: String
    var description: String { reason }
  }

  private func places(_ kind: String, _ wish: RecordingWish, _ room: String) throws -> [URL] {
    if kind == RoomWord.livestream {
      let areTheirs = wish.places.allSatisfy { $0.scheme?.isEmpty == false && (rules.folder == nil || !$0.isFileURL) }
      guard rules.sendsOn, areTheirs, !wish.places.isEmpty else {
        throw Refusal(reason: "rooms are not sent on to where is wished")
      }
      return wish.places
    }
    guard let folder = rules.folder else {
      guard !wish.places.isEmpty, wish.places.allSatisfy(\.isFileURL) else {
        throw Refusal(reason: "it is not said where to")
      }
      return wish.places
    }
    return [Self.place(kind, room, in: folder)]
  }

  /// What the room is told of where it goes: nothing of the folder, and nobody's key to a server.
  private func name(of places: [URL], _ kind: String) -> String {
    guard kind != RoomWord.livestream, let place = places.first else { return "" }
    guard rules.folder != nil else { return place.absoluteString }
    return place.pathComponents.suffix(kind == RoomWord.playlist ? 2 : 1).joined(separator: "/")
  }

  static func place(_ kind: String, _ room: String, in folder: URL) -> URL {
    let number = String(UInt32.random(in: .min ... .max), radix: 36)  // two rooms may have one safe name
    let name = "\(room.asFileName)-\(Int(Date().timeIntervalSince1970 * 1_000))-\(number)"
    return kind == RoomWord.recording
      ? folder.appendingPathComponent(name + ".webm")
      : folder.appendingPathComponent(name + "-hls").appendingPathComponent("index.m3u8")
  }
}

// MARK: - In this process

extension RecordingDesk {
  /// The desk of the process's own router: made with the first who comes to it, and as long there as the backend. Nothing
  /// is done where a backend's router is elsewhere.
  package static func stand(beside world: World) {
    guard let backend = world.backend as? any AttendedBackend else { return }
    // In virtual time somebody must wait for what is delivered; in real time no app's queue holds a recording up.
    let delivery =
      backend.scheduler.kind == .virtual ? world.delivery : Delivery(queue: DispatchQueue(label: "recordings"))
    let (stamps, effort) = (world.stamps, world.effort)
    backend.attend { [weak backend] in
      let desk = RecordingDesk(
        Rules(),
        world: { [weak backend] in
          backend.map { World(backend: $0.inside, delivery: delivery, stamps: stamps, effort: effort) }
        },
        credential: { try ComposingRecorder.pass(for: $0) },
        say: { [weak backend] word in
          backend?.say(word.payload, as: word.name, to: word.participant, stands: word.stands, in: word.room)
        })
      return Attendance(names: names) { desk.hear($0.topic, $0.payload, from: $0.sender, in: $0.room) }
    }
  }
}
