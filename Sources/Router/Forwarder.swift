import KoineBase
import KoineRTP
import KoineSignaling
import KoineTransport

/// One track on its way to one receiver.
///
///     waiting ── a key frame of the wanted layer (audio: any packet) ──→ forwarding
///        ↑                                                                  │
///        └── paused, muted, not among the loudest, another layer selected ──┘
final class Forwarder {
  unowned let track: PublishedTrack
  unowned let receiver: Member
  /// The receiver's peer.
  @exclusivity(unchecked) private(set) var slot: PeerSlot
  /// The parameters under which the receiver gets the track.
  let media: StreamParameters
  private let isAudio: Bool
  @exclusivity(unchecked) private var sender: SenderID
  @exclusivity(unchecked) private var rewriter: RTPRewriter
  @exclusivity(unchecked) private var temporal = TemporalFilter()
  @exclusivity(unchecked) private var keepsBase = true
  @exclusivity(unchecked) private(set) var isPausedByReceiver = false
  /// Changed by `Room+Starvation` alone.
  @exclusivity(unchecked) var starvation = StarvationDetector()
  /// The layer that is forwarded; nil while waiting.
  @exclusivity(unchecked) private(set) var current: Int?
  /// The layer the receiver should get: the next key frame of it is where the switch happens.
  @exclusivity(unchecked) private(set) var target: Int
  /// The highest temporal layer that the receiver should get of the target.
  @exclusivity(unchecked) private(set) var temporalTarget = TemporalFilter.all
  /// Reset by `Room+Layers` with the preference.
  @exclusivity(unchecked) var upgradeBackoff = LayerUpgradeBackoff()
  /// What the receiver would like. Set by `Room+Layers`.
  @exclusivity(unchecked) var preference = LayerPreference()
  @exclusivity(unchecked) private var stretch: UInt64 = 0
  /// A layer that makes no pictures for so long has probably been given up.
  private static let pause = Duration.milliseconds(400)
  @exclusivity(unchecked) private(set) var packets = 0
  /// Why the receiver itself needs the next key frame; nil where it is the router's own doing.
  @exclusivity(unchecked) private var keyFrameCause: KeyFrameAllowance.Cause? = .stream
  /// The track and its owner may be gone.
  @exclusivity(unchecked) private var isOver = false

  init(_ track: PublishedTrack, to receiver: Member, media: StreamParameters, random: inout SeededRandom) {
    (self.track, self.receiver, self.media, slot) = (track, receiver, media, receiver.slot)
    isAudio = track.codec.isAudio
    sender = slot.peer.addSender(media)
    rewriter = RTPRewriter(clockRate: track.codec.clockRate, random: &random)
    target = track.layers.count - 1
  }

  /// Whether it can go on only from a key frame.
  var needsKeyFrame: Bool {
    !isAudio && !isPaused && slot.isConnected
      && (current != target || stretch != track.stretch || temporal.isBroken)
  }

  /// Key frames cost all receivers of a track quality, so each receiver may cause only so many of them. Those that the router
  /// needs by itself, for another layer or after a mute, are free.
  func mayRequestKeyFrame(at now: Tick) -> Bool {
    guard let keyFrameCause else { return true }
    guard receiver.keyFrameAllowance.spend(keyFrameCause, of: track.id, at: now) else { return false }
    self.keyFrameCause = nil
    return true
  }

  /// - Parameters:
  ///   - loss: of the track on its way here, 0...1.
  ///   - delay: how long a lost packet takes until its retransmission is here.
  func setSource(loss: Double, delay: Duration, at now: Tick) {
    slot.peer.setSource(loss: loss, delay: delay, of: sender, at: now)
  }

  func receiverNeedsKeyFrame(_ cause: KeyFrameAllowance.Cause) { keyFrameCause = cause }

  /// Nothing of the track is forwarded: the receiver has paused it, its path is too narrow, or it does not answer.
  var isPaused: Bool { isPausedByReceiver || starvation.isStarved || isHeld }

  /// Its receiver does not answer what it is sent.
  private var isHeld: Bool {
    switch slot.hold {
    case .none: false
    case .video: !isAudio
    case .all: true
    }
  }

  /// How many earlier payloads its audio packets repeat now.
  var copies: Int { slot.peer.copies(on: sender) }

  func matches(_ sender: SenderID) -> Bool { self.sender == sender }

  /// Whether anything may go this way at all.
  var isOpen: Bool { !isOver && !isPaused && slot.isConnected }

