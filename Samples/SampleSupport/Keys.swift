import Foundation
import Koine

#if canImport(Glibc)
  import Glibc
#endif

/// The terminal's settings as they were before keys were read one by one; put back on every exit.
private let savedTerminal = Lock<termios?>(nil)

private func restoreTerminal() {
  savedTerminal.withLock { saved in
    if var settings = saved { tcsetattr(0, TCSANOW, &settings) }
    saved = nil
  }
}

/// Reads single keys from a terminal; on anything else it reads nothing.
@MainActor
public final class Keys {
  private let source: any DispatchSourceRead

  /// - Parameter handler: called on the main queue.
  /// - Returns: nil when standard input is no terminal.
  public init?(_ handler: @escaping @Sendable (Command) -> Void) {
    var settings = termios()
    guard isatty(0) == 1, tcgetattr(0, &settings) == 0 else { return nil }
    savedTerminal.withLock { $0 = settings }
    atexit { restoreTerminal() }
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
    tcsetattr(0, TCSANOW, &settings)
    source = DispatchSource.makeReadSource(fileDescriptor: 0, queue: .main)
    source.setEventHandler {
      var byte: UInt8 = 0
      guard read(0, &byte, 1) == 1, let command = Command(key: Character(UnicodeScalar(byte))) else { return }
      handler(command)
    }
    source.resume()
  }

  isolated deinit {
    source.cancel()
    restoreTerminal()
  }
}
