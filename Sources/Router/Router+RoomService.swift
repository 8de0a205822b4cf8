package import KoineBase
package import KoineSignaling

extension Router {
  /// Sets the co-located service of all rooms. From now on it receives the messages that participants send to its names.
  package func setAttendant(_ attendant: RoomService?) {
    setAttendantOfNewRooms(attendant)
    for room in rooms.all {
      room.attendant = attendant
      room.tellOthers(.attendants(attendant?.names ?? []), than: nil)
    }
  }

  /// Delivers a message of the service to its room; without effect if there is no such room.
  package func send(_ answer: RoomService.Answer, at now: Tick) {
    let room = answer.isForEventsOnly ? nil : rooms[answer.room]
    report(answer, in: room)
    guard let room else { return }
    room.send(answer, at: now)
    settle(room, at: now)
  }

  /// Reports what a recorder says. The last report of a recording may come after its room has ended.
  private func report(_ answer: RoomService.Answer, in room: Room?) {
    guard let report = configuration.roomEvent, let kind = RecordingOrder.Kind(rawValue: answer.name),
      answer.participant == nil || answer.participant == RoomService.controlName
    else { return }
    let recording = Recording(room: answer.room, kind: kind)
    var names = recordings[recording, default: [answer.room]]
    if let room { names.formUnion(room.entrances) }
    if answer.participant == nil { recordings[recording] = answer.stands ? names : nil }
    let status = String(decoding: answer.payload, as: UTF8.self)
    for name in names.sorted() {
      report(
        RoomEvent(
          room: name, epoch: room?.epoch ?? "", participant: "",
          .recorder(kind, status: status, output: answer.output)))
    }
  }

  /// Has no reports of recordings of other rooms go to names that are not theirs any more.
  func forgetRecordings(of names: Set<String>) {
    for recording in recordings.keys { recordings[recording]?.subtract(names.subtracting([recording.room])) }
  }

  /// A recording that the recorder has begun and not ended.
  struct Recording: Hashable {
    let room: String
    let kind: RecordingOrder.Kind
  }
}

extension Room {
  func send(_ answer: RoomService.Answer, at now: Tick) {
    guard answer.participant != RoomService.controlName else {
      serviceAnswers[answer.name] = String(decoding: answer.payload, as: UTF8.self)
      return
    }
    let delivery = data.send(answer, id: random.makeID(), at: now)
    if let entry = delivery.logged?.entry {
      log?.record(entry)
      needsSettling = true
    }
    deliver(delivery)
  }
}
