/// Keeps the source of a device open while a consumer wants its output, and switches sources when the machine changes.
///
/// A source that has been opened and not started is kept for the first start. `life` is locked only briefly: sources open,
/// start and stop outside of the lock, one after another, in the order of `adjuster`. If the consumer has gone by the time a
/// device has opened, the device is stopped again.
final class DeviceRoute<Source: Sendable, Output>: MachineFollower, Sendable {
  typealias Deliver = @Sendable (Output) -> Void

  /// A consumer's request for the output. Requests are numbered in order.
  private struct Wish {
    let lane: Lane
    let deliver: Deliver
    let number: Int
  }

  private struct Life {
    /// Opened and not running.
    var kept: Source?
    var running: (source: Source, wish: Int)?
    /// The one that is open, or was tried last.
    var device: Machine.Device?
    var wish: Wish?
    var wishes = 0
    /// Of `device`.
    var failure: (any Error)?
    /// `device` is not tried again until another consumer wants it, or the machine has changed.
    var hasFailed = false
    /// The number of new consumers and of changes of the machine so far.
    var changes = 0

    mutating func change() { (failure, hasFailed, changes) = (nil, false, changes + 1) }
  }

  private enum Step {
    case start(Source?, Machine.Device, Wish, changes: Int)
    case stop(Source)
  }

  private let machine: Machine
  private let kind: Machine.Kind
  private let id: Machine.Device.ID?
  private let life: Lock<Life>
  private let adjuster = SerialReconciler()
  private let openSource: @Sendable (String) throws -> Source
  private let startSource: @Sendable (Source, Lane, @escaping Deliver) throws -> Void
  private let stopSource: @Sendable (Source) -> Void

  init(
    _ machine: Machine, _ kind: Machine.Kind, _ id: Machine.Device.ID?, _ first: Source, _ device: Machine.Device,
    open: @escaping @Sendable (String) throws -> Source,
    start: @escaping @Sendable (Source, Lane, @escaping Deliver) throws -> Void,
    stop: @escaping @Sendable (Source) -> Void
  ) {
    (self.machine, self.kind, self.id) = (machine, kind, id)
    (openSource, startSource, stopSource) = (open, start, stop)
    life = Lock(Life(kept: first, device: device))
  }

  deinit { if let running = life.withLock({ $0.running }) { stopSource(running.source) } }

  /// Returns when the device is open, or there is none to open.
  /// - Throws: `notAllowed`, or what the device throws.
  func start(on lane: Lane, deliver: @escaping Deliver) throws {
    if machine.permission(kind) == .undetermined { machine.requestPermission(kind) { _ in } }
    guard machine.permission(kind) != .denied else { throw DeviceError.notAllowed(kind.rawValue) }
    let (number, old) = life.withLock { life in
      life.wishes += 1
      let old = life.wish
      life.wish = Wish(lane: lane, deliver: deliver, number: life.wishes)
      life.change()
      return (life.wishes, old)
    }
    withExtendedLifetime(old) {}  // let go of outside the lock
    adjust(waits: true)
    let failure = life.withLock { life -> (any Error)? in
      guard life.wish?.number == number, let failure = life.failure else { return nil }
      life.wish = nil
      return failure
    }
    if let failure { throw failure }
  }

  /// Returns at once where another thread is opening the device: that one stops it again.
  func stop() {
    let wish = life.withLock { life in
      defer { life.wish = nil }
      return life.wish
    }
    adjust(waits: false)
    withExtendedLifetime(wish) {}  // let go of outside the lock
  }

  func machineChanged() {
    let isWanted = life.withLock { life in
      life.change()
      return life.wish != nil
    }
    guard isWanted else { return }
    adjust(waits: false)
    if let (device, failure) = life.withLock({ life in life.failure.map { (life.device, $0) } }), let device {
      machine.post(.failed(device, reason: "\(failure)"))
    }
  }

  // MARK: One thread at a time

  /// Opens what should be open, closes what should not.
  private func adjust(waits: Bool) {
    adjuster.run(waits: waits) {
      switch nextStep() {
      case .start(let kept, let device, let wish, let changes): start(kept, device, wish, changes)
      case .stop(let source): stopSource(source)
      case nil: return false
      }
      return true
    }
  }

  private func start(_ kept: Source?, _ device: Machine.Device, _ wish: Wish, _ changes: Int) {
    do {
      let source = try kept ?? openSource(device.source)
      try startSource(source, wish.lane, wish.deliver)
      life.withLock { $0.running = (source, wish.number) }
    } catch {
      // A change in the meantime may have caused the failure. The device is then tried again.
      life.withLock { ($0.failure, $0.hasFailed) = (error, $0.changes == changes) }
    }
  }

  private func nextStep() -> Step? {
    let wanted = machine.usable(kind, id)
    var old: Source?  // let go of outside the lock
    defer { withExtendedLifetime(old) {} }
    return life.withLock { life in
      if let running = life.running {
        if life.device == wanted, life.wish?.number == running.wish { return nil }
        (life.running, life.kept) = (nil, running.source)
        return .stop(running.source)
      }
      guard let wanted, let wish = life.wish, !life.hasFailed || life.device != wanted else { return nil }
      old = life.kept
      let kept = life.device == wanted ? old : nil
      (life.kept, life.device, life.failure, life.hasFailed) = (nil, wanted, nil, false)
      return .start(kept, wanted, wish, changes: life.changes)
    }
  }
}
