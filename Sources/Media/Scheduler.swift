import Glibc

/// The one clock of a world of calls, and the threads its work runs on.
///
/// Work runs on *lanes*: jobs of one lane run one at a time, in order of time, then of posting. A real scheduler runs
/// lanes on one pool of as many threads as there are cores, and a few more while some are blocked. A virtual scheduler runs
/// all jobs inline on the thread that advances it. Virtual time stands still while a job runs. `@unchecked Sendable`, and without the
/// check of exclusive access: everything mutable is guarded by `mutex`.
public final class Scheduler: @unchecked Sendable {
  /// The kind of a scheduler's time.
  public enum Kind: Sendable {
    /// The machine's clock.
    case real
    /// A clock that moves only when all parts wait.
    case virtual
  }

  /// Whether time is real or virtual.
  public let kind: Kind
  let mutex: UnsafeMutablePointer<pthread_mutex_t>
  /// Wakes workers.
  let wake: UnsafeMutablePointer<pthread_cond_t>
  @exclusivity(unchecked) var jobs = TimedJobs()
  @exclusivity(unchecked) private var order: UInt64 = 0
  @exclusivity(unchecked) private var virtualNow = Tick(nanoseconds: 1_000_000_000)
  @exclusivity(unchecked) private var hasEnded = false
  @exclusivity(unchecked) private var postObserver: (@Sendable () -> Void)?
  /// Of the real clock's threads.
  @exclusivity(unchecked) var pool = WorkerPool()

  /// The real clock, shared by the whole process: one pool of threads however many rooms there are.
  public static let real = Scheduler(kind: .real)

  /// A clock of its own that moves only when `advance` says so; it starts at one second.
  public static func virtual() -> Scheduler { Scheduler(kind: .virtual) }

  private init(kind: Kind) {
    self.kind = kind
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    wake = .monotonic()
  }

