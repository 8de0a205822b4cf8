package import Koine
import KoineBase

/// A session's side of a participant's end: remembers what was asked, in order, and hands it to the loop in one go.
package final class RoomLink: Link, Sendable {
  enum Order: Sendable {
    case publish(Track, MediaHandle, PublishOptions)
    case unpublish(MediaHandle)
    case mute(MediaHandle, Bool)
    case frame(EncodedFrame, MediaHandle)
    case subscribe(Track, MediaHandle)
    case unsubscribe(MediaHandle)
    case keyFrame(MediaHandle)
    case pause(MediaHandle, Bool)
    case prefer(MediaHandle, LayerPreference)
    case message(DataMessage)
    case attributes([String: String])
    case muteOther(Track.ID)
    case remove(Participant.ID)
    case renew(credential: String)
    case answerKnock(Participant.ID, admitted: Bool)
    case closeRoom
    case statistics(@Sendable (LinkStatistics) -> Void)
    case leave

    /// It comes after the end. Whoever waits for an answer gets an empty one.
    func endUnmet() { if case .statistics(let completion) = self { completion(LinkStatistics()) } }
  }

  private struct Orders {
    var waiting: [Order] = []
    var isClosed = false
  }

  package let number: Int
  private let host: any LinkHost
  private let orders = Lock(Orders())

  package init(number: Int, host: any LinkHost) {
    self.number = number
    self.host = host
  }

  package func publish(_ stream: Track, as handle: MediaHandle, options: PublishOptions) {
    add(.publish(stream, handle, options))
  }
  package func unpublish(_ handle: MediaHandle) { add(.unpublish(handle)) }
  package func setMuted(_ muted: Bool, _ handle: MediaHandle) { add(.mute(handle, muted)) }
  package func send(_ frame: EncodedFrame, of handle: MediaHandle) { add(.frame(frame, handle)) }
  package func subscribe(to stream: Track, as handle: MediaHandle) { add(.subscribe(stream, handle)) }
  package func unsubscribe(from handle: MediaHandle) { add(.unsubscribe(handle)) }
  package func requestKeyFrame(of handle: MediaHandle) { add(.keyFrame(handle)) }
  package func setPaused(_ paused: Bool, _ handle: MediaHandle) { add(.pause(handle, paused)) }
  package func setPreference(_ preference: LayerPreference, of handle: MediaHandle) {
    add(.prefer(handle, preference))
  }
  package func send(_ message: DataMessage) { add(.message(message)) }
  package func setAttributes(_ attributes: [String: String]) { add(.attributes(attributes)) }
  package func mute(_ stream: Track.ID) { add(.muteOther(stream)) }
  package func renew(credential: String) { add(.renew(credential: credential)) }
  package func remove(_ participant: Participant.ID) { add(.remove(participant)) }
  package func answerKnock(of participant: Participant.ID, admitting: Bool) {
    add(.answerKnock(participant, admitted: admitting))
  }
  package func closeRoom() { add(.closeRoom) }
  package func statistics(_ completion: @escaping @Sendable (LinkStatistics) -> Void) { add(.statistics(completion)) }
  package func leave() { add(.leave) }

  /// Wakes the loop only for the first order of a batch.
  private func add(_ order: Order) {
    let count: Int? = orders.withLock { orders in
      guard !orders.isClosed else { return nil }
      orders.waiting.append(order)
      return orders.waiting.count
    }
    switch count {
    case nil: order.endUnmet()
    case 1: host.hasOrders(number)
    default: break
    }
  }

  /// The end has been told: nothing that is asked for is done any more.
  package func close() {
    let unmet = orders.withLock { orders in
      defer { (orders.waiting, orders.isClosed) = ([], true) }
      return orders.waiting
    }
    for order in unmet { order.endUnmet() }
  }

  /// On the loop: takes the orders, leaving `spare`'s memory for the next ones.
  func takeOrders(reusing spare: inout [Order]) {
    spare.removeAll(keepingCapacity: true)
    orders.withLock { swap(&$0.waiting, &spare) }
  }
}
