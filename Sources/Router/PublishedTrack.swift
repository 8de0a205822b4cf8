import KoineBase
import KoineRTP
import KoineSignaling
import KoineTransport

/// A track as it arrives from its publisher, and its forwarders, one for each receiver.
///
/// A final class: on the packet path it is reached without a look-up by name. Its variables are the room's: `Room` and its
/// extensions change them, in files of their own.
final class PublishedTrack {
  /// One simulcast layer.
  struct Layer {
    private(set) var lastPacket: Tick?
    /// Rows of the last key frame, as its header has it.
    var height: Int?
    /// The last sender report: a capture time on our clock and the timestamp that belongs to it.
    var report: (captured: Tick, timestamp: UInt32)?
    /// Whether the publisher has been asked to send the layer.
    private(set) var isOn = true
    private var onSince: Tick?
    /// Since when no receiver has wanted the layer.
    private var idleSince: Tick?
    /// The layer did not come although it was asked for. The router asks again no earlier than this.
    private var retryAt: Tick?
    private var retryPause = firstRetryPause
    /// What the track's layers took after that, in bit/s.
    private var bitrateWithout: Int?
    private var meter = LayerMeter()
    /// That have been seen.
    private(set) var temporalLayers = 1

    /// How long an unwanted layer stays on. A receiver that wants it again within this time needs no restart of the layer.
    private static let keep = Duration.seconds(2)
    /// A layer without packets for so long is not being sent.
    private static let silence = Duration.seconds(1)
    private static let firstRetryPause = Duration.seconds(6)
    private static let longestRetryPause = Duration.seconds(300)
    /// A publisher that sends 1.5 times as much as it did without the layer may have the bandwidth for it now.
    private static let clearRise = 1.5

    /// - Returns: whether it is the first packet, or the first after a silence.
    mutating func packetArrived(at now: Tick) -> Bool {
      defer { lastPacket = now }
      if isLive(at: now) { return false }
      retryPause = Self.firstRetryPause
      return true
    }

    mutating func count(_ packet: SharedPacket, _ info: VideoPacketInfo) {
      meter.bytes += packet.payloadRange.count
      temporalLayers = max(temporalLayers, min(Int(info.temporalLayer), 2) + 1)
    }

    /// In bit/s; nil until it has been sent for some seconds.
    var bitrate: Int? { meter.bitrate }
    /// In bit/s: what it took when it was last sent; nil if it never was.
    var lastBitrate: Int? { meter.lastBitrate }

    func isLive(at now: Tick, within silence: Duration = silence) -> Bool {
      lastPacket.map { now - $0 < silence } ?? false
    }

    /// Switched on a moment ago, and nothing has come yet.
    func isAboutToBegin(at now: Tick) -> Bool {
      onSince.map { onSince in now - onSince < .milliseconds(150) && lastPacket ?? .zero < onSince } ?? false
    }

    /// Whether there is hope of getting it. A layer that did not come although it was asked for is tried again after pauses
    /// that double from 6 to 300 s: its publisher may send fewer layers than it offered, or lack the bandwidth for now.
    /// - Parameter patience: for how long it may be silent after it was asked for.
    func isAvailable(at now: Tick, patience: Duration) -> Bool {
      if isLive(at: now) { return true }
      guard isOn else { return retryAt.map { $0 <= now } ?? true }
      return onSince.map { now - $0 < patience } ?? false
    }

    /// - Returns: whether the publisher must be told.
    mutating func turnOn(at now: Tick) -> Bool {
      idleSince = nil
      guard !isOn else { return false }
      isOn = true
      onSince = now
      return true
    }

    /// - Returns: whether the publisher must be told.
    mutating func nobodyWants(at now: Tick) -> Bool {
      guard isOn else { return false }
      let since = idleSince ?? now
      idleSince = since
      let cameInTime = isLive(at: now) || onSince.map { now - $0 < Self.keep } ?? false
      guard now - since >= Self.keep else { return false }
      isOn = false
      idleSince = nil
      retryAt = cameInTime ? nil : now + retryPause
      if !cameInTime { retryPause = min(retryPause * 2, Self.longestRetryPause) }
      bitrateWithout = nil
      return true
    }

    /// Ends the pause before the next try once the publisher sends clearly more than it did when the pause began.
    /// - Parameter bitrate: what the track's layers take, in bit/s; 0: not known.
    mutating func noteBitrate(ofTrack bitrate: Int, at now: Tick) {
      guard let retryAt, retryAt > now, bitrate > 0 else { return }
      guard let bitrateWithout else { return self.bitrateWithout = bitrate }
      if Double(bitrate) > Double(bitrateWithout) * Self.clearRise { self.retryAt = now }
    }

