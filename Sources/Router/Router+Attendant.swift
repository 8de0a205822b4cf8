package import KoineBase
package import KoineSignaling

extension Router {
  /// Whoever writes to one of its names from now on is heard by it.
  package func setAttendant(_ attendant: Attendant?) {
    configuration.attendant = attendant
    for room in rooms.values {
      room.attendant = attendant
      for member in room.members { outbox.post(.attendants(attendant?.names ?? []), to: member.connection) }
    }
  }

  /// The attendant says something.
  package func say(_ answer: Attendant.Answer, at now: Tick) {
    guard let room = rooms[answer.room] else { return }
    room.say(answer, at: now)
    settle(room, at: now)
  }
}

extension Room {
  func say(_ answer: Attendant.Answer, at now: Tick) {
    dataOrder += 1
    let (name, participant) = (answer.name, answer.participant)
    let data = ReceivedMessage(
      sender: name, topic: name, payload: answer.payload, id: random.makeID(), order: dataOrder,
      isDirected: participant != nil)
    if participant == nil { standingWords[name] = answer.stands ? DataHistory.Kept(data, received: now) : nil }
    for member in members where participant.map({ $0 == member.id }) ?? true {
      outbox.post(.data(data), to: member.connection)
    }
  }
}
