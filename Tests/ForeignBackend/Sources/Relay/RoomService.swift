import Foundation
import Koine
import KoinePeer
import KoineTokens

/// A room service: rooms, their members, and media passed on frame by frame. Each member has a peer connection to it.
///
/// `@unchecked Sendable`: everything mutable is touched on the loop only.
public final class RoomService: @unchecked Sendable {
  /// One client's connection. What it sends and receives are lines of text.
  final class Connection: @unchecked Sendable {
    let receive: @Sendable (String) -> Void
    fileprivate var member: Member?
    init(_ receive: @escaping @Sendable (String) -> Void) { self.receive = receive }
  }

  fileprivate final class Member: @unchecked Sendable {
    let id, room: String
    let name: String
    let external: String?
    var attributes: [String: String]
    let connection: Connection
    var peer: PeerConnection?
    var tracks: [Track.ID: (kind: Track.Kind, isMuted: Bool, codec: Codec)] = [:]
    var order: [Track.ID] = []
    /// Tracks of other members that this one receives; false while they are paused.
    var wanted: [Track.ID: Bool] = [:]

    init(
      id: String, room: String, name: String, external: String?, attributes: [String: String], _ connection: Connection
    ) {
      (self.id, self.room, self.name, self.external) = (id, room, name, external)
      (self.attributes, self.connection) = (attributes, connection)
    }

    func send(_ line: Line) { connection.receive(line.text) }
  }

  private let loop: PeerLoop
  /// In the order of joining.
  private var rooms: [String: [Member]] = [:]
  private var messages: UInt64 = 0

  public init(on loop: PeerLoop) { self.loop = loop }

  // MARK: Signalling, from any thread

  func open(_ receive: @escaping @Sendable (String) -> Void) -> Connection { Connection(receive) }

  func send(_ text: String, on connection: Connection) {
    loop.post { [self] _ in
      guard let line = Line(parsing: text) else { return }
      handle(line, on: connection)
    }
  }

  private func handle(_ line: Line, on connection: Connection) {
    guard let member = connection.member else {
      if line.verb == "join" { join(line, on: connection) }
      return
    }
    switch line.verb {
    case "publish": publish(line, by: member)
    case "unpublish": withdraw(line.track, of: member)
    case "mute": mute(line, by: member)
    case "want": want(line.track, by: member)
    case "unwant":
      member.wanted[line.track] = nil
      member.peer?.perform { [track = line.track] media, _ in media.unpublish(track) }
    case "pause":
      guard member.wanted[line.track] != nil else { return }
      member.wanted[line.track] = line["on"] != "yes"
      if line["on"] != "yes" { requestKeyFrame(of: line.track, in: member.room) }
    case "say": say(line, by: member)
    case "attributes":
      member.attributes = line.map("a.")
      var told = Line("attributes", ["participant": member.id])
      told.set(member.attributes, prefix: "a.")
      tellOthers(than: member, told)
    case "leave":
      member.send(Line("ended", ["reason": "left"]))
      remove(member, reason: "left")
    default: break
    }
  }

  // MARK: Members

  private func join(_ line: Line, on connection: Connection) {
    guard let remote = line.description else { return }
    let admission: Admission?
    do { admission = try admit(line) } catch {
      return connection.receive(Line("refused", ["why": "\(error)", "code": (error as? Refusal)?.code]).text)
    }
    let id = admission?.participantID ?? admission?.identity ?? line["id"] ?? UUID().uuidString
    let attributes = admission.flatMap { $0.attributes.isEmpty ? nil : $0.attributes } ?? line.map("a.")
    let member = Member(
      id: id, room: line.text("room"), name: admission?.displayName ?? line.text("name"),
      external: admission?.externalID ?? line["external"], attributes: attributes, connection)
    connection.member = member
    if let older = rooms[member.room]?.first(where: { $0.id == id }) {
      older.send(Line("ended", ["reason": "duplicate"]))
      remove(older, reason: "removed")
    }
    let peer = loop.connect(.init(iceRole: .lite, dtlsRole: .passive)) { [weak self, weak member] _, event, now in
      guard let self, let member else { return }
      handle(event, of: member, at: now)
    }
    member.peer = peer
    peer.perform { [self] media, now in
      media.setRemote(remote, at: now)
      enter(member, media.localDescription)
    }
  }

  private struct Refusal: Error, CustomStringConvertible {
    let code: String
    let description: String
  }

  /// - Returns: nil for a credential that says nothing of rooms.
  private func admit(_ line: Line) throws -> Admission? {
    guard let text = line["credential"] else { return nil }
    do {
      let credential = try Trust.anybody.read(text, at: .ofSystemClock())
      guard credential.opens(line.text("room")) else {
        throw Refusal(code: "forbidden", description: "the token is for another room")
      }
      return credential.admission
    } catch let error as TokenError {
      if case .expired = error { throw Refusal(code: "unauthorized", description: "the token has expired") }
      return nil
    }
  }

