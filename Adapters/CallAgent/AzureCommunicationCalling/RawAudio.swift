public import Foundation
import Koine
public import KoineAVFoundation

// Audio in buffers of the app instead of devices.

/// Sample rate of an audio buffer.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
public enum AudioStreamSampleRate: Int, Sendable, CaseIterable {
  case hz16000, hz22050, hz24000, hz32000, hz44100, hz48000

  public var valueInHz: Double {
    switch self {
    case .hz16000: 16_000
    case .hz22050: 22_050
    case .hz24000: 24_000
    case .hz32000: 32_000
    case .hz44100: 44_100
    case .hz48000: 48_000
    }
  }
}

/// Number of channels of an audio buffer.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
public enum AudioStreamChannelMode: Int, Sendable {
  case mono, stereo

  public var channelCount: AVAudioChannelCount { self == .mono ? 1 : 2 }
}

/// The format of samples.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
public enum AudioStreamFormat: Int, Sendable {
  /// Signed 16-bit samples.
  case pcm16Bit
}

/// Duration of an audio buffer.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
public enum AudioStreamBufferDuration: Int, Sendable {
  case ms10, ms20

  /// In milliseconds.
  public var value: Int { self == .ms10 ? 10 : 20 }
  /// In seconds.
  public var timeInterval: TimeInterval { Double(value) / 1_000 }
}

/// Format that raw audio streams of both directions share.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
open class RawAudioStreamProperties: NSObject, @unchecked Sendable {  // as the vendor's: the app guards it
  public var sampleRate = AudioStreamSampleRate.hz48000
  public var channelMode = AudioStreamChannelMode.mono
  public var format = AudioStreamFormat.pcm16Bit

  override init() {}

  /// The format of buffers with these properties.
  var bufferFormat: AVAudioFormat? {
    AVAudioFormat(
      commonFormat: .pcmFormatInt16, sampleRate: sampleRate.valueInHz, channels: channelMode.channelCount,
      interleaved: channelMode == .stereo)
  }
}

/// Format of the audio that the app sends.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
public final class RawOutgoingAudioStreamProperties: RawAudioStreamProperties, @unchecked Sendable {  // as above
  /// The unit of buffers: each holds a whole number of these durations, 100 ms at most.
  public var bufferDuration = AudioStreamBufferDuration.ms20

  public override init() {}

  /// Samples per channel in one unit.
  var unit: Int { Int(sampleRate.valueInHz) * bufferDuration.value / 1_000 }

  func copied() -> RawOutgoingAudioStreamProperties {
    let copy = RawOutgoingAudioStreamProperties()
    (copy.sampleRate, copy.channelMode, copy.format) = (sampleRate, channelMode, format)
    copy.bufferDuration = bufferDuration
    return copy
  }
}

/// Format of the audio that the app receives.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
public final class RawIncomingAudioStreamProperties: RawAudioStreamProperties, @unchecked Sendable {  // as above
  public override init() {}

  func copied() -> RawIncomingAudioStreamProperties {
    let copy = RawIncomingAudioStreamProperties()
    (copy.sampleRate, copy.channelMode, copy.format) = (sampleRate, channelMode, format)
    return copy
  }
}

/// Options that raw audio streams of both directions share.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
open class RawAudioStreamOptions: NSObject {
  override init() {}
}

/// A stream copies the properties when it is made.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
public final class RawOutgoingAudioStreamOptions: RawAudioStreamOptions {
  public var properties = RawOutgoingAudioStreamProperties()
  public override init() {}
}

/// A stream copies the properties when it is made.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
public final class RawIncomingAudioStreamOptions: RawAudioStreamOptions {
  public var properties = RawIncomingAudioStreamProperties()
  public override init() {}
}

/// A buffer of samples on its way from or to the app.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
public final class RawAudioBuffer: NSObject, @unchecked Sendable {  // as the vendor's: handed on, not shared
  private let held = Lock<AVAudioBuffer?>(nil)

