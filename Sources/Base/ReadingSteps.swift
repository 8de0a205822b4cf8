/// Counts the steps of readers of strangers' bytes, so that a test can tell whether a reader's work grows with its input or
/// with its square. Debug builds only; a release build counts nothing.
///
/// A step is one line, word, attribute, field or packet looked at.
package enum ReadingSteps {
  #if DEBUG
    package final class Counter: Sendable {
      private let steps = Lock(0)
      package init() {}
      package var count: Int { steps.withLock { $0 } }
      fileprivate func add(_ count: Int) { steps.withLock { $0 += count } }
    }

    @TaskLocal private static var counter: Counter?

    /// The steps that `body` takes.
    package static func count<Failure: Error>(of body: () throws(Failure) -> Void) throws(Failure) -> Int {
      let counter = Counter()
      var failure: Failure?
      $counter.withValue(counter) {
        do throws(Failure) { try body() } catch { failure = error }
      }
      if let failure { throw failure }
      return counter.count
    }

    package static func count(_ steps: Int = 1) { counter?.add(steps) }
  #else
    @inlinable package static func count(_ steps: Int = 1) {}
  #endif
}
