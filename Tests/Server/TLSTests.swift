import Dispatch
import Foundation
import Koine
import KoineServer
import KoineServerBackend
import KoineTestSupport
import Testing

/// A certificate in the name of this machine, which has signed itself.
struct TLSIdentity {
  let files: ServerConfiguration.TLSFiles

  private let folder: Folder

  init() async throws {
    folder = try Folder()
    files = .init(certificate: folder.file("certificate.pem"), key: folder.file("key.pem"))
    try await Command(
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
      "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", files.key, "-out", files.certificate
    ).run()
  }
}

@Suite(.timeLimit(.minutes(5))) struct TLSTests {
  private func join(_ server: Server, trusting identity: TLSIdentity?, scheme: String = "wss") async throws
    -> Failure?
  {
    let address = try #require(ServerAddress("\(scheme)://127.0.0.1:\(server.port)"))
    let backend = ServerBackend(address, authorities: identity?.files.certificate)
    let world = World(backend: backend, delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    let ana = Session(JoinRequest(room: "tea", name: "Ana"), in: world)
    do { try await ana.join() } catch { return error }
    await ana.leave()
    return nil
  }

  private func serve(_ identity: TLSIdentity) async throws -> Server {
    try await Server.start(
      ServerConfiguration(port: 0, access: .open, tls: identity.files, logger: .silent))
  }

  @Test func participantJoinsOverTLS() async throws {
    let identity = try await TLSIdentity()
    let server = try await serve(identity)
    #expect(try await join(server, trusting: identity) == nil)
    await server.stop()
  }

  @Test func untrustedServerIsUnreachable() async throws {
    let server = try await serve(TLSIdentity())
    #expect(try await join(server, trusting: nil)?.code == .unreachable)
    #expect(try await join(server, trusting: try await TLSIdentity())?.code == .unreachable)
    // From this machine, the port serves `ws` as well.
    #expect(try await join(server, trusting: nil, scheme: "ws") == nil)
    await server.stop()
  }

  @Test func certificateIsRenewedWhileTheServerRuns() async throws {
    let (old, new) = (try await TLSIdentity(), try await TLSIdentity())
    let server = try await serve(old)
    try server.renewCertificate(new.files)
    #expect(try await join(server, trusting: new) == nil)
    #expect(try await join(server, trusting: old)?.code == .unreachable)
    #expect(throws: ServerError.self) { try server.renewCertificate(.init(certificate: "/nowhere", key: "/nowhere")) }
    #expect(try await join(server, trusting: new) == nil)
    await server.stop()
  }

  /// TLS 1.2 with these ciphers: RSA key exchange would let a stolen key decrypt recorded traffic.
  @Test(arguments: [
    ("ECDHE-ECDSA-AES128-GCM-SHA256", true), ("ECDHE-ECDSA-CHACHA20-POLY1305", true),
    ("ECDHE-ECDSA-AES128-SHA", false), ("ECDHE-ECDSA-AES128-SHA256", false), ("AES128-GCM-SHA256", false),
    ("AES128-SHA", false),
  ])
  func oldCiphersAreNotNegotiated(_ cipher: String, _ isTaken: Bool) async throws {
    let server = try await serve(TLSIdentity())
    let answer = try await Command([
      "sh", "-c",
      "openssl s_client -connect 127.0.0.1:\(server.port) -tls1_2 -cipher \(cipher) </dev/null 2>&1; true",
    ]).run()
    #expect(answer.contains("Cipher is \(cipher)") == isTaken, "\(answer)")
    await server.stop()
  }

  @Test func serverWithoutAReadableCertificateDoesNotStart() async throws {
    await #expect(throws: ServerError.self) {
      try await Server.start(
        ServerConfiguration(
          port: 0, access: .open, tls: .init(certificate: "/nowhere", key: "/nowhere"), logger: .silent))
    }
  }

  @Test func serverAddressesAreParsed() {
    #expect(ServerAddress("ws://host")?.port == 80)
    #expect(ServerAddress("wss://host")?.port == 443)
    #expect(ServerAddress("ws://[::1]:8080")?.host == "::1")
    #expect(ServerAddress("ws://host:8080/rooms")?.path == "/rooms")
    #expect(ServerAddress("ws://host:1/")?.description == "ws://host:1/signaling")
    for text in ["", "ws://", "http://host", "ws://host:0", "ws://host:x", "ws://a b", "ws://me@host", "ws://host?x"] {
      #expect(ServerAddress(text) == nil, "\(text)")
    }
  }
}
