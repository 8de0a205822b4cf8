import Foundation
import KoineBase

/// What an adapter keeps and gives back, but cannot give any effect. The first time it matters a process says so on
/// standard error, so that nobody waits for what will not happen; each thing once, however often it is set.
package struct Recorded: Sendable {
  private let module, what, why: String

  /// - Parameters:
  ///   - module: whose API it is of.
  ///   - what: as the API calls it.
  package init(_ module: String, _ what: String, why: String) {
    (self.module, self.what, self.why) = (module, what, why)
  }

  /// Any thread.
  package func log() {
    guard Self.said.withLock({ $0.insert(line).inserted }) else { return }
    Self.complain(module, "\(what) is kept without effect: \(why)")
  }

  /// In this process, so far.
  package var isLogged: Bool { Self.said.withLock { $0.contains(line) } }

  /// For what cannot be told to the app in any other way.
  package static func complain(_ module: String, _ text: String) {
    output.withLock { $0 }("\(module): \(text)\n")
  }

  private var line: String { module + "." + what }
  private static let said = Lock<Set<String>>([])
  /// Where it is said; tests listen here.
  static let output = Lock<@Sendable (String) -> Void> { FileHandle.standardError.write(Data($0.utf8)) }
}