    /// Ends the pause before the next try, because the publisher's frame size has changed: it may send a layer now that it did not
    /// send before.
    mutating func retryAtOnce() {
      retryPause = Self.firstRetryPause
      if retryAt != nil { retryAt = .zero }
    }

    mutating func measure(at now: Tick) { meter.measure(at: now) }
  }

  unowned let owner: Member
  let media: StreamParameters
  var codec: Codec { media.codec }
  /// The stream's name within the owner's peer.
  @exclusivity(unchecked) private(set) var receiver: ReceiverID
  /// For microphones.
  let audioSource: ActiveSpeakerDetector.AudioSource?
  /// The roster's, for the path of its packets, which looks up nothing by name. Changed by `Room.setMuted` alone.
  @exclusivity(unchecked) var track: Track
  /// Whether the mute state has changed since the other participants were last notified.
  @exclusivity(unchecked) var owesMute = false
  @exclusivity(unchecked) var layers: [Layer]
  @exclusivity(unchecked) var forwarders: ContiguousArray<Forwarder> = []
  /// Counts the interruptions: a forwarder that has not seen the newest begins a new stretch.
  @exclusivity(unchecked) private(set) var stretch: UInt64 = 0
  @exclusivity(unchecked) private(set) var isFlowing = true
  @exclusivity(unchecked) var keyFrames: KeyFrameScheduler
  /// Whether the track is among its room's `awaitingKeyFrames`.
  @exclusivity(unchecked) var awaitsKeyFrame = false
  /// Empty while it is not.
  @exclusivity(unchecked) var early = EarlyPackets()

  init(
    _ track: Track, media: StreamParameters, receiver: ReceiverID,
    audioSource: ActiveSpeakerDetector.AudioSource?, owner: Member
  ) {
    self.track = track
    (self.media, self.receiver) = (media, receiver)
    (self.audioSource, self.owner) = (audioSource, owner)
    layers = media.encodings.map { _ in Layer() }
    keyFrames = KeyFrameScheduler(layers: media.encodings.count)
  }

  var id: Track.ID { track.id }
  var sources: [UInt32] { media.encodings.flatMap { [$0.ssrc] + ($0.rtxSSRC.map { [$0] } ?? []) } }

  /// Rows of a layer's frames: as its publisher has announced, else as its key frames have shown, else reckoned from another
  /// layer, each being twice as tall as the one before.
  func height(of layer: Int) -> Int? {
    if let known = media.encodings[layer].maximumHeight ?? layers[layer].height { return known }
    guard let other = layers.indices.last(where: { layers[$0].height != nil }), let height = layers[other].height else {
      return nil
    }
    return other < layer ? height << (layer - other) : height >> (other - layer)
  }

  /// Stores the number of rows of the layer's key frame. If it has changed, the camera may be another one: the heights of
  /// the other layers are unknown again, and there are as many layers as its size allows.
  func noteHeight(_ height: Int, of layer: Int) {
    guard layers[layer].height != height else { return }
    if layers[layer].height != nil { for other in layers.indices { layers[other].height = nil } }
    layers[layer].height = height
    for other in layers.indices { layers[other].retryAtOnce() }
  }

  /// Measures what each layer takes. To be called at equal intervals.
  func measure(at now: Tick) {
    for layer in layers.indices { layers[layer].measure(at: now) }
    let bitrate = layers.reduce(0) { $0 + ($1.bitrate ?? 0) }
    for layer in layers.indices { layers[layer].noteBitrate(ofTrack: bitrate, at: now) }
  }

  /// Prepares the track for a new peer of its publisher. The packet counts begin at 0 again.
  func restart(on peer: Peer) {
    interrupt()
    for layer in layers.indices { layers[layer].report = nil }
    receiver = peer.addReceiver(media, mode: .packets)
  }

  /// No packets pass from here on.
  func interrupt() {
    guard isFlowing else { return }
    isFlowing = false
    stretch &+= 1
    early.removeAll()
  }

  func flows() { isFlowing = true }
}

/// What a layer takes, smoothed over some seconds.
struct LayerMeter {
  var bytes = 0
  private var since: Tick?
  private var smoothed: Double?
  private var samples = 0

  var bitrate: Int? { samples < 4 ? nil : smoothed.map { Int($0) } }
  private(set) var lastBitrate: Int?

  mutating func measure(at now: Tick) {
    guard let since, now > since, bytes > 0 else {
      (self.since, bytes, samples) = (now, 0, 0)
      return
    }
    let rate = Double(bytes * 8) / (now - since).inSeconds
    smoothed = smoothed.map { samples == 0 ? rate : $0 + (rate - $0) * 0.3 } ?? rate
    samples += 1
    if samples >= 2 { lastBitrate = smoothed.map { Int($0) } }
    (self.since, bytes) = (now, 0)
  }
}
