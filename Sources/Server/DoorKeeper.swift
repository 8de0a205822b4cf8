import KoineBase

/// Counts connections, all and of each address, and what those of one address say together.
final class DoorKeeper: Sendable {
  private struct Visitors {
    var connections = 0
    var budget: MessageBudget
  }

  private struct State {
    var connections = 0
    var addresses: [String: Visitors] = [:]
    var refused = 0
  }

  private let limits: ServerLimits
  private let state = Lock(State())

  init(limits: ServerLimits) { self.limits = limits }

  /// One connection's leave to be here; given back once.
  final class Pass: Sendable {
    private let keeper: DoorKeeper
    private let address: String
    private let isOut = Lock(false)

    fileprivate init(keeper: DoorKeeper, address: String) {
      self.keeper = keeper
      self.address = address
    }

    deinit { giveBack() }

    func takeMessage() -> Bool {
      keeper.state.withLock { $0.addresses[address]?.budget.take() ?? true }
    }

    func giveBack() {
      let isFirst = isOut.withLock { isOut in
        defer { isOut = true }
        return !isOut
      }
      if isFirst { keeper.leave(address) }
    }
  }

  /// - Parameter address: without the port.
  /// - Returns: nil where there are too many already.
  func enter(from address: String) -> Pass? {
    state.withLock { state in
      let visitors =
        state.addresses[address]
        ?? Visitors(budget: MessageBudget(burst: limits.addressBurst, perSecond: limits.addressMessagesPerSecond))
      guard state.connections < limits.connections, visitors.connections < limits.connectionsPerAddress else {
        state.refused += 1
        return nil
      }
      state.connections += 1
      state.addresses[address] = visitors
      state.addresses[address]?.connections += 1
      return Pass(keeper: self, address: address)
    }
  }

  private func leave(_ address: String) {
    state.withLock { state in
      state.connections -= 1
      state.addresses[address]?.connections -= 1
      if state.addresses[address]?.connections == 0 { state.addresses[address] = nil }
    }
  }

  var connections: Int { state.withLock { $0.connections } }
  var refused: Int { state.withLock { $0.refused } }
}
