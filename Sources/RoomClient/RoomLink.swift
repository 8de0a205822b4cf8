package import Koine
import KoineBase

/// A session's side of its `ParticipantClient`: queues commands, and hands them to the loop in one batch.
package final class RoomLink: Link, Sendable {
  enum Command: Sendable {
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

    /// The client has ended. A completion gets an empty answer.
    func cancel() { if case .statistics(let completion) = self { completion(MediaStatistics()) } }
  }

  private struct Queue {
    var waiting: [Command] = []
    var isClosed = false
  }

  package let number: Int
  private let notify: @Sendable () -> Void
  private let queue = Lock(Queue())

  /// - Parameter notify: called from any thread for the first command of a batch: `ParticipantClient.executeCommands` is due.
  package init(number: Int, notify: @escaping @Sendable () -> Void) { (self.number, self.notify) = (number, notify) }

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

  private func add(_ command: Command) {
    let count: Int? = queue.withLock { queue in
      guard !queue.isClosed else { return nil }
      queue.waiting.append(command)
      return queue.waiting.count
    }
    switch count {
    case nil: command.cancel()
    case 1: notify()
    default: break
    }
  }

  /// The end has been reported: later commands are cancelled.
  package func close() {
    let commands = queue.withLock { queue in
      defer { (queue.waiting, queue.isClosed) = ([], true) }
      return queue.waiting
    }
    for command in commands { command.cancel() }
  }

  /// On the loop: takes the commands, leaving `spare`'s memory for the next ones.
  func takeCommands(reusing spare: inout [Command]) {
    spare.removeAll(keepingCapacity: true)
    queue.withLock { swap(&$0.waiting, &spare) }
  }
}