  /// An `AVAudioPCMBuffer`.
  public var buffer: AVAudioBuffer? {
    get { held.withLock { $0 } }
    set { held.withLock { $0 = newValue } }
  }
  /// In microseconds, on the clock of the call, when received. Not read when sent: the audio is sent in the order of the buffers.
  public var timestampInTicks: Int64 = 0

  public override init() {}

  /// Releases the samples.
  public func dispose() { buffer = nil }
}

// MARK: Outgoing

/// Notified on the delivery queue of changes of the raw outgoing audio stream.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
public protocol RawOutgoingAudioStreamDelegate: NSObjectProtocol {
  func rawOutgoingAudioStream(
    _ rawOutgoingAudioStream: RawOutgoingAudioStream, didChangeState args: AudioStreamStateChangedEventArgs)
}

extension RawOutgoingAudioStreamDelegate {
  public func rawOutgoingAudioStream(
    _ rawOutgoingAudioStream: RawOutgoingAudioStream, didChangeState args: AudioStreamStateChangedEventArgs
  ) {}
}

/// Closures for the changes of the raw outgoing audio stream, called on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
public final class RawOutgoingAudioStreamEvents: NSObject, @unchecked Sendable {  // the closure is locked
  @EventClosure public var onStateChanged: ((AudioStreamStateChangedEventArgs) -> Void)?
  public func removeAll() { onStateChanged = nil }
}

/// Audio of the app's own in the place of the microphone. Sent while the stream is `started`; where the app sends too little, silence
/// fills the gap.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
public final class RawOutgoingAudioStream: OutgoingAudioStream, @unchecked Sendable {  // everything mutable is locked
  /// How much audio may wait to be sent.
  private static let capacity = Duration.milliseconds(500)
  /// The largest buffer, as a part of a second.
  private static let buffersPerSecond = 10

  public let properties: RawOutgoingAudioStreamProperties
  public let events = RawOutgoingAudioStreamEvents()
  private let listener = Listener<any RawOutgoingAudioStreamDelegate>()
  private let feed: AudioFeed
  private struct Place { weak var world: World? }
  private let place = Lock(Place())

  public init(options: RawOutgoingAudioStreamOptions) {
    properties = options.properties.copied()
    feed = AudioFeed(
      channels: Int(properties.channelMode.channelCount), sampleRate: Int(properties.sampleRate.valueInHz),
      capacity: Self.capacity)
    super.init(type: .virtualOutgoing)
  }

  public weak var delegate: (any RawOutgoingAudioStreamDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  /// Bytes in a buffer of `properties.bufferDuration`.
  public var expectedBufferSizeInBytes: Int64 {
    Int64(properties.unit * Int(properties.channelMode.channelCount) * MemoryLayout<Int16>.size)
  }

  override func makeSource(in world: World) -> any AudioSource {
    place.withLock { $0.world = world }
    return feed
  }

  /// Sends a buffer of 16-bit samples in the stream's sample rate and channel mode. It holds a whole number of
  /// `properties.bufferDuration`, 100 ms at most. Fails with `failedToSendRawAudioBuffer` if the stream is not started, or if 500 ms
  /// wait to be sent, and with `invalidBuffer` for a buffer of another format or size.
  public func send(buffer: RawAudioBuffer, completionHandler: @escaping ((any Error)?) -> Void) {
    let handler = Handler(completionHandler)
    let error = refusal(of: buffer)
    (place.withLock { $0.world }?.delivery ?? .main).deliver { handler(error) }
  }

  nonisolated(nonsending) public func send(buffer: RawAudioBuffer) async throws {
    try await completion { send(buffer: buffer, completionHandler: $0) }
  }

  private func refusal(of raw: RawAudioBuffer) -> NSError? {
    guard state == .started else {
      return CallingCommunicationErrors.failedToSendRawAudioBuffer.error("the stream is \(state), not started")
    }
    guard let buffer = raw.buffer as? AVAudioPCMBuffer, buffer.format.commonFormat == .pcmFormatInt16,
      buffer.format.sampleRate == properties.sampleRate.valueInHz,
      buffer.format.channelCount == properties.channelMode.channelCount
    else {
      return CallingCommunicationErrors.invalidBuffer.error(
        "a buffer of 16-bit samples at \(properties.sampleRate.valueInHz) Hz, \(properties.channelMode), is expected")
    }
    let (count, rate) = (Int(buffer.frameLength), Int(properties.sampleRate.valueInHz))
    guard count > 0, count % properties.unit == 0, count <= rate / Self.buffersPerSecond else {
      return CallingCommunicationErrors.invalidBuffer.error(
        "\(count) samples are not a whole number of \(properties.bufferDuration), 100 ms at most")
    }
    guard feed.buffered + .microseconds(Int64(count) * 1_000_000 / Int64(rate)) <= Self.capacity else {
      return CallingCommunicationErrors.failedToSendRawAudioBuffer.error("\(Self.capacity) wait to be sent")
    }
    feed.push(properties.channelMode == .mono ? buffer.monoSamples() : buffer.stereoSamples())
    return nil
  }

  override func stateChanged(_ args: AudioStreamStateChangedEventArgs) {
    delegate?.rawOutgoingAudioStream(self, didChangeState: args)
    events.onStateChanged?(args)
  }
}

// MARK: Incoming

/// A buffer with the mixed audio of the remote participants.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
public final class IncomingMixedAudioEventArgs: NSObject {
  public let audioBuffer: RawAudioBuffer
  public let streamProperties: RawIncomingAudioStreamProperties

