import KoineBase
import KoineVendorAPIs
import NIOCore
import NIOHTTP1

/// Passes requests to the HTTP APIs, off the event loops, and a bounded number of them at a time.
///
/// A request whose connection closes while its answer is being made is executed to its end, as half an operation would be worse
/// than a lost answer.
final class APIDispatcher: Sendable {
  /// Requests of the server that are being answered at a time; further ones get 503. A connection has one at a time, so the
  /// connections of one address (250 by default) do not use up the limit.
  static let requestLimit = 512

  private struct State {
    var count = 0
    var isStopping = false
    /// Ends when the last request has been answered.
    var idle: AsyncStream<Never>.Continuation?
  }

  private let service: any APIService
  private let limit: Int
  private let state = Lock(State())

  init(_ service: any APIService, limit: Int = requestLimit) { (self.service, self.limit) = (service, limit) }

  func owns(_ head: HTTPRequestHead) -> Bool { service.owns(method: head.method.rawValue, target: head.uri) }

  /// Whether pages of other sites may send a request. They may always ask (`OPTIONS`).
  func answersOtherSites(_ head: HTTPRequestHead) -> Bool {
    head.method == .OPTIONS || service.answersOtherSites(method: head.method.rawValue, target: head.uri)
  }

  func answer(
    _ head: HTTPRequestHead, _ body: [UInt8], over transport: HTTPTransport, on loop: any EventLoop
  ) -> EventLoopFuture<HTTPAnswer> {
    let refusal = state.withLock { state -> String? in
      if state.isStopping { return "the server is stopping\n" }
      if state.count >= limit { return "too many requests at a time\n" }
      state.count += 1
      return nil
    }
    if let refusal {
      return loop.makeSucceededFuture(HTTPAnswer(.serviceUnavailable, refusal, [("Retry-After", "1")]))
    }
    let request = APIRequest(
      method: head.method.rawValue, target: head.uri, headers: head.headers.map { ($0.name, $0.value) }, body: body,
      isEncrypted: transport.isEncrypted)
    return loop.makeFutureWithTask { [self] in
      let response = await service.answer(request)
      state.withLock { state in
        state.count -= 1
        if state.count == 0 { state.idle?.finish() }
      }
      return HTTPAnswer(response)
    }
  }

  /// Refuses further requests, and waits until the requests that are being answered have their answers.
  /// - Parameter time: the longest wait.
  func stop(within time: Duration = .seconds(2)) async {
    let (idle, continuation) = AsyncStream.makeStream(of: Never.self)
    let isIdle = state.withLock { state in
      (state.isStopping, state.idle) = (true, continuation)
      return state.count == 0
    }
    if isIdle { return }
    await withTaskGroup { tasks in
      tasks.addTask { for await _ in idle {} }
      tasks.addTask { try? await Task.sleep(for: time) }
      await tasks.next()
      tasks.cancelAll()
    }
  }
}

extension HTTPAnswer {
  /// Headers of the connection and of the framing, which are the server's own.
  private static let serverHeaders: Set<String> = [
    "connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
  ]

  /// An answer of an HTTP API. An answer that cannot be written, such as one with a line break in a header, becomes 500.
  init(_ response: APIResponse) {
    guard (200...599).contains(response.status),
      response.headers.allSatisfy({ Self.isToken($0.name) && Self.isValue($0.value) })
    else {
      self.init(.internalServerError, "the answer cannot be written\n")
      return
    }
    let status = HTTPResponseStatus(statusCode: response.status)
    let isEmpty = status == .noContent || status == .notModified
    let headers = response.headers.filter { header in
      let name = header.name.lowercased()
      return !Self.serverHeaders.contains(name) && !(isEmpty && name == "content-type")
    }
    self.init(
      status: status, headers: HTTPHeaders(headers.map { ($0.name, $0.value) }),
      body: isEmpty ? ByteBuffer() : ByteBuffer(bytes: response.body))
  }

  /// RFC 9110 section 5.6.2.
  private static func isToken(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }

  /// RFC 9110 section 5.5.
  private static func isValue(_ text: String) -> Bool { text.utf8.allSatisfy { $0 == 9 || ($0 >= 32 && $0 != 127) } }
}
