package import KoineBase
import KoineCodecs

/// From a camera to encoded frames.
///
/// The source delivers on a lane of its own, the encoder works on another. Between them stands one frame: a newer one
/// takes the place of one that the encoder has not got to. The last frame is kept: a joining receiver gets a
/// key frame of it at once, because the next frame may be long in coming (33 ms from a camera, seconds from a still
/// screen). `@unchecked Sendable`: `shared` is a lock, `layers` and `lastRepetition` are touched on the encoder's lane only.
package final class VideoSendPipeline: @unchecked Sendable {
  private struct Shared {
    var waiting: VideoFrame?
    /// The newest frame that was taken while not muted, and when it came.
    var last: (frame: VideoFrame, at: Tick)?
    var sinks: [any VideoSink] = []
    var isMuted = false
    var isStopped = true
    /// By layer.
    var keysWanted: [Bool]
    /// By layer: whether at least one receiver gets it.
    var wanted: [Bool]
    var target: Int
    var statistics = VideoSendStatistics()
    var rate = FrameRate()
    /// By layer.
    var layerStatistics: [VideoLayerSendStatistics]
    var layerRates: [FrameRate]
    var limitation = QualityLimitation()

    /// Whether the last frame is to be encoded once more: a layer waits for a key frame, and no newer frame is on its way.
    var repeats: Bool {
      !isStopped && !isMuted && waiting == nil && last != nil && zip(keysWanted, wanted).contains { $0 && $1 }
    }
  }

  /// One encoding; the smallest layer first, the main one last.
  private struct Layer {
    let limits: VideoLayer
    var encoder: VideoEncoderBox?
    var plan: EncodingPlan
    var nextDue: Tick?
    /// The capture time of the last picture. The next one's is later: the RTP timestamp tells pictures apart.
    var lastSent: Tick?
  }

  private let source: any VideoSource
  private let settings: VideoSendSettings
  private let output: any FrameOutput
  /// Nil: pictures are coded.
  private let stamps: StampedMedia?
  private let sourceLane, encoderLane: Lane
  private let pool = FramePool(limit: 8)
  private let shared: Lock<Shared>
  private var layers: [Layer]
  private var lastRepetition: Tick?
  /// Between two repetitions of a frame, at least. A request in between waits for the next frame of the camera.
  private static let repetitionInterval = Duration.milliseconds(30)
  /// Between the capture times of two pictures of a layer, at least.
  private static let shortestFrame = Duration.milliseconds(1)

  package init(
    source: any VideoSource, settings: VideoSendSettings, scheduler: Scheduler, output: any FrameOutput,
    stamps: StampedMedia? = nil
  ) {
    self.source = source
    self.settings = settings
    self.output = output
    self.stamps = stamps
    sourceLane = scheduler.lane("camera")
    encoderLane = scheduler.lane("video encoder")
    let main = VideoLayer(
      maximumWidth: settings.maxWidth, maximumHeight: settings.maxHeight, maximumBitrate: settings.maxBitrate,
      maximumFramesPerSecond: settings.maxFramesPerSecond)
    let degradation = settings.degradation ?? settings.content.degradation
    layers = (settings.lowerLayers + [main]).map { limits in
      Layer(limits: limits.limited, plan: EncodingPlan(limits: limits.limited, degradation: degradation))
    }
    shared = Lock(
      Shared(
        keysWanted: layers.map { _ in true }, wanted: layers.map { _ in true },
        target: layers.reduce(0) { $0 + $1.limits.maximumBitrate }, layerStatistics: layers.map { _ in .init() },
        layerRates: layers.map { _ in FrameRate() }))
    layerSizes = layers.map { layer in
      let size = layer.plan.fullSize(for: source.format)
      return (size.width, size.height, layer.limits)
    }
  }

  /// The size of each layer's frames by the source's format, the smallest layer first, and its limits.
  package let layerSizes: [(width: Int, height: Int, limits: VideoLayer)]

  package func start() throws {
    shared.withLock { $0.isStopped = false }
    try source.start(on: sourceLane) { [weak self] in self?.captured($0) }
  }

  package func stop() {
    let released = shared.withLock { shared in
      defer { (shared.isStopped, shared.waiting, shared.last, shared.sinks) = (true, nil, nil, []) }
      return (shared.waiting, shared.last, shared.sinks)
    }
    withExtendedLifetime(released) {}  // what apps made is let go of outside the lock
    source.stop()
    encoderLane.post { [self] in for layer in layers.indices { layers[layer].encoder = nil } }
  }

  package func setMuted(_ muted: Bool) {
    shared.withLock { shared in
      shared.isMuted = muted
      if muted { shared.last = nil }  // a frame from before the pause is not sent after it
      if !muted { for layer in shared.keysWanted.indices { shared.keysWanted[layer] = true } }
    }
  }

  /// Makes the layer's next picture a key frame.
  package func requestKeyFrame(layer: Int) {
    shared.withLock { shared in
      if shared.keysWanted.indices.contains(layer) { shared.keysWanted[layer] = true }
    }
  }

  /// Sends a key frame of the layer as soon as possible: if no frame waits for the encoder, the last frame is encoded once
  /// more, at most every 30 ms.
  package func sendKeyFrame(layer: Int) {
    let repeats = shared.withLock { shared in
      guard shared.keysWanted.indices.contains(layer) else { return false }
      shared.keysWanted[layer] = true
      return shared.repeats
    }
    if repeats { encoderLane.post { [weak self] in self?.encodeLastAgain() } }
  }

  /// Others are not encoded; each begins with a key frame when it is wanted again.
  package func setWantedLayers(_ wanted: [Int]) {
    let repeats = shared.withLock { shared in
      for layer in shared.wanted.indices {
        let isWanted = wanted.contains(layer)
        if isWanted, !shared.wanted[layer] { shared.keysWanted[layer] = true }
        shared.wanted[layer] = isWanted
      }
      return shared.repeats
    }
    if repeats { encoderLane.post { [weak self] in self?.encodeLastAgain() } }
  }

  /// In bit/s, all layers together; what goes beyond the settings' maxima, or below their minimum, is ignored.
  package func setTargetBitrate(_ bitrate: Int) {
    shared.withLock { $0.target = min(max(bitrate, settings.minBitrate, 0), 1_000_000_000_000) }
  }

  /// Shows one's own pictures as they are taken, muted or not.
  package func addSink(_ sink: any VideoSink) {
    shared.withLock { shared in
      if !shared.isStopped, !shared.sinks.contains(where: { $0 === sink }) { shared.sinks.append(sink) }
    }
  }

  package func removeSink(_ sink: any VideoSink) { shared.withLock { $0.sinks.removeAll { $0 === sink } } }

  package var statistics: VideoSendStatistics {
    let now = sourceLane.scheduler.now
    return shared.withLock { shared in
      shared.limitation.settle(at: now)
      var statistics = shared.statistics
      statistics.framesPerSecond = shared.rate.framesPerSecond(at: now)
      statistics.layers = zip(shared.layerStatistics, zip(shared.layerRates, shared.wanted)).map { layer, others in
        var layer = layer
        (layer.framesPerSecond, layer.isActive) = (others.0.framesPerSecond(at: now), others.1)
        return layer
      }
      (statistics.limitation, statistics.limitedFor) = (shared.limitation.reason, shared.limitation.durations)
      return statistics
    }
  }

  // MARK: On the source's lane

  private func captured(_ frame: VideoFrame) {
    let now = sourceLane.scheduler.now
    let (sinks, isFirst) = shared.withLock { shared -> ([any VideoSink], Bool) in
      guard !shared.isStopped else { return ([], false) }
      shared.statistics.captured += 1
      guard !shared.isMuted else { return (shared.sinks, false) }
      if shared.waiting != nil {
        shared.statistics.dropped += 1
        shared.limitation.wasSlow(at: now)
      }
      defer { (shared.waiting, shared.last) = (frame, (frame, now)) }
      return (shared.sinks, shared.waiting == nil)
    }
    for sink in sinks { sink.render(frame) }
    if isFirst { encoderLane.post { [weak self] in self?.encodeWaiting() } }
  }

  // MARK: On the encoder's lane

  /// As a layer's encoder has them now; nil while there is no encoder.
  func encoderSettings(ofLayer layer: Int) -> VideoEncoderSettings? { layers[layer].encoder?.settings }

  private func encodeWaiting() {
    let (next, target, wanted) = shared.withLock { shared in
      defer { shared.waiting = nil }
      return (shared.waiting, shared.target, shared.wanted)
    }
    guard let frame = next else { return }
    if let stamps {
      for layer in layers.indices where wanted[layer] && isDue(frame, layer) { stamp(frame, layer, as: stamps) }
      return
    }
    let shares = shares(of: target, wanted)
    for (layer, bitrate) in shares.enumerated() {
      guard bitrate > 0 else {
        layers[layer].encoder = nil  // begins with a key frame when it can be paid for again
        continue
      }
      if isDue(frame, layer) { encode(frame, layer, bitrate: bitrate) }
    }
    let top = wanted.lastIndex(of: true)
    let isLimited = top.map { shares[$0] == 0 || layers[$0].plan.isReduced } ?? false
    let now = encoderLane.scheduler.now
    shared.withLock { $0.limitation.bandwidth(isTooLittle: isLimited, at: now) }
  }

  /// Encodes the last frame as a key frame of the layers that one is wanted of, unless a newer frame has come meanwhile.
  private func encodeLastAgain() {
    let now = encoderLane.scheduler.now
    if let last = lastRepetition, now < last + Self.repetitionInterval { return }
    let (next, target, wanted, keys) = shared.withLock { shared in
      (shared.repeats ? shared.last : nil, shared.target, shared.wanted, shared.keysWanted)
    }
    guard let (last, arrived) = next else { return }
    let earliest = arrived + Self.shortestFrame * 2
    guard now >= earliest else {
      encoderLane.post(at: earliest) { [weak self] in self?.encodeLastAgain() }
      return
    }
    lastRepetition = now
    // A little later after its capture than it was when it came: the next frame, perhaps of this instant, has a later time. A receiver
    // takes its clock from the frames that have been on their way for the shortest time, and so not from this one.
    let frame = last.with(captured: last.captured + (now - arrived) - Self.shortestFrame)
    let shares = stamps == nil ? shares(of: target, wanted) : []
    for layer in layers.indices where keys[layer] && wanted[layer] {
      if let stamps {
        stamp(frame, layer, as: stamps)
      } else if shares[layer] > 0 {
        encode(frame, layer, bitrate: shares[layer])
      }
    }
  }

  /// The smaller layers are served first; a larger one is left out where too little is left for it. Where nothing that is
  /// wanted can be paid for, the next smaller layer takes its place: the room passes it on.
  /// - Returns: in bit/s, by layer; 0 where nothing is to be encoded.
  private func shares(of target: Int, _ wanted: [Bool]) -> [Int] {
    var shares = layers.map { _ in 0 }
    var rest = target
    func canPay(_ layer: Int) -> Bool { layer == 0 || rest * 5 >= layers[layer].limits.maximumBitrate * 2 }
    for layer in layers.indices where wanted[layer] && canPay(layer) {
      shares[layer] = min(rest, layers[layer].limits.maximumBitrate)
      rest -= shares[layer]
    }
    if let lowest = wanted.firstIndex(of: true), !shares.contains(where: { $0 > 0 }) {
      let layer = (0..<lowest).last { canPay($0) } ?? 0
      shares[layer] = min(rest, layers[layer].limits.maximumBitrate)
    }
    return shares
  }

  private func encode(_ frame: VideoFrame, _ layer: Int, bitrate: Int) {
    let key = shared.withLock { $0.keysWanted[layer] }
    do {
      let size = layers[layer].plan.size(for: frame, bitrate: bitrate)
      let begun = ContinuousClock.now
      let picture = try encode(frame, layer, width: size.width, height: size.height, bitrate: bitrate, key: key)
      let (time, target) = (ContinuousClock.now - begun, Double(bitrate) / layers[layer].plan.framesPerSecond / 8)
      shared.withLock { shared in
        if key { shared.keysWanted[layer] = false }
        shared.layerStatistics[layer].encodeTime += time.inSeconds
        shared.layerStatistics[layer].targetBytes += Int(target)
      }
      if let picture { send(picture, of: frame, layer, width: size.width, height: size.height) }
    } catch {
      layers[layer].encoder = nil  // made anew with the next frame
      shared.withLock { shared in
        shared.statistics.failed += 1
        shared.keysWanted[layer] = true
      }
    }
  }

  private func stamp(_ frame: VideoFrame, _ layer: Int, as stamps: StampedMedia) {
    let key = shared.withLock { shared in
      defer { shared.keysWanted[layer] = false }
      return shared.keysWanted[layer]
    }
    let size = layers[layer].plan.fullSize(for: frame)
    let fitting =
      size == (frame.width, frame.height) ? frame : frame.scaled(to: size.width, size.height, pool: pool)
    let picture = CodedPicture(data: stamps.stamp(fitting, isKey: key), isKey: key)
    send(picture, of: frame, layer, width: size.width, height: size.height)
  }

  private func send(_ picture: CodedPicture, of frame: VideoFrame, _ layer: Int, width: Int, height: Int) {
    let now = encoderLane.scheduler.now
    let captured = layers[layer].lastSent.map { max(frame.captured, $0 + Self.shortestFrame) } ?? frame.captured
    layers[layer].lastSent = captured
    shared.withLock { shared in
      if layer == shared.wanted.lastIndex(of: true) {
        shared.statistics.encoded += 1
        shared.rate.countFrame(at: now)
        if shared.statistics.width > 0, (shared.statistics.width, shared.statistics.height) != (width, height) {
          shared.statistics.sizeChanges += 1
        }
        (shared.statistics.width, shared.statistics.height) = (width, height)
      }
      if picture.isKey { shared.statistics.keyFrames += 1 }
      shared.layerStatistics[layer].countFrame(picture, width: width, height: height)
      shared.layerRates[layer].countFrame(at: now)
    }
    var encoded = EncodedFrame(
      codec: settings.codec, data: picture.data, captured: captured,
      rtpTimestamp: UInt32(truncatingIfNeeded: captured.nanoseconds / 100_000 * 9), isKey: picture.isKey,
      layer: UInt8(layer), temporalLayer: UInt8(picture.temporalLayer), isDiscardable: picture.isDiscardable,
      quarterTurns: frame.quarterTurns)
    encoded.temporalLayers = UInt8(settings.temporalLayers)
    output.send(encoded)
  }

  /// Leaves frames out above the allowed rate, evenly.
  private func isDue(_ frame: VideoFrame, _ layer: Int) -> Bool {
    let interval = VideoFormat.interval(layers[layer].plan.framesPerSecond)
    guard let due = layers[layer].nextDue, frame.captured < due + interval * 4 else {
      layers[layer].nextDue = frame.captured + interval
      return true
    }
    guard frame.captured + interval / 4 >= due else { return false }
    layers[layer].nextDue = due + interval
    return true
  }

  private func encode(
    _ frame: VideoFrame, _ layer: Int, width: Int, height: Int, bitrate: Int, key: Bool
  ) throws(CodecError) -> CodedPicture? {
    let rate = min(source.format.framesPerSecond, layers[layer].plan.framesPerSecond)
    let encoder: VideoEncoderBox
    if let current = layers[layer].encoder {
      encoder = current
    } else {
      encoder = try VideoEncoderBox(
        VideoEncoderSettings(
          codec: settings.codec, width: width, height: height,
          framesPerSecond: rate, bitrate: bitrate, temporalLayers: settings.temporalLayers,
          speed: settings.effort == .least ? settings.codec.encoderSpeeds?.fastest : nil,
          screenContent: settings.content == .text))
      layers[layer].encoder = encoder
    }
    try encoder.adapt(width: width, height: height, bitrate: bitrate, framesPerSecond: rate)
    let fitting = frame.width == width && frame.height == height ? frame : frame.scaled(to: width, height, pool: pool)
    return try encoder.encode(fitting, key: key)
  }
}

