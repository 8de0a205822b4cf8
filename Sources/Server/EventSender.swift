import Glibc
import KoineBase
import KoineTLS
import KoineVendorAPIs
import NIOCore
import NIOHTTP1
import NIOPosix

/// Sends events to receivers by HTTP/1.1: one connection with one POST for each attempt.
///
/// A host's name is resolved once for an attempt, and the connection goes to one of the addresses that have been checked. Redirections
/// are not followed. A receiver's certificate must be in its name, and signed by an authority that is trusted.
final class EventSender: Sendable {
  /// Bytes of a receiver's answer that are read. The answer does not matter beyond its status.
  private static let answerLimit = 64 * 1024

  private let hosts: EventHosts
  private let authorities: String?
  private let limit: TimeAmount
  private let tls = Lock<TLSContext?>(nil)

  /// - Parameters:
  ///   - authorities: a PEM file; nil: those that the system trusts.
  ///   - limit: the time from the begin of an attempt until the end of the answer.
  init(hosts: EventHosts, authorities: String? = nil, limit: Duration = EventQueue.attemptTime) {
    (self.hosts, self.authorities, self.limit) = (hosts, authorities, .nanoseconds(limit.nanoseconds))
  }

  /// - Returns: a future of the loop, which succeeds within the time limit.
  func send(_ event: BackEndEvent, to url: EventURL, on loop: any EventLoop) -> EventLoopFuture<EventQueue.Outcome> {
    let exchange = EventExchange(event, url, on: loop)
    let seconds = Double(limit.nanoseconds) / 1e9
    let end = loop.scheduleTask(in: limit) { exchange.finish(.failed("no answer within \(seconds) s")) }
    exchange.outcome.whenComplete { _ in end.cancel() }
    resolve(url, for: exchange, on: loop).whenComplete { [self] result in
      switch result {
      case .success(let addresses): connect(exchange, to: addresses[...], on: loop)
      case .failure: exchange.finish(.failed("the name '\(url.host)' cannot be resolved"))
      }
    }
    return exchange.outcome
  }

  // MARK: Names

  private struct NotResolved: Error {}

  private func resolve(
    _ url: EventURL, for exchange: EventExchange, on loop: any EventLoop
  ) -> EventLoopFuture<[KoineBase.SocketAddress]> {
    if let numeric = KoineBase.SocketAddress(url.host, port: UInt16(url.port)) {
      return loop.makeSucceededFuture([numeric])
    }
    // The process's own pool: nothing else here blocks its threads.
    return NIOThreadPool.singleton.runIfActive(eventLoop: loop) {
      // Jobs wait behind others whose servers of names do not answer.
      guard !exchange.isOver else { throw NotResolved() }
      return try Self.addresses(of: url)
    }
  }

  private static func addresses(of url: EventURL) throws -> [KoineBase.SocketAddress] {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(url.host, nil, &hints, &list) == 0 else { throw NotResolved() }
    defer { freeaddrinfo(list) }
    return sequence(first: list) { $0?.pointee.ai_next }.prefix { $0 != nil }.compactMap { entry in
      guard let entry, let address = entry.pointee.ai_addr else { return nil }
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      guard
        getnameinfo(address, entry.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
      else { return nil }
      let host = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      return KoineBase.SocketAddress(host, port: UInt16(url.port))
    }
  }

  // MARK: Connections

  /// Connects to the first of the addresses that are allowed and answer.
  private func connect(
    _ exchange: EventExchange, to addresses: ArraySlice<KoineBase.SocketAddress>, on loop: any EventLoop,
    after failure: String? = nil
  ) {
    guard !exchange.isOver else { return }
    guard let index = addresses.firstIndex(where: { hosts.allows($0, of: exchange.url) }) else {
      return exchange.finish(failure.map { .failed($0) } ?? .refused("none of its addresses is allowed"))
    }
    let address: NIOCore.SocketAddress
    let context: TLSContext?
    do {
      address = try NIOCore.SocketAddress(ipAddress: addresses[index].host, port: exchange.url.port)
      context = exchange.url.isSecure ? try trusted() : nil
    } catch { return exchange.finish(.failed("\(error)")) }
    ClientBootstrap(group: loop)
      .connectTimeout(limit)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let context { try pipeline.addHandler(TLSHandler(context, serverName: exchange.url.host)) }
          try pipeline.addHTTPClientHandlers()
          try pipeline.addHandler(EventExchangeHandler(exchange, answerLimit: Self.answerLimit))
        }
      }
      .connect(to: address)
      .whenComplete { [self] result in
        switch result {
        case .success(let channel):
          exchange.outcome.whenComplete { _ in channel.close(promise: nil) }
        case .failure(let error):
          connect(exchange, to: addresses[(index + 1)...], on: loop, after: Self.words(for: error))
        }
      }
  }

  private func trusted() throws(TLSError) -> TLSContext {
    if let known = tls.withLock({ $0 }) { return known }
    let context = try TLSContext.client(trusting: authorities)
    tls.withLock { $0 = context }
    return context
  }

  private static func words(for error: any Error) -> String {
    switch error {
    case let error as IOError: String(cString: strerror(error.errnoCode))
    case ChannelError.connectTimeout: "no connection in time"
    default: "\(error)"
    }
  }
}

/// One attempt, and how it ended. Any thread may finish it; the first outcome counts.
private final class EventExchange: Sendable {
  let event: BackEndEvent
  let url: EventURL
  private let promise: EventLoopPromise<EventQueue.Outcome>
  private let state = Lock(false)

  init(_ event: BackEndEvent, _ url: EventURL, on loop: any EventLoop) {
    (self.event, self.url, promise) = (event, url, loop.makePromise())
  }

  var outcome: EventLoopFuture<EventQueue.Outcome> { promise.futureResult }
  var isOver: Bool { state.withLock { $0 } }

  func finish(_ outcome: EventQueue.Outcome) {
    let isFirst = state.withLock { isOver in
      defer { isOver = true }
      return !isOver
    }
    if isFirst { promise.succeed(outcome) }
  }

  var head: HTTPRequestHead {
    var headers: HTTPHeaders = [
      "Host": url.authority, "Content-Type": "application/json", "Content-Length": "\(event.body.count)",
      "User-Agent": "Koine", "Connection": "close",
    ]
    if let signature = event.signature { headers.add(name: "videosdk-signature", value: signature) }
    return HTTPRequestHead(version: .http1_1, method: .POST, uri: url.target, headers: headers)
  }
}

/// Writes the request, and reads the status of the answer.
private final class EventExchangeHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  private let exchange: EventExchange
  private let answerLimit: Int
  private var status: Int?
  private var count = 0

  init(_ exchange: EventExchange, answerLimit: Int) { (self.exchange, self.answerLimit) = (exchange, answerLimit) }

  func channelActive(context: ChannelHandlerContext) {
    context.write(wrapOutboundOut(.head(exchange.head)), promise: nil)
    context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: exchange.event.body)))), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): status = Int(head.status.code)
    case .body(let bytes):
      // The rest is not waited for, so that a receiver's program that is slow to close its answer is no failure.
      count += bytes.readableBytes
      if count > answerLimit { end("") }
    case .end: end("")
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    end("the connection was closed without an answer")
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    end(ServerError.words(for: error))
    context.close(promise: nil)
  }

  private func end(_ failure: String) { exchange.finish(status.map { .answered(status: $0) } ?? .failed(failure)) }
}
