public import Dispatch
import Foundation

/// The one queue on which an app hears of things, one at a time, in order, never from inside a call it is making.
public final class Delivery: Sendable {
  /// Delivery on the main queue in the usual order.
  public static let main = Delivery(queue: .main)

  /// The queue on which apps are notified.
  public let queue: DispatchQueue
  /// The order of notifications between which no order is documented.
  public let order: Order
  /// How many deliveries have been posted, and how many of the first of them are known to have run.
  private typealias Count = Lock<(posted: Int, fenced: Int)>
  /// Deliveries on one queue that wait at the same time must not take each other's closures for run: each counts its own.
  private let count: Count
  private let mark: Mark
  private let dice: Lock<SeededRandom>
  /// The world that is current while delivered closures run; nil: none. Objects that an app makes in a callback then belong to
  /// the world that called back.
  private let owner: Owner?
  /// Called after each delivered closure; the same for all deliveries that share a count.
  private let afterEach: Lock<(@Sendable (World?) -> Void)?>

  private final class Owner: Sendable {
    private struct Reference { weak var world: World? }
    private let reference = Lock(Reference())
    var world: World? { reference.withLock { $0.world } }
    func set(_ world: World) { reference.withLock { $0.world = world } }
  }

  /// The order of callbacks for which the vendor documents no order.
  public enum Order: Sendable, Hashable {
    /// Always the same order.
    case usual
    /// A random order, which reveals apps that rely on a certain order. In virtual time the same seed gives the same order.
    case shuffled(seed: UInt64)
  }

  /// Creates a delivery on a serial queue.
  public init(queue: DispatchQueue, order: Order = .usual) {
    self.queue = queue
    self.order = order
    mark = Mark.of(queue)
    let seed: UInt64 = if case .shuffled(let seed) = order { seed } else { 0 }
    dice = Lock(SeededRandom(seed: seed))
    count = Lock((posted: 0, fenced: 0))
    owner = nil
    afterEach = Lock(nil)
  }

  /// The same queue, order and count, for closures that run in the context of the world given to ``setOwner(_:)``.
  init(sharing other: Delivery) {
    (queue, order, mark, dice, count) = (other.queue, other.order, other.mark, other.dice, other.count)
    afterEach = other.afterEach
    owner = Owner()
  }

  func setOwner(_ world: World) { owner?.set(world) }

  /// For test kits: calls `observer` on the queue after each closure that is delivered from now on, here and by the deliveries that share
  /// this one's count.
  /// - Parameter observer: gets the world that the closure was delivered to, nil for a delivery without one. Nil: ends the observation.
  package func observeDeliveries(_ observer: (@Sendable (World?) -> Void)?) { afterEach.withLock { $0 = observer } }

  /// Shuffles elements if the delivery's order is `shuffled` (`TestRoom(order:)`). For authors of styles: call it where the
  /// vendor documents no order, such as for two callbacks of one instant, or for the elements of an array made from a set.
  /// - Returns: the elements in the given order, or shuffled.
  public func inAnyOrder<Element>(_ elements: [Element]) -> [Element] {
    guard order != .usual, elements.count > 1 else { return elements }
    return dice.withLock { dice in elements.indices.shuffled(using: &dice) }.map { elements[$0] }
  }

  /// Whether the caller runs on the queue, as everything that is delivered does. (Not `Thread.isMainThread`: the main
  /// queue may be served by another thread.)
  public var isCurrent: Bool { DispatchQueue.getSpecific(key: Mark.key) === mark }

  /// Identifies a queue: the same for all deliveries on it.
  private final class Mark: Sendable {
    static let key = DispatchSpecificKey<Mark>()
    /// The number of marks. (Not a `Lock` of `Void`: the thread sanitizer looks for an empty value where the lock itself is.)
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

  /// Runs `work` on the queue, after all earlier work. Any thread may call it.
  public func deliver(_ work: @escaping @Sendable () -> Void) {
    var work = work
    if let owner {
      let closure = work
      work = { World.$current.withValue(owner.world, operation: closure) }
    }
    if let observer = afterEach.withLock({ $0 }) {
      let closure = work
      work = { [owner] in
        closure()
        observer(owner?.world)
      }
    }
    if let held = Held.ofThread { held.works.append((self, HeldWork(work))) } else { post(work) }
  }

