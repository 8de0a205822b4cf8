import Foundation

/// A property or method of a vendor's API that an adapter keeps and returns, but that has no effect here. For authors of styles.
///
/// `log` writes it to standard error, once in a process for each property or method, so that no developer waits for an effect.
public struct NoEffect: Sendable {
  private let module, what, why: String

  /// Declares a vendor symbol without effect.
  /// - Parameters:
  ///   - module: the vendor's module.
  ///   - what: the name in the vendor's API.
  ///   - why: the reason, completing "… is kept without effect: ".
  public init(_ module: String, _ what: String, why: String) {
    (self.module, self.what, self.why) = (module, what, why)
  }

  /// Writes it to standard error, unless this process has. From any thread.
  public func log() {
    guard Self.said.withLock({ $0.insert(line).inserted }) else { return }
    Self.complain(module, "\(what) is kept without effect: \(why)")
  }

  /// Whether this process has written it.
  public var isLogged: Bool { Self.said.withLock { $0.contains(line) } }

  /// Writes a fault that no callback of the vendor's API can report.
  public static func complain(_ module: String, _ text: String) {
    output.withLock { $0 }("\(module): \(text)\n")
  }

  private var line: String { module + "." + what }
  private static let said = Lock<Set<String>>([])
  /// Tests replace it.
  static let output = Lock<@Sendable (String) -> Void> { FileHandle.standardError.write(Data($0.utf8)) }
}
