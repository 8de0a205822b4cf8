import KoineTLS
import NIOCore

/// Sorts a new connection by its first byte, so that one port serves HTTP and HTTPS.
///
/// A capital letter begins an HTTP request. 22 begins a TLS record (RFC 8446 section 5.1); the decrypted bytes are sorted again.
/// Any other byte closes the connection: 0 to 5 are reserved for ICE over TCP, in which a frame begins with its length
/// (RFC 4571 section 2). A connection without a first byte is closed after `patience`, and one without a first decrypted byte
/// `patience` after the first byte of TLS.
final class ConnectionSorter: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  enum Kind: Equatable {
    case http, tls

    /// - Returns: nil for a byte that begins neither.
    init?(firstByte: UInt8) {
      switch firstByte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): self = .http
      case 22: self = .tls
      default: return nil
      }
    }
  }

  /// The time for the first byte.
  static let patience = TimeAmount.seconds(10)

  private let install: (Kind) throws -> Bool
  private var end: Scheduled<Void>?
  private var isSorted = false

  /// - Parameter install: adds the handlers of a kind of connection to the end of the pipeline. Returns false for a kind that is
  ///   not served.
  init(install: @escaping (Kind) throws -> Bool) { self.install = install }

  func handlerAdded(context: ChannelHandlerContext) {
    end = context.eventLoop.assumeIsolated().scheduleTask(in: Self.patience) { context.close(promise: nil) }
  }

  func handlerRemoved(context: ChannelHandlerContext) { end?.cancel() }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = unwrapInboundIn(data)
    guard !isSorted, let first = bytes.readableBytesView.first else { return }
    isSorted = true
    guard let kind = Kind(firstByte: first), (try? install(kind)) == true else { return context.close(promise: nil) }
    context.fireChannelRead(data)
    context.pipeline.syncOperations.removeHandler(self, promise: nil)
  }
}

/// How a connection's requests reach the server.
struct HTTPTransport: Sendable {
  /// Whether the connection uses TLS.
  var isEncrypted: Bool
  /// Whether requests are only told to use TLS: the connection does not use it, although the port serves it, and other machines
  /// could read the tokens of its requests.
  var mustEncrypt = false
}