  init(_ audioBuffer: RawAudioBuffer, _ streamProperties: RawIncomingAudioStreamProperties) {
    (self.audioBuffer, self.streamProperties) = (audioBuffer, streamProperties)
  }
}

/// Notified on the delivery queue of changes of the raw incoming audio stream.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
public protocol RawIncomingAudioStreamDelegate: NSObjectProtocol {
  func rawIncomingAudioStream(
    _ rawIncomingAudioStream: RawIncomingAudioStream, didChangeState args: AudioStreamStateChangedEventArgs)
  func rawIncomingAudioStream(
    _ rawIncomingAudioStream: RawIncomingAudioStream, didReceiveMixedAudioBuffer args: IncomingMixedAudioEventArgs)
}

extension RawIncomingAudioStreamDelegate {
  public func rawIncomingAudioStream(
    _ rawIncomingAudioStream: RawIncomingAudioStream, didChangeState args: AudioStreamStateChangedEventArgs
  ) {}
  public func rawIncomingAudioStream(
    _ rawIncomingAudioStream: RawIncomingAudioStream, didReceiveMixedAudioBuffer args: IncomingMixedAudioEventArgs
  ) {}
}

/// Closures for the changes of the raw incoming audio stream, called on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
public final class RawIncomingAudioStreamEvents: NSObject, @unchecked Sendable {  // the closures are locked
  @EventClosure public var onMixedAudioBufferReceived: ((IncomingMixedAudioEventArgs) -> Void)?
  @EventClosure public var onStateChanged: ((AudioStreamStateChangedEventArgs) -> Void)?
  public func removeAll() { (onMixedAudioBufferReceived, onStateChanged) = (nil, nil) }
}

/// The mixed audio of all remote participants in the place of the loudspeaker: a buffer of 20 ms every 20 ms, silent ones included,
/// while the stream is `started`. The mix has one channel; in stereo both channels are the same.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access)
public final class RawIncomingAudioStream: IncomingAudioStream, @unchecked Sendable {  // everything mutable is locked
  private let properties: RawIncomingAudioStreamProperties
  public let events = RawIncomingAudioStreamEvents()
  private let listener = Listener<any RawIncomingAudioStreamDelegate>()
  private let reader = Lock<AudioBufferReader?>(nil)

  public init(options: RawIncomingAudioStreamOptions) {
    properties = options.properties.copied()
    super.init(type: .rawIncoming)
  }

