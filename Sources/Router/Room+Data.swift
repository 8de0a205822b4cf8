import KoineBase
import KoineSignaling

extension Room {
  /// Passes a data message on, in the room's one order.
  func take(_ sent: SendData, of member: Member, at now: Tick) {
    let message = sent.message
    do throws(Failure) {
      let receivers = try receivers(of: sent, from: member, at: now)
      dataOrder += 1
      let data = ReceivedMessage(
        sender: member.id, topic: message.topic, payload: message.payload, id: sent.id, order: dataOrder,
        isDirected: message.recipients != nil)
      if message.isPersistent {
        history.keep(data, for: addressees(message.recipients), at: now)
      } else if let lifetime = message.lifetime {
        history.keep(data, lifetime: lifetime.inSeconds, for: addressees(message.recipients), at: now)
      } else if now < recovers {
        history.keep(
          data, lifetime: (recovers - now).inSeconds, for: addressees(message.recipients), isForReturning: true, at: now
        )
      }
      outbox.post(.dataReceipt(DataReceipt(id: sent.id, order: dataOrder)), to: member.connection)
      if let attendant, isForAttendant(message) {
        attendant.hear(.init(room: name, sender: member.id, topic: message.topic, payload: message.payload))
      }
      for receiver in receivers { outbox.post(.data(data), to: receiver.connection) }
    } catch {
      outbox.post(.dataReceipt(DataReceipt(id: sent.id, failure: error)), to: member.connection)
    }
  }

  private func isForAttendant(_ message: DataMessage) -> Bool {
    guard let attendant, let to = message.recipients else { return false }
    return to.contains { attendant.names.contains($0) }
  }

  private func isForAttendantAlone(_ message: DataMessage) -> Bool {
    guard let attendant, let to = message.recipients else { return false }
    return to.allSatisfy { attendant.names.contains($0) }
  }

  /// In order of joining, each once.
  private func receivers(of sent: SendData, from sender: Member, at now: Tick) throws(Failure) -> [Member] {
    let message = sent.message
    guard sender.grants.canSendData else { throw Failure(.forbidden, "not allowed to send data") }
    // Whose program gets an order obeys it: it cannot know what the sender may do.
    guard sender.grants.canModerate || !DataOrder.isOrder(message.topic) || isForAttendantAlone(message) else {
      throw Failure(.forbidden, "not allowed to moderate")
    }
    guard message.payload.count <= SignalingLimits.payload else {
      throw Failure(.tooLarge, "at most \(SignalingLimits.payload) bytes")
    }
    try spend(bytes: message.payload.count + message.topic.utf8.count, of: sender, at: now)
    guard let names = message.recipients.map(Set.init) else {
      return members.filter { $0 !== sender || sent.echo }
    }
    let receivers = members.filter { names.contains($0.id) || ($0 === sender && sent.echo) }
    let isForAttendant = isForAttendant(message)
    guard !isForAttendant || sender.grants.canRecord else {
      throw Failure(.forbidden, "not allowed to record the room")
    }
    let isKept = message.isPersistent || (message.lifetime ?? .zero) > .zero
    guard isKept || isForAttendant || now < recovers || names.contains(where: { member($0) != nil }) else {
      throw Failure(.unknownParticipant, "none of the addressees is in the room")
    }
    return receivers
  }
}
