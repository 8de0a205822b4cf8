package import KoineBase

/// One coded picture, a whole frame as a decoder takes it.
package struct CodedPicture: Sendable {
  /// Immutable. The encoder reuses the block once no other object holds a reference to it.
  package var data: Bytes
  package var isKey: Bool
  package var temporalLayer: Int
  /// No later picture needs this one.
  package var isDiscardable: Bool

  package init(data: Bytes, isKey: Bool, temporalLayer: Int = 0, isDiscardable: Bool = false) {
    (self.data, self.isKey, self.temporalLayer, self.isDiscardable) = (data, isKey, temporalLayer, isDiscardable)
  }
}

/// Encodes video frames, each at once. One per layer of a stream, one owner; any thread, one at a time.
package struct VideoEncoder: ~Copyable {
  package private(set) var settings: VideoEncoderSettings
  private let library: VideoEncoderLibrary
  private var pattern: TemporalPattern
  private var clock: EncoderClock
  private var blocks = CodedBlocks()
  private var sinceKey = 0
  private var isKeyDue = true

  package init(_ settings: VideoEncoderSettings) throws(CodecError) {
    try settings.check()
    let pattern = TemporalPattern(layers: settings.temporalLayers)
    library = try VideoEncoderLibrary(settings, pattern)
    self.settings = settings
    self.pattern = pattern
    clock = EncoderClock(framesPerSecond: settings.framesPerSecond)
  }

  /// Takes effect with the next picture, without a key frame.
  /// - Parameter bitrate: in bit/s.
  package mutating func setBitrate(_ bitrate: Int) throws(CodecError) {
    var changed = settings
    changed.bitrate = bitrate
    guard changed != settings else { return }
    try changed.check()
    try library.apply(changed, pattern)
    settings = changed
  }

  /// The nominal rate of the frames to come, in frames a second: the bits of a frame follow it at once.
  package mutating func setFrameRate(_ framesPerSecond: Double) throws(CodecError) {
    var changed = settings
    changed.framesPerSecond = framesPerSecond
    guard changed != settings else { return }
    try changed.check()
    try library.apply(changed, pattern)
    settings = changed
    clock.nominal(framesPerSecond)
  }

  /// Frames of another size from now on; the next picture is a key frame.
  package mutating func resize(width: Int, height: Int) throws(CodecError) {
    guard width != settings.width || height != settings.height else { return }
    var changed = settings
    changed.width = width
    changed.height = height
    try restart(changed)
  }

  /// Begins anew with other settings of any kind; the next picture is a key frame.
  package mutating func restart(_ settings: VideoEncoderSettings) throws(CodecError) {
    self = try VideoEncoder(settings)
  }

  /// Encodes one frame of the settings' size.
  /// - Returns: nil when the encoder left the frame out, which it does only where the settings allow it.
  package mutating func encode(_ frame: VideoFrame, forceKey: Bool = false) throws(CodecError) -> CodedPicture? {
    guard frame.width == settings.width, frame.height == settings.height else {
      throw CodecError(
        .invalidArgument, "a frame of \(frame.width)×\(frame.height) for \(settings.width)×\(settings.height)")
    }
    let isKey = forceKey || isKeyDue || settings.keyFrameInterval.map { sinceKey >= $0 } ?? false
    let step = pattern.next(isKey: isKey)
    let time = clock.advance(to: frame.captured)
    let coded = try library.encode(frame, at: time, step: step, isKey: isKey, into: &blocks)
    sinceKey = isKey ? 1 : sinceKey + 1
    isKeyDue = isKey && coded == nil
    return coded
  }
}

/// Gives the encoder steady times: capture times jitter and stand still, and its rate control takes each step for a new
/// frame rate. The step is the mean of the last intervals, each taken as a quarter to four times the nominal one.
struct EncoderClock {
  /// In the encoder's units, 90 kHz.
  struct Time {
    var start: Int64
    var duration: UInt
  }

  private var nominal: Double
  private var mean: Double
  private var position = 0.0
  private var last: Tick?

  init(framesPerSecond: Double) {
    nominal = 90_000 / framesPerSecond
    mean = nominal
  }

  mutating func nominal(_ framesPerSecond: Double) {
    nominal = 90_000 / framesPerSecond
    mean = nominal
  }

  mutating func advance(to captured: Tick) -> Time {
    if let last {
      let interval = (captured - last).inSeconds * 90_000
      mean += (min(max(interval, nominal / 4), nominal * 4) - mean) / 8
      position += mean
    }
    last = captured
    return Time(start: Int64(position), duration: UInt(max(mean, 1)))
  }
}

/// The blocks that coded pictures went out in: each is used again once its last holder let go of it.
struct CodedBlocks {
  private var blocks: [Bytes] = []
  private static let limit = 32

  /// A block of at least `capacity` bytes, empty.
  mutating func take(_ capacity: Int) -> Bytes {
    for index in blocks.indices where isKnownUniquelyReferenced(&blocks[index]) {
      if blocks[index].capacity < capacity { blocks[index] = Bytes(capacity: Self.rounded(capacity)) }
      blocks[index].count = 0
      return blocks[index]
    }
    let block = Bytes(capacity: Self.rounded(capacity))
    if blocks.count < Self.limit { blocks.append(block) }
    return block
  }

  private static func rounded(_ capacity: Int) -> Int { max(4096, (capacity + capacity / 2 + 4095) & ~4095) }
}
