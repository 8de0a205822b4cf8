import Glibc
import Synchronization

/// A pool of worker threads for work that consists of independent pieces. Each free worker takes the next piece, and so does
/// the calling thread. No piece begins before the caller calls `share` or after `share` has returned.
///
///     crew.share(receivers.count) { index, hand in … }      hand 0 is the caller's own
///
/// No piece waits for a worker that does not get a core: the caller then does all pieces, and waits only for pieces that a
/// worker has begun. Between two calls only the calling thread touches the data, so pieces need no locks as long as they
/// share no data with each other.
///
/// `@unchecked Sendable`: `next` is atomic, the rest is touched with the mutex held. One caller at a time.
public final class Crew: @unchecked Sendable {
  private struct Work: @unchecked Sendable {  // runs only while `share` waits for it
    let count: Int
    let piece: (_ index: Int, _ hand: Int) -> Void
  }

  private final class Post: @unchecked Sendable {  // everything but `next` with the mutex held
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

    func take(_ work: Work, by hand: Int) {
      while true {
        let index = next.add(1, ordering: .relaxed).oldValue
        guard index < work.count else { return }
        work.piece(index, hand)
      }
    }

    /// A helper's life.
    func serve(as hand: Int) {
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
        take(work, by: hand)
        pthread_mutex_lock(mutex)
        busy -= 1
        if busy == 0 { pthread_cond_signal(isDone) }
      }
      pthread_mutex_unlock(mutex)
    }
  }

  /// The caller's own included.
  public let hands: Int
  private let post = Post()
  private var threads: [pthread_t] = []

  /// As many as have cores to run on, and not more than one turn of a server's has work for.
  public static var usefulHands: Int { max(1, min(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 4)) }

  public init(hands: Int = usefulHands) {
    self.hands = max(hands, 1)
    for hand in 1..<max(hands, 1) { threads.append(startHelper(hand)) }
  }

  deinit {
    pthread_mutex_lock(post.mutex)
    post.isOver = true
    pthread_cond_broadcast(post.hasWork)
    pthread_mutex_unlock(post.mutex)
    for thread in threads { pthread_join(thread, nil) }
  }

  private func startHelper(_ hand: Int) -> pthread_t {
    var thread = pthread_t()
    let life = Unmanaged.passRetained(Life(post: post, hand: hand))  // released by the thread
    pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        let life = Unmanaged<Life>.fromOpaque(context).takeRetainedValue()
        life.post.serve(as: life.hand)
        return nil
      }, life.toOpaque())
    return thread
  }

  private final class Life {
    let post: Post
    let hand: Int
    init(post: Post, hand: Int) { (self.post, self.hand) = (post, hand) }
  }

  /// Returns once all pieces are done. Nothing may be thrown, and no piece may share work itself.
  public func share(_ count: Int, _ piece: (_ index: Int, _ hand: Int) -> Void) {
    // Waking a worker costs more than a few pieces.
    guard hands > 1, count >= Self.worthSharing else {
      for index in 0..<count { piece(index, 0) }
      return
    }
    withoutActuallyEscaping(piece) { piece in
      let work = Work(count: count, piece: piece)
      pthread_mutex_lock(post.mutex)
      post.next.store(0, ordering: .relaxed)
      post.work = work
      post.round += 1
      pthread_cond_broadcast(post.hasWork)
      pthread_mutex_unlock(post.mutex)
      post.take(work, by: 0)
      pthread_mutex_lock(post.mutex)
      post.work = nil  // a worker that wakes only now goes back to sleep
      while post.busy > 0 { pthread_cond_wait(post.isDone, post.mutex) }
      pthread_mutex_unlock(post.mutex)
    }
  }

  private static let worthSharing = 4
}
