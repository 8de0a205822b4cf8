package import Koine
import KoineBase

/// A session's side of a participant's end: remembers what was asked, in order, and hands it to the loop in one go.
package final class RoomLink: Link, Sendable {
  enum Order: Sendable {
    case publish(Track, PublishOptions)
    case unpublish(Track.ID)
    case mute(Track.ID, Bool)
    case frame(EncodedFrame, Track.ID)
    case subscribe(Track.ID)
    case unsubscribe(Track.ID)
    case keyFrame(Track.ID)
    case pause(Track.ID, Bool)
    case prefer(Track.ID, LayerPreference)
    case message(DataMessage)
    case attributes([String: String])
    case muteOther(Track.ID)
    case remove(Participant.ID)
    case renew(credential: String)
    case answerKnock(Participant.ID, admitted: Bool)
    case closeRoom
    case statistics(@Sendable (MediaStatistics<Track.ID, Track.ID>) -> Void)
    case leave

    /// It comes after the end. Whoever waits for an answer gets an empty one.
    func endUnmet() { if case .statistics(let completion) = self { completion(MediaStatistics()) } }
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

  package func publish(_ track: Track, options: PublishOptions) { add(.publish(track, options)) }
  package func unpublish(_ track: Track.ID) { add(.unpublish(track)) }
  package func setMuted(_ muted: Bool, _ track: Track.ID) { add(.mute(track, muted)) }
  package func send(_ frame: EncodedFrame, of track: Track.ID) { add(.frame(frame, track)) }
  package func subscribe(to track: Track.ID) { add(.subscribe(track)) }
  package func unsubscribe(from track: Track.ID) { add(.unsubscribe(track)) }
  package func requestKeyFrame(of track: Track.ID) { add(.keyFrame(track)) }
  package func setPaused(_ paused: Bool, _ track: Track.ID) { add(.pause(track, paused)) }
  package func setPreference(_ preference: LayerPreference, of track: Track.ID) { add(.prefer(track, preference)) }
  package func send(_ message: DataMessage) { add(.message(message)) }
  package func setAttributes(_ attributes: [String: String]) { add(.attributes(attributes)) }
  package func mute(_ stream: Track.ID) { add(.muteOther(stream)) }
  package func renew(credential: String) { add(.renew(credential: credential)) }
  package func remove(_ participant: Participant.ID) { add(.remove(participant)) }
  package func answerKnock(of participant: Participant.ID, admitting: Bool) {
    add(.answerKnock(participant, admitted: admitting))
  }
  package func closeRoom() { add(.closeRoom) }
  package func statistics(_ completion: @escaping @Sendable (MediaStatistics<Track.ID, Track.ID>) -> Void) {
    add(.statistics(completion))
  }
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
