package import Koine
import KoinePeer
import KoineRoomClient
import KoineRouter
package import struct KoineSignaling.RoomService
import KoineTokens

// Services beside the router: a recorder, a transcriber.

extension EmbeddedBackend: AttendedBackend {
  package func attend(as kind: String, _ make: () -> RoomService) { host.attend(as: kind, make) }

  package func send(_ answer: RoomService.Answer) { host.say(answer) }

  package var inside: any Backend { InsideBackend(scheduler: scheduler, capabilities: capabilities, clients: clients) }

  /// A token signed with a fresh key: rooms inside the process accept any signature.
  package func hiddenCredential(for room: String, name: String) throws -> String {
    let now = NumericDate.ofSystemClock()
    return try KoineToken(
      room: room, name: name, rights: [.subscribe, .hidden], issued: now, expires: now + 10 * 365 * 86_400
    )
    .signed(with: SigningKey(generating: .p256))
  }
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
  func attend(as kind: String, _ make: () -> RoomService) {
    let isNew = attendants.withLock { attendants in
      guard !attendants.contains(where: { $0.kind == kind }) else { return false }
      attendants.append((kind, make()))
      return true
    }
    guard isNew else { return }
    post { host in for router in host.routers { router.setAttendant(host.attendant) } }
  }

  /// All services as one; nil: there is none.
  var attendant: RoomService? {
    let services = attendants.withLock { $0.map(\.service) }
    return services.count > 1 ? RoomService(combining: services) : services.first
  }

  /// From any thread.
  func say(_ answer: RoomService.Answer) {
    post { $0.router(with: answer.room)?.send(answer, at: $0.loop.now) }
  }
}
