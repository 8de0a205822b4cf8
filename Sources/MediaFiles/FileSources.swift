import CKoineFFmpeg
import Koine

/// A file's pictures, at their own times, looped. Decodes on its lane, one frame ahead.
final class FileVideoSource: VideoSource, @unchecked Sendable {  // lane only, but for `run`
  let format: VideoFormat
  private let path: String
  private let reader: MediaReader
  private let pool = FramePool(limit: 8)
  private var scaler: OpaquePointer?
  private let run = Lock(0)
  /// Where in the file's time the present run began, in seconds: a source that is started again goes on where it was.
  private var origin = 0.0
  private var lastTime = 0.0

  init(path: String) throws(DeviceError) {
    self.path = path
    reader = try MediaReader(path: path, kind: .video)
    guard (2...4096).contains(reader.width), (2...4096).contains(reader.height) else {
      throw .unreadable(path, reason: "its pictures are \(reader.width)×\(reader.height)")
    }
    format = VideoFormat(width: reader.width, height: reader.height, framesPerSecond: reader.framesPerSecond)
  }

  deinit { sws_freeContext(scaler) }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) {
    let number = run.withLock { run in
      run += 1
      return run
    }
    let start = SharedStart.of(path, at: lane.scheduler.now)
    lane.post { [weak self] in self?.begin(number, start, lane, deliver) }
  }

  func stop() { run.withLock { $0 += 1 } }

  private func begin(_ number: Int, _ start: Tick, _ lane: Lane, _ deliver: @escaping @Sendable (VideoFrame) -> Void) {
    origin = lastTime
    prepare(number, start, lane, deliver)
  }

  private func prepare(_ number: Int, _ start: Tick, _ lane: Lane, _ deliver: @escaping @Sendable (VideoFrame) -> Void)
  {
    guard run.withLock({ $0 }) == number, let time = reader.next() else { return }
    lastTime = time
    let due = start + .nanoseconds(Int64((time - origin) * 1e9))
    guard let picture = picture(at: due) else { return prepareLater(number, start, lane, deliver) }
    lane.post(at: due) { [weak self] in
      guard let self, run.withLock({ $0 }) == number else { return }
      deliver(picture)
      prepare(number, start, lane, deliver)
    }
  }

  /// A frame that cannot be converted is passed over, without going deeper into the stack.
  private func prepareLater(
    _ number: Int, _ start: Tick, _ lane: Lane, _ deliver: @escaping @Sendable (VideoFrame) -> Void
  ) {
    lane.post { [weak self] in self?.prepare(number, start, lane, deliver) }
  }

  private func picture(at due: Tick) -> VideoFrame? {
    let frame = reader.frame
    let (width, height) = (frame.pointee.width, frame.pointee.height)
    guard width > 0, height > 0, width <= 4096, height <= 4096 else { return nil }
    scaler = sws_getCachedContext(
      scaler, width, height, AVPixelFormat(rawValue: frame.pointee.format), width, height, AV_PIX_FMT_YUV420P,
      SWS_BILINEAR, nil, nil, nil)
    guard let scaler else { return nil }
    return pool.make(width: Int(width), height: Int(height), captured: due) { planes in
      var targets: [UnsafeMutablePointer<UInt8>?] = [planes.y, planes.u, planes.v, nil]
      var strides = [Int32(planes.lumaStride), Int32(planes.chromaStride), Int32(planes.chromaStride), 0]
      withUnsafeBytes(of: &frame.pointee.data) { sources in
        withUnsafeBytes(of: &frame.pointee.linesize) { lines in
          _ = sws_scale(
            scaler, sources.assumingMemoryBound(to: UnsafePointer<UInt8>?.self).baseAddress,
            lines.assumingMemoryBound(to: Int32.self).baseAddress, 0, height, &targets, &strides)
        }
      }
    }
  }
}

