import NIOCore
import NIOHTTP1

/// Decides how the requests of a listener are answered. The event loops of connections call it.
protocol HTTPRouting: Sendable {
  /// Whether a request opens a WebSocket.
  func opensWebSocket(_ request: HTTPRequestHead, over transport: HTTPTransport) -> Bool

  /// The answer to a request, by its head.
  func route(_ request: HTTPRequestHead, over transport: HTTPTransport) -> HTTPRoute
}

/// How a request is answered.
enum HTTPRoute: Sendable {
  /// The answer needs neither the body nor the rest of the server. If a body is still to come, the connection closes.
  case refused(HTTPAnswer)
  /// The answer is made when the request is complete. The body is skipped.
  case skipsBody(@Sendable (any EventLoop) -> EventLoopFuture<HTTPAnswer>)
  /// The answer is made from the whole body, which has at most `limit` bytes. A larger body is refused with 413.
  case takesBody(limit: Int, @Sendable ([UInt8], any EventLoop) -> EventLoopFuture<HTTPAnswer>)
}

/// An answer to a request, without the headers that `HTTPHandler` adds: `Date`, `Content-Length` and `Connection`.
struct HTTPAnswer: Sendable {
  var status: HTTPResponseStatus
  var headers: HTTPHeaders
  var body: ByteBuffer
  /// Whether the connection closes after the answer.
  var closes = false

  init(status: HTTPResponseStatus, headers: HTTPHeaders, body: ByteBuffer) {
    (self.status, self.headers, self.body) = (status, headers, body)
  }

  /// An answer in plain text.
  init(_ status: HTTPResponseStatus, _ text: String, _ headers: [(String, String)] = [], closes: Bool = false) {
    self.init(HTTPRoutes.Answer(status: status, body: text, headers: headers))
    self.closes = closes
  }
}

/// The length of a request's body, by its head (RFC 9112 section 6).
///
/// A head whose length two programs could read differently is refused: behind a proxy, one of them would take a part of the body
/// for a request of its own (request smuggling).
enum RequestFraming: Equatable {
  case none
  /// The body has this many bytes.
  case length(Int)
  case chunked
  /// The status that the request is refused with.
  case refused(HTTPResponseStatus)

  init(_ head: HTTPRequestHead) {
    let (lengths, codings) = (head.headers["Content-Length"], head.headers["Transfer-Encoding"])
    switch (lengths.count, codings.count) {
    case (0, 0): self = .none
    case (1, 0):
      let text = lengths[0]
      let isNumber = !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
      self = isNumber ? .length(Int(text) ?? .max) : .refused(.badRequest)
    case (0, 1) where head.version == .http1_0: self = .refused(.badRequest)
    case (0, 1): self = codings[0].lowercased() == "chunked" ? .chunked : .refused(.notImplemented)
    default: self = .refused(.badRequest)
    }
  }

  /// Whether bytes of a body follow the head, or may follow it.
  var hasBody: Bool {
    switch self {
    case .none: false
    case .length(let count): count > 0
    case .chunked, .refused: true
    }
  }
}
