import KoineBase
import KoineSignaling

// Pictures for which a receiver's path is too narrow altogether: they rest until it is wide enough again.

/// Whether a picture's least has had no room on its receiver's path for a while. Estimates waver, and a new path is
/// measured first: nothing rests, and nothing goes on, at the first sign.
struct Hunger {
  private(set) var isStarved = false
  /// The least there was of it when it began to rest, in bit/s.
  private var least = Double.infinity
  /// Since when things have been otherwise than `isStarved` says.
  private var since: Tick?
  /// The most room there has been since it has been too little, in bit/s.
  private var most = 0.0

  private static let patience = Duration.seconds(4)
  private static let growth = 1.1
  private static let caution = Duration.seconds(2)
  /// Of its least there may be missing as much as a publisher can often do without.
  private static let enough = 0.8
  /// Going on needs so much more.
  private static let plenty = 1.2

  /// What it needs to go on, in bit/s.
  func need(_ least: Double) -> Double { isStarved ? min(least, self.least) * Self.plenty : least * Self.enough }

  /// - Parameter room: in bit/s.
  /// - Returns: whether it is time that this changes.
  mutating func note(_ room: Double, hasRoom: Bool, at now: Tick) -> Bool {
    guard hasRoom == isStarved else {
      (since, most) = (nil, 0)
      return false
    }
    // As long as there is more and more of it, the path is still being measured.
    if !isStarved, room > most * Self.growth { (since, most) = (now, room) }
    let begin = since ?? now
    since = begin
    return now - begin >= (isStarved ? Self.caution : Self.patience)
  }

  mutating func change(least: Double) {
    isStarved.toggle()
    (since, most) = (nil, 0)
    self.least = isStarved ? least : .infinity
  }

  /// Others come first: it has to wait anew.
  mutating func waitAnew(at now: Tick) { if since != nil { since = now } }
}

extension Room {
  /// Lets those rest for whose least the path has been too narrow, one at a time and those of the lowest priority first,
  /// and those go on for whom there is room again, those of the highest first.
  /// - Parameters:
  ///   - pictures: by priority; those that rest are taken out.
  ///   - room: what the path carries, in bit/s.
  ///   - isSilent: the receiver sends no feedback. An outage pauses no video, because after it the path is as before.
  /// - Returns: what those that rest would take at the least, in bit/s.
  func letRest(_ pictures: inout [Forwarder], room: Double, isSilent: Bool, at now: Tick) -> Double {
    var room = room
    var last: (forwarder: Forwarder, least: Double)?
    for forwarder in pictures {
      let least = forwarder.track.track.isMuted ? 0 : stream(of: forwarder, at: now).least
      let hasRoom = forwarder.hunger.need(least) <= room || isSilent && !forwarder.hunger.isStarved
      let isDue = forwarder.hunger.note(room, hasRoom: hasRoom, at: now)
      if isDue, forwarder.hunger.isStarved { goOn(forwarder) } else if isDue { last = (forwarder, least) }
      if !forwarder.hunger.isStarved { room -= least }
    }
    if let (forwarder, least) = last {
      for other in pictures where !other.hunger.isStarved { other.hunger.waitAnew(at: now) }
      forwarder.hunger.change(least: least)
      forwarder.stop()
      cancelIdleRequests(of: forwarder.track)
      tellStarved(forwarder)
    }
    let resting = pictures.filter(\.hunger.isStarved)
    pictures.removeAll(where: \.hunger.isStarved)
    return resting.reduce(0) { $0 + $1.hunger.need(stream(of: $1, at: now).least) }
  }

  /// Also when its receiver does not want it any more.
  func goOn(_ forwarder: Forwarder) {
    guard forwarder.hunger.isStarved else { return }
    forwarder.hunger.change(least: 0)
    tellStarved(forwarder)
  }

  private func tellStarved(_ forwarder: Forwarder) {
    outbox.post(
      .starved(forwarder.track.id, forwarder.hunger.isStarved), to: forwarder.receiver.connection)
  }
}
