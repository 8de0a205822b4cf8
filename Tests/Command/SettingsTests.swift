import Foundation
import KoineBase
import KoineServer
import KoineTestSupport
import Logging
import Testing

@Suite struct SettingsTests {
  private func settings(
    _ options: [ServerSettings.Name: [String]] = [:], _ environment: [String: String] = [:], _ json: String? = nil
  ) throws -> ServerSettings {
    try ServerSettings(
      options: options, environment: environment, file: json.map { ("koine.json", Array($0.utf8)) })
  }

  /// Error text for invalid settings; nil if they are valid.
  private func complaint(
    _ options: [ServerSettings.Name: [String]] = [:], _ environment: [String: String] = [:], _ json: String? = nil
  ) -> String? {
    do {
      _ = try settings(options, environment, json)
      return nil
    } catch { return "\(error)" }
  }

  @Test func configurationFileSetsEverySetting() throws {
    let said = try settings(
      [:], [:],
      """
      {"listen": "[::]:9000", "udp": 50000, "address": ["203.0.113.7=10.0.0.2", "::1"], "keys": "keys.json",
       "tls-certificate": "chain.pem", "tls-key": "key.pem", "loops": 2, "log-level": "debug",
       "limits": {"participants": 50, "messages-per-second": 100, "voices": 3}}
      """)
    #expect(said.host == "::")
    #expect(said.port == 9_000)
    #expect(said.mediaPort == 50_000)
    #expect(said.mediaAddresses.map(\.announced.description) == ["203.0.113.7:0", "[::1]:0"])
    #expect(said.mediaAddresses.first?.bound.description == "10.0.0.2:0")
    #expect(said.admission == .keys(file: "keys.json"))
    #expect(said.loops == 2)
    #expect(said.logLevel == Logger.Level.debug)
    #expect(said.tls == .init(certificate: "chain.pem", key: "key.pem"))
    var limits = ServerLimits()
    (limits.participants, limits.messagesPerSecond, limits.voices) = (50, 100, 3)
    #expect(said.limits == limits)
  }

