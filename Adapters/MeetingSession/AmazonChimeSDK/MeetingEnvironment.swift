import Foundation
package import Koine
import KoineAVFoundation
import KoineBackends

/// Where a meeting session lives, captured when it is made: the world with its clock and its queue.
package final class MeetingEnvironment: Sendable {
  /// Nil: `KOINE_BACKEND` names nothing that can be reached, as `problem` says.
  let world: World?
  let problem: String
  let delivery: Delivery
  let lane: Lane
  let machine: Machine
  private let bornAt: Tick
  private let bornOn = Date()

  /// - Parameter room: empty: of no room in particular.
  init(room: String = "", participant: Participant.ID = "") {
    var world: World?
    var problem = ""
    do throws(BackendAddressError) { world = try Backends.world(room: room, participant: participant) } catch {
      problem = error.description
    }
    (self.world, self.problem) = (world, problem)
    delivery = world?.delivery ?? .main
    machine = world?.machine ?? .current
    lane = (world?.backend.scheduler ?? .real).lane("meeting")
    bornAt = lane.scheduler.now
  }

  /// Without a room to reach.
  package init(problem: String, delivery: Delivery) {
    (world, self.problem, self.delivery) = (nil, problem, delivery)
    machine = .current
    lane = Koine.Scheduler.real.lane("meeting")
    bornAt = lane.scheduler.now
  }

  var now: Tick { lane.scheduler.now }
  var audioSession: AVAudioSession { .of(machine) }

  /// Milliseconds since 1970, on this world's clock.
  var timestampMs: Int64 {
    Int64(bornOn.timeIntervalSince1970 * 1_000) + (now - bornAt).nanoseconds / 1_000_000
  }
}

/// A set of observers: each object once, held strongly. A notification runs on the delivery queue, never from inside a call. It
/// reaches each observer that is still in the set when its turn comes.
final class Observers<Observer>: @unchecked Sendable {  // `entries` is guarded; observers are called on one queue
  let delivery: Delivery
  private let entries = Lock<[Observer]>([])

  init(_ delivery: Delivery) { self.delivery = delivery }

  func add(_ observer: Observer) {
    entries.withLock { entries in
      if !entries.contains(where: { ($0 as AnyObject) === (observer as AnyObject) }) { entries.append(observer) }
    }
  }

  func remove(_ observer: Observer) {
    let removed = entries.withLock { entries in
      let kept = entries.filter { ($0 as AnyObject) !== (observer as AnyObject) }
      defer { entries = kept }
      return entries
    }
    withExtendedLifetime(removed) {}  // let go of outside the lock
  }

  func removeAll() {
    let removed = entries.withLock { entries in
      defer { entries = [] }
      return entries
    }
    withExtendedLifetime(removed) {}
  }

  /// In no promised order among observers.
  func notify(_ call: @escaping (Observer) -> Void) {
    nonisolated(unsafe) let call = call  // handed over to the queue, run there once
    delivery.deliver { [self] in
      for observer in delivery.inAnyOrder(entries.withLock { $0 }) where contains(observer) { call(observer) }
    }
  }

  /// What happens at one moment, in no promised order: the audio and the video side know nothing of each other.
  func notify(inAnyOrder calls: [(Observer) -> Void]) {
    for call in delivery.inAnyOrder(calls) { notify(call) }
  }

  private func contains(_ observer: Observer) -> Bool {
    entries.withLock { $0.contains { ($0 as AnyObject) === (observer as AnyObject) } }
  }
}

/// Calls on the delivery queue at steady times, from one interval after the start on.
final class Repeater: Sendable {
  private let environment: MeetingEnvironment
  private let run = Lock(0)

  init(_ environment: MeetingEnvironment) { self.environment = environment }

  func start(every interval: Duration, _ body: @escaping @Sendable () -> Void) {
    let run = run.withLock { run in
      run += 1
      return run
    }
    wait(until: environment.now + interval, interval, run, body)
  }

  func stop() { run.withLock { $0 += 1 } }

  private func wait(until due: Tick, _ interval: Duration, _ run: Int, _ body: @escaping @Sendable () -> Void) {
    environment.lane.post(at: due) { [weak self] in
      guard let self, self.run.withLock({ $0 }) == run else { return }
      environment.delivery.deliver { [weak self] in if let self, self.run.withLock({ $0 }) == run { body() } }
      wait(until: max(due + interval, environment.now), interval, run, body)
    }
  }
}
