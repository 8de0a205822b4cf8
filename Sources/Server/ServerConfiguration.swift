public import KoineBase
public import KoineTokens
public import Logging

/// What a server is made with.
public struct ServerConfiguration: Sendable {
  /// Who may enter.
  public enum Access: Sendable {
    /// Whoever bears a token that one of these keys has signed.
    case keys([VerificationKey])
    /// Everybody; tokens are believed whoever has signed them.
    case open
  }

  /// A way to the media port.
  public struct MediaAddress: Hashable, Sendable {
    /// What clients are told.
    public var announced: SocketAddress
    /// Where the socket is: differs behind an address translation that keeps ports.
    public var bound: SocketAddress

    /// - Parameter bound: nil: the same as `announced`.
    public init(announced: SocketAddress, bound: SocketAddress? = nil) {
      self.announced = announced
      self.bound = bound ?? announced
    }
  }

  /// PEM files.
  public struct TLSFiles: Hashable, Sendable {
    /// The certificate, then those that lead to one that clients know.
    public var certificate: String
    /// Not encrypted.
    public var key: String

    public init(certificate: String, key: String) { (self.certificate, self.key) = (certificate, key) }
  }

  /// Where HTTP and WebSocket are served; with port 0 the system chooses one.
  public var host: String
  public var port: Int
  /// For all media; 0: the system chooses one.
  public var mediaPort: UInt16
  /// Without ports. Empty: the host's own address, or all of the machine's where the host stands for all or is the
  /// machine itself.
  public var mediaAddresses: [MediaAddress]
  public var access: Access
  /// Nil: neither HTTP nor signalling is encrypted. (Media always is.)
  public var tls: TLSFiles?
  public var limits: ServerLimits
  public var logger: Logger

  public init(
    host: String = "127.0.0.1", port: Int = 8080, mediaPort: UInt16 = 0, mediaAddresses: [MediaAddress] = [],
    access: Access, tls: TLSFiles? = nil, limits: ServerLimits = ServerLimits(),
    logger: Logger = Logger(label: "koine.server")
  ) {
    (self.host, self.port, self.mediaPort, self.mediaAddresses) = (host, port, mediaPort, mediaAddresses)
    (self.access, self.tls, self.limits, self.logger) = (access, tls, limits, logger)
  }
}

/// What keeps one client, or all of one address, from using up the server.
public struct ServerLimits: Hashable, Sendable {
  public var rooms = 1_000
  /// Of one room.
  public var participants = 1_000
  public var connections = 10_000
  /// Of one IP address.
  public var connectionsPerAddress = 250
  /// Of one signalling message, in bytes.
  public var messageBytes = 1 << 20
  /// Signalling messages of one connection: a burst, then so many a second. One that sends more is closed.
  public var messageBurst = 1_000.0
  public var messagesPerSecond = 300.0
  /// Signalling messages of all connections of one IP address together.
  public var addressBurst = 10_000.0
  public var addressMessagesPerSecond = 3_000.0
  /// What may wait to be read by one connection, in bytes. One that reads too slowly is closed.
  public var unreadBytes = 8 << 20

  public init() {}
}

/// Why a server could not start.
public struct ServerError: Error, CustomStringConvertible {
  public let description: String
}