  deinit {  // only virtual schedulers end; the real one is static
    pthread_cond_destroy(wake)
    wake.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// The present time. Any thread may read it.
  public var now: Tick {
    switch kind {
    case .real: return Self.monotonicNow()
    case .virtual: return locked { virtualNow }
    }
  }

  /// Creates a lane: a serial queue on this scheduler. `name` is for diagnostics.
  public func lane(_ name: String) -> Lane { Lane(name: name, scheduler: self) }

  /// Virtual time only: runs every job that is due, then moves to `deadline` step by step, running what falls due.
  /// Jobs run on the caller's thread. `fence` is called whenever all due jobs have run and before time moves; what it
  /// causes runs first.
  public func advance(to deadline: Tick, fence: () -> Void = {}) {
    while step(until: deadline, fence: fence) {}
  }

  /// Virtual time only: runs a job that is due now. Without such a job, moves time to the next deadline not after `limit`.
  /// - Returns: false once time stands at `limit` and nothing is left to run.
  public func step(until limit: Tick, fence: () -> Void = {}) -> Bool {
    precondition(kind == .virtual, "a real clock advances by itself")
    if runOneDue() { return true }
    fence()
    if runOneDue() { return true }
    return locked {
      guard let next = jobs.first?.at, next <= limit else {
        virtualNow = max(virtualNow, limit)
        return false
      }
      virtualNow = max(virtualNow, next)
      return true
    }
  }

  /// Virtual time only: ends the clock, which must not advance afterwards. The scheduler releases all waiting jobs and the
  /// objects that they hold, which may hold this scheduler. It ignores jobs that are posted later.
  package func finish() {
    precondition(kind == .virtual, "a real clock does not end")
    let dropped = locked {
      defer { (jobs, hasEnded) = (TimedJobs(), true) }
      return jobs
    }
    withExtendedLifetime(dropped) {}  // released outside the lock: what goes with them may call back here
  }

  /// Virtual time only: the next moment at which anything has to run.
  public var nextDeadline: Tick? { locked { jobs.first?.at } }

  // MARK: Jobs

  /// Virtual time only, for test kits: `observer` is called with each post, on its thread.
  package func observePosts(_ observer: @escaping @Sendable () -> Void) { locked { postObserver = observer } }

  fileprivate func post(_ work: @escaping @Sendable () -> Void, at tick: Tick?, on lane: Lane) -> UInt64 {
    if kind == .virtual { locked { postObserver }?() }
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    guard !hasEnded else { return order }
    order += 1
    let due = tick ?? (kind == .virtual ? virtualNow : Self.monotonicNow())
    jobs.insert(TimedJobs.Job(at: due, order: order, lane: lane, work: work))
    if kind == .real {
      startWorkers()
      pthread_cond_signal(wake)
    }
    return order
  }

  fileprivate func cancel(_ order: UInt64) {
    let job = locked { jobs.remove(order: order) }
    withExtendedLifetime(job) {}  // released outside the lock: its closure may own what calls back here
  }

  private func runOneDue() -> Bool {
    guard let job = locked({ jobs.first.map { $0.at <= virtualNow } == true ? jobs.removeFirst() : nil }) else {
      return false
    }
    job.work()
    return true
  }

  private func locked<Result>(_ body: () -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body()
  }

  static func monotonicNow() -> Tick {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Tick(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
  }
}

/// A serial line of work on a scheduler's threads.
public final class Lane: Sendable {
  /// The lane's name, for diagnostics.
  public let name: String
  /// The scheduler that runs the lane's jobs.
  public let scheduler: Scheduler

  fileprivate init(name: String, scheduler: Scheduler) {
    self.name = name
    self.scheduler = scheduler
  }

  /// Runs `work` as soon as the lane is free. Never inline, in virtual time either.
  public func post(_ work: @escaping @Sendable () -> Void) { _ = scheduler.post(work, at: nil, on: self) }

  /// Runs `work` at `tick`, or as soon after it as the lane is free.
  @discardableResult
  public func post(at tick: Tick, _ work: @escaping @Sendable () -> Void) -> Alarm {
    Alarm(order: scheduler.post(work, at: tick, on: self), scheduler: scheduler)
  }
}

/// A job that waits for its time. Letting go of it does not cancel it.
public struct Alarm: Sendable {
  fileprivate let order: UInt64
  fileprivate let scheduler: Scheduler
  /// Takes the job out if it has not begun.
  public func cancel() { scheduler.cancel(order) }
}

/// Jobs sorted by time, then by posting. A sorted array: a world has a handful of waiting jobs per participant, and the
/// job due next is at the end.
struct TimedJobs {
  struct Job {
    let at: Tick
    let order: UInt64
    let lane: Lane
    let work: @Sendable () -> Void
    func precedes(_ other: Job) -> Bool { at != other.at ? at < other.at : order < other.order }
  }

  private var latestFirst: [Job] = []

  var first: Job? { latestFirst.last }

  mutating func insert(_ job: Job) {
    var low = 0
    var high = latestFirst.count
    while low < high {
      let middle = (low + high) / 2
      if job.precedes(latestFirst[middle]) { low = middle + 1 } else { high = middle }
    }
    latestFirst.insert(job, at: low)
  }

  mutating func removeFirst() -> Job { latestFirst.removeLast() }

  mutating func removeFirst(dueAt now: Tick, notIn busy: [ObjectIdentifier: Tick]) -> Job? {
    for index in latestFirst.indices.reversed() {
      if latestFirst[index].at > now { return nil }
      if busy[ObjectIdentifier(latestFirst[index].lane)] == nil { return latestFirst.remove(at: index) }
    }
    return nil
  }

  mutating func remove(order: UInt64) -> Job? {
    latestFirst.firstIndex { $0.order == order }.map { latestFirst.remove(at: $0) }
  }

  func waits(for lane: ObjectIdentifier) -> Bool { latestFirst.contains { ObjectIdentifier($0.lane) == lane } }

  func firstDeadline(after now: Tick) -> Tick? { latestFirst.last { $0.at > now }?.at }
}
