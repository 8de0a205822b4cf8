import Foundation
import Koine

/// The log of broadcast sessions: lines on standard error.
enum SessionLog {
  /// Tests replace it.
  static let output = Lock<@Sendable (String) -> Void> { FileHandle.standardError.write(Data($0.utf8)) }

  static func write(_ severity: IVSBroadcastSession.LogLevel, _ session: String, _ message: String) {
    output.withLock { $0 }("AmazonIVSBroadcast: \(severity): session \(session): \(message)\n")
  }
}
