import KoineLedger
import KoineSignaling

@testable import KoineRouter

/// The content of an entry of a room's log: what is read can be written and read again.
func fuzzLog(_ bytes: UnsafeRawBufferPointer) {
  guard let message = LoggedMessage(LogEntry(order: 7, content: Array(bytes))) else { return }
  guard let entry = message.entry else { return require(false, "what was read can be written") }
  require(entry.order == 7, "the order is the entry's")
  require(LoggedMessage(entry) == message, "the message is the same")
}

@Sendable func logSeeds() -> [[UInt8]] {
  let message = ReceivedMessage(sender: "ana", topic: "chat", payload: Array("hello".utf8), id: "1", order: 7)
  let directed = ReceivedMessage(sender: "ana", topic: "chat", payload: [0, 255], id: "2", order: 7, isDirected: true)
  return [
    LoggedMessage(message, lifetime: .seconds(60), recipients: nil),
    LoggedMessage(message, lifetime: nil, recipients: nil, isRetained: true),
    LoggedMessage(directed, lifetime: nil, recipients: [.init(id: "ben", kind: "user"), .init(id: "cid")]),
  ].compactMap { $0.entry?.content }
}
