package import Koine
import KoinePeer
import KoineRoomClient
import KoineRouter
package import struct KoineSignaling.RoomService

// What stands beside the router: a recorder.

extension EmbeddedBackend: AttendedBackend {
  package func attend(_ make: () -> RoomService) { host.attend(make) }

  package func send(_ answer: RoomService.Answer) { host.say(answer) }

  package var inside: any Backend { InsideBackend(scheduler: scheduler, capabilities: capabilities, clients: clients) }
}

/// The way into the rooms for what stands beside the router: it is where the router is, so no network is between them, and
/// it does not keep the backend, with which a virtual clock ends.
private final class InsideBackend: Backend {
  let scheduler: Scheduler
  let capabilities: BackendCapabilities
  private let clients: ClientLoop

  init(scheduler: Scheduler, capabilities: BackendCapabilities, clients: ClientLoop) {
    (self.scheduler, self.capabilities, self.clients) = (scheduler, capabilities, clients)
  }

  func connect(_ request: JoinRequest, receiver: any LinkReceiver) -> any Link {
    clients.connect(request, receiver: receiver, isInside: true)
  }

  func register(_ request: EndpointRequest, receiver: any EndpointReceiver) -> any EndpointLink {
    clients.register(request, receiver: receiver)
  }
}

extension EmbeddedRouterHost {
  /// From any thread.
  func attend(_ make: () -> RoomService) {
    let isNew = attendant.withLock { attendant in
      guard attendant == nil else { return false }
      attendant = make()
      return true
    }
    guard isNew else { return }
    post { host in host.router?.setAttendant(host.attendant.withLock { $0 }) }
  }

  /// From any thread.
  func say(_ answer: RoomService.Answer) {
    post { $0.router?.send(answer, at: $0.loop.now) }
  }
}