  /// Virtual time only: this thread does the work of an instant.
  package static var isInInstant: Bool { Held.ofThread != nil }

  /// Virtual time only: runs `body`; deliveries of this thread during it are given to the queues after it.
  static func afterwards<Value>(_ body: () -> Value) -> Value {
    let held = Held()
    let outer = Held.ofThread
    Held.ofThread = held
    let value = body()
    Held.ofThread = outer
    post(held.works[...])
    return value
  }

  /// Puts the deliveries of an instant on their queues, all before the first of them runs. Otherwise a closure that a callback puts
  /// on the same queue would run before or after the instant's next callback, depending on the threads.
  private static func post(_ works: ArraySlice<(Delivery, HeldWork)>) {
    var rest = works
    while let first = rest.first {
      let group = rest.prefix { $0.0.count === first.0.count }
      first.0.count.withLock { count in
        for (delivery, work) in group {
          count.posted += 1
          delivery.queue.async { [count = delivery.count] in
            count.withLock { _ in }  // waits for the end of this loop
            work.run()
          }
        }
      }
      rest = rest.dropFirst(group.count)
    }
  }

  /// Releases the closure where it has run. The thread that moves time still holds the list then; if it were the last to hold a
  /// closure, it would also release the app's objects that the closure holds.
  private final class HeldWork: Sendable {
    private let work: Lock<(@Sendable () -> Void)?>
    init(_ work: @escaping @Sendable () -> Void) { self.work = Lock(work) }

    func run() {
      let work = self.work.withLock { work in
        defer { work = nil }
        return work
      }
      work?()
    }
  }

  /// Kept by thread and not by task: tasks that are made meanwhile must not inherit it.
  private final class Held {
    var works: [(Delivery, HeldWork)] = []

    private static let key: pthread_key_t = {
      var key = pthread_key_t()
      pthread_key_create(&key, nil)
      return key
    }()

    /// Not owned: `afterwards` keeps it.
    static var ofThread: Held? {
      get { pthread_getspecific(key).map { Unmanaged<Held>.fromOpaque($0).takeUnretainedValue() } }
      set { pthread_setspecific(key, newValue.map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) }) }
    }
  }

  private func post(_ work: @escaping @Sendable () -> Void) {
    // Counted and queued under one lock: a fence waits for all counted deliveries and must find them on the queue.
    count.withLock { count in
      count.posted += 1
      queue.async(execute: work)
    }
  }

  /// A delivery was posted since the last fence.
  package var hasNews: Bool { count.withLock { $0.posted > $0.fenced } }

  /// So often the queue has to run all that it holds without anything new having been delivered, before time may move: code
  /// that hops, as continuations do, has as many turns.
  private static let quietTurns = 4
  /// After so many turns time moves all the same: code that polls would never let the queue rest.
  private static let mostTurns = 1_000

  /// Returns once all deliveries have run, and the closures that they put on the queue themselves.
  /// - Returns: whether the queue rests; false for code that polls.
  @discardableResult
  package func fence() async -> Bool {
    var (quiet, turns) = (0, 0)
    while quiet < Self.quietTurns, turns < Self.mostTurns {
      turns += 1
      let posted = count.withLock { $0.posted }
      await withCheckedContinuation { done in queue.async { done.resume() } }
      quiet = haveRun(posted) ? quiet + 1 : 0
    }
    return quiet == Self.quietTurns
  }

  func fence(_ serve: (_ isDone: @escaping @Sendable () -> Bool) -> Void) -> Bool {
    var (quiet, turns) = (0, 0)
    while quiet < Self.quietTurns, turns < Self.mostTurns {
      turns += 1
      let posted = count.withLock { $0.posted }
      let isDone = Lock(false)
      queue.async { isDone.withLock { $0 = true } }
      serve { isDone.withLock { $0 } }
      quiet = haveRun(posted) ? quiet + 1 : 0
    }
    return quiet == Self.quietTurns
  }

  /// - Returns: whether no delivery has been posted since.
  private func haveRun(_ first: Int) -> Bool {
    count.withLock { count in
      count.fenced = max(count.fenced, first)
      return count.posted == first
    }
  }
}