  @Test func livestreamHostsRestrictAndEnableLivestreams() throws {
    func said(_ words: String, _ environment: [String: String] = [:]) throws -> ServerSettings {
      try settings([:], environment, #"{"open": true, "recordings": "r"\#(words)}"#)
    }
    #expect(try !said("").livestreams && said("").livestreamHosts == ["*"])
    #expect(try said(#", "livestreams": true"#).livestreamHosts == ["*"])
    let named = try said(#", "livestream-hosts": ["live.example", "10.0.0.7"]"#)
    #expect(named.livestreams)
    #expect(named.livestreamHosts == ["live.example", "10.0.0.7"])
    #expect(try !said(#", "livestream-hosts": ["a"], "livestreams": false"#).livestreams)
    #expect(try !said(#", "livestream-hosts": ["a"]"#, ["KOINE_SERVE_LIVESTREAMS": "false"]).livestreams)
    #expect(try said("", ["KOINE_SERVE_LIVESTREAM_HOSTS": "a,b"]).livestreamHosts == ["a", "b"])
    for wrong in [#""""#, #"["a", ""]"#, #""rtmp://a""#, #""u@a""#] {
      #expect(
        complaint([:], [:], #"{"open": true, "recordings": "r", "livestream-hosts": \#(wrong)}"#) != nil, "\(wrong)")
    }
    #expect(complaint([:], [:], #"{"open": true, "livestream-hosts": "a"}"#)?.contains("recordings") == true)
  }

  @Test(arguments: [("0", 0), ("7", 7), ("2K", 2_048), ("3m", 3 << 20), ("1G", 1 << 30), ("1T", 1 << 40)])
  func freeSpaceSettingAcceptsByteSuffixes(_ text: String, _ bytes: Int) throws {
    #expect(try settings([.open: ["true"], .recordingsFree: [text]]).recordingsFree == bytes)
    #expect(try settings([.open: ["true"]]).recordingsFree == 1 << 30)
  }

  @Test(arguments: ["", "G", "-1", "1.5G", "1GB", "9999999999T", "１"])
  func invalidFreeSpaceSettingIsRefused(_ text: String) {
    #expect(complaint([.open: ["true"], .recordingsFree: [text]])?.contains("recordings-free") == true)
  }

  @Test func openFalseInEnvironmentOverridesOpenInFile() throws {
    let closed = ["KOINE_SERVE_OPEN": "false"]
    #expect(complaint([:], closed, #"{"open": true}"#) == "set the admission: either --keys FILE or --open")
    #expect(try settings([:], closed, #"{"keys": "k.json"}"#).admission == .keys(file: "k.json"))
    #expect(try settings([.open: ["true"]], closed).admission == .open)
  }

  @Test func unsetSettingsHaveDefaults() throws {
    let said = try settings([.open: ["true"]])
    #expect(said.host == "127.0.0.1")
    #expect(said.port == 8_080)
    #expect(said.mediaPort == 0)
    #expect(said.mediaAddresses.isEmpty)
    #expect(said.limits == ServerLimits())
    #expect(said.loops == nil)
    #expect(said.tls == nil)
    #expect(said.logLevel == Logger.Level.info)
  }

  @Test func optionsOverrideEnvironmentAndEnvironmentOverridesFile() throws {
    let json = #"{"udp": 1, "listen": "a:1", "open": true, "limits": {"rooms": 1, "tracks": 1, "lobby": 1}}"#
    #expect(try settings([:], [:], json).mediaPort == 1)
    let environment = ["KOINE_SERVE_UDP": "2", "KOINE_SERVE_LIMITS": "tracks=2,lobby=2", "PATH": "/bin"]
    let two = try settings([:], environment, json)
    #expect(two.mediaPort == 2)
    #expect(two.host == "a")
    #expect(two.admission == .open)
    let three = try settings([.udp: ["3"], .limits: ["lobby=3"], .keys: ["k.json"]], environment, json)
    #expect(three.mediaPort == 3)
    #expect(three.host == "a")
    let limits = three.limits
    #expect(limits.rooms == 1 && limits.tracks == 2 && limits.lobby == 3, "one by one")
    #expect(three.admission == .keys(file: "k.json"), "who may enter is said once")
    let halves = try settings(
      [.tlsKey: ["b.pem"], .open: ["true"]], ["KOINE_SERVE_TLS_CERTIFICATE": "a.pem"])
    #expect(halves.tls == .init(certificate: "a.pem", key: "b.pem"))
  }

  @Test func firstSourceDecidesBetweenLocalCAAndCertificateFiles() throws {
    let open = [ServerSettings.Name.open: ["true"]]
    let files = #"{"tls-certificate": "a.pem", "tls-key": "b.pem"}"#
    let local = try settings(open.merging([.localCA: ["ca"]]) { $1 }, [:], files)
    #expect(local.localCA == "ca" && local.tls == nil)
    let given = try settings(
      open.merging([.tlsKey: ["b.pem"]]) { $1 }, ["KOINE_SERVE_TLS_CERTIFICATE": "a.pem"], #"{"local-ca": "ca"}"#)
    #expect(given.localCA == nil && given.tls == .init(certificate: "a.pem", key: "b.pem"))
    #expect(try settings(open, ["KOINE_SERVE_LOCAL_CA": "ca"]).localCA == "ca")
    #expect(try settings(open, [:], #"{"local-ca": "ca"}"#).localCA == "ca")
    let none = try settings(open, ["KOINE_SERVE_LOCAL_CA": ""], #"{"local-ca": "ca"}"#)
    #expect(none.localCA == nil && none.tls == nil)
    let both = complaint(open.merging([.localCA: ["ca"], .tlsKey: ["b"], .tlsCertificate: ["a"]]) { $1 })
    #expect(both?.contains("either local-ca") == true)
    #expect(complaint(open, [:], #"{"local-ca": "ca", "tls-key": "b"}"#)?.contains("either local-ca") == true)
  }

  @Test func everySettingHasAnEnvironmentVariable() throws {
    let environment = [
      "KOINE_SERVE_LISTEN": "0.0.0.0:80", "KOINE_SERVE_UDP": "7", "KOINE_SERVE_ADDRESS": "10.0.0.1,10.0.0.2",
      "KOINE_SERVE_OPEN": "1", "KOINE_SERVE_LIMITS": "rooms=7", "KOINE_SERVE_LOOPS": "3",
      "KOINE_SERVE_TLS_CERTIFICATE": "a", "KOINE_SERVE_TLS_KEY": "b", "KOINE_SERVE_LOG_LEVEL": "error",
      "KOINE_SERVE_CONFIGURATION": "read by who asks",
    ]
    let said = try settings([:], environment)
    #expect(said.host == "0.0.0.0")
    #expect(said.port == 80)
    #expect(said.mediaPort == 7)
    #expect(said.mediaAddresses.count == 2)
    #expect(said.admission == .open)
    #expect(said.limits.rooms == 7)
    #expect(said.loops == 3)
    #expect(said.logLevel == Logger.Level.error)
    #expect(try settings([:], ["KOINE_SERVE_KEYS": "k"]).admission == .keys(file: "k"))
  }

  @Test(arguments: [
    (#"{"open": true, "prot": 1}"#, "prot"), (#"{"open": true, "limits": {"romos": 1}}"#, "romos"),
    (#"{"open": true, "limits": {"rooms": 0}}"#, "rooms"),
    (#"{"open": true, "limits": {"message-bytes": 5000000000}}"#, "from 1 to 1073741824"),
    (#"{"open": true, "limits": {"rooms": 1.5}}"#, "rooms"),
    (#"{"open": true, "udp": 70000}"#, "udp"), (#"{"open": true, "udp": "x"}"#, "udp"),
    (#"{"open": true, "listen": "here"}"#, "listen"), (#"{"open": true, "address": ["a"]}"#, "address"),
    (#"{"open": true, "loops": 0}"#, "loops"), (#"{"open": true, "log-level": "loud"}"#, "log-level"),
    (#"{"open": true, "udp": null}"#, "udp"), (#"{"open": true, "tls-key": "k"}"#, "tls-certificate"),
    (#"{"open": "perhaps"}"#, "open"), (#"{"open": true, "keys": "k"}"#, "open"), (#"{}"#, "--open"),
    (#"[1]"#, "koine.json"), (#"{"open": tru"#, "koine.json"), ("", "koine.json"),
  ])
  func errorNamesInvalidSettingInFile(json: String, name: String) {
    #expect(complaint([:], [:], json)?.contains(name) == true, "\(complaint([:], [:], json) ?? "no complaint")")
  }

  @Test func errorNamesInvalidEnvironmentVariableOrOption() {
    let open = [ServerSettings.Name.open: ["true"]]
    #expect(complaint(open, ["KOINE_SERVE_PROT": "1"])?.contains("KOINE_SERVE_PROT") == true)
    #expect(complaint(open, ["KOINE_SERVE_UDP": "-1"])?.contains("the environment, udp") == true)
    #expect(complaint(open.merging([.limits: ["rooms"]]) { $1 })?.contains("NAME=NUMBER") == true)
    #expect(complaint(open.merging([.keys: ["k"]]) { $1 }) == "the options: either keys or open")
  }

  @Test(arguments: [
    ("ws://127.0.0.1:8080", true), ("wss://n1.example.com", true), ("wss://n1.example.com/koine/", true),
    ("ws://[::1]:8080", true), ("ws://127.0.0.1:99999", false), ("ws://127.0.0.1:0", false), ("ws://host:", false),
    ("ws://u:p@host", false), ("ws://host?x=1", false), ("ws://:8080", false), ("ws://[::1", false),
    ("ws://[]:80", false), ("wss://[::1]", true), ("http://host", false), ("ws://", false),
  ])
  func publicAddressIsOneToWhichParticipantsCanConnect(address: String, isValid: Bool) {
    let complaint = complaint([.open: ["true"], .cluster: ["redis://127.0.0.1:6379"], .public: [address]])
    #expect((complaint == nil) == isValid, "\(complaint ?? "accepted")")
  }

  @Test(arguments: [
    ("eu-central-1", true), ("", true), (String(repeating: "a", count: 64), true),
    (String(repeating: "a", count: 65), false),
    ("eu\n", false), ("\u{1B}[31m", false), ("Zürich", false),
  ])
  func regionIsAShortPrintableText(region: String, isValid: Bool) {
    let complaint = complaint([.open: ["true"], .cluster: ["redis://127.0.0.1:6379"], .region: [region]])
    #expect((complaint == nil) == isValid, "\(complaint ?? "accepted")")
  }

  @Test func clusterHasNoFileOfTheRegistry() {
    let complaint = complaint([.open: ["true"], .cluster: ["redis://127.0.0.1:6379"], .registry: ["r.json"]])
    #expect(complaint == "the registry of a cluster is in its ledger: leave out registry")
  }

  // MARK: As a command

  private func lines(_ words: String) async throws -> [String] {
    let built = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path
    let text = try await Command("sh", "-c", "\(built)/koine serve \(words) 2>&1; echo \"code $?\"").run()
    return text.split(separator: "\n").map(String.init)
  }

  @Test func serveCommandReadsConfigurationFileAndOptions() async throws {
    let folder = try Folder()
    let file = folder.file("koine.json")
    try #"{"open": true, "udpp": 1}"#.write(toFile: file, atomically: true, encoding: .utf8)
    let misspelt = try await lines("--configuration \(file)")
    #expect(misspelt.first == "Error: '\(file)': there is no setting 'udpp'")
    #expect(misspelt.last == "code 64")
    let missing = try await lines("--configuration \(folder.file("other.json"))")
    #expect(missing.first?.contains("there is no file of settings") == true)
    #expect(missing.last == "code 64")
    // An address that nobody has: each is taken from where it counts most, and then nothing can be opened.
    try #"{"open": true, "listen": "198.51.100.1:1"}"#.write(toFile: file, atomically: true, encoding: .utf8)
    #expect(try await lines("--configuration \(file)").first?.contains("198.51.100.1") == true)
    #expect(try await lines("--configuration \(file) --listen 198.51.100.2:1").first?.contains("198.51.100.2") == true)
  }

  @Test func helpNamesEverySettingAndLimit() async throws {
    let help = try await lines("--help").joined(separator: " ")
    for name in ServerSettings.Name.allCases { #expect(help.contains("--\(name.rawValue)"), "\(name)") }
    for name in ServerLimits.names { #expect(help.contains(name), "\(name)") }
  }
}
