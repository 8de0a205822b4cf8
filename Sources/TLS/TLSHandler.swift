import CKoineOpenSSL
package import NIOCore

/// Turns a channel's bytes into TLS and back, over two memory BIOs: the first handler of its pipeline.
///
///     handshaking ── writes wait ──→ open ──→ closed: by either side, or by an error
package final class TLSHandler: ChannelDuplexHandler {
  package typealias InboundIn = ByteBuffer
  package typealias InboundOut = ByteBuffer
  package typealias OutboundIn = ByteBuffer
  package typealias OutboundOut = ByteBuffer

  private enum State { case handshaking, open, closed }

  private static let chunk = 16 * 1024
  private let session: OpaquePointer
  private let incoming, outgoing: OpaquePointer
  private var state = State.handshaking
  private var waiting: [(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)] = []
  private var mustFlush = false
  private var scratch = [UInt8](repeating: 0, count: chunk)

  /// - Parameter serverName: for a client: a name, or a numeric address, that the certificate must be in.
  package init(_ context: TLSContext, serverName: String? = nil) throws(TLSError) {
    guard let session = SSL_new(context.raw) else { throw .fromQueue("SSL_new") }
    guard let incoming = BIO_new(BIO_s_mem()), let outgoing = BIO_new(BIO_s_mem()) else {
      SSL_free(session)
      throw .fromQueue("BIO_new")
    }
    SSL_set_bio(session, incoming, outgoing)  // which owns them from here on
    (self.session, self.incoming, self.outgoing) = (session, incoming, outgoing)
    switch context.role {
    case .server: SSL_set_accept_state(session)
    case .client:
      SSL_set_connect_state(session)
      guard let serverName else { break }
      let isAddress = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), serverName) == 1
      ERR_clear_error()
      guard !isAddress else { break }
      guard SSL_set1_host(session, serverName) == 1, announce(serverName) else { throw .fromQueue("the server's name") }
    }
  }

  deinit { SSL_free(session) }

  /// What the macro `SSL_set_tlsext_host_name` does: OpenSSL copies the name.
  private func announce(_ serverName: String) -> Bool {
    var name = Array(serverName.utf8CString)
    return name.withUnsafeMutableBytes {
      SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name), $0.baseAddress)
    } == 1
  }

  // MARK: In

  package func channelActive(context: ChannelHandlerContext) {
    advance(context)
    context.fireChannelActive()
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    while state != .closed, bytes.readableBytes > 0 {
      let taken = bytes.readWithUnsafeReadableBytes { bytes in
        let count = max(0, Int(BIO_write(incoming, bytes.baseAddress, Int32(clamping: bytes.count))))
        return (count, count)
      }
      guard taken > 0 else { return fail(context, .fromQueue("BIO_write")) }
    }
    advance(context)
    read(context)
  }

  private func advance(_ context: ChannelHandlerContext) {
    guard state == .handshaking else { return }
    ERR_clear_error()
    let status = SSL_do_handshake(session)
    if status == 1 {
      state = .open
      if mustFlush { encryptWaiting(context) }
    } else if SSL_get_error(session, status) != SSL_ERROR_WANT_READ {
      send(context, promise: nil)  // the alert that says why
      return fail(context, .fromQueue("the handshake failed"))
    }
    send(context, promise: nil)
  }

  private func read(_ context: ChannelHandlerContext) {
    while state == .open {
      ERR_clear_error()
      let count = SSL_read(session, &scratch, Int32(scratch.count))
      guard count > 0 else {
        switch SSL_get_error(session, count) {
        case SSL_ERROR_WANT_READ: return send(context, promise: nil)  // keys may have been renewed
        case SSL_ERROR_ZERO_RETURN: return context.close(promise: nil)
        default: return fail(context, .fromQueue("reading"))
        }
      }
      context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: scratch.prefix(Int(count)))))
    }
  }

  private func fail(_ context: ChannelHandlerContext, _ error: TLSError) {
    guard state != .closed else { return }
    finish()
    context.fireErrorCaught(error)
    context.close(promise: nil)
  }

  // MARK: Out

  package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard state != .closed else {
      promise?.fail(ChannelError.ioOnClosedChannel)
      return
    }
    waiting.append((unwrapOutboundIn(data), promise))
  }

  package func flush(context: ChannelHandlerContext) {
    mustFlush = true
    if state == .open { encryptWaiting(context) }
  }

  private func encryptWaiting(_ context: ChannelHandlerContext) {
    mustFlush = false
    while let (bytes, promise) = waiting.first {
      guard encrypt(bytes) else { return fail(context, .fromQueue("writing")) }
      waiting.removeFirst()
      send(context, promise: promise)
    }
  }

  private func encrypt(_ bytes: ByteBuffer) -> Bool {
    ERR_clear_error()
    return bytes.readableBytes == 0
      || bytes.withUnsafeReadableBytes { SSL_write(session, $0.baseAddress, Int32(clamping: $0.count)) } > 0
  }

  /// Writes the encrypted bytes that OpenSSL has ready to the channel.
  private func send(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
    var bytes = context.channel.allocator.buffer(capacity: 0)
    while case let count = BIO_read(outgoing, &scratch, Int32(scratch.count)), count > 0 {
      bytes.writeBytes(scratch.prefix(Int(count)))
    }
    guard bytes.readableBytes > 0 || promise != nil else { return }
    context.writeAndFlush(wrapOutboundOut(bytes), promise: promise)
  }

  // MARK: The end

  package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    if state == .open {
      SSL_shutdown(session)
      ERR_clear_error()
      send(context, promise: nil)
    }
    finish()
    context.close(mode: mode, promise: promise)
  }

  package func channelInactive(context: ChannelHandlerContext) {
    finish()
    context.fireChannelInactive()
  }

  private func finish() {
    state = .closed
    for (_, promise) in waiting { promise?.fail(ChannelError.ioOnClosedChannel) }
    waiting = []
  }
}
