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

/// What a person types at a terminal: single keys are commands, anything longer is a line to be said.
///
/// A command's key counts once nothing has followed it for a moment, so that text typed without thinking of keys presses none.
/// `t` begins a line that starts with a command's key. Sans-IO: takes bytes and times, gives actions and what to echo.
struct KeyReader {
  enum Action: Equatable {
    case command(Command)
    case say(String)
    /// Written to the terminal as it is.
    case echo(String)
  }

  static let pause = Duration.milliseconds(300)
  private let commands: [Command]
  private let canSay: Bool
  private var line: [UInt8] = []
  private var isTyping = false
  /// Inside an escape sequence, such as an arrow key's: its bytes are no text (ECMA-48, 5.4).
  private var escape = Escape.none

  private enum Escape { case none, began, control }
  /// A command's key that may be the first letter of a line.
  private var pending: (command: Command, byte: UInt8, due: Tick)?

  init(_ commands: [Command], canSay: Bool) { (self.commands, self.canSay) = (commands, canSay) }

  /// When `handleTimeout` has something to do.
  var deadline: Tick? { pending?.due }

  mutating func handle(_ bytes: [UInt8], at now: Tick) -> [Action] { bytes.flatMap { handle($0, at: now) } }

  mutating func handleTimeout(at now: Tick) -> [Action] {
    guard let pending, now >= pending.due else { return [] }
    self.pending = nil
    return [.echo("[\(pending.command.key)] \(pending.command.name)\n"), .command(pending.command)]
  }

  private mutating func handle(_ byte: UInt8, at now: Tick) -> [Action] {
    switch escape {
    case .began:
      escape = byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O") ? .control : .none
      if escape == .control { return [] }
      if isTyping {  // the escape key itself, which leaves the line
        (isTyping, line) = (false, [])
        return [.echo("\n")] + handle(byte, at: now)
      }
    case .control:
      if (0x40...0x7E).contains(byte) { escape = .none }
      return []
    case .none: break
    }
    if byte == 27 {
      escape = .began
      return []
    }
    let command = commands.first { $0.key.asciiValue == byte }
    guard canSay else {
      pending = command.map { ($0, byte, now) }
      return handleTimeout(at: now)
    }
    if let pending {
      if [10, 13].contains(byte) { return handleTimeout(at: pending.due) }
      self.pending = nil
      return beginLine() + type(pending.byte) + type(byte)
    }
    if isTyping { return type(byte) }
    if let command {
      pending = (command, byte, now + Self.pause)
      return []
    }
    if byte == UInt8(ascii: "t") { return beginLine() }
    return byte > 0x20 && byte != 0x7F ? beginLine() + type(byte) : []
  }

  private mutating func beginLine() -> [Action] {
    (isTyping, line) = (true, [])
    return [.echo("> ")]
  }

  private mutating func type(_ byte: UInt8) -> [Action] {
    switch byte {
    case 10, 13:
      let text = String(decoding: line, as: UTF8.self).trimmed
      (isTyping, line) = (false, [])
      return [.echo("\n")] + (text.isEmpty ? [] : [.say(text)])
    case 8, 0x7F:
      guard !line.isEmpty else { return [] }
      while let last = line.popLast(), last & 0xC0 == 0x80 {}  // the whole of a UTF-8 character
      return [.echo("\u{8} \u{8}")]
    case 0..<32: return []
    default:
      line.append(byte)
      return byte < 0x80 ? [.echo(String(UnicodeScalar(byte)))] : completeCharacter()
    }
  }

  /// Echoes a character of several bytes once its last byte is there.
  private func completeCharacter() -> [Action] {
    guard let start = line.lastIndex(where: { $0 & 0xC0 == 0xC0 }) else { return [] }
    let length = (~line[start]).leadingZeroBitCount
    return line.count - start == length ? [.echo(String(decoding: line[start...], as: UTF8.self))] : []
  }
}

extension String {
  fileprivate var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }
}

/// Reads keys and lines from a terminal; on anything else it reads nothing.
@MainActor
public final class Keys {
  private let source: any DispatchSourceRead

  /// One line that names the keys.
  static func help(_ commands: [Command], canSay: Bool) -> String {
    "keys: " + commands.map { "\($0.key) \($0.name)" }.joined(separator: ", ")
      + (canSay ? "; anything longer, or after t, is a message" : "")
  }

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
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
    tcsetattr(0, TCSANOW, &settings)
    let reader = Lock(KeyReader(commands, canSay: say != nil))
    let clock = Scheduler.real
    let carryOut: @Sendable ([KeyReader.Action]) -> Void = { actions in
      for action in actions {
        switch action {
        case .command(let command): handler(command)
        case .say(let line): say?(line)
        case .echo(let text): FileHandle.standardError.write(Data(text.utf8))
        }
      }
    }
    source = DispatchSource.makeReadSource(fileDescriptor: 0, queue: .main)
    source.setEventHandler {
      var bytes = [UInt8](repeating: 0, count: 1_024)
      let count = read(0, &bytes, bytes.count)
      guard count > 0 else { return }
      carryOut(reader.withLock { $0.handle(Array(bytes[..<count]), at: clock.now) })
      guard reader.withLock({ $0.deadline }) != nil else { return }
      DispatchQueue.main.asyncAfter(deadline: .now() + KeyReader.pause.inSeconds) {
        carryOut(reader.withLock { $0.handleTimeout(at: clock.now) })
      }
    }
    source.resume()
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
