import KoineBase
import KoineSignaling
import KoineTransport

/// A participant's signalling and media, for as long as it is in its room. All other facts about the participant are in its entry
/// of the room's `Roster`.
///
/// Its variables are the room's: `Room` and its extensions change them, in files of their own.
final class Member {
  let id: Participant.ID
  /// As it joined; once it has left, it is that again.
  private let firstEntry: Roster.Entry
  /// Another one after its media path broke.
  @exclusivity(unchecked) var slot: PeerSlot
  var capabilities: MediaCapabilities
  unowned let room: Room
  /// nil once its signalling is gone.
  var client: ClientID?
  private weak var owner: Client?
  let joined: Tick
  /// What the app says about itself.
  let clientDescription: String?
  @exclusivity(unchecked) var tracks: [PublishedTrack] = []
  @exclusivity(unchecked) var subscriptions: [Forwarder] = []
  /// When it is dropped, unless something happens before.
  @exclusivity(unchecked) var deadline: Tick?
  /// Its client's: leaving and coming again forgives nothing.
  let broadcastLimiter: BroadcastRateLimiter
  /// When the other participants were last notified of its attributes, and whether the attributes have changed since.
  var attributesTold: Tick?
  var owesAttributes = false
  @exclusivity(unchecked) var layerAllocator = LayerAllocator()
  var meter = PathMeter()
  var quality = ConnectionQuality()
  /// The estimate of its path that its client was notified of last, in bit/s.
  var reportedEstimate: Int?
  /// From this participant's clock to ours, as its sender reports show.
  @exclusivity(unchecked) var clock = SenderClockOffset()
  private var nextMid = 0
  var keyFrameAllowance = KeyFrameAllowance()
  private var sources: Set<UInt32> = []

  /// The name of the room under which it has come.
  var entrance = ""

  init(
    _ entry: Roster.Entry, client: Client, slot: PeerSlot, room: Room, limits: RouterLimits, at now: Tick
  ) {
    (id, firstEntry) = (entry.id, entry)
    (self.slot, self.room, joined) = (slot, room, now)
    (self.client, owner, capabilities) = (client.id, client, client.capabilities)
    clientDescription = client.description
    broadcastLimiter = client.broadcastLimiter ?? BroadcastRateLimiter(limits, now: now)
    deadline = now + limits.connectTimeout
  }

  /// What the roster holds of it.
  var entry: Roster.Entry { room.roster[id] ?? firstEntry }
  var grants: Grants { entry.grants }
  var attributes: [String: String] { entry.attributes }
  /// As the others see it.
  var participant: Participant { entry.participant }

  /// Whether media flows.
  var isConnected: Bool { slot.isConnected }

  /// Whether it can come back when its media path breaks.
  var isResumable: Bool { client != nil && owner?.isResumable == true }

  func track(_ id: String) -> PublishedTrack? { tracks.first { $0.id.track == id } }

  /// SSRCs of one peer differ in both directions (RFC 3550 section 8).
  func takeSource(_ random: inout SeededRandom) -> UInt32 {
    while true {
      let source = UInt32.random(in: 1 ... .max, using: &random)
      let isPublished = tracks.contains { $0.sources.contains(source) }
      if !isPublished, sources.insert(source).inserted { return source }
    }
  }

  func giveSources(of media: StreamParameters) {
    for encoding in media.encodings {
      sources.remove(encoding.ssrc)
      if let rtx = encoding.rtxSSRC { sources.remove(rtx) }
    }
  }

  func takeMid() -> String {
    defer { nextMid += 1 }
    return "s\(nextMid)"
  }
}

/// Limits what one client causes to be sent to others, or has the router do at some cost.
final class BroadcastRateLimiter {
  private var messages: TokenBucket
  private var bytes: TokenBucket

  init(_ limits: RouterLimits, now: Tick) {
    messages = TokenBucket(burst: limits.dataBurst, perSecond: limits.dataPerSecond, now: now)
    bytes = TokenBucket(burst: limits.dataByteBurst, perSecond: limits.dataBytesPerSecond, now: now)
  }

  func spend(bytes count: Int, at now: Tick) -> Bool {
    messages.take(at: now) && bytes.take(Double(count), at: now)
  }

  /// Looking up a track and dividing the path among subscriptions takes time on the network loop: eight references cost as
  /// much as a message that others are told of.
  func spend(references count: Int, at now: Tick) -> Bool { count == 0 || messages.take(Double(count) / 8, at: now) }
}

/// Brings a publisher's capture times onto the router's clock, the same way for all its tracks, so that they stay in step.
///
/// Programs on one machine share the clock and need nothing; a difference beyond a second is a clock of its own, and the
/// quickest report so far tells the difference best. A clock that has been set is another clock, which is learnt anew:
/// no report, however wrong, gives a time far from the router's own.
struct SenderClockOffset {
  private static let jump = Duration.seconds(10)
  private var offset: Duration?

  mutating func local(_ reported: Tick, arrivedAt now: Tick) -> Tick {
    let apparent = now - reported
    let best = min(offset ?? apparent, apparent)
    offset = offset.map { $0 - best > Self.jump || apparent - best > Self.jump } == true ? apparent : best
    guard let offset, offset > .seconds(1) || offset < .seconds(-1) else { return reported }
    return reported + offset
  }
}