  public weak var delegate: (any RawIncomingAudioStreamDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  override func makeLoudspeaker(in world: World) -> (any AudioSink)? {
    let new = AudioBufferReader(
      sampleRate: Int(properties.sampleRate.valueInHz), channels: Int(properties.channelMode.channelCount), in: world
    ) { [weak self] samples, time in self?.received(samples, time) }
    let old = reader.withLock { reader in
      defer { reader = new }
      return reader
    }
    old?.stop()
    new.start()
    return new
  }

  override func close() {
    let old = reader.withLock { reader in
      defer { reader = nil }
      return reader
    }
    old?.stop()
  }

  /// On the delivery queue.
  private func received(_ samples: [Int16], _ time: Tick) {
    guard state == .started, let format = properties.bufferFormat,
      let pcm = AVAudioPCMBuffer(
        pcmFormat: format, frameCapacity: UInt32(samples.count) / format.channelCount),
      let data = pcm.int16ChannelData
    else { return }
    pcm.frameLength = pcm.frameCapacity
    // One channel, or two in turns: in both cases one plane.
    for (index, sample) in samples.enumerated() { data[0][index] = sample }
    let buffer = RawAudioBuffer()
    buffer.buffer = pcm
    buffer.timestampInTicks = time.nanoseconds / 1_000
    let args = IncomingMixedAudioEventArgs(buffer, properties.copied())
    delegate?.rawIncomingAudioStream(self, didReceiveMixedAudioBuffer: args)
    events.onMixedAudioBufferReceived?(args)
  }

  override func stateChanged(_ args: AudioStreamStateChangedEventArgs) {
    delegate?.rawIncomingAudioStream(self, didChangeState: args)
    events.onStateChanged?(args)
  }
}

/// A loudspeaker that hands the mix to the app, 20 ms at a time, on the delivery queue.
private final class AudioBufferReader: AudioSink, Sendable {
  private struct State {
    var isRunning = false
    /// After it ran dry, until more than one buffer waits.
    var isGathering = true
    /// Buffers on their way to the app.
    var undelivered = 0
    var alarm: Alarm?
  }

  private static let duration = Duration.milliseconds(20)
  /// An app that is busy for a second loses the audio of the time beyond it.
  private static let limit = 50

  private let tap: AudioTap
  private let count: Int
  private let lane: Lane
  private let delivery: Delivery
  private let state = Lock(State())
  private let handle: @Sendable ([Int16], Tick) -> Void

  init(
    sampleRate: Int, channels: Int, in world: World, handle: @escaping @Sendable ([Int16], Tick) -> Void
  ) {
    tap = AudioTap(channels: channels, sampleRate: sampleRate)
    count = sampleRate / 50
    lane = world.backend.scheduler.lane("raw audio")
    delivery = world.delivery
    self.handle = handle
  }

  func play(_ block: AudioBlock) { tap.play(block) }

  func start() {
    state.withLock { $0.isRunning = true }
    tick(at: lane.scheduler.now + Self.duration)
  }

  func stop() {
    let alarm = state.withLock { state in
      defer { state.alarm = nil }
      state.isRunning = false
      return state.alarm
    }
    alarm?.cancel()
  }

  private func tick(at due: Tick) {
    let alarm = lane.post(at: due) { [weak self] in
      guard let self, state.withLock({ $0.isRunning }) else { return }
      read(at: due)
      // After a standstill of the machine the clock continues from now.
      let now = lane.scheduler.now
      tick(at: now - due > .milliseconds(200) ? now + Self.duration : due + Self.duration)
    }
    let isRunning = state.withLock { state in
      if state.isRunning { state.alarm = alarm }
      return state.isRunning
    }
    if !isRunning { alarm.cancel() }
  }

  private func read(at due: Tick) {
    let available = tap.available
    let (isDry, isLate) = state.withLock { state in
      state.isGathering = available < (state.isGathering ? count * 3 / 2 : count)
      if state.undelivered == Self.limit { return (state.isGathering, true) }
      state.undelivered += 1
      return (state.isGathering, false)
    }
    let samples = isDry ? [Int16](repeating: 0, count: count * tap.channels) : tap.read(count)
    if isLate { return }
    delivery.deliver { [self] in
      let isRunning = state.withLock { state in
        state.undelivered -= 1
        return state.isRunning
      }
      if isRunning { handle(samples, due) }
    }
  }
}
