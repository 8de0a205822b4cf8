import Koine

/// The attendees of the meeting with their volume and signal strength. A share is an attendee of its own, `<id>#content`.
///
/// Observers are notified at once when an attendee joins or leaves. Volume, mute and signal are compared five times a second
/// with the last reported values, and only changes are reported. All on the delivery queue.
final class Roster: @unchecked Sendable {  // `attendees` is guarded: any thread may look up an attendee
  private struct Entry {
    let info: AttendeeInfo
    var isMuted = true
    /// In dBov.
    var level = -127
    var volume: VolumeLevel?
    /// The room reports only attendees with a connection that is not good.
    var signal = SignalStrength.high
    var toldSignal: SignalStrength?
  }

  static let interval = Duration.milliseconds(200)
  let observers: Observers<any RealtimeObserver>
  /// Detects active speakers from the same volume changes.
  let speakers: ActiveSpeakers
  private let attendees = Lock<[String: Entry]>([:])

  init(_ delivery: Delivery, speakers: ActiveSpeakers) {
    observers = Observers(delivery)
    self.speakers = speakers
  }

  func info(of id: String) -> AttendeeInfo? { attendees.withLock { $0[id]?.info } }

  func join(_ id: String, externalUserId: String) {
    let info = AttendeeInfo(attendeeId: id, externalUserId: externalUserId)
    let isNew = attendees.withLock { attendees in
      guard attendees[id] == nil else { return false }
      attendees[id] = Entry(info: info)
      return true
    }
    guard isNew else { return }
    observers.notify { $0.attendeesDidJoin(attendeeInfo: [info]) }
    speakers.joined(info)
  }

  func leave(_ id: String, dropped: Bool = false) {
    guard let info = attendees.withLock({ $0.removeValue(forKey: id)?.info }) else { return }
    observers.notify { observer in
      if dropped {
        observer.attendeesDidDrop(attendeeInfo: [info])
      } else {
        observer.attendeesDidLeave(attendeeInfo: [info])
      }
    }
    speakers.left(info)
  }

  /// The local attendee's meeting is over: forgets all attendees without notifying observers of each.
  func clear() {
    attendees.withLock { $0 = [:] }
    speakers.clear()
  }

  func setMuted(_ isMuted: Bool, _ id: String) {
    // The level stays: the room does not report it again after a mute that is shorter than its interval.
    attendees.withLock { attendees in attendees[id]?.isMuted = isMuted }
  }

  func setLevels(_ levels: [String: Int]) {
    attendees.withLock { attendees in for (id, level) in levels { attendees[id]?.level = level } }
  }

  func setSignals(_ signals: [String: SignalStrength]) {
    attendees.withLock { attendees in for (id, signal) in signals { attendees[id]?.signal = signal } }
  }

  /// Notifies observers of the changes since the last call: mute, unmute, volume, signal, in this order.
  func report() {
    var muted: [AttendeeInfo] = []
    var unmuted: [AttendeeInfo] = []
    var volumes: [VolumeUpdate] = []
    var signals: [SignalUpdate] = []
    attendees.withLock { attendees in
      for (id, entry) in attendees.sorted(by: { $0.key < $1.key }) {
        let isContent = DefaultModality(id: id).isOfType(type: .content)
        let volume = entry.isMuted ? VolumeLevel.muted : VolumeLevel(level: entry.level)
        if volume != entry.volume, !isContent {
          if volume == .muted { muted.append(entry.info) }
          if entry.volume == .muted { unmuted.append(entry.info) }
          volumes.append(VolumeUpdate(attendeeInfo: entry.info, volumeLevel: volume))
          attendees[id]?.volume = volume
        }
        if entry.signal != entry.toldSignal, !isContent {
          signals.append(SignalUpdate(attendeeInfo: entry.info, signalStrength: entry.signal))
          attendees[id]?.toldSignal = entry.signal
        }
      }
    }
    tell(muted) { $0.attendeesDidMute(attendeeInfo: $1) }
    tell(unmuted) { $0.attendeesDidUnmute(attendeeInfo: $1) }
    tell(volumes) { $0.volumeDidChange(volumeUpdates: $1) }
    tell(signals) { $0.signalStrengthDidChange(signalUpdates: $1) }
    for update in volumes { speakers.changed(update) }
  }

  private func tell<Item>(_ items: [Item], _ call: @escaping (any RealtimeObserver, [Item]) -> Void) {
    let items = observers.delivery.inAnyOrder(items)  // the vendor's come from sets
    if !items.isEmpty { observers.notify { call($0, items) } }
  }
}
