package import Koine
import KoineRouter

// What stands beside the router: a recorder.

extension EmbeddedBackend: AttendedBackend {
  package func attend(_ make: () -> Attendance) { hub.attend(make) }

  package func say(
    _ payload: [UInt8], as name: String, to participant: Koine.Participant.ID?, stands: Bool, in room: String
  ) {
    hub.say(payload, as: name, to: participant, stands: stands, in: room)
  }

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
  func attend(_ make: () -> Attendance) {
    let isNew = attendance.withLock { attendance in
      guard attendance == nil else { return false }
      attendance = make()
      return true
    }
    guard isNew else { return }
    loop.post { [self] in router?.setAttendant(attendant) }
  }

  /// As the router knows it. It is looked up anew for each word, so that nothing keeps it but the hub.
  var attendant: Attendant? {
    attendance.withLock { $0 }.map { attendance in
      Attendant(names: attendance.names) { [weak self] word in
        self?.attendance.withLock { $0 }?.hear(
          Attendance.Word(room: word.room, sender: word.sender, topic: word.topic, payload: word.payload))
      }
    }
  }

  /// From any thread.
  func say(
    _ payload: [UInt8], as name: String, to participant: Koine.Participant.ID?, stands: Bool, in room: String
  ) {
    loop.post { [self] in
      router?.say(payload, as: name, to: participant, stands: stands, in: room, at: loop.now)
      endTurn(at: loop.now)
    }
  }
}
