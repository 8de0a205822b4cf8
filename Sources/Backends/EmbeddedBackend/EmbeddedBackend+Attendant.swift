package import Koine
import KoinePeer
import KoineRouter
package import struct KoineSignaling.Attendant

// What stands beside the router: a recorder.

extension EmbeddedBackend: AttendedBackend {
  package func attend(_ make: () -> Attendant) { hub.attend(make) }

  package func say(_ answer: Attendant.Answer) { hub.say(answer) }

  package var inside: any Backend { InsideBackend(scheduler: scheduler, capabilities: capabilities, hub: hub) }
}

/// The way into the rooms for what stands beside the router: it is where the router is, so no network is between them, and
/// it does not keep the backend, with which a virtual clock ends.
private final class InsideBackend: Backend {
  let scheduler: Scheduler
  let capabilities: BackendCapabilities
  private let hub: Hub

  init(scheduler: Scheduler, capabilities: BackendCapabilities, hub: Hub) {
    (self.scheduler, self.capabilities, self.hub) = (scheduler, capabilities, hub)
  }

  func connect(_ request: JoinRequest, receiver: any LinkReceiver) -> any Link {
    hub.connect(request, receiver: receiver, isInside: true)
  }

  func register(_ request: EndpointRequest, receiver: any EndpointReceiver) -> any EndpointLink {
    hub.register(request, receiver: receiver)
  }
}

extension Hub {
  /// From any thread.
  func attend(_ make: () -> Attendant) {
    let isNew = attendant.withLock { attendant in
      guard attendant == nil else { return false }
      attendant = make()
      return true
    }
    guard isNew else { return }
    loop.post { [self] in router?.setAttendant(attendant.withLock { $0 }) }
  }

  /// From any thread.
  func say(_ answer: Attendant.Answer) {
    loop.post { [self] in
      router?.say(answer, at: loop.now)
      endTurn(at: loop.now)
    }
  }
}
