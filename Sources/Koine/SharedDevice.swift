/// The common part of a shared camera and a shared microphone: the consumers of the device, and whether it runs.
///
/// Locks are held only briefly. The device starts and stops outside of the locks, in the order of `adjuster`. A consumer that
/// is added while the device is being opened shares the outcome. If all consumers have gone by the time the device has
/// opened, the device is stopped again.
final class SharedDevice<Source: Sendable, Output: Sendable>: Sendable {
  typealias Deliver = @Sendable (Output) -> Void

  private struct Consumer {
    let id: ObjectIdentifier
    let deliver: Deliver
  }

  private struct Life {
    var source: Source
    /// Of the source; another one has the next number.
    var number = 0
    var running: (source: Source, number: Int)?
    /// The source has failed. It is not tried again until another consumer is added or the source is replaced.
    var hasFailed = false
    var failure: (any Error)?
  }

  private enum Step {
    case start(Source, number: Int)
    case stop(Source)
  }

  private let life: Lock<Life>
  private let consumers = Lock<[Consumer]>([])
  private let adjuster = SerialReconciler()
  private let lane: Lane
  private let startSource: @Sendable (Source, Lane, @escaping Deliver) throws -> Void
  private let stopSource: @Sendable (Source) -> Void

  init(
    _ source: Source, lane: Lane, start: @escaping @Sendable (Source, Lane, @escaping Deliver) throws -> Void,
    stop: @escaping @Sendable (Source) -> Void
  ) {
    life = Lock(Life(source: source))
    (self.lane, startSource, stopSource) = (lane, start, stop)
  }

  deinit { if let running = life.withLock({ $0.running }) { stopSource(running.source) } }

  var source: Source { life.withLock { $0.source } }
  var failure: (any Error)? { life.withLock { $0.failure } }

  /// Returns at once where another thread is opening the device.
  func add(_ consumer: AnyObject, deliver: @escaping Deliver) {
    insert(consumer, deliver)
    adjust(waits: false)
  }

  /// Returns when the device is open.
  /// - Throws: what the device throws; then it is as if nothing had been added.
  func addOrThrow(_ consumer: AnyObject, deliver: @escaping Deliver) throws {
    insert(consumer, deliver)
    adjust(waits: true)
    guard let failure = life.withLock({ $0.running == nil ? $0.failure : nil }) else { return }
    remove(consumer)  // also stops a source that has replaced this one in the meantime, if it has no other consumer
    throw failure
  }

  /// Returns at once where another thread is opening the device: that one stops it again.
  func remove(_ consumer: AnyObject) {
    erase(consumer)
    adjust(waits: false)
  }

  func replace(_ source: Source) {
    let old = life.withLock { life in
      defer { (life.source, life.number, life.hasFailed, life.failure) = (source, life.number + 1, false, nil) }
      return life.source
    }
    adjust(waits: false)
    withExtendedLifetime(old) {}  // let go of outside the lock
  }

  private func insert(_ consumer: AnyObject, _ deliver: @escaping Deliver) {
    let id = ObjectIdentifier(consumer)
    consumers.withLock { consumers in
      if !consumers.contains(where: { $0.id == id }) { consumers.append(Consumer(id: id, deliver: deliver)) }
    }
    life.withLock { $0.hasFailed = false }
  }

  private func erase(_ consumer: AnyObject) {
    let id = ObjectIdentifier(consumer)
    let erased = consumers.withLock { consumers in
      consumers.firstIndex { $0.id == id }.map { consumers.remove(at: $0) }
    }
    withExtendedLifetime(erased) {}  // let go of outside the lock
  }

  // MARK: One thread at a time

  private func adjust(waits: Bool) {
    adjuster.run(waits: waits) {
      switch nextStep() {
      case .start(let source, let number): start(source, number)
      case .stop(let source): stopSource(source)
      case nil: return false
      }
      return true
    }
  }

  private func nextStep() -> Step? {
    let isWanted = !consumers.withLock { $0.isEmpty }
    return life.withLock { life in
      if let running = life.running {
        if isWanted, running.number == life.number { return nil }
        life.running = nil
        return .stop(running.source)
      }
      return isWanted && !life.hasFailed ? .start(life.source, number: life.number) : nil
    }
  }

  private func start(_ source: Source, _ number: Int) {
    do {
      try startSource(source, lane) { [weak self] output in
        guard let self else { return }
        for consumer in consumers.withLock({ $0 }) { consumer.deliver(output) }
      }
      life.withLock { ($0.running, $0.failure) = ((source, number), nil) }
    } catch {
      life.withLock { life in
        life.failure = error
        life.hasFailed = life.number == number  // unless another source has been put in its place
      }
    }
  }
}
