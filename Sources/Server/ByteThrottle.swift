import NIOCore

/// Reads no more from a connection than its own budget of bytes and its network's allow. No bytes are lost: unread bytes wait at the
/// sender.
final class ByteThrottle: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer

  /// What one connection of a network that has read too much may read in its turn, in bytes.
  private static let turn = 32 << 10

  private let pass: ConnectionLimiter.Permit
  private var budget: ByteBudget
  /// Taken from the network's budget and not yet read.
  private var reserved = 0
  private var end: Scheduled<Void>?

  init(pass: ConnectionLimiter.Permit, limits: ServerLimits, now: NIODeadline) {
    self.pass = pass
    budget = ByteBudget(burst: limits.byteBurst, perSecond: limits.bytesPerSecond, now: now.tick)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let (count, now) = (unwrapInboundIn(data).readableBytes, context.eventLoop.now)
    _ = budget.spend(count, at: now.tick)
    let paid = min(reserved, count)
    reserved -= paid
    _ = pass.takeBytes(count - paid, at: now)
    context.fireChannelRead(data)
  }

  func read(context: ChannelHandlerContext) {
    guard end == nil else { return }
    let now = context.eventLoop.now
    var wait = budget.spend(0, at: now.tick)
    if reserved == 0 {
      let turn = pass.reserveBytes(Self.turn, at: now)
      if turn > .zero { reserved = Self.turn }
      wait = max(wait, turn)
    }
    guard wait > .zero else { return context.read() }
    end = context.eventLoop.assumeIsolated().scheduleTask(in: wait) { [self] in
      end = nil
      context.read()
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) { end?.cancel() }
}
