/// The promises that hold in every style and every scenario (Docs/conformance.md). The suite checks them in every trace.
public enum Law: Int, Codable, Sendable, CaseIterable {
  /// Every property that an app can read during a callback already agrees with the callback.
  case trueWhenTold = 1
  /// Callbacks come one at a time, in order, never from inside a call that the app is making.
  case inOrder
  /// A completion handler is called exactly once. Pending handlers are called before the end of the session is reported.
  case once
  /// An app is notified of a participant before the participant's streams, and of the streams' removal before the participant's.
  case announceThenWithdraw
  /// After the end of the session has been reported, the app receives no more callbacks.
  case silenceAfterTheEnd
  /// Bad input gives an error of the vendor's API and has no other effect.
  case askDoNotTrap
  /// All participants in a room are notified of the same facts about it.
  case sameFacts
}

/// A trace that breaks a law.
public struct Violation: Codable, Sendable, Hashable, CustomStringConvertible {
  /// The law that the trace breaks.
  public var law: Law
  /// What happened, with names and times.
  public var description: String
}

extension Law {
  /// Finds the violations in the trace of one app.
  /// - Parameter isComplete: the scenario has ended, and no more entries are expected.
  public static func violations(in entries: [TraceEntry], isComplete: Bool) -> [Violation] {
    var reader = Reader()
    for entry in entries { reader.read(entry) }
    if isComplete { reader.close() }
    return reader.violations
  }

  /// Reads one app's trace from its beginning.
  private struct Reader {
    private struct Other {
      var hasPicture = false
      var isSharing = false
    }

    var violations: [Violation] = []
    private var others: [String: Other] = [:]
    private var open: Set<String> = []
    private var answered: Set<String> = []
    private var askedLate: Set<String> = []
    private var isOver = false
    private var last = 0

    mutating func read(_ entry: TraceEntry) {
      if entry.agrees == false { accuse(.trueWhenTold, "\(entry)") }
      if entry.isInsideCall { accuse(.inOrder, "\(entry)") }
      if entry.at < last { accuse(.inOrder, "goes back in time: \(entry)") }
      last = max(last, entry.at)
      if isOver, !isOwnDeed(entry) { accuse(.silenceAfterTheEnd, "\(entry)") }

      switch entry.callback {
      case .asked:
        open.insert(entry.detail ?? "")
        if isOver { askedLate.insert(entry.detail ?? "") }
      case .answered: answer(entry)
      case .joined: joined(entry)
      case .left: left(entry)
      case .pictureOn, .pictureOff, .shareOn, .shareOff, .muted, .unmuted, .speaking: streamChanged(entry)
      case .ended:
        if isOver { accuse(.once, "ended twice: \(entry)") }
        isOver = true
        others = [:]
        for question in open.sorted() where !question.hasPrefix("leave") {
          accuse(.once, "\(entry.who) was told the end before an answer to “\(question)”")
        }
      case .connected, .reconnecting, .reconnected, .message, .rung, .ringingEnded: break
      case .failed: accuse(.askDoNotTrap, entry.detail ?? "failed")
      }
    }

    /// What comes after the end because the app asks for it.
    private func isOwnDeed(_ entry: TraceEntry) -> Bool {
      switch entry.callback {
      case .asked, .failed: true
      case .answered: entry.detail.map { $0.hasPrefix("leave") || askedLate.contains($0) } ?? false
      default: false
      }
    }

    mutating func close() {
      for question in open.sorted() { accuse(.once, "“\(question)” was never answered") }
    }

    private mutating func accuse(_ law: Law, _ description: String) {
      violations.append(Violation(law: law, description: description))
    }

    private mutating func answer(_ entry: TraceEntry) {
      let question = entry.detail ?? ""
      if answered.contains(question) { accuse(.once, "answered twice: \(entry)") }
      if open.remove(question) != nil { answered.insert(question) }
    }

    private mutating func joined(_ entry: TraceEntry) {
      guard let whom = entry.whom else { return }
      if others[whom] != nil { accuse(.announceThenWithdraw, "announced twice: \(entry)") }
      others[whom] = Other()
    }

    private mutating func left(_ entry: TraceEntry) {
      guard let whom = entry.whom else { return }
      guard let other = others.removeValue(forKey: whom) else {
        return accuse(.announceThenWithdraw, "was never announced: \(entry)")
      }
      if other.hasPicture || other.isSharing { accuse(.announceThenWithdraw, "streams not withdrawn before: \(entry)") }
    }

    private mutating func streamChanged(_ entry: TraceEntry) {
      guard let whom = entry.whom else { return }
      guard var other = others[whom] else {
        if !isOver { accuse(.announceThenWithdraw, "not announced yet: \(entry)") }
        return
      }
      switch entry.callback {
      case .pictureOn, .pictureOff:
        if other.hasPicture == (entry.callback == .pictureOn) { accuse(.once, "told twice: \(entry)") }
        other.hasPicture = entry.callback == .pictureOn
      case .shareOn, .shareOff:
        if other.isSharing == (entry.callback == .shareOn) { accuse(.once, "told twice: \(entry)") }
        other.isSharing = entry.callback == .shareOn
      default: break
      }
      others[whom] = other
    }
  }
}
