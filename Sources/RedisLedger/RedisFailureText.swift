import Glibc
import KoineTLS
import NIOCore
import NIOPosix

/// What a failed connection says to an operator.
struct RedisFailureText: CustomStringConvertible {
  let description: String

  init(_ error: any Error) {
    description =
      switch error {
      case let error as NIOConnectionError:
        error.connectionErrors.last.map { Self($0.error).description } ?? "the name '\(error.host)' cannot be resolved"
      case let error as IOError: String(cString: strerror(error.errnoCode))
      case ChannelError.connectTimeout(let limit): "no connection within \(Double(limit.nanoseconds) / 1e9) s"
      case ChannelError.eof: "the connection was closed"
      case let error as TLSError: "TLS: \(error.description)"
      default: "\(error)"
      }
  }
}
