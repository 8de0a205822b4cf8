import Glibc
import KoineRouter
import KoineSignaling
import KoineTokens
import Testing

@testable import KoineServer

/// The work of a reader of strangers' text grows with the text, not with its square. These readers are made of json-c and
/// OpenSSL, whose steps nothing counts; so the processor time of the thread is compared, over a factor at which a quadratic
/// reader takes sixteen times too long. (Session descriptions, which are read here byte by byte, count their steps.)
@Suite(.serialized) struct ReaderGrowthTests {
  /// What a stranger may repeat in a message.
  enum Repeated: String, CaseIterable {
    case numbers, objects, names, escapes, letters, attributes, tracks, spaces

    func message(_ count: Int) -> [UInt8] {
      func list(_ item: (Int) -> String) -> String { (0..<count).map(item).joined(separator: ",") }
      let text =
        switch self {
        case .numbers: #"{"type":"ping","number":1,"x":[\#(list { "\($0).5e3" })]}"#
        case .objects: #"{"type":"ping","number":1,"x":[\#(list { _ in "{}" })]}"#
        case .names: #"{"type":"ping","number":1,"x":{\#(list { #""k\#($0)":0"# })}}"#
        case .escapes: #"{"type":"ping","number":1,"x":"\#(String(repeating: #"\u00fc"#, count: count))"}"#
        case .letters: #"{"type":"ping","number":1,"x":"\#(String(repeating: "abc", count: count))"}"#
        case .attributes:
          #"{"type":"attributes","version":1,"room":"r","name":"n","attributes":{\#(list { #""k\#($0)":"""# })}}"#
        case .tracks:
          #"{"type":"pause","tracks":[\#(list { #"{"participant":"p","track":"\#($0)"}"# })]}"#
        case .spaces: #"{"type":"ping",\#(String(repeating: " ", count: count))"number":1}"#
        }
      return Array(text.utf8)
    }
  }

  private func nanoseconds(_ body: () -> Void) -> Int {
    func now() -> Int {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
    return (0..<3).map { _ in
      let begun = now()
      body()
      return now() - begun
    }.min() ?? 0
  }

  private func expectLinear<Text>(_ text: (Int) -> Text, _ read: (Text) -> Void) {
    let (short, long) = (text(1_500), text(24_000))
    read(short)
    let (once, sixteenTimes) = (nanoseconds { read(short) }, nanoseconds { read(long) })
    #expect(sixteenTimes < 64 * max(once, 20_000), "\(once) ns, then \(sixteenTimes) ns")
  }

  @Test(arguments: Repeated.allCases) func messageOfSixteenTimesTheLengthIsReadInLinearTime(_ repeated: Repeated) {
    expectLinear(repeated.message) { text in
      text.withUnsafeBytes { bytes in
        _ = ClientMessage.reading(bytes)
        _ = try? BrowserMessage(json: bytes)
      }
    }
  }

  @Test(arguments: ["e30.%.AAAA", "%.e30.AAAA", "e30.e30.%", "e30.e30.e30%", "%"])
  func tokenOfSixteenTimesTheLengthIsReadInLinearTime(_ form: String) throws {
    let keys = try KeySet(newKey: "a").verificationKeys
    let authorization = RouterHost(ServerConfiguration(access: .keys(keys), logger: .silent)).authorization
    let description = PeerDescription(
      ice: ICECredentials(ufrag: "", password: ""), candidates: [], fingerprint: .init(value: ""), isLite: false,
      setup: .active)
    for part in ["WzAsMCww", "eyJh", ".", "e30."] {
      expectLinear({ count in
        let credential = form.replacing("%", with: String(repeating: part, count: count))
        return Join(room: "r", credential: credential, name: "n", description: description)
      }) { _ = authorization.check($0) }
    }
  }
}
