public import Koine
import KoineBase

#if canImport(Glibc)
  import Glibc
#endif

/// Why a sample cannot do what it was asked: one line for standard error, and an exit code of sysexits(3).
public struct SampleExit: Error, CustomStringConvertible {
  /// 64: the command line makes no sense. 65: an input has the wrong form. 66: an input is missing or unreadable.
  /// 69: the room, or a participant that is needed, is not there. 73: an output cannot be written.
  public let code: Int32
  public let description: String

  public init(code: Int32, _ description: String) {
    self.code = code
    self.description = description
  }

  public init(_ error: DeviceError) {
    if case .unreadable = error { code = 66 } else { code = 64 }
    description = error.description
  }

  /// Prints the line.
  public func tell(command: String) { print("\(command): \(LogText.line(description))", to: .standardError) }

  /// Prints the line and ends the program.
  public func leave(command: String) -> Never {
    tell(command: command)
    exit(code)
  }
}

/// The two places a program writes to.
public enum Output { case standardOutput, standardError }

/// One line, in one piece.
public func print(_ line: String, to output: Output) {
  let bytes = Array((line + "\n").utf8)
  bytes.withUnsafeBytes { _ = write(output == .standardOutput ? 1 : 2, $0.baseAddress, $0.count) }
}
