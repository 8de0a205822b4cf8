import KoineBase
import KoineRTP
import KoineSignaling
import KoineTransport

/// One track on its way to one receiver.
///
///     waiting ── a key frame of the wanted layer (sound: any packet) ──→ forwarding ── paused, muted, a voice among
///        ↑                                                                  │           too many, another layer
///        └──────────────────────────────────────────────────────────────────┘
final class Forwarder {
  struct Preference: Hashable {
    var layer: Int?
    var maxHeight: Int?
    var priority = 0
  }

  unowned let track: PublishedTrack
  unowned let receiver: Member
  /// How the receiver gets it.
  let media: Media
  private let sender: SenderID
  private var splice: Splice
  private(set) var isPaused = false
  /// The layer that is forwarded; nil while waiting.
  private(set) var current: Int?
  /// The layer the receiver should get: the next key frame of it is where the switch happens.
  private(set) var target: Int
  /// What the receiver would like.
  var preference = Preference()
  private var stretch: UInt64 = 0
  private(set) var packets = 0

  init(_ track: PublishedTrack, to receiver: Member, media: Media, sender: SenderID, random: inout SeededRandom) {
    (self.track, self.receiver, self.media, self.sender) = (track, receiver, media, sender)
    splice = Splice(clockRate: track.codec.clockRate, random: &random)
    target = track.layers.count - 1
  }

  /// Whether it can go on only from a key frame.
  var needsKeyFrame: Bool {
    !track.codec.isAudio && !isPaused && receiver.isConnected && (current != target || stretch != track.stretch)
  }

  func matches(_ sender: SenderID) -> Bool { self.sender == sender }

  /// Passes a packet on, unless it is not what the receiver should get now.
  /// - Returns: whether it did.
  func forward(_ shared: SharedPacket, _ numbers: SourceNumbers, startsKeyFrame: Bool, at now: Tick) -> Bool {
    guard !isPaused, receiver.isConnected else { return false }
    if current != shared.layer || stretch != track.stretch {
      guard shared.layer == target, startsKeyFrame || track.codec.isAudio else { return false }
      begin(shared.layer, at: numbers, now: now)
    }
    guard let out = splice.rewritten(numbers, now: now) else { return false }
    receiver.seat.peer.forward(
      shared, on: sender, sequence: UInt16(truncatingIfNeeded: out.sequence), timestamp: out.timestamp, at: now)
    packets += 1
    return true
  }

  private func begin(_ layer: Int, at numbers: SourceNumbers, now: Tick) {
    splice.cut(at: numbers, now: now)
    current = layer
    stretch = track.stretch
    if let report = track.layers[layer].report { anchor(layer, captured: report.captured, timestamp: report.timestamp) }
  }

  /// Lets the receiver's sender reports count from the publisher's.
  func anchor(_ layer: Int, captured: Tick, timestamp: UInt32) {
    guard current == layer, stretch == track.stretch else { return }
    receiver.seat.peer.anchorReports(of: sender, captured: captured, timestamp: splice.shifted(timestamp))
  }

  func pause() {
    isPaused = true
    current = nil
  }

  func resume() { isPaused = false }

  /// - Returns: whether a key frame of the new layer is needed.
  func choose(_ layer: Int) -> Bool {
    target = layer
    return needsKeyFrame
  }

  /// The receiver gets no more of it.
  func end() {
    receiver.seat.peer.removeSender(sender)
    receiver.giveSources(of: media)
  }
}
