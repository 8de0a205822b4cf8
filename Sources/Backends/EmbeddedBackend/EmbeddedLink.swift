import Koine
import KoineBase

/// A session's side of a participant of the hub: remembers what was asked, in order, and hands it to the loop in one go.
final class EmbeddedLink: Link, Sendable {
  enum Order: Sendable {
    case publish(Stream, MediaHandle, PublishOptions)
    case unpublish(MediaHandle)
    case mute(MediaHandle, Bool)
    case frame(EncodedFrame, MediaHandle)
    case subscribe(Stream, MediaHandle)
    case unsubscribe(MediaHandle)
    case keyFrame(MediaHandle)
    case pause(MediaHandle, Bool)
    case prefer(MediaHandle, ReceivePreference)
    case message(DataMessage)
    case attributes([String: String])
    case remove(Participant.ID)
    case closeRoom
    case statistics(@Sendable (LinkStatistics) -> Void)
    case leave
  }

  let number: Int
  private let hub: Hub
  private let orders = Lock<[Order]>([])

  init(number: Int, hub: Hub) {
    self.number = number
    self.hub = hub
  }

  func publish(_ stream: Stream, as handle: MediaHandle, options: PublishOptions) {
    add(.publish(stream, handle, options))
  }
  func unpublish(_ handle: MediaHandle) { add(.unpublish(handle)) }
  func setMuted(_ muted: Bool, _ handle: MediaHandle) { add(.mute(handle, muted)) }
  func send(_ frame: EncodedFrame, of handle: MediaHandle) { add(.frame(frame, handle)) }
  func subscribe(to stream: Stream, as handle: MediaHandle) { add(.subscribe(stream, handle)) }
  func unsubscribe(from handle: MediaHandle) { add(.unsubscribe(handle)) }
  func requestKeyFrame(of handle: MediaHandle) { add(.keyFrame(handle)) }
  func setPaused(_ paused: Bool, _ handle: MediaHandle) { add(.pause(handle, paused)) }
  func setPreference(_ preference: ReceivePreference, of handle: MediaHandle) { add(.prefer(handle, preference)) }
  func send(_ message: DataMessage) { add(.message(message)) }
  func setAttributes(_ attributes: [String: String]) { add(.attributes(attributes)) }
  func remove(_ participant: Participant.ID) { add(.remove(participant)) }
  func closeRoom() { add(.closeRoom) }
  func statistics(_ completion: @escaping @Sendable (LinkStatistics) -> Void) { add(.statistics(completion)) }
  func leave() { add(.leave) }

  /// Wakes the loop only for the first order of a batch.
  private func add(_ order: Order) {
    let isFirst = orders.withLock { orders in
      orders.append(order)
      return orders.count == 1
    }
    if isFirst { hub.loop.post { [hub, number] in hub.carryOut(ordersOf: number) } }
  }

  /// On the loop: takes the orders, leaving `spare`'s memory for the next ones.
  func takeOrders(reusing spare: inout [Order]) {
    spare.removeAll(keepingCapacity: true)
    orders.withLock { swap(&$0, &spare) }
  }
}
