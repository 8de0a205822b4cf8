import Glibc
public import KoineBase
package import KoineRouter
public import KoineSignaling
public import KoineTokens
package import KoineVendorAPIs
public import Logging
import NIOCore

/// The configuration that a server is created with.
public struct ServerConfiguration: Sendable {
  /// Which clients the server admits.
  public enum Access: Sendable {
    /// The server admits clients with a token that is signed by one of these keys.
    case keys([VerificationKey])
    /// The server admits every client: it does not check the signatures of tokens.
    case open

    /// See `NodeRecord.keysDigest`.
    var keysDigest: String? {
      switch self {
      case .open: "open"
      case .keys(let keys): try? VerificationKey.digest(of: keys)
      }
    }
  }

  /// A way to the media port.
  public struct MediaAddress: Hashable, Sendable {
    /// What clients are told.
    public var announced: SocketAddress
    /// Where the socket is: differs behind an address translation that keeps ports.
    public var bound: SocketAddress

    /// Creates a media address.
    /// - Parameter bound: nil: the same as `announced`.
    public init(announced: SocketAddress, bound: SocketAddress? = nil) {
      self.announced = announced
      self.bound = bound ?? announced
    }
  }

  /// Where a socket listens.
  public struct Endpoint: Hashable, Sendable {
    /// Host name or IP address.
    public var host: String
    /// 0: the system chooses one.
    public var port: Int

    /// Creates an address.
    public init(host: String, port: Int) { (self.host, self.port) = (host, port) }
  }

  /// PEM files.
  public struct TLSFiles: Hashable, Sendable {
    /// The certificate, then those that lead to one that clients know.
    public var certificate: String
    /// Not encrypted.
    public var key: String

    /// Creates the paths of PEM files.
    public init(certificate: String, key: String) { (self.certificate, self.key) = (certificate, key) }
  }

  /// Where HTTP and WebSocket are served; with port 0 the system chooses one.
  public var host: String
  /// TCP port of HTTP and WebSocket; 0: the system chooses.
  public var port: Int
  /// DNS names of the server. Requests that name another host are refused, unless they name an address or `localhost`. Empty: a
  /// server at a loopback address is reached by those two only, any other server by every name.
  public var hostNames: [String] = []
  /// Where `/metrics` is served, by HTTP without TLS, and nowhere else then. Nil: beside everything else.
  public var metrics: Endpoint?
  /// For all media; 0: the system chooses one.
  public var mediaPort: UInt16
  /// Without ports. Empty: the host's own address, or all of the machine's where the host stands for all. A host that is a
  /// loopback address has all of them, too, because browsers send no media to a loopback address; datagrams of other
  /// machines are then dropped.
  public var mediaAddresses: [MediaAddress]
  /// The rule for admission.
  public var access: Access
  /// Nil: neither HTTP nor signalling is encrypted. (Media always is.) With a certificate, the port serves `https` and, for clients of
  /// this machine, `http`. Other clients of `http` are redirected or refused (`answersPlainHTTP`).
  public var tls: TLSFiles?
  /// The path of a directory with a certificate authority of this machine's own, which issues the server's certificate in place of
  /// `tls`. The server makes the files that are missing, and renews them. HTTP without TLS is answered, too.
  public var localCA: String?
  /// Whether a server with a certificate answers HTTP without TLS for other machines, too. Their tokens are then not encrypted.
  public var answersPlainHTTP = false
  /// The server's limits.
  public var limits: ServerLimits
  /// On how many threads media leaves, each with a core of its own to run on.
  public var loops: Int
  /// A co-located service. It answers with `Server.send(_:)`, and joins rooms with `Server.pass(for:name:)`.
  public var attendant: RoomService?
  /// The path of a Unix domain socket on which commands are taken (`koine rooms`); nil: none are.
  public var control: String?
  /// The vendors' HTTP APIs for apps' back ends; nil: not served.
  public var backEndAPIs: BackEndAPIs?
  /// The cluster that the server is a node of; nil: it has all its rooms itself.
  package var cluster: ServerCluster?
  /// Decides about joins after their credentials have been verified, on the network loop.
  package var admission: AdmissionPolicy?
  /// HTTP APIs, which answer the requests that they own at the port of HTTP and WebSocket. Nil: the server has only its own pages.
  package var apis: (any APIService)?
  /// The logger of all messages.
  public var logger: Logger

  /// Creates a configuration.
  public init(
    host: String = "127.0.0.1", port: Int = 8080, mediaPort: UInt16 = 0, mediaAddresses: [MediaAddress] = [],
    access: Access, tls: TLSFiles? = nil, limits: ServerLimits = ServerLimits(), loops: Int = 1,
    logger: Logger = Logger(label: "koine.server")
  ) {
    (self.host, self.port, self.mediaPort, self.mediaAddresses) = (host, port, mediaPort, mediaAddresses)
    (self.access, self.tls, self.limits, self.logger) = (access, tls, limits, logger)
    self.loops = max(loops, 1)
  }
}

extension ServerConfiguration {
  /// As the settings say.
  public init(_ settings: ServerSettings, access: Access, logger: Logger) {
    self.init(
      host: settings.host, port: settings.port, mediaPort: settings.mediaPort,
      mediaAddresses: settings.mediaAddresses, access: access, tls: settings.tls, limits: settings.limits,
      loops: settings.loops ?? ForkJoinPool.usefulWorkers, logger: logger)
    (hostNames, metrics, control) = (settings.hostNames, settings.metrics, settings.control)
    localCA = settings.localCA
  }
}

/// Why a server could not start.
public struct ServerError: Error, Hashable, CustomStringConvertible {
  public let description: String
}

extension ServerError {
  /// What an operator reads of an error of a socket: the system's words, without the names of functions.
  static func words(for error: any Error) -> String {
    (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
  }
}
