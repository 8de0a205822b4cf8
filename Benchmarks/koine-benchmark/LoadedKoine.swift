import Foundation
import KoineBase
import KoineRouter
import KoineSignaling
import KoineTransport

/// `koine serve` with its load.
final class LoadedKoine: LoadedServer {
  /// Of HTTP and signalling, on the loopback address.
  let port: UInt16
  private var lines: [TextLine] = []
  private var messages: [[ServerMessage]] = []

  /// - Parameter options: further options of `koine serve`.
  init(at host: String, directory: String, core: Int, _ load: Load, options: [String] = []) throws {
    port = ServerProcess.freePort()
    let process = try ServerProcess(
      koineAt: port, address: host, log: directory + "/koine.log", core: core, options: options)
    super.init("koine", at: host, process, load)
  }

  /// How often the server's network loop has woken.
  func turns() throws -> Int { try ServerMetrics.value(of: "koine_loop_turns_total", at: port) }

  private func open() throws -> Int {
    var line: TextLine?
    let end = CPU.wall + 60
    while line == nil {
      guard CPU.wall < end else { throw BenchmarkError("koine serve does not listen; see \(process.log)") }
      line = try? TextLine(port: port, path: "/signaling")
      try turn()
    }
    if let line { lines.append(line) }
    messages.append([])
    return lines.count - 1
  }

  private func send(_ message: ClientMessage, on index: Int) throws {
    lines[index].send(Array(try JSONEncoder().encode(message)))
  }

  override func listen() throws {
    for (index, line) in lines.enumerated() {
      for text in line.poll() {
        // Words that are not known are not meant for us.
        if let message = try? JSONDecoder().decode(ServerMessage.self, from: Data(text)) {
          messages[index].append(message)
        }
      }
    }
  }

  private func answer<Value>(_ what: String, on index: Int, _ read: (ServerMessage) -> Value?) throws -> Value {
    var found: Value?
    try wait(what) {
      found = messages[index].lazy.compactMap(read).first
      return found != nil
    }
    guard let found else { throw BenchmarkError("\(name): no answer to \(what)") }
    return found
  }

  private func join(_ id: String, to room: LoadedRoom) throws -> (end: LoadEnd, line: Int) {
    let end = try makeEnd(of: room)
    let line = try open()
    try send(
      .join(
        Join(
          room: "load \(room.number)", participantID: id, name: id, description: end.peer.localDescription)), on: line)
    let joined = try answer("joining", on: line) { if case .joined(let joined) = $0 { joined } else { nil } }
    end.peer.setRemote(joined.description, at: now)
    try wait(for: end)
    return (end, line)
  }

  override func addPublisher(to room: LoadedRoom) throws {
    let (end, line) = try join("publisher", to: room)
    let track = TrackOffer(id: "camera", kind: .camera, media: Self.published)
    try send(.publish(Publish(request: 1, tracks: [track])), on: line)
    try answer("publishing", on: line) { if case .accepted = $0 { () } else { nil } }
    end.publish(Self.published)
  }

  override func addReceiver(to room: LoadedRoom) throws {
    let (end, line) = try join("receiver \(ends.count)", to: room)
    let reference = Track.ID(participant: "publisher", track: "camera")
    try send(.subscribe(Subscribe(request: 1, tracks: [reference])), on: line)
    let subscribed = try answer("subscribing", on: line) {
      if case .subscribed(let subscribed) = $0 { subscribed } else { nil }
    }
    guard let parameters = subscribed.tracks.first?.media else {
      throw BenchmarkError("koine serve gives no camera")
    }
    end.receive(parameters)
  }
}
