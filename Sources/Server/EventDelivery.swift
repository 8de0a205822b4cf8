import KoineBase
import KoineVendorAPIs
import Logging
import NIOCore

/// Brings the APIs' events to their receivers, by `EventQueue` and `EventSender`.
///
/// The queue is under a lock, as events come from any thread. Attempts begin on one event loop.
final class EventDelivery: Sendable {
  private let subscriptions: [EventSubscription]
  private let hosts: EventHosts
  private let sender: EventSender
  private let logger: Logger
  private let queue: Lock<EventQueue>
  /// nil before `start` and after `stop`.
  private let loop = Lock<(any EventLoop)?>(nil)
  private let alarm = Lock<Scheduled<Void>?>(nil)

  /// - Parameter sender: nil: one for these hosts.
  init(
    hosts: EventHosts, subscriptions: [EventSubscription], logger: Logger, sender: EventSender? = nil,
    limits: EventQueue.Limits = EventQueue.Limits()
  ) {
    (self.hosts, self.subscriptions, self.logger) = (hosts, subscriptions, logger)
    self.sender = sender ?? EventSender(hosts: hosts)
    queue = Lock(EventQueue(limits: limits))
  }

  /// Where the APIs send their events.
  var output: EventOutput {
    EventOutput(forms: subscriptions.reduce(into: []) { $0.formUnion($1.forms) }) { [weak self] in self?.send($0) }
  }

  var statistics: EventQueue.Statistics { queue.withLock { $0.statistics } }

  private var now: Tick { Scheduler.real.now }

  func start(on loop: any EventLoop) {
    self.loop.withLock { $0 = loop }
    wake()
  }

  /// Gives the events that wait `time` to be delivered, and drops the others.
  func stop(within time: Duration = .seconds(2)) async {
    let end = now + time
    while !queue.withLock({ $0.isEmpty }), now < end { try? await Task.sleep(for: .milliseconds(20)) }
    loop.withLock { $0 = nil }
    alarm.withLock { $0 }?.cancel()
    log(
      queue.withLock { queue in
        queue.stop(at: now)
        return queue.takeNotices()
      })
  }

  private func send(_ event: BackEndEvent) {
    let now = now
    queue.withLock { queue in
      var urls = subscriptions.filter { $0.forms.contains(event.form) }.map(\.url)
      if let webhook = event.webhook {
        if let url = EventURL(webhook), hosts.allows(url) {
          if !urls.contains(url) { urls.append(url) }
        } else {
          queue.refuse(event, to: EventURL(webhook)?.origin ?? "an address that cannot be read", at: now)
        }
      }
      for url in urls { queue.add(event, to: url, at: now) }
    }
    wake()
  }

  private func wake() {
    guard let loop = loop.withLock({ $0 }) else { return }
    loop.execute { [weak self] in self?.turn(on: loop) }
  }

  /// On the loop.
  private func turn(on loop: any EventLoop) {
    guard self.loop.withLock({ $0 != nil }) else { return }
    while let attempt = queue.withLock({ $0.next(at: now) }) {
      sender.send(attempt.event, to: attempt.url, on: loop).whenSuccess { [weak self] outcome in
        guard let self else { return }
        queue.withLock { $0.finish(attempt.id, outcome, at: self.now) }
        // In a turn of its own: an attempt that fails at once ends inside this loop, and thousands of them would nest.
        wake()
      }
    }
    let (notices, deadline) = queue.withLock { ($0.takeNotices(), $0.deadline) }
    log(notices)
    alarm.withLock { alarm in
      alarm?.cancel()
      alarm = deadline.map { deadline in
        loop.scheduleTask(in: .nanoseconds(max(0, (deadline - now).nanoseconds))) { [weak self] in self?.turn(on: loop)
        }
      }
    }
  }

  private func log(_ notices: [String]) { for notice in notices { logger.warning("\(notice)") } }
}
