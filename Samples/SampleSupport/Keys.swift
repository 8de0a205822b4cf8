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

/// Reads single keys from a terminal, and whole lines to be said after `t`; on anything else it reads nothing.
@MainActor
public final class Keys {
  private let source: any DispatchSourceRead

  /// - Parameters:
  ///   - say: takes a line; nil where nothing can be said. Both are called on the main queue.
  /// - Returns: nil when standard input is no terminal.
  public init?(
    _ commands: [Command], say: (@Sendable (String) -> Void)?, handler: @escaping @Sendable (Command) -> Void
  ) {
    var settings = termios()
    guard isatty(0) == 1, tcgetattr(0, &settings) == 0 else { return nil }
    savedTerminal.withLock { $0 = settings }
    atexit { restoreTerminal() }
    let lines = settings
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
    let keys = settings
    Self.set(keys)
    let isTyping = Lock(false)
    source = DispatchSource.makeReadSource(fileDescriptor: 0, queue: .main)
    source.setEventHandler {
      var bytes = [UInt8](repeating: 0, count: isTyping.withLock { $0 } ? 1_024 : 1)
      let count = read(0, &bytes, bytes.count)
      guard count > 0 else { return }
      if isTyping.withLock({ $0 }) {
        isTyping.withLock { $0 = false }
        Keys.set(keys)
        let line = String(decoding: bytes[..<count], as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        if !line.isEmpty { say?(line) }
        return
      }
      let key = Character(UnicodeScalar(bytes[0]))
      if key == "t", say != nil {
        isTyping.withLock { $0 = true }
        Keys.set(lines)
        FileHandle.standardError.write(Data("> ".utf8))
      } else if let command = commands.first(where: { $0.key == key }) {
        handler(command)
      }
    }
    source.resume()
  }

  private nonisolated static func set(_ settings: termios) {
    var settings = settings
    tcsetattr(0, TCSANOW, &settings)
  }

  isolated deinit {
    source.cancel()
    restoreTerminal()
  }
}

/// Reads lines from standard input where that is a file or a pipe, until it ends.
enum Lines {
  /// - Parameter say: called on the main queue.
  static func read(_ say: @escaping @MainActor @Sendable (String) -> Void) {
    guard isatty(0) == 0 else { return }
    Thread.detachNewThread {
      while let line = readLine() {
        guard !line.isEmpty else { continue }
        DispatchQueue.main.async { MainActor.assumeIsolated { say(line) } }
      }
    }
  }
}
