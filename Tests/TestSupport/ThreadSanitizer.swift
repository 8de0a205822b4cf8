/// Whether rooms of `KoineTesting` follow an app's work over dispatch queues. Not under the thread sanitizer, which interposes the same
/// functions (Scripts/check-sanitizers).
#if KOINE_THREAD_SANITIZER
  public let roomsFollowQueues = false
#else
  public let roomsFollowQueues = true
#endif
