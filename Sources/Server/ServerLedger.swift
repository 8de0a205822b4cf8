import KoineBase
import KoineLedger
import KoineVendorAPIs

/// A node's own requests to the ledger, beside those of its router: for the registry, and for commands to other nodes. All use one
/// connection. Any thread may call it.
final class ServerLedger: Sendable {
  /// Numbers of requests, below those of the registry and above those of the router.
  private static let firstNumber: UInt64 = 1 << 61

  private struct State {
    var ledger: (any Ledger & Sendable)?
    var lastNumber = ServerLedger.firstNumber
    var waiting: [UInt64: CheckedContinuation<LedgerAnswer, Never>] = [:]
  }

  private let state: Lock<State>
  let registry: LedgerRegistry

  init() {
    let state = Lock(State())
    self.state = state
    registry = LedgerRegistry { request, number in
      guard let ledger = state.withLock({ $0.ledger }) else { return false }
      ledger.send(.registry(request), number: number, at: Scheduler.real.now)
      return true
    }
  }

  /// - Parameter ledger: nil: the server stops.
  func use(_ ledger: (any Ledger & Sendable)?) { state.withLock { $0.ledger = ledger } }

  func ask(_ request: LedgerRequest) async -> LedgerAnswer {
    await withCheckedContinuation { done in
      let (ledger, number) = state.withLock { state in
        state.lastNumber += 1
        if state.ledger != nil { state.waiting[state.lastNumber] = done }
        return (state.ledger, state.lastNumber)
      }
      guard let ledger else { return done.resume(returning: .failed(.away("there is no connection to the ledger"))) }
      ledger.send(request, number: number, at: Scheduler.real.now)
    }
  }

  /// An event of the ledger, on the ledger's thread.
  /// - Returns: whether it is of no concern to the router.
  func take(_ event: LedgerEvent) -> Bool {
    switch event {
    case .answered(let number, let answer) where number > LedgerRegistry.firstNumber:
      registry.handle(answer, to: number)
      return true
    case .answered(let number, let answer) where number > Self.firstNumber:
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(returning: answer)
      return true
    case .message(.all, RegistryNotice.bytes):
      registry.mayHaveChanged()
      return true
    case .connected:
      registry.mayHaveChanged()
      return false
    case .answered, .message, .disconnected: return false
    }
  }
}
