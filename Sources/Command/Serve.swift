import ArgumentParser
@preconcurrency import Dispatch
import Glibc
import Koine
import KoineSampleSupport
import KoineServer
import KoineTokens
import Logging

/// Rooms for other processes and machines.
struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serves rooms to other processes, machines and browsers.",
    discussion: """
      HTTP and signalling (WebSocket) on one TCP port, all media on one UDP port. Apps of every style reach it with \
      KOINE_BACKEND=ws://HOST:PORT. Ends on SIGTERM or SIGINT, after everybody has been told that their room closes.
      """)

  @Option(help: "Where HTTP and WebSocket are served.")
  var listen = "127.0.0.1:8080"

  @Option(help: "The UDP port for all media; 0: the system chooses one.")
  var udp: UInt16 = 0

  @Option(
    help: ArgumentHelp(
      "Where clients reach the media port, instead of the machine's own addresses. PUBLIC=OWN behind a translation that keeps ports.",
      valueName: "ip"))
  var address: [String] = []

  @Flag(help: "Lets everybody in; tokens are believed whoever has signed them.")
  var open = false

  @Option(help: "Lets in whoever bears a token that a key of this file has signed; it is read again on SIGHUP.")
  var keys: String?

  @Option(help: "Serves HTTPS and wss:// with this certificate chain (PEM); it is read again on SIGHUP.")
  var tlsCertificate: String?

  @Option(help: "The certificate's key (PEM, not encrypted).")
  var tlsKey: String?

  @Option(help: "trace, debug, info, notice, warning or error.")
  var logLevel = "info"

  func validate() throws {
    guard open != (keys != nil) else { throw ValidationError("say who may enter: either --keys FILE or --open") }
    guard (tlsCertificate == nil) == (tlsKey == nil) else {
      throw ValidationError("--tls-certificate and --tls-key belong together")
    }
    _ = try access()
    _ = try endpoint()
    _ = try address.map(mediaAddress)
    guard Logger.Level(rawValue: logLevel) != nil else { throw ValidationError("no log level '\(logLevel)'") }
  }

  func run() async throws {
    let (host, port) = try endpoint()
    let level = Logger.Level(rawValue: logLevel) ?? .info
    LoggingSystem.bootstrap { label in
      var handler = StreamLogHandler.standardError(label: label)
      handler.logLevel = level
      return handler
    }
    let configuration = ServerConfiguration(
      host: host, port: port, mediaPort: udp, mediaAddresses: try address.map(mediaAddress), access: try access(),
      tls: tls)
    do {
      let server = try await Server.start(configuration)
      for await number in Signals.stream(of: [SIGTERM, SIGINT, SIGHUP]) {
        guard number == SIGHUP else { break }
        reload(server)
      }
      await server.stop()
    } catch {
      SampleExit(code: 69, "\(error)").leave(command: "koine serve")
    }
  }

  private var tls: ServerConfiguration.TLSFiles? {
    guard let tlsCertificate, let tlsKey else { return nil }
    return .init(certificate: tlsCertificate, key: tlsKey)
  }

  private func access() throws -> ServerConfiguration.Access {
    guard let keys else { return .open }
    return .keys(try KeyFile.read(keys).verificationKeys)
  }

  private func reload(_ server: Server) {
    let logger = Logger(label: "koine.server")
    do {
      server.admit(try access())
      if let tls { try server.renewCertificate(tls) }
      logger.info("keys and certificate are read again")
    } catch {
      logger.error("what cannot be read stays as it was", metadata: ["reason": "\(error)"])
    }
  }

  private func endpoint() throws -> (host: String, port: Int) {
    guard let colon = listen.lastIndex(of: ":"), let port = Int(listen[listen.index(after: colon)...]),
      (0...65_535).contains(port)
    else { throw ValidationError("--listen takes HOST:PORT") }
    let host = listen[..<colon]
    return (String(host.hasPrefix("[") && host.hasSuffix("]") ? host.dropFirst().dropLast() : host), port)
  }

  private func mediaAddress(_ text: String) throws -> ServerConfiguration.MediaAddress {
    let parts = text.split(separator: "=", omittingEmptySubsequences: false).map { SocketAddress(String($0), port: 0) }
    guard (1...2).contains(parts.count), let announced = parts[0], let bound = parts.last ?? nil else {
      throw ValidationError("--address takes a numeric IP address, or two with = between")
    }
    return .init(announced: announced, bound: bound)
  }
}

/// The system's signals, which end nothing by themselves from here on.
enum Signals {
  static func stream(of numbers: [Int32]) -> AsyncStream<Int32> {
    let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
    let sources = numbers.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { continuation.yield(number) }
      source.resume()
      return source
    }
    let kept = Lock(sources)
    continuation.onTermination = { _ in kept.withLock { $0.forEach { $0.cancel() } } }
    return stream
  }
}
