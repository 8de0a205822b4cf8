import Dispatch

/// Where sessions live: a way to reach rooms, with its clock, and the queue that tells the app what happened.
///
/// An entry object captures its world when it is made, so tests that run side by side never share a room by accident.
public final class World: Sendable {
  /// The backend that reaches rooms.
  public let backend: any Backend
  /// The delivery on which the app is notified.
  public let delivery: Delivery
  /// For vendor code that says "the camera" without saying which.
  public let devices: DefaultDevices
  /// The plugged in devices, the devices in use and the permissions. It starts with `devices`.
  public let machine: Machine
  /// Nil: media are coded. Otherwise they cross the transport as stamps; the same for all worlds of a backend.
  public let stamps: StampedMedia?
  /// How much work goes into what sessions publish.
  public let effort: EncoderEffort
  /// Where the surveys are kept that apps submit. Nil: they are kept with the call alone.
  public let surveys: CallSurveyLog?
  /// Of tests.
  package let journal: EventJournal?
  /// In tests: the participant's id where the app gives none.
  public let participantID: Participant.ID?

  /// Creates a world.
  /// - Parameters:
  ///   - machine: nil: a machine of its own, which has `devices`.
  ///   - surveys: nil: surveys are kept with their calls alone.
  public convenience init(
    backend: any Backend, delivery: Delivery = .main, devices: DefaultDevices = .environment, machine: Machine? = nil,
    stamps: StampedMedia? = nil, effort: EncoderEffort = .usual, surveys: CallSurveyLog? = nil
  ) {
    self.init(
      backend: backend, delivery: delivery, devices: devices, machine: machine, stamps: stamps, effort: effort,
      journal: nil, surveys: surveys)
  }

  package init(
    backend: any Backend, delivery: Delivery, devices: DefaultDevices, machine: Machine? = nil, stamps: StampedMedia?,
    effort: EncoderEffort, journal: EventJournal?, surveys: CallSurveyLog? = nil, participantID: Participant.ID? = nil
  ) {
    (self.journal, self.surveys, self.participantID) = (journal, surveys, participantID)
    self.backend = backend
    // Several worlds of tests share a queue: an app's callback has to make objects of the world that called back.
    let delivery = journal == nil ? delivery : Delivery(sharing: delivery)
    self.delivery = delivery
    self.devices = devices
    self.machine = machine ?? Machine(devices, delivery: delivery)
    self.machine.setScheduler(backend.scheduler)
    self.stamps = stamps
    self.effort = effort
    delivery.setOwner(self)
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

  /// For authors of styles: keeps an object until the alarm is cancelled, 60 s of the world's time at most. So an app that leaves and
  /// releases everything at once still receives the callbacks of the end. A clock that ends releases the object, too.
  public func keep(_ object: some Sendable) -> Alarm {
    let lane = backend.scheduler.lane("until the end")
    return lane.post(at: lane.scheduler.now + .seconds(60)) { withExtendedLifetime(object) {} }
  }

  /// The world of entry objects made inside `$current.withValue(…)`; nil: the process's own.
  @TaskLocal public static var current: World?

  /// Virtual time only: lets the world run for `duration`. Time moves only when every part waits and the delivery queue
  /// has run all it was given without causing anything new.
  ///
  /// The app's callbacks for an instant run after all work of that instant: they never run beside the
  /// world's own work, so that the order of events does not depend on threads.
  public func run(for duration: Duration) async { await run(for: duration, hold: nil) }

  /// - Parameter hold: time moves only while no span of it is open; nil: always.
  package func run(for duration: Duration, hold: TimeHold?) async {
    let limit = backend.scheduler.now + duration
    // What calls of the app had delivered before must not run beside the work below.
    if delivery.hasNews { await delivery.fence() }
    while true {
      if let hold { hold.withTurn { finishInstant() } } else { finishInstant() }
      if delivery.hasNews, await delivery.fence() { continue }
      guard let hasMoved = moveTime(limit: limit, hold: hold) else {
        await hold?.waitForChange()
        continue
      }
      if !hasMoved { return }
    }
  }

  func finishInstant() {
    let scheduler = backend.scheduler
    Delivery.afterwards { while scheduler.step(until: scheduler.now, fence: {}) {} }
  }

  /// - Returns: false once time stands at `limit` and nothing is left to run; nil: time is held.
  private func moveTime(limit: Tick, hold: TimeHold?) -> Bool? {
    let scheduler = backend.scheduler
    func move() -> Bool? {
      hold?.isHeld == true ? nil : Delivery.afterwards { scheduler.step(until: limit) }
    }
    return if let hold { hold.withTurn(move) } else { move() }
  }

  /// The same for code that is not async, called on the thread that serves the delivery queue: `serve` lets that queue
  /// run until what it is given is true.
  package func run(
    for duration: Duration, hold: TimeHold? = nil, serve: (_ isDone: @escaping @Sendable () -> Bool) -> Void
  ) {
    let limit = backend.scheduler.now + duration
    if delivery.hasNews { _ = delivery.fence(serve) }
    while true {
      if let hold { hold.withTurn { finishInstant() } } else { finishInstant() }
      if delivery.hasNews, delivery.fence(serve) { continue }
      guard let hasMoved = moveTime(limit: limit, hold: hold) else {
        let isNextTurn = Lock(false)
        DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(500)) { isNextTurn.withLock { $0 = true } }
        serve { isNextTurn.withLock { $0 } }
        continue
      }
      if !hasMoved { return }
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
