/// The room's state as the app sees it. The state advances on the delivery queue, one event at a time. It changes before the
/// observers are called, so an observer finds the state that its event describes.
final class ObservableRoomState: Sendable {
  fileprivate struct Room {
    var state = SessionState.idle
    var local: Participant
    var others: [Participant] = []
    var tiles: [Tile] = []
    var dominantSpeaker: Participant.ID?
    var services: [String] = []
    var serviceStatus: [String: [UInt8]] = [:]
    var entryRequests: [Participant] = []
    var transcription = RoomTranscription.off
    var qualities: [Participant.ID: ConnectionQuality] = [:]
    var permissions: Set<ParticipantPermission>?
    var observers: [(number: Int, handler: @Sendable (SessionEvent) -> Void)] = []
    var nextObserver = 0
  }

  private let room: Lock<Room>
  private let delivery: Delivery
  private let journal: EventJournal?
  private let scheduler: Scheduler
  private let name: String

  init(_ request: JoinRequest, in world: World) {
    let local = Participant(
      id: request.participantID ?? "", name: request.name, externalUserID: request.externalUserID,
      attributes: request.attributes, isLocal: true)
    room = Lock(Room(local: local))
    (delivery, journal, scheduler) = (world.delivery, world.journal, world.backend.scheduler)
    name = request.room
  }

  var state: SessionState { room.withLock { $0.state } }
  var local: Participant { room.withLock { $0.local } }
  var others: [Participant] { room.withLock { $0.others } }
  var tiles: [Tile] { room.withLock { $0.tiles } }
  var entryRequests: [Participant] { room.withLock { $0.entryRequests } }
  var serviceStatus: [String: [UInt8]] { room.withLock { $0.serviceStatus } }
  var services: [String] { room.withLock { $0.services } }
  var transcription: RoomTranscription { room.withLock { $0.transcription } }
  func setServices(_ names: [String]) { room.withLock { $0.services = names } }
  var permissions: Set<ParticipantPermission>? { room.withLock { $0.permissions } }
  var dominantSpeaker: Participant.ID? { room.withLock { $0.dominantSpeaker } }
  func pathQuality(of id: Participant.ID) -> ConnectionQuality {
    room.withLock { $0.qualities[id] ?? ConnectionQuality() }
  }

  /// - Parameter ifOver: called instead where the end has been told: nothing follows.
  func observe(
    _ handler: @escaping @Sendable (SessionEvent) -> Void, ifOver: () -> Void = {}
  ) -> Observation {
    let number: Int? = room.withLock { room in
      guard !room.state.isEnded else { return nil }
      room.nextObserver += 1
      room.observers.append((room.nextObserver, handler))
      return room.nextObserver
    }
    guard let number else {
      ifOver()
      return Observation {}
    }
    return Observation { [weak self] in
      guard let self else { return }
      let removed = self.room.withLock { room in
        let kept = room.observers.filter { $0.number != number }
        defer { room.observers = kept }
        return room.observers
      }
      withExtendedLifetime(removed) {}  // handlers are let go of outside the lock
    }
  }

  /// Queues an event; `local` is the local participant as it is after the event, `qualities` are those that it tells of,
  /// `permissions` are those with which the room is entered. `then` runs right after the observers.
  func post(
    _ event: SessionEvent, local: Participant? = nil, qualities: [Participant.ID: ConnectionQuality] = [:],
    permissions: Set<ParticipantPermission>? = nil, then: (@Sendable () -> Void)? = nil
  ) {
    delivery.deliver { [self] in
      let observers = room.withLock { room in
        if let local { room.local = local }
        room.qualities.merge(qualities) { $1 }
        if let permissions { room.permissions = permissions }
        room.apply(event)
        return room.observers
      }
      journal?.add(event, of: self.local, in: name, at: scheduler.now)
      for observer in observers where isObserving(observer.number) { observer.handler(event) }
      then?()
      if case .stateChanged(.ended) = event { endObservation() }
    }
  }

  /// Queues something that is not an event: a completion.
  func deliver(_ completion: @escaping @Sendable () -> Void) { delivery.deliver(completion) }

  /// One observer may have cancelled another while hearing of the same event.
  private func isObserving(_ number: Int) -> Bool { room.withLock { $0.observers.contains { $0.number == number } } }

  /// Silence after the end.
  private func endObservation() {
    let observers = room.withLock { room in
      defer { room.observers = [] }
      return room.observers
    }
    withExtendedLifetime(observers) {}
  }
}

extension ObservableRoomState.Room {
  fileprivate mutating func apply(_ event: SessionEvent) {
    switch event {
    case .stateChanged(let new): state = new
    case .participantJoined(let participant): others.append(participant)
    case .participantLeft(let participant, _):
      others.removeAll { $0.id == participant.id }
      qualities[participant.id] = nil
    case .streamAdded(_, let owner), .streamRemoved(_, let owner), .streamMuted(_, let owner),
      .attributesChanged(let owner):
      if owner.isLocal {
        local = owner
      } else if let index = others.firstIndex(where: { $0.id == owner.id }) {
        others[index] = owner
      }
    case .dominantSpeakerChanged(let speaker): dominantSpeaker = speaker
    case .tileAdded(let tile): tiles.append(tile)
    case .tileRemoved(let tile): tiles.removeAll { $0.id == tile.id }
    case .tileChanged(let tile):
      if let index = tiles.firstIndex(where: { $0.id == tile.id }) { tiles[index] = tile }
    case .entryRequested(let participant): entryRequests.append(participant)
    case .entryRequestEnded(let participant, _): entryRequests.removeAll { $0.id == participant.id }
    case .messageReceived(let message):
      guard message.sender == message.topic, services.contains(message.sender), !message.isDirected else { return }
      // An empty payload withdraws the status.
      serviceStatus[message.sender] = message.payload.isEmpty ? nil : message.payload
    case .permissionsChanged(let permissions): self.permissions = permissions
    case .transcriptionChanged(let new): transcription = new
    case .levelsChanged, .qualityChanged, .failed, .waitingForAdmission, .streamPublished, .publishFailed, .transcribed,
      .transcriptionFailed:
      break
    }
  }
}
