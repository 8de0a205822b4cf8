import Testing

@testable import KoineBase

@Suite struct LogTextTests {
  @Test(arguments: [
    ("tea", "tea"), ("8:acs:ana", "8:acs:ana"), ("", #""""#), ("a b", #""a b""#),
    (#"a" participant=eve"#, #""a\" participant=eve""#),
    ("a\nnotice: all is well", #""a\u{a}notice: all is well""#), ("\u{202E}x\u{1B}[2J", #""\u{202e}x\u{1b}[2J""#),
  ])
  func untrustedTextIsQuotedInLogLines(_ text: String, _ written: String) {
    #expect(LogText(text).description == written)
  }

  @Test func longTextIsTruncated() {
    #expect(
      LogText(String(repeating: "x", count: 1_000)).description == "\"" + String(repeating: "x", count: 80) + "…\"")
  }

  @Test(arguments: [
    ("Ana < Ben: \"hi\"", "Ana < Ben: \"hi\""), ("Zoë 日本", "Zoë 日本"), ("a\nb\tc", #"a\u{a}b\u{9}c"#),
    ("\u{1B}]0;owned\u{7}\u{9B}2J", #"\u{1b}]0;owned\u{7}\u{9b}2J"#), ("a\u{202E}b", #"a\u{202e}b"#),
  ])
  func controlCharactersAreEscapedForTerminals(_ text: String, _ written: String) {
    #expect(LogText.line(text) == written)
  }

  @Test func lineTruncatesTextToItsLimit() {
    #expect(LogText.line(String(repeating: "x", count: 50), limit: 40) == String(repeating: "x", count: 39) + "…")
    #expect(LogText.line("x", limit: 1) == "x")
  }
}
