import NIOCore
import NIOWebSocket

/// Follows the frames of a WebSocket (RFC 6455 section 5.2) by their headers alone, without keeping any payload.
struct FrameScanner {
  /// Whether bytes of a frame or fragments of a message have come and the rest has not.
  var isUnfinished: Bool { isFragmented || payloadLeft > 0 || !header.isEmpty }
  /// Counts up whenever nothing is unfinished, if only for a moment.
  private(set) var completed = 0

  /// Of the frame that is being read; at most ten bytes.
  private var header: [UInt8] = []
  /// With the masking key, which is skipped like payload.
  private var payloadLeft = 0
  private var endsMessage = false
  private var isFragmented = false
  /// Bytes of payload in the message's frames so far.
  private var messageBytes = 0

  init() { header.reserveCapacity(10) }

  /// - Parameter limit: bytes of payload in one message.
  /// - Returns: false where a message is larger, by what its headers say. Nothing may be scanned after that.
  mutating func scan(_ bytes: UnsafeRawBufferPointer, limit: Int) -> Bool {
    var offset = 0
    while offset < bytes.count {
      if payloadLeft > 0 {
        let count = min(payloadLeft, bytes.count - offset)
        payloadLeft -= count
        offset += count
        if payloadLeft == 0 { endFrame() }
      } else {
        header.append(bytes[offset])
        offset += 1
        if isHeaderComplete, !beginPayload(limit: limit) { return false }
      }
    }
    return true
  }

  private var isHeaderComplete: Bool {
    guard header.count >= 2 else { return false }
    return switch header[1] & 0x7F {
    case 127: header.count == 10
    case 126: header.count == 4
    default: true
    }
  }

  private mutating func beginPayload(limit: Int) -> Bool {
    let short = Int(header[1] & 0x7F)
    let length = short < 126 ? UInt64(short) : header[2...].reduce(0) { $0 << 8 | UInt64($1) }
    let (isFinal, isControl) = (header[0] & 0x80 != 0, header[0] & 0x08 != 0)
    guard length <= UInt64(limit) else { return false }
    if isControl {
      endsMessage = false
    } else {
      messageBytes += Int(length)
      guard messageBytes <= limit else { return false }
      (endsMessage, isFragmented) = (isFinal, true)
    }
    payloadLeft = Int(length) + (header[1] & 0x80 != 0 ? 4 : 0)
    header.removeAll(keepingCapacity: true)
    if payloadLeft == 0 { endFrame() }
    return true
  }

  private mutating func endFrame() {
    if endsMessage { (isFragmented, messageBytes, endsMessage) = (false, 0, false) }
    if !isUnfinished { completed += 1 }
  }
}

/// Why a WebSocket is closed, as its client is told (RFC 6455 section 7.4).
struct SignalViolation: Error {
  let code: WebSocketErrorCode
  let reason: String

  static func tooLarge(_ limit: Int) -> SignalViolation {
    SignalViolation(code: .messageTooLarge, reason: "a message of more than \(limit) bytes")
  }
  static let unfinished = SignalViolation(code: .policyViolation, reason: "a message took more than 15 s to arrive")
  static let noJoin = SignalViolation(code: .policyViolation, reason: "no accepted join within 10 s")
  static let tooFast = SignalViolation(code: .policyViolation, reason: "too many messages")
}

/// Stands before the decoder of WebSocket frames, which keeps a frame until it is whole: ends the connection when a message is
/// larger than allowed, before the message has been kept, or has not come whole in time.
final class FrameGuard: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  /// For all of a message, from its first byte on.
  static let patience = TimeAmount.seconds(15)
  /// Bytes of payload in one message, until a join has been accepted: room for the largest credential and offer.
  static let limitBeforeJoin = 64 << 10

  private let outlet: WebSocketWriter
  private let limit: Int
  private var scanner = FrameScanner()
  private var isOver = false
  /// When the message that is on its way must have come, and which one that is.
  private var end: (task: Scheduled<Void>, message: Int)?

  /// - Parameter limit: bytes of payload in one message, once a join has been accepted.
  init(outlet: WebSocketWriter, limit: Int) {
    self.outlet = outlet
    self.limit = limit
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isOver else { return }
    let limit = outlet.isAccepted ? limit : min(limit, Self.limitBeforeJoin)
    guard unwrapInboundIn(data).withUnsafeReadableBytes({ scanner.scan($0, limit: limit) }) else {
      return refuse(.tooLarge(limit), context)
    }
    watch(context)
    context.fireChannelRead(data)
  }

  private func watch(_ context: ChannelHandlerContext) {
    guard scanner.isUnfinished else { return rest() }
    if let end, end.message == scanner.completed { return }
    rest()
    let task = context.eventLoop.assumeIsolated().scheduleTask(in: Self.patience) { [self] in
      refuse(.unfinished, context)
    }
    end = (task, scanner.completed)
  }

  private func refuse(_ violation: SignalViolation, _ context: ChannelHandlerContext) {
    isOver = true
    rest()
    context.fireErrorCaught(violation)
  }

  private func rest() {
    end?.task.cancel()
    end = nil
  }

  func handlerRemoved(context: ChannelHandlerContext) { rest() }
}
