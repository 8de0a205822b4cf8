import Koine
@testable import KoineSampleSupport
import Testing

/// Key presses and lines typed at a terminal.
@Suite struct KeyTests {
  private let start = Tick(nanoseconds: 0)

  private func reader(canSay: Bool = true) -> KeyReader { KeyReader(Command.common, canSay: canSay) }

  /// All actions of a text whose bytes arrive at once or one every 100 ms, and of the timeout after it.
  private func actions(_ reader: KeyReader, _ text: String, slowly: Bool) -> [KeyReader.Action] {
    var reader = reader
    var now = start
    var actions: [KeyReader.Action] = []
    for byte in text.utf8 {
      actions += reader.handle([byte], at: now)
      if slowly { now = now + .milliseconds(100) }
      actions += reader.handleTimeout(at: now)
    }
    return actions + reader.handleTimeout(at: now + .seconds(1))
  }

  private func effects(_ actions: [KeyReader.Action]) -> [KeyReader.Action] {
    actions.filter { if case .echo = $0 { false } else { true } }
  }

  private func echo(_ actions: [KeyReader.Action]) -> String {
    actions.map { if case .echo(let text) = $0 { text } else { "" } }.joined()
  }

  @Test func singleKeyIsEchoedAsItsCommand() {
    let all = actions(reader(), "m", slowly: true)
    #expect(effects(all) == [.command(.mute)] && echo(all) == "[m] mute\n")
  }

  @Test(arguments: [true, false]) func typedLineIsSentAsMessageWithoutCommands(_ slowly: Bool) {
    for text in ["hello there", "vamp it", "mq", "quit? no"] {
      let all = actions(reader(), text + "\n", slowly: slowly)
      #expect(effects(all) == [.say(text)])
      #expect(echo(all) == "> \(text)\n")
    }
  }

  @Test func lineAfterTKeyMayStartWithCommandKeyAndBeTypedSlowly() {
    var reader = reader()
    #expect(effects(reader.handle(Array("t".utf8), at: start)).isEmpty)
    #expect(effects(reader.handle(Array("m".utf8), at: start)).isEmpty)
    #expect(effects(reader.handleTimeout(at: start + .seconds(9))).isEmpty)
    #expect(effects(reader.handle(Array("e\r".utf8), at: start + .seconds(9))) == [.say("me")])
  }

  @Test func multibyteCharactersAreEchoedAndDeletedWhole() {
    var reader = reader()
    var all: [KeyReader.Action] = []
    for byte in "tZoë\u{7F}e\n".utf8 { all += reader.handle([byte], at: start) }
    #expect(effects(all) == [.say("Zoe")])
    #expect(echo(all) == "> Zoë\u{8} \u{8}e\n")
  }

  @Test func escapeKeyDiscardsTheLine() {
    #expect(effects(actions(reader(), "hello\u{1B}", slowly: false)).isEmpty)
    #expect(effects(actions(reader(), "hello\u{1B}q", slowly: false)) == [.command(.leave)])
  }

  @Test func arrowKeysAreIgnored() {
    #expect(effects(actions(reader(), "\u{1B}[A\u{1B}OBq", slowly: false)) == [.command(.leave)])
    #expect(effects(actions(reader(), "hel\u{1B}[1;5Dlo\n", slowly: false)) == [.say("hello")])
  }

  @Test func keyFollowedByEnterIsTheCommand() {
    #expect(effects(actions(reader(), "q\n", slowly: false)) == [.command(.leave)])
  }

  @Test func keysTakeEffectImmediatelyWithoutMessaging() {
    var reader = reader(canSay: false)
    #expect(effects(reader.handle(Array("xmq".utf8), at: start)) == [.command(.mute), .command(.leave)])
    #expect(reader.deadline == nil)
  }

  @Test func arbitraryBytesNeverTrap() {
    var random = SeededRandom(seed: 4)
    for _ in 0..<2_000 {
      var reader = reader(canSay: .random(using: &random))
      for _ in 0..<Int.random(in: 0..<40, using: &random) {
        _ = reader.handle([.random(in: 0...255, using: &random)], at: start)
        if .random(using: &random) { _ = reader.handleTimeout(at: start + .seconds(1)) }
      }
    }
  }
}