  /// Passes a packet on, unless it is not what the receiver should get now. Touches nothing but this way and its receiver's
  /// peer: those of several receivers may be walked at once.
  /// - Returns: whether it did.
  func forward(_ passing: ForwardingItem, at now: Tick) -> Bool {
    guard isOpen else { return false }
    let layer = passing.packet.layer
    if current != layer || stretch != passing.stretch {
      guard passing.info.startsKeyFrame || isAudio, takes(layer, at: now) else { return false }
      startSegment(layer, at: passing.numbers, of: passing.stretch, now: now)
    }
    var isLeftOut = false
    let isPadding = isAudio && passing.packet.payloadRange.isEmpty
    if isPadding || !temporal.admits(passing.info, passing.numbers) {
      if rewriter.drop(passing.numbers) { return false }
      isLeftOut = true  // its number has been kept for it: it goes out empty
    }
    guard let out = rewriter.rewritten(passing.numbers, now: now) else { return false }
    slot.peer.forward(
      isLeftOut ? passing.packet.emptied : passing.packet, on: sender,
      sequence: UInt16(truncatingIfNeeded: out.sequence),
      timestamp: out.timestamp,
      numbers: isAudio
        ? nil : FrameNumbers(pictureID: out.pictureID, tl0PictureIndex: out.tl0PictureIndex), at: now)
    packets += 1
    return true
  }

  /// Whether this receiver waits for a packet that starts a key frame: of the wanted layer, or the first after an interruption.
  func begins(with item: ForwardingItem) -> Bool {
    item.packet.layer == target && (current != target || stretch != item.stretch)
  }

  /// The wanted layer, or a smaller one that its publisher has fallen back to.
  private func takes(_ layer: Int, at now: Tick) -> Bool {
    if layer == target { return true }
    guard layer < target, isGivenUp(target, at: now), current.map({ isGivenUp($0, at: now) }) ?? true else {
      return false
    }
    target = layer
    return true
  }

  private func isGivenUp(_ layer: Int, at now: Tick) -> Bool {
    !track.layers[layer].isLive(at: now, within: Self.pause) && !track.layers[layer].isAboutToBegin(at: now)
  }

  private func startSegment(_ layer: Int, at numbers: SourceNumbers, of stretch: UInt64, now: Tick) {
    if let current, layer < current { slot.peer.dropQueued(of: sender) }
    let aligned = self.stretch == stretch ? aligned(numbers.timestamp, of: layer) : nil
    rewriter.startSegment(at: numbers, aligned: aligned, now: now)
    current = layer
    self.stretch = stretch
    setTemporalLimit()
    temporal.reset()
    if let report = track.layers[layer].report { anchor(layer, captured: report.captured, timestamp: report.timestamp) }
  }

  /// The timestamp that the layer forwarded so far has at the same time of capture.
  private func aligned(_ timestamp: UInt32, of layer: Int) -> UInt32? {
    guard let current, current != layer, let old = track.layers[current].report,
      let new = track.layers[layer].report
    else { return nil }
    let between = (new.captured - old.captured).nanoseconds
    guard between.magnitude < 60_000_000_000 else { return nil }
    let ticks = between * Int64(track.codec.clockRate) / 1_000_000_000
    return old.timestamp &+ UInt32(truncatingIfNeeded: ticks) &+ (timestamp &- new.timestamp)
  }

  /// On the way down the receiver gets as little as possible of what it has too much of.
  private func setTemporalLimit() {
    guard let current, current != target else { return temporal.wanted = temporalTarget }
    temporal.wanted = current < target ? TemporalFilter.all : keepsBase ? 0 : TemporalFilter.none
  }

  /// Lets the receiver's sender reports count from the publisher's.
  func anchor(_ layer: Int, captured: Tick, timestamp: UInt32) {
    guard current == layer, stretch == track.stretch else { return }
    slot.peer.anchorReports(of: sender, captured: captured, timestamp: rewriter.shifted(timestamp))
  }

  /// Its receiver has another peer from now on; numbers go on.
  func restart(on slot: PeerSlot) {
    self.slot = slot
    sender = slot.peer.addSender(media)
    current = nil
    keyFrameCause = .stream
  }

  func pause() {
    isPausedByReceiver = true
    current = nil
  }

  func resume() {
    isPausedByReceiver = false
    keyFrameCause = .stream
  }

  /// It begins again with a key frame.
  func stop() { current = nil }

  /// The switch to another layer happens with its next key frame.
  func apply(_ decision: LayerAllocator.Decision, at now: Tick) {
    switch decision.direction {
    case .up: upgradeBackoff.wentUp(at: now)
    case .down: upgradeBackoff.cameDown(at: now)
    case .neither: break
    }
    target = decision.choice.layer
    keepsBase = decision.keepsBase
    temporalTarget = decision.choice.temporalLayers
    setTemporalLimit()
  }

  /// Whether the layer has to be sent for it.
  func wants(_ layer: Int) -> Bool { !isPaused && slot.isConnected && (target == layer || current == layer) }

  /// The receiver gets no more of it.
  func detach() {
    isOver = true
    slot.peer.removeSender(sender)
    receiver.giveSources(of: media)
  }
}
