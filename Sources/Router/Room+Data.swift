import KoineBase
import KoineSignaling

// Carries out what `DataRouter` decides.

extension Room {
  func handleData(_ sent: SendData, of member: Member, at now: Tick) {
    let (message, services) = (sent.message, attendant?.names ?? [])
    do throws(Failure) {
      try data.check(message, grants: member.grants, services: services)
      try spend(bytes: message.payload.count + message.topic.utf8.count, of: member, at: now)
      guard !acknowledgeAgain(sent.id, of: member, at: now) else { return }
      // Without a receipt the sender says it again, at the room's next home.
      if let names = message.recipients, names.contains(where: services.contains), isLeaving?() == true { return }
      let delivery = try data.route(
        sent, from: member.id, in: roster, services: services, openServices: attendant?.openNames ?? [], at: now)
      acknowledge(delivery, to: member, at: now)
      if delivery.isForService {
        attendant?.handle(
          .init(
            room: name, sender: member.id, topic: message.topic, payload: message.payload,
            mayRecord: member.grants.canRecord))
      }
      deliver(delivery)
    } catch {
      outbox.post(.dataReceipt(DataReceipt(id: sent.id, failure: error)), to: member.client)
    }
  }

  func deliver(_ delivery: DataRouter.Delivery) {
    outbox.post(
      .data(delivery.message), to: members.lazy.filter { delivery.reaches($0.id) }.compactMap(\.client))
  }
}
