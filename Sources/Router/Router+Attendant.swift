package import KoineBase
package import KoineSignaling

extension Router {
  /// Whoever writes to one of its names from now on is heard by it.
  package func setAttendant(_ attendant: RoomService?) {
    setAttendantOfNewRooms(attendant)
    for room in rooms.all {
      room.attendant = attendant
      room.tellOthers(.attendants(attendant?.names ?? []), than: nil)
    }
  }

  /// The attendant says something.
  package func say(_ answer: RoomService.Answer, at now: Tick) {
    guard let room = rooms[answer.room] else { return }
    room.say(answer, at: now)
    settle(room, at: now)
  }
}

extension Room {
  func say(_ answer: RoomService.Answer, at now: Tick) {
    guard answer.participant != RoomService.controlName else {
      serviceAnswers[answer.name] = String(decoding: answer.payload, as: UTF8.self)
      return
    }
    deliver(data.say(answer, id: random.makeID(), at: now))
  }
}
