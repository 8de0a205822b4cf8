import KoineBase
import NIOCore

/// Counts connections, all and of each visitor, and what those of one visitor say together.
///
/// A visitor is an IPv4 address, or a /64 of IPv6: so much is one customer's. It is remembered until its budget is full
/// again, so that reconnecting forgives nothing.
final class DoorKeeper: Sendable {
  private struct Visitors {
    var connections = 0
    var budget: Budget
  }

  private struct State {
    var connections = 0
    var visitors: [KoineBase.SocketAddress?: Visitors] = [:]
    var refused = 0
    var swept = NIODeadline.now()
  }

  private static let sweepInterval = TimeAmount.seconds(10)

  private let limits: ServerLimits
  private let state = Lock(State())

  init(limits: ServerLimits) { self.limits = limits }

  /// One connection's leave to be here; given back once.
  final class Pass: Sendable {
    private let keeper: DoorKeeper
    private let visitor: KoineBase.SocketAddress?
    private let isOut = Lock(false)

    fileprivate init(keeper: DoorKeeper, visitor: KoineBase.SocketAddress?) {
      self.keeper = keeper
      self.visitor = visitor
    }

    deinit { giveBack() }

    func takeMessage(at now: NIODeadline = .now()) -> Bool {
      keeper.state.withLock { $0.visitors[visitor]?.budget.take(at: now.tick) ?? true }
    }

    func giveBack() {
      let isFirst = isOut.withLock { isOut in
        defer { isOut = true }
        return !isOut
      }
      if isFirst { keeper.leave(visitor) }
    }
  }

  /// - Parameter address: without the port.
  /// - Returns: nil where there are too many already.
  func enter(from address: String, at now: NIODeadline = .now()) -> Pass? {
    let visitor = Self.visitor(address)
    return state.withLock { state in
      if now - state.swept >= Self.sweepInterval {
        state.swept = now
        state.visitors = state.visitors.filter { $0.value.connections > 0 || !$0.value.budget.isFull(at: now.tick) }
      }
      let known =
        state.visitors[visitor]
        ?? Visitors(
          budget: Budget(burst: limits.addressBurst, perSecond: limits.addressMessagesPerSecond, now: now.tick))
      guard state.connections < limits.connections, known.connections < limits.connectionsPerAddress else {
        state.refused += 1
        return nil
      }
      state.connections += 1
      state.visitors[visitor] = known
      state.visitors[visitor]?.connections += 1
      return Pass(keeper: self, visitor: visitor)
    }
  }

  private func leave(_ visitor: KoineBase.SocketAddress?) {
    state.withLock { state in
      state.connections -= 1
      state.visitors[visitor]?.connections -= 1
    }
  }

  /// Addresses that are none, as of a local socket, are one visitor's.
  static func visitor(_ address: String) -> KoineBase.SocketAddress? {
    guard let address = KoineBase.SocketAddress(address, port: 0), address.family == .ipv6 else {
      return KoineBase.SocketAddress(address, port: 0)
    }
    // RFC 4291 section 2.5.5.2: an IPv4 address on a socket of both families.
    if address.high == 0, address.low >> 32 == 0xFFFF {
      return KoineBase.SocketAddress(ipv4: UInt32(truncatingIfNeeded: address.low), port: 0)
    }
    return KoineBase.SocketAddress(ipv6High: address.high, low: 0, port: 0)
  }

  var connections: Int { state.withLock { $0.connections } }
  var refused: Int { state.withLock { $0.refused } }
  /// For tests.
  var remembered: Int { state.withLock { $0.visitors.count } }
}

extension NIODeadline {
  /// The same moment of the same clock, as budgets count.
  var tick: Tick { Tick(nanoseconds: Int64(clamping: uptimeNanoseconds)) }
}