extension VideoLayerSendStatistics {
  fileprivate mutating func countFrame(_ picture: CodedPicture, width: Int, height: Int) {
    if encoded > 0, picture.data.count * encoded * 2 >= bytes * 5 { hugeFrames += 1 }
    if self.width > 0, (self.width, self.height) != (width, height) { sizeChanges += 1 }
    (self.width, self.height) = (width, height)
    encoded += 1
    if picture.isKey { keyFrames += 1 }
    bytes += picture.data.count
  }
}

/// The one owner of an encoder, changed only where something changes.
private final class VideoEncoderBox {
  private var encoder: VideoEncoder

  init(_ settings: VideoEncoderSettings) throws(CodecError) { encoder = try VideoEncoder(settings) }

  var settings: VideoEncoderSettings { encoder.settings }

  func adapt(width: Int, height: Int, bitrate: Int, framesPerSecond: Double) throws(CodecError) {
    if encoder.settings.width != width || encoder.settings.height != height {
      try encoder.resize(width: width, height: height)
    }
    if abs(encoder.settings.bitrate - bitrate) > encoder.settings.bitrate / 50 { try encoder.setBitrate(bitrate) }
    if encoder.settings.framesPerSecond != framesPerSecond { try encoder.setFrameRate(framesPerSecond) }
  }

  func encode(_ frame: VideoFrame, key: Bool) throws(CodecError) -> CodedPicture? {
    try encoder.encode(frame, forceKey: key)
  }
}