  private func enter(_ member: Member, _ description: PeerDescription) {
    var welcome = line("welcome", of: member)
    welcome.set(description)
    member.send(welcome)
    let others = rooms[member.room] ?? []
    for other in others {
      member.send(line("present", of: other))
      for track in other.order { member.send(line("published", of: track, by: other)) }
    }
    member.send(Line("complete"))
    rooms[member.room, default: []].append(member)
    tellOthers(than: member, line("joined", of: member))
  }

  private func line(_ verb: String, of member: Member) -> Line {
    var line = Line(verb, ["participant": member.id, "name": member.name, "external": member.external])
    line.set(member.attributes, prefix: "a.")
    return line
  }

  private func line(_ verb: String, of track: Track.ID, by member: Member) -> Line {
    let facts = member.tracks[track]
    return Line(
      verb, of: track,
      ["kind": facts?.kind.rawValue, "muted": facts?.isMuted == true ? "yes" : "no"])
  }

  private func tellOthers(than member: Member, _ line: Line) {
    for other in rooms[member.room] ?? [] where other !== member { other.send(line) }
  }

  private func remove(_ member: Member, reason: String) {
    guard let index = rooms[member.room]?.firstIndex(where: { $0 === member }) else { return }
    member.connection.member = nil
    for track in member.order { withdraw(track, of: member) }
    rooms[member.room]?.remove(at: index)
    if rooms[member.room]?.isEmpty == true { rooms[member.room] = nil }
    member.peer?.close()
    for other in rooms[member.room] ?? [] {
      other.send(Line("left", ["participant": member.id, "reason": reason]))
    }
  }

  // MARK: Media

  private func publish(_ line: Line, by member: Member) {
    guard let parameters = line.parameters, let kind = Track.Kind(rawValue: line.text("kind")) else { return }
    let track = Track.ID(participant: member.id, track: line.text("track"))
    if member.tracks[track] == nil { member.order.append(track) }
    member.tracks[track] = (kind, line["muted"] == "yes", parameters.codec)
    member.peer?.perform { media, _ in media.subscribe(to: track, as: parameters) }
    member.send(Line("accepted", of: track))
    tellOthers(than: member, self.line("published", of: track, by: member))
  }

  private func withdraw(_ track: Track.ID, of member: Member) {
    guard member.tracks.removeValue(forKey: track) != nil else { return }
    member.order.removeAll { $0 == track }
    member.peer?.perform { media, _ in media.unsubscribe(from: track) }
    for other in rooms[member.room] ?? [] where other !== member {
      if other.wanted.removeValue(forKey: track) != nil {
        other.peer?.perform { media, _ in media.unpublish(track) }
      }
      other.send(Line("withdrawn", of: track))
    }
  }

  private func mute(_ line: Line, by member: Member) {
    guard member.tracks[line.track] != nil else { return }
    member.tracks[line.track]?.isMuted = line["on"] == "yes"
    tellOthers(than: member, Line("muted", of: line.track, ["on": line["on"]]))
  }

  private func want(_ track: Track.ID, by member: Member) {
    guard let codec = publisher(of: track, in: member.room)?.tracks[track]?.codec else { return }
    member.wanted[track] = true
    member.peer?.perform { [self] media, _ in
      let parameters = media.publish(
        track, options: PublishOptions(codec: codec, layers: [.init(maximumBitrate: 3_000_000)]))
      var answer = Line("stream", of: track)
      answer.set(parameters)
      member.send(answer)
      requestKeyFrame(of: track, in: member.room)
    }
  }

  private func publisher(of track: Track.ID, in room: String) -> Member? {
    rooms[room]?.first { $0.tracks[track] != nil }
  }

  private func requestKeyFrame(of track: Track.ID, in room: String) {
    publisher(of: track, in: room)?.peer?.perform { media, now in media.requestKeyFrame(of: track, at: now) }
  }

  private func handle(_ event: PeerMedia.Event, of member: Member, at now: Tick) {
    switch event {
    case .frame(let frame, let track):
      for other in rooms[member.room] ?? [] where other.wanted[track] == true {
        other.peer?.perform { media, now in media.send(frame, of: track, at: now) }
      }
    case .keyFrameRequested(let track, _): requestKeyFrame(of: track, in: member.room)
    case .failed, .closed: remove(member, reason: "dropped")
    case .connected, .estimate: break
    }
  }

  // MARK: Messages

  private func say(_ line: Line, by member: Member) {
    messages += 1
    let told = Line(
      "said",
      [
        "participant": member.id, "topic": line.text("topic"), "payload": line.text("payload"), "id": line.text("id"),
        "order": String(messages), "directed": line["to"] == nil ? "no" : "yes",
      ])
    let recipients = line["to"].map { Set($0.split(separator: "\n").map(String.init)) }
    for other in rooms[member.room] ?? [] where other !== member && recipients?.contains(other.id) != false {
      other.send(told)
    }
  }
}
