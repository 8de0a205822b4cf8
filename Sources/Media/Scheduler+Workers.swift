import Glibc

/// The threads of the real clock. Everything here is guarded by the scheduler's `mutex`.
struct WorkerPool {
  static let cores = max(2, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
  /// More are not started, however many lanes are held up.
  static let limit = cores + 64
  /// A worker is considered blocked when its job takes longer than this.
  static let patience = Duration.milliseconds(100)

  var workers = 0
  /// Of the workers, how many wait for a job.
  var idle = 0
  /// The lanes that have a job running, and since when.
  var busyLanes: [ObjectIdentifier: Tick] = [:]
  /// Wakes the watcher thread, which starts with the first job.
  var strain: UnsafeMutablePointer<pthread_cond_t>?
  /// Whether the watcher has to look. The condition variable alone does not tell a watcher that does not wait yet.
  var isStrained = false
}

/// Lanes run code of apps: effects, sources, sinks. App code that blocks must not delay other lanes. A watcher thread
/// therefore keeps as many unblocked workers as there are cores, up to `WorkerPool.limit` workers. Surplus workers end when
/// they are idle.
extension Scheduler {
  /// Called with the mutex held.
  func startWorkers() {
    guard pool.strain == nil else { return }
    pool.strain = .monotonic()
    startThread { $0.watch() }
    while pool.workers < WorkerPool.cores { startWorker() }
  }

  private func startWorker() {
    pool.workers += 1
    startThread { $0.work() }
  }

  private final class Start {
    let scheduler: Scheduler
    let body: (Scheduler) -> Void
    init(_ scheduler: Scheduler, _ body: @escaping (Scheduler) -> Void) {
      (self.scheduler, self.body) = (scheduler, body)
    }
  }

  private func startThread(_ body: @escaping (Scheduler) -> Void) {
    var thread = pthread_t()
    let start = Unmanaged.passRetained(Start(self, body))  // released by the thread
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    pthread_create(
      &thread, &attributes,
      { context in
        guard let context else { return nil }
        let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
        start.body(start.scheduler)
        return nil
      }, start.toOpaque())
    pthread_attr_destroy(&attributes)
  }

  private func work() {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      let now = Self.monotonicNow()
      if let job = jobs.removeFirst(dueAt: now, notIn: pool.busyLanes) {
        if pool.idle == 0, !pool.isStrained, let strain = pool.strain {
          pool.isStrained = true
          pthread_cond_signal(strain)
        }
        let lane = ObjectIdentifier(job.lane)
        pool.busyLanes[lane] = now
        pthread_mutex_unlock(mutex)
        job.work()
        withExtendedLifetime(job) {}
        pthread_mutex_lock(mutex)
        pool.busyLanes[lane] = nil
        if jobs.waits(for: lane) { pthread_cond_signal(wake) }
        continue
      }
      if pool.idle >= WorkerPool.cores {
        pool.workers -= 1
        return
      }
      pool.idle += 1
      wait(wake, until: jobs.firstDeadline(after: now))
      pool.idle -= 1
    }
  }

  /// Sleeps until no worker is free, then looks now and then until there has been a free one for a while.
  private func watch() {
    pthread_mutex_lock(mutex)
    while let strain = pool.strain {
      while !pool.isStrained { wait(strain, until: nil) }
      var quiet = 0
      while quiet < 10 {
        let next = Self.monotonicNow() + WorkerPool.patience
        while Self.monotonicNow() < next { wait(strain, until: next) }
        quiet = pool.idle > 0 ? quiet + 1 : 0
        let heldUp = pool.busyLanes.values.count { $0 + WorkerPool.patience <= next }
        while pool.workers - heldUp < WorkerPool.cores, pool.workers < WorkerPool.limit { startWorker() }
      }
      pool.isStrained = false
    }
    pthread_mutex_unlock(mutex)
  }

  /// Called with the mutex held.
  private func wait(_ condition: UnsafeMutablePointer<pthread_cond_t>, until tick: Tick?) {
    guard let tick else {
      pthread_cond_wait(condition, mutex)
      return
    }
    var until = timespec(
      tv_sec: Int(tick.nanoseconds / 1_000_000_000), tv_nsec: Int(tick.nanoseconds % 1_000_000_000))
    pthread_cond_timedwait(condition, mutex, &until)
  }
}

extension UnsafeMutablePointer<pthread_cond_t> {
  /// Creates a condition variable that measures timeouts on `CLOCK_MONOTONIC`, which is never set.
  static func monotonic() -> Self {
    let condition = Self.allocate(capacity: 1)
    condition.initialize(to: pthread_cond_t())
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
    return condition
  }
}
