public import Dispatch
import Foundation

/// Where sessions live: a way to reach rooms, with its clock, and the queue that tells the app what happened.
///
/// An entry object captures its world when it is made, so tests that run side by side never share a room by accident.
public final class World: Sendable {
  public let backend: any Backend
  public let delivery: Delivery
  /// For vendor code that says "the camera" without saying which.
  public let devices: DefaultDevices
  /// What is plugged in, in use and allowed; it begins with `devices`.
  public let machine: Machine
  /// Nil: media are coded. Otherwise they cross the transport as stamps; the same for all worlds of a backend.
  public let stamps: StampedMedia?
  /// How much work goes into what sessions publish.
  public let effort: EncoderEffort

  /// - Parameter machine: nil: a machine of its own, which has `devices`.
  public init(
    backend: any Backend, delivery: Delivery = .main, devices: DefaultDevices = .environment, machine: Machine? = nil,
    stamps: StampedMedia? = nil, effort: EncoderEffort = .usual
  ) {
    self.backend = backend
    self.delivery = delivery
    self.devices = devices
    self.machine = machine ?? Machine(devices, delivery: delivery)
    self.stamps = stamps
    self.effort = effort
  }

  /// Virtual time only: lets the world run until `operation`, which waits for something in it, has come to its end.
  public func run<Value: Sendable>(_ operation: @escaping @Sendable () async -> Value) async -> Value {
    let result = Lock<Value?>(nil)
    let task = Task {
      let value = await operation()
      result.withLock { $0 = value }
    }
    while result.withLock({ $0 == nil }) {
      await run(for: .milliseconds(1))
      await Task.yield()
    }
    _ = await task.value
    guard let value = result.withLock({ $0 }) else { preconditionFailure("the loop above ends with a value") }
    return value
  }

  /// The world of entry objects made inside `$current.withValue(…)`; nil: the process's own.
  @TaskLocal public static var current: World?

  /// Virtual time only: lets the world run for `duration`. Time moves only when every part waits and the delivery queue
  /// has run all it was given without causing anything new.
  public func run(for duration: Duration) async {
    let scheduler = backend.scheduler
    let limit = scheduler.now + duration
    while true {
      while scheduler.step(until: scheduler.now, fence: {}) {}
      if delivery.hasNews {
        await delivery.fence()
      } else if !scheduler.step(until: limit) {
        return
      }
    }
  }

  /// The same for code that is not async, called on the thread that serves the delivery queue: `serve` lets that queue
  /// run until what it is given is true.
  package func run(for duration: Duration, serve: (_ isDone: @escaping @Sendable () -> Bool) -> Void) {
    let scheduler = backend.scheduler
    let limit = scheduler.now + duration
    while true {
      while scheduler.step(until: scheduler.now, fence: {}) {}
      if delivery.hasNews {
        delivery.fence(serve)
      } else if !scheduler.step(until: limit) {
        return
      }
    }
  }

  /// Virtual time only: lets the world run until `condition` holds, at most for `limit`.
  /// - Returns: whether it holds.
  public func run(until condition: () -> Bool, limit: Duration) async -> Bool {
    let end = backend.scheduler.now + limit
    while !condition() {
      let now = backend.scheduler.now
      if now >= end { return false }
      await run(for: min(.milliseconds(5), end - now))
    }
    return true
  }
}

/// The one queue on which an app hears of things, one at a time, in order, never from inside a call it is making.
public final class Delivery: Sendable {
  public static let main = Delivery(queue: .main)

  public let queue: DispatchQueue
  /// How many have been posted so far, and how many of the first of them are known to have run. Worlds that share a queue
  /// may wait at the same time: none may take another's news for run before it has.
  private let count = Lock((posted: 0, fenced: 0))
  private let mark: Mark
  public let order: Order
  private let dice: Lock<SeededRandom>

  /// In which order an app hears of what nobody promises an order of.
  public enum Order: Sendable, Hashable {
    /// Always in the same.
    case usual
    /// In any, so that an app that relies on luck is found out; in virtual time the same seed gives the same order.
    case shuffled(seed: UInt64)
  }

  public init(queue: DispatchQueue, order: Order = .usual) {
    self.queue = queue
    self.order = order
    mark = Mark.of(queue)
    let seed: UInt64 = if case .shuffled(let seed) = order { seed } else { 0 }
    dice = Lock(SeededRandom(seed: seed))
  }

  /// For adapters: things whose order the vendor leaves open, such as two callbacks of one moment or the elements of an
  /// array that was made from a set.
  package func inAnyOrder<Element>(_ elements: [Element]) -> [Element] {
    guard order != .usual, elements.count > 1 else { return elements }
    return dice.withLock { dice in elements.indices.shuffled(using: &dice) }.map { elements[$0] }
  }

  /// Whether the caller runs on the queue, as everything that is delivered does. (Not `Thread.isMainThread`: the main
  /// queue may be served by another thread.)
  public var isCurrent: Bool { DispatchQueue.getSpecific(key: Mark.key) === mark }

  /// What a queue is known by: the same for all deliveries on it.
  private final class Mark: Sendable {
    static let key = DispatchSpecificKey<Mark>()
    /// How many there are. (Not a lock of nothing: the thread sanitizer looks for an empty value where the lock itself is.)
    private static let made = Lock(0)

    static func of(_ queue: DispatchQueue) -> Mark {
      made.withLock { made in
        if let mark = queue.getSpecific(key: key) { return mark }
        made += 1
        let mark = Mark()
        queue.setSpecific(key: key, value: mark)
        return mark
      }
    }
  }

  public func deliver(_ work: @escaping @Sendable () -> Void) {
    // Counted and queued in one: who waits for all that is counted must find it on the queue.
    count.withLock { count in
      count.posted += 1
      queue.async(execute: work)
    }
  }

  /// Something was posted since the last fence.
  var hasNews: Bool { count.withLock { $0.posted > $0.fenced } }

  /// Returns once everything posted so far has run, and what that put on the queue itself, as apps do.
  func fence() async {
    let posted = count.withLock { $0.posted }
    for _ in 0..<2 { await withCheckedContinuation { done in queue.async { done.resume() } } }
    haveRun(posted)
  }

  func fence(_ serve: (_ isDone: @escaping @Sendable () -> Bool) -> Void) {
    let posted = count.withLock { $0.posted }
    for _ in 0..<2 {
      let isDone = Lock(false)
      queue.async { isDone.withLock { $0 = true } }
      serve { isDone.withLock { $0 } }
    }
    haveRun(posted)
  }

  private func haveRun(_ first: Int) { count.withLock { $0.fenced = max($0.fenced, first) } }
}
