import Foundation
import Koine
import KoineCoreMedia
import KoineCoreVideo

/// Where a capture runs: the machine, and the world of the code that asked for it. Neither is kept, because the machine keeps its recorder.
final class CapturePlace: @unchecked Sendable {  // constant but for the weak references, which are set in `init` alone
  private(set) weak var world: World?
  private(set) weak var machine: Machine?
  let delivery: Delivery
  let scheduler: Koine.Scheduler
  /// In the words of `Devices.camera`.
  let screen: String

  /// - Parameter world: nil: the process's machine and the screen of `KOINE_SCREEN`.
  init(_ world: World?, _ machine: Machine) {
    (self.world, self.machine) = (world, machine)
    delivery = world?.delivery ?? .main
    scheduler = world?.backend.scheduler ?? .real
    screen = world?.devices.screen ?? DefaultDevices.environment.screen
  }

  /// Objects that the app makes in `body` belong to the world.
  func enter(_ body: () -> Void) { World.$current.withValue(world, operation: body) }
}

/// Captures the machine's screen, the audio that the app plays, and its microphone. Samples come one at a time, on one lane.
final class ScreenCapture: Sendable {
  typealias Deliver = @Sendable (CMSampleBuffer, RPSampleBufferType) -> Void

  private struct State {
    /// Rises with each start and each stop.
    var run = 0
    var screen: (any VideoSource)?
    var playback: Observation?
    var microphone: (any AudioSource)?
    var deliver: Deliver?
  }

  private let place: CapturePlace
  let lane: Lane
  private let audio = AppAudio()
  private let state = Lock(State())

  init(_ place: CapturePlace) {
    self.place = place
    lane = place.scheduler.lane("screen capture")
  }

  var isRunning: Bool { state.withLock { $0.deliver != nil } }

  /// - Parameter deliver: called on `lane` with the world of the place as the current one.
  /// - Throws: `DeviceError`, or what the screen's source throws, if the screen cannot be captured.
  func start(withMicrophone: Bool, deliver: @escaping Deliver) throws {
    let screen = try Devices.camera(place.screen)
    let run = state.withLock { state in
      state.run += 1
      state.screen = screen
      state.deliver = deliver
      return state.run
    }
    do {
      try screen.start(on: lane) { [weak self] frame in self?.deliver(frame, run) }
    } catch {
      stop()
      throw error
    }
    let playback = place.machine?.tapPlayback { [audio] loudspeaker, block in audio.add(block, of: loudspeaker) }
    state.withLock { $0.playback = playback }
    let start = lane.scheduler.now
    lane.post { [weak self] in self?.deliverAudio(start, run) }
    setMicrophone(withMicrophone)
  }

  func stop() {
    setMicrophone(false)
    let old = state.withLock { state in
      defer { (state.screen, state.playback, state.deliver) = (nil, nil, nil) }
      state.run += 1
      return state
    }
    old.screen?.stop()
    old.playback?.cancel()
    audio.clear()
  }

  /// While the capture runs. A microphone that the machine does not have or permit gives no samples.
  func setMicrophone(_ isOn: Bool) {
    guard isOn else {
      let old = state.withLock { state in
        defer { state.microphone = nil }
        return state.microphone
      }
      old?.stop()
      return
    }
    let run = state.withLock { $0.deliver != nil && $0.microphone == nil ? $0.run : nil }
    guard let run, let microphone = try? place.machine?.makeMicrophone() else { return }
    state.withLock { $0.microphone = microphone }
    do {
      try microphone.start(on: lane) { [weak self] block in
        self?.deliver(block, .audioMic, run)
      }
    } catch {
      state.withLock { $0.microphone = nil }
    }
  }

  // MARK: On the lane

  private func deliver(_ frame: VideoFrame, _ run: Int) {
    let sample = CMSampleBuffer(
      imageBuffer: CVPixelBuffer(frame.with(quarterTurns: 0)), presentationTimeStamp: frame.captured.time)
    let orientation = CGImagePropertyOrientation(quarterTurns: frame.quarterTurns)
    CMSetAttachment(
      sample, key: RPVideoSampleOrientationKey, value: NSNumber(value: orientation.rawValue),
      attachmentMode: kCMAttachmentMode_ShouldPropagate)
    hand(sample, .video, run)
  }

  private func deliver(_ block: AudioBlock, _ type: RPSampleBufferType, _ run: Int) {
    let sample = CMSampleBuffer(
      samples: block.samples, channels: block.channels, rate: Double(AudioBlock.sampleRate),
      presentationTimeStamp: block.captured.time)
    if let sample { hand(sample, type, run) }
  }

  private func hand(_ sample: CMSampleBuffer, _ type: RPSampleBufferType, _ run: Int) {
    guard let deliver = state.withLock({ $0.run == run ? $0.deliver : nil }) else { return }
    place.enter { deliver(sample, type) }
  }

  /// Each 10 ms; silence where the app plays nothing.
  private func deliverAudio(_ due: Tick, _ run: Int) {
    guard state.withLock({ $0.run == run }) else { return }
    deliver(audio.next(captured: due), .audioApp, run)
    let now = lane.scheduler.now
    let next = due + AudioBlock.duration
    let following = now - next > .milliseconds(200) ? now : next  // after a standstill the clock goes on from now
    lane.post(at: following) { [weak self] in self?.deliverAudio(following, run) }
  }
}

/// What the app plays on all of its loudspeakers, until it is delivered.
private final class AppAudio: Sendable {
  /// Most samples that wait, of one loudspeaker: 200 ms of both channels. Older samples are dropped.
  private static let most = AudioBlock.sampleRate / 5 * 2
  private let waiting = Lock<[ObjectIdentifier: [Int16]]>([:])

  func add(_ block: AudioBlock, of loudspeaker: ObjectIdentifier) {
    let samples = block.with(channels: 2).samples
    waiting.withLock { waiting in
      var all = waiting[loudspeaker, default: []] + samples
      if all.count > Self.most { all.removeFirst(all.count - Self.most) }
      waiting[loudspeaker] = all
    }
  }

  func clear() { waiting.withLock { $0 = [:] } }

  func next(captured: Tick) -> AudioBlock {
    var block = AudioBlock(channels: 2, captured: captured)
    let parts = waiting.withLock { waiting in
      let parts = waiting.values.map { $0.prefix(block.samples.count) }
      waiting = waiting.mapValues { Array($0.dropFirst(block.samples.count)) }.filter { !$0.value.isEmpty }
      return parts
    }
    for part in parts {
      for (index, sample) in part.enumerated() {
        block.samples[index] = Int16(clamping: Int(block.samples[index]) + Int(sample))
      }
    }
    return block
  }
}

extension Tick {
  fileprivate var time: CMTime { CMTime(value: nanoseconds, timescale: 1_000_000_000) }
}
