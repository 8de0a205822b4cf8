package import KoineBase

/// One node's connection to the ledger: the engine that decides which node is a room's home and keeps what rooms have
/// acknowledged. `RedisLedger` (swift-nio) and `MemoryLedger` (virtual time, with faults) implement it.
///
/// Requests go in with numbers that the caller chooses, and events come out in one stream, on one thread of the implementation's
/// choice, never inside `send`. There is neither `async` nor a closure for each answer: the callers are sans-IO parts that run on
/// a network loop or in virtual time, so an answer is an input like a datagram. One stream keeps the order between answers and
/// the end of a connection, also over the hop to the network loop, and a schedule of events repeats exactly.
///
/// The implementation connects by itself and connects again after a break, `LedgerTimes.backoff` apart at most. What it promises:
///
/// 1. Every request is answered exactly once. It never repeats a request.
/// 2. Requests between `connected` and `disconnected` are sent on one connection in the order of `send`, executed in that order,
///    and answered in that order.
/// 3. When a connection breaks, its unanswered requests are answered with `away`. Then comes `disconnected`, and later `connected`.
///    Requests sent without a connection are answered with `away` at once.
/// 4. A connection without an answer for `LedgerTimes.answer` is broken. An engine that answers but cannot work is `away`, without
///    a break.
package protocol Ledger: AnyObject {
  /// - Parameter now: of virtual time; implementations with a clock of their own ignore it.
  func send(_ request: LedgerRequest, number: UInt64, at now: Tick)
}

package enum LedgerEvent: Hashable, Sendable {
  case connected
  /// The text is for the log.
  case disconnected(String)
  case answered(number: UInt64, LedgerAnswer)
  /// Bytes that a node has published to this node or to all.
  case message(LedgerChannel, [UInt8])
}
