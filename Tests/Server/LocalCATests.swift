import Foundation
import KoineBase
import KoineTestSupport
import Testing

@testable import KoineServer
@testable import KoineTLS

/// A local certificate authority, checked by OpenSSL's command line and by Python.
@Suite(.timeLimit(.minutes(5))) struct LocalCATests {
  private static let day = 24 * 60 * 60
  private static let now = Int(Date().timeIntervalSince1970)
  private static let names = CertificateNames(["localhost", "127.0.0.1", "::1", "Meet.example", "192.0.2.7"])

  private static func make(
    _ folder: Folder, _ names: CertificateNames = names, now: Int = now
  ) throws -> LocalCA { try LocalCA(in: folder.path, names: names, now: now) }

  private static func bytes(_ path: String) -> Data? { FileManager.default.contents(atPath: path) }

  /// OpenSSL's word on a certificate: `OK`, or the reason for the refusal.
  private static func verify(_ certificate: String, _ authority: String, _ options: String...) async throws -> String {
    let arguments = ["-x509_strict", "-purpose", "sslserver", "-CAfile", authority] + options + [certificate]
    return try await Command(["sh", "-c", "openssl verify \"$@\" 2>&1; true", "sh"] + arguments).run()
  }

  @Test func filesAreMadeOnceAndKeysAreTheirOwnersAlone() throws {
    let folder = try Folder()
    let first = try Self.make(folder)
    #expect(first.changes.count == 2)
    #expect(folder.names == ["ca-key.pem", "ca.pem", "server-key.pem", "server.pem"])
    let modes = try folder.names.map {
      try FileManager.default.attributesOfItem(atPath: folder.file($0))[.posixPermissions] as? Int
    }
    #expect(modes == [0o600, 0o644, 0o600, 0o644])
    let before = folder.names.map { Self.bytes(folder.file($0)) }
    let second = try Self.make(folder, now: Self.now + 300 * Self.day)
    #expect(second.changes.isEmpty)
    #expect(folder.names.map { Self.bytes(folder.file($0)) } == before)
    #expect(second.authority == first.authority && second.authority.hasSuffix("/ca.pem"))
  }

  @Test func directoryIsMadeIfItsParentExists() throws {
    let folder = try Folder()
    let made = try LocalCA(in: folder.file("ca"), names: Self.names)
    #expect(FileManager.default.fileExists(atPath: made.key))
    #expect(throws: TLSError.self) { try LocalCA(in: folder.file("a/b"), names: Self.names) }
  }

  @Test(arguments: ["localhost", "127.0.0.1", "::1", "meet.example", "192.0.2.7"])
  func chainIsValidForEachName(_ name: String) async throws {
    let folder = try Folder()
    let made = try Self.make(folder)
    let option = name.first(where: \.isLetter) == nil || name.contains(":") ? "-verify_ip" : "-verify_hostname"
    #expect(try await Self.verify(made.certificate, made.authority, option, name).hasSuffix(": OK\n"))
    let other = name.contains(where: \.isLetter) && !name.contains(":") ? "other.example" : "192.0.2.8"
    #expect(try await !Self.verify(made.certificate, made.authority, option, other).hasSuffix(": OK\n"))
  }

  /// The constraints of the authority refuse certificates that it has signed for other names, also for names below its own.
  @Test(arguments: [
    "other.example", "a.localhost", "a.meet.example", "example", "xlocalhost", "192.0.2.8", "127.0.0.2", "::2",
  ])
  func certificateForAnotherNameIsRefusedByTheConstraints(_ name: String) async throws {
    let folder = try Folder()
    let authority = try KeyedCertificate.authority(for: Self.names, now: Self.now)
    try Data(authority.certificatePEM).write(to: URL(fileURLWithPath: folder.file("ca.pem")))
    for (names, isPermitted) in [(["localhost"], true), ([name], false), (["localhost", name], false)] {
      let server = try KeyedCertificate.server(for: CertificateNames(names), signedBy: authority, now: Self.now)
      #expect(authority.permits(server) == isPermitted)
      try Data(server.certificatePEM).write(to: URL(fileURLWithPath: folder.file("server.pem")))
      let result = try await Self.verify(folder.file("server.pem"), folder.file("ca.pem"))
      #expect(result.contains(isPermitted ? ": OK\n" : "subtree violation"), "\(result)")
    }
  }

  @Test func certificatesHaveTheExtensionsThatClientsRequire() async throws {
    let folder = try Folder()
    let made = try Self.make(folder)
    let authority = try await Command("openssl", "x509", "-in", made.authority, "-noout", "-text").run()
    #expect(authority.contains("X509v3 Basic Constraints: critical\n                CA:TRUE, pathlen:0"))
    #expect(authority.contains("X509v3 Key Usage: critical\n                Certificate Sign, CRL Sign"))
    #expect(authority.contains("X509v3 Name Constraints: critical\n                Permitted:"))
    #expect(authority.contains("DNS:meet.example") && authority.contains("IP:192.0.2.7/255.255.255.255"))
    let server = try await Command("openssl", "x509", "-in", made.certificate, "-noout", "-text").run()
    #expect(server.contains("X509v3 Extended Key Usage: \n                TLS Web Server Authentication"))
    #expect(server.contains("DNS:localhost, DNS:meet.example, IP Address:127.0.0.1, IP Address:192.0.2.7"))
    let files = (certificate: Self.bytes(made.certificate), key: Self.bytes(made.key))
    let certificate = try KeyedCertificate(
      certificate: Array(#require(files.certificate)), key: Array(#require(files.key)))
    #expect(certificate.validity.count <= 398 * Self.day)
    #expect(certificate.validity.contains(Self.now) && certificate.validity.contains(Self.now + 365 * Self.day))
  }

  // MARK: Renewal

  @Test func certificateIsRenewedThirtyDaysBeforeItEnds() throws {
    let folder = try Folder()
    let end = Self.now + 396 * Self.day
    _ = try Self.make(folder)
    let authority = Self.bytes(folder.file("ca.pem"))
    #expect(try Self.make(folder, now: end - 31 * Self.day).changes.isEmpty)
    let renewed = try Self.make(folder, now: end - 29 * Self.day)
    #expect(renewed.changes.map { $0.contains("expires within 30 days") } == [true])
    #expect(Self.bytes(folder.file("ca.pem")) == authority)
    #expect(try Self.make(folder, now: end + 200 * Self.day).changes.isEmpty)
  }

  @Test(arguments: [(3_649 - 31, 0), (3_649 - 29, 2), (3_649, 2), (5_000, 2)])
  func authorityIsRenewedThirtyDaysBeforeItEndsAndAfterwards(_ days: Int, _ changes: Int) async throws {
    let folder = try Folder()
    let later = Self.now + days * Self.day
    _ = try Self.make(folder)
    if days < 4_000 { _ = try Self.make(folder, now: later - 40 * Self.day) }
    let made = try Self.make(folder, now: later)
    #expect(made.changes.count == changes, "\(made.changes)")
    #expect(try await Self.verify(made.certificate, made.authority, "-attime", "\(later)").hasSuffix(": OK\n"))
  }

  @Test func fewerNamesNeedOnlyANewCertificateAndOtherNamesANewAuthority() async throws {
    let folder = try Folder()
    _ = try Self.make(folder)
    let authority = Self.bytes(folder.file("ca.pem"))
    let fewer = try Self.make(folder, CertificateNames(["localhost", "::1"]))
    #expect(fewer.changes.count == 1)
    #expect(Self.bytes(folder.file("ca.pem")) == authority)
    let more = try Self.make(folder, CertificateNames(["localhost", "::1", "new.example"]))
    #expect(more.changes.map { $0.contains("does not permit") } == [true, false])
    #expect(Self.bytes(folder.file("ca.pem")) != authority)
    #expect(
      try await Self.verify(more.certificate, more.authority, "-verify_hostname", "new.example").hasSuffix(": OK\n"))
    let back = try Self.make(folder)
    #expect(back.changes.count == 2)
  }

  @Test func certificateFromTheFutureIsReplacedAndAnAuthorityFromTheFutureIsAnError() throws {
    let folder = try Folder()
    _ = try Self.make(folder)
    #expect(try Self.make(folder, now: Self.now - 3_600).changes.isEmpty, "the clock is set back an hour")
    #expect(throws: TLSError.self) { try Self.make(folder, now: Self.now - 2 * Self.day) }
    _ = try Self.make(folder, now: Self.now + 380 * Self.day)
    #expect(try Self.make(folder).changes.count == 1)
  }

  // MARK: Faults

  @Test(arguments: [
    ("ca.pem", "ca-key.pem"), ("ca-key.pem", "ca.pem"), ("server.pem", "server-key.pem"),
    ("server-key.pem", "server.pem"),
  ])
  func missingOrDamagedFileIsNamed(_ name: String, _ other: String) throws {
    let folder = try Folder()
    _ = try Self.make(folder)
    let path = folder.file(name)
    let whole = try #require(Self.bytes(path))
    func complaint() -> String {
      do { return try Self.make(folder).changes.joined() } catch { return "\(error)" }
    }
    for damaged in [Data(), whole.prefix(40), whole.prefix(whole.count / 2), Data("no certificate".utf8)] {
      try damaged.write(to: URL(fileURLWithPath: path))
      #expect(complaint().contains(path) && complaint().contains("cannot be read"), "\(complaint())")
    }
    try FileManager.default.removeItem(atPath: path)
    #expect(complaint().contains("/\(name)") && complaint().contains("is missing"), "\(complaint())")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    #expect(complaint().contains(path), "\(complaint())")
    try FileManager.default.removeItem(atPath: path)
    try whole.write(to: URL(fileURLWithPath: path))
    #expect(complaint().isEmpty)
    #expect(!folder.names.contains { $0.hasSuffix(".part") })
  }

  @Test func keyOfAnotherAuthorityIsAnErrorAndKeyOfAnotherCertificateIsReplaced() throws {
    let (folder, other) = (try Folder(), try Folder())
    _ = try Self.make(folder)
    _ = try Self.make(other)
    for name in ["server-key.pem", "ca-key.pem"] {
      try FileManager.default.removeItem(atPath: folder.file(name))
      try FileManager.default.copyItem(atPath: other.file(name), toPath: folder.file(name))
      if name == "server-key.pem" { #expect(try Self.make(folder).changes.count == 1) }
    }
    #expect(throws: TLSError.self) { try Self.make(folder) }
  }

  @Test func textsThatAreNoNamesAreLeftOut() {
    let wrong = ["", "a b", "a,DNS:b", "-\n", "a..b", "*.example", "ä.example", String(repeating: "a", count: 64)]
    #expect(CertificateNames(wrong + ["A.example", "a.example", "::0001"]).description == "a.example, ::1")
  }

  // MARK: The server

  @Test func serverWithLocalCAAnswersPythonByEachName() async throws {
    let folder = try Folder()
    var configuration = ServerConfiguration(port: 0, access: .open, logger: .silent)
    (configuration.localCA, configuration.apis) = (folder.path, EchoAPI())
    configuration.hostNames = ["meet.example"]
    let server = try await Server.start(configuration)
    let script = """
      import socket, ssl, urllib.request
      PORT, CA = \(server.port), "\(folder.file("ca.pem"))"
      context = ssl.create_default_context(cafile=CA)
      context.verify_flags |= ssl.VERIFY_X509_STRICT
      for name in ("localhost", "127.0.0.1", "::1", "meet.example", socket.gethostname()):
          with socket.create_connection(("127.0.0.1", PORT), 20) as line:
              with context.wrap_socket(line, server_hostname=name) as secure:
                  secure.sendall(b"GET /healthz HTTP/1.0\\r\\n\\r\\n")
                  assert secure.recv(4096).startswith(b"HTTP/1.0 200"), name
      for name in ("a.localhost", "other.example", "127.0.0.2"):
          with socket.create_connection(("127.0.0.1", PORT), 20) as line:
              try:
                  context.wrap_socket(line, server_hostname=name)
                  raise SystemExit(f"{name} is accepted")
              except ssl.SSLCertVerificationError:
                  pass
      for scheme in ("http", "https"):
          answer = urllib.request.urlopen(f"{scheme}://localhost:{PORT}/echo", b"abc", 20, context=context if scheme == "https" else None)
          assert answer.read() == b"abc" and answer.headers["X-TLS"] == str(scheme == "https").lower()
      try:
          import requests
      except ImportError:
          print("without requests")
      else:
          session = requests.Session()
          for size in (0, 3, 65536):
              answer = session.post(f"https://localhost:{PORT}/echo", b"x" * size, verify=CA, timeout=60)
              assert (answer.status_code, answer.content) == (200, b"x" * size)
          assert session.post(f"https://localhost:{PORT}/echo", b"x" * 65537, verify=CA, timeout=60).status_code == 413
          print("with requests")
      """
    let output = try await Command("python3", "-c", script).run()
    #expect(output.hasPrefix("with"))
    try server.renewCertificate()
    let again = try await Command(
      "curl", "-sS", "--max-time", "60", "--cacert", folder.file("ca.pem"), "https://localhost:\(server.port)/healthz"
    ).run()
    #expect(again == "ok\n")
    await server.stop()
  }

  @Test func serverWithAnUnusableDirectoryDoesNotStart() async throws {
    let folder = try Folder()
    try Data("x".utf8).write(to: URL(fileURLWithPath: folder.file("ca.pem")))
    for directory in [folder.path, folder.file("ca.pem"), "/nowhere/ca"] {
      var configuration = ServerConfiguration(port: 0, access: .open, logger: .silent)
      configuration.localCA = directory
      await #expect(throws: ServerError.self) { try await Server.start(configuration) }
    }
  }
}
