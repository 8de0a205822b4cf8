extension Trace {
  /// The callbacks that an app received only in this trace or only in `other`, or in another order. Times, `.speaking` and the texts of
  /// errors are not compared.
  public func differences(from other: Trace) -> [String] {
    let everybody = Set(entries.map(\.who)).union(other.entries.map(\.who)).sorted()
    return everybody.flatMap { who in
      let (here, there) = (words(of: who), other.words(of: who))
      return here.difference(from: there).map { change in
        switch change {
        case .insert(let offset, let word, _): "\(who), \(offset + 1): only here: \(word)"
        case .remove(let offset, let word, _): "\(who), \(offset + 1): only there: \(word)"
        }
      }
    }
  }

  private func words(of who: String) -> [String] {
    entries.filter { $0.who == who && $0.callback != .speaking }.map { entry in
      let isAnswer = entry.callback == .answered
      let whom = isAnswer ? (entry.whom == nil ? "" : " with an error") : entry.whom.map { " \($0)" } ?? ""
      let detail = [.ended, .ringingEnded].contains(entry.callback) ? "" : entry.detail.map { " \($0)" } ?? ""
      return entry.callback.rawValue + whom + detail
    }
  }
}