/// A file's sound at 48 kHz, mono, at its own pace, looped.
final class FileAudioSource: AudioSource, @unchecked Sendable {  // lane only, but for `run`
  let channels = 1
  private let path: String
  private let reader: MediaReader
  private var resampler: OpaquePointer?
  private var pending: [Int16] = []
  /// How many samples of the file have been read, silence between them counted.
  private var position = 0
  private var block = AudioBlock(captured: .zero)
  private let run = Lock(0)

  init(path: String) throws(DeviceError) {
    self.path = path
    reader = try MediaReader(path: path, kind: .audio)
    guard reader.sampleRate > 0, reader.channels > 0 else { throw .unreadable(path, reason: "its sound has no rate") }
  }

  deinit { swr_free(&resampler) }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    let number = run.withLock { run in
      run += 1
      return run
    }
    let start = SharedStart.of(path, at: lane.scheduler.now)
    lane.post { [weak self] in self?.tick(0, number, start, lane, deliver) }
  }

  func stop() { run.withLock { $0 += 1 } }

  private func tick(
    _ count: Int, _ number: Int, _ start: Tick, _ lane: Lane, _ deliver: @escaping @Sendable (AudioBlock) -> Void
  ) {
    guard run.withLock({ $0 }) == number else { return }
    while pending.count < AudioBlock.length, decode() {}
    for index in 0..<AudioBlock.length { block.samples[index] = index < pending.count ? pending[index] : 0 }
    pending.removeFirst(min(AudioBlock.length, pending.count))
    block.captured = start + AudioBlock.duration * count
    deliver(block)
    lane.post(at: start + AudioBlock.duration * (count + 1)) { [weak self] in
      self?.tick(count + 1, number, start, lane, deliver)
    }
  }

  /// - Returns: false when there is no more sound to be had.
  private func decode() -> Bool {
    guard let time = reader.next(), prepareResampler() else { return false }
    fill(upTo: time)
    let frame = reader.frame
    let room = Int(swr_get_out_samples(resampler, frame.pointee.nb_samples))
    guard room > 0 else { return true }
    var samples = [Int16](repeating: 0, count: room)
    let count = samples.withUnsafeMutableBytes { bytes in
      var target: UnsafeMutablePointer<UInt8>? = bytes.bindMemory(to: UInt8.self).baseAddress
      guard
        let sources = UnsafeRawPointer(frame.pointee.extended_data)?.assumingMemoryBound(to: UnsafePointer<UInt8>?.self)
      else { return Int32(0) }
      return swr_convert(
        resampler, &target, Int32(room), UnsafeMutablePointer(mutating: sources), frame.pointee.nb_samples)
    }
    guard count >= 0 else { return false }
    pending += samples[..<Int(count)]
    position += Int(count)
    return true
  }

  /// Where the file has no sound there is silence: before its beginning, and where some is missing.
  private func fill(upTo time: Double) {
    let gap = Int((min(time, 1e6) * Double(AudioBlock.sampleRate)).rounded()) - position
    guard gap > (position == 0 ? 0 : Self.slack) else { return }
    let silence = min(gap, 60 * AudioBlock.sampleRate)
    pending += repeatElement(0, count: silence)
    position += silence
  }

  /// What the times of frames, rounded as containers do, may be off by, in samples.
  private static let slack = AudioBlock.sampleRate / 25

  private func prepareResampler() -> Bool {
    guard resampler == nil else { return true }
    var mono = AVChannelLayout()
    av_channel_layout_default(&mono, 1)
    let frame = reader.frame
    let status = swr_alloc_set_opts2(
      &resampler, &mono, AV_SAMPLE_FMT_S16, Int32(AudioBlock.sampleRate), &frame.pointee.ch_layout,
      AVSampleFormat(rawValue: frame.pointee.format), frame.pointee.sample_rate, 0, nil)
    return status >= 0 && swr_init(resampler) >= 0
  }
}
