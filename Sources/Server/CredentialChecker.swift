import Dispatch
import KoineBase
import KoineRouter
import KoineSignaling
import KoineTransport

/// Checks credentials and reads offers on one thread of its own: work that strangers can ask for takes no time from the
/// network loop.
///
/// Participants and strangers have a queue each, served in turns, so that a flood of joins does not hold up the offers and
/// renewals of participants. Verdicts are not kept.
final class CredentialChecker: Sendable {
  enum Queue: Hashable, Sendable, CaseIterable { case participants, strangers }

  /// Strangers' checks that wait at most. (A participant's connection has one check under way at a time.)
  static let limit = 64

  private struct State {
    var waiting: [Queue: [@Sendable () -> Void]] = [:]
    var last = Queue.strangers
    var accepted = 0
  }

  private let state = Lock(State())
  private let thread = DispatchQueue(label: "koine.credentials")

  /// From any thread.
  /// - Returns: false where too many wait; then `work` is not run.
  func submit(to queue: Queue, _ work: @escaping @Sendable () -> Void) -> Bool {
    let isAccepted = state.withLock { state in
      guard queue == .participants || state.waiting[queue, default: []].count < Self.limit else { return false }
      state.waiting[queue, default: []].append(work)
      state.accepted += 1
      return true
    }
    if isAccepted { thread.async { [self] in next()?() } }
    return isAccepted
  }

  /// Checks that have been accepted since the start. From any thread.
  var accepted: Int { state.withLock { $0.accepted } }

  private func next() -> (@Sendable () -> Void)? {
    state.withLock { state in
      let order: [Queue] = state.last == .strangers ? [.participants, .strangers] : [.strangers, .participants]
      guard let queue = order.first(where: { state.waiting[$0]?.isEmpty == false }) else { return nil }
      state.last = queue
      return state.waiting[queue]?.removeFirst()
    }
  }
}

/// The checks before a message is handled: of its credential first, and only then of its offer.
struct Check: Sendable {
  var question: CredentialQuestion?
  var sdp: String?
  /// Whether joins to rooms of other nodes are refused, because the ledger does not answer and the registry in memory may be old.
  var isForRoomsHere = false

  /// Offers without a credential and renewals come from participants.
  var queue: CredentialChecker.Queue {
    switch question {
    case .join, .identity: .strangers
    case .renewal, nil: .participants
    }
  }

  /// Whether there is anything to check or to read. Without a credential the answer costs nothing.
  var costs: Bool { sdp != nil || hasCredential }

  private var hasCredential: Bool { question?.credential?.isEmpty == false }

  /// Whether a refusal counts for the client's address.
  var countsForAddress: Bool { hasCredential && queue == .strangers }

  struct Result: Sendable {
    var verdict: CredentialVerdict?
    /// nil where there is no offer, or the credential has been refused.
    var offer: Swift.Result<SessionDescription, SDPError>?

    var isRefused: Bool {
      if case .failure = offer { return true }
      return verdict?.failure != nil
    }
  }

  func run(_ authorization: Authorization) -> Result {
    let verdict = question.map { authorization.verdict(on: $0) }
    guard verdict?.failure == nil, let sdp else { return Result(verdict: verdict) }
    let limits: SessionDescription.Limits = question == nil ? .joined : .joining
    return Result(
      verdict: verdict,
      offer: Swift.Result { () throws(SDPError) in try SessionDescription(parsing: sdp, limits: limits) })
  }

  func refused(_ failure: Failure) -> Result { Result(verdict: question?.refused(failure)) }
}
