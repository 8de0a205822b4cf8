import Dispatch
import KoineBase
import KoineTLS
import Logging
import NIOCore

/// The certificate that a server uses for new connections: from files, or from a local CA, which it renews.
final class ServerCertificate: Sendable {
  private enum Source {
    case none
    case files(ServerConfiguration.TLSFiles)
    case localCA(directory: String, names: [String])
  }

  private struct State {
    var context: TLSContext?
    var authority: String?
  }

  /// How often the certificates of a local CA are checked. They are renewed 30 days before they end.
  private static let checkInterval = TimeAmount.hours(12)

  private let source: Source
  private let logger: Logger
  private let state = Lock(State())

  init(_ configuration: ServerConfiguration) {
    logger = configuration.logger
    if let directory = configuration.localCA {
      source = .localCA(directory: directory, names: configuration.hostNames + [configuration.host])
    } else {
      source = configuration.tls.map { .files($0) } ?? .none
    }
  }

  /// Nil: without TLS.
  var context: TLSContext? { state.withLock { $0.context } }

  /// Whether the server has a certificate.
  var isUsed: Bool { context != nil }

  /// The absolute path of the local CA's certificate; nil without a local CA.
  var authority: String? { state.withLock { $0.authority } }

  /// Reads the configured files again. A local CA makes or renews them first.
  func read() throws(ServerError) {
    switch source {
    case .none: break
    case .files(let files): try read(files)
    case .localCA(let directory, let names):
      let made: LocalCA
      do throws(TLSError) {
        made = try LocalCA(in: directory, names: Self.names(names))
      } catch {
        throw ServerError(description: "no local CA: \(error)")
      }
      for change in made.changes { logger.notice("local CA: \(change)", metadata: ["ca": "\(made.authority)"]) }
      try read(.init(certificate: made.certificate, key: made.key))
      state.withLock { $0.authority = made.authority }
    }
  }

  func read(_ files: ServerConfiguration.TLSFiles) throws(ServerError) {
    do throws(TLSError) {
      let context = try TLSContext.server(certificate: files.certificate, key: files.key)
      state.withLock { $0.context = context }
    } catch {
      throw ServerError(description: "no certificate: \(error)")
    }
  }

  /// The names of the server and of this machine. An address that stands for all addresses is no name.
  private static func names(_ own: [String]) -> CertificateNames {
    let named = own.filter { SocketAddress($0, port: 0)?.isUnspecified != true }
    return CertificateNames(["localhost", "127.0.0.1", "::1"] + CertificateNames.machine + named)
  }

  /// Renews the certificates of a local CA as long as the event loop runs.
  func renewRegularly(on loop: any EventLoop) {
    guard case .localCA = source else { return }
    loop.scheduleRepeatedTask(initialDelay: Self.checkInterval, delay: Self.checkInterval) { [self] _ in
      // Writes files, so not on an event loop.
      DispatchQueue.global(qos: .utility).async { [self] in
        do throws(ServerError) {
          try read()
        } catch {
          logger.error("the certificate stays as it was", metadata: ["reason": "\(error)"])
        }
      }
    }
  }
}
