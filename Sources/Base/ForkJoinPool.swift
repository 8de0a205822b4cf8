import Glibc
import Synchronization

/// A pool of worker threads for work that consists of independent pieces. Each free worker takes the next piece, and so does
/// the calling thread. No piece begins before the caller calls `concurrentPerform` or after `concurrentPerform` has returned.
///
///     pool.concurrentPerform(receivers.count) { index, worker in … }   worker 0 is the caller's own
///
/// No piece waits for a worker that does not get a core: the caller then does all pieces, and waits only for pieces that a
/// worker has begun. Between two calls only the calling thread touches the data, so pieces need no locks as long as they
/// share no data with each other.
///
/// `@unchecked Sendable`: `next` is atomic, the rest is touched with the mutex held. One caller at a time.
public final class ForkJoinPool: @unchecked Sendable {
  private struct Work: @unchecked Sendable {  // runs only while `concurrentPerform` waits for it
    let count: Int
    let piece: (_ index: Int, _ worker: Int) -> Void
  }

  private final class Shared: @unchecked Sendable {  // everything but `next` with the mutex held
    let next = Atomic(0)
    var mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    var hasWork = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    var isDone = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    var work: Work?
    var round = 0
    /// Helpers at work.
    var busy = 0
    var isOver = false

    init() {
      mutex.initialize(to: pthread_mutex_t())
      hasWork.initialize(to: pthread_cond_t())
      isDone.initialize(to: pthread_cond_t())
      pthread_mutex_init(mutex, nil)
      pthread_cond_init(hasWork, nil)
      pthread_cond_init(isDone, nil)
    }

    deinit {
      pthread_mutex_destroy(mutex)
      pthread_cond_destroy(hasWork)
      pthread_cond_destroy(isDone)
      mutex.deallocate()
      hasWork.deallocate()
      isDone.deallocate()
    }

    func performPieces(_ work: Work, by worker: Int) {
      while true {
        let index = next.add(1, ordering: .relaxed).oldValue
        guard index < work.count else { return }
        work.piece(index, worker)
      }
    }

    /// A helper's life.
    func serve(as worker: Int) {
      var seen = 0
      pthread_mutex_lock(mutex)
      while !isOver {
        guard let work, round != seen else {
          pthread_cond_wait(hasWork, mutex)
          continue
        }
        seen = round
        busy += 1
        pthread_mutex_unlock(mutex)
        performPieces(work, by: worker)
        pthread_mutex_lock(mutex)
        busy -= 1
        if busy == 0 { pthread_cond_signal(isDone) }
      }
      pthread_mutex_unlock(mutex)
    }
  }

  /// The caller's own included.
  public let workers: Int
  private let shared = Shared()
  private var threads: [pthread_t] = []

  /// As many as have cores to run on, and not more than one turn of a server's has work for.
  public static var usefulWorkers: Int { max(1, min(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 4)) }

  public init(workers: Int = usefulWorkers) {
    self.workers = max(workers, 1)
    for worker in 1..<max(workers, 1) { threads.append(startHelper(worker)) }
  }

  deinit {
    pthread_mutex_lock(shared.mutex)
    shared.isOver = true
    pthread_cond_broadcast(shared.hasWork)
    pthread_mutex_unlock(shared.mutex)
    for thread in threads { pthread_join(thread, nil) }
  }

  private func startHelper(_ worker: Int) -> pthread_t {
    var thread = pthread_t()
    let life = Unmanaged.passRetained(Life(shared: shared, worker: worker))  // released by the thread
    pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        let life = Unmanaged<Life>.fromOpaque(context).takeRetainedValue()
        life.shared.serve(as: life.worker)
        return nil
      }, life.toOpaque())
    return thread
  }

  private final class Life {
    let shared: Shared
    let worker: Int
    init(shared: Shared, worker: Int) { (self.shared, self.worker) = (shared, worker) }
  }

  /// Returns once all pieces are done. Nothing may be thrown, and no piece may share work itself.
  public func concurrentPerform(_ count: Int, _ piece: (_ index: Int, _ worker: Int) -> Void) {
    // Waking a worker costs more than a few pieces.
    guard workers > 1, count >= Self.worthSharing else {
      for index in 0..<count { piece(index, 0) }
      return
    }
    withoutActuallyEscaping(piece) { piece in
      let work = Work(count: count, piece: piece)
      pthread_mutex_lock(shared.mutex)
      shared.next.store(0, ordering: .relaxed)
      shared.work = work
      shared.round += 1
      pthread_cond_broadcast(shared.hasWork)
      pthread_mutex_unlock(shared.mutex)
      shared.performPieces(work, by: 0)
      pthread_mutex_lock(shared.mutex)
      shared.work = nil  // a worker that wakes only now goes back to sleep
      while shared.busy > 0 { pthread_cond_wait(shared.isDone, shared.mutex) }
      pthread_mutex_unlock(shared.mutex)
    }
  }

  private static let worthSharing = 4
}
