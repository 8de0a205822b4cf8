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
    guard let room = rooms[answer.room] else { return }
    room.send(answer, at: now)
    settle(room, at: now)
  }
}

extension Room {
  func send(_ answer: RoomService.Answer, at now: Tick) {
    guard answer.participant != RoomService.controlName else {
      serviceAnswers[answer.name] = String(decoding: answer.payload, as: UTF8.self)
      return
    }
    deliver(data.send(answer, id: random.makeID(), at: now))
  }
}
