import CKoineFFmpeg
import Koine

/// A file's pictures, at their own times, looped. Decodes on its lane, one frame ahead.
final class FileVideoSource: VideoSource, @unchecked Sendable {  // lane only, but for `run`
  let format: VideoFormat
  private let path: String
  private let reader: MediaReader
  private let pictures = PictureConverter(limit: 8)
  private let run = Lock(0)
  /// Where in the file's time the present run began, in seconds: a source that is started again goes on where it was.
  private var origin = 0.0
  private var lastTime = 0.0
  /// Of a frame that the reader holds, and that has not been delivered yet.
  private var held: Double?

  init(path: String) throws(DeviceError) {
    self.path = path
    reader = try MediaReader(path: path, kind: .video)
    guard (2...4096).contains(reader.width), (2...4096).contains(reader.height) else {
      throw .unreadable(path, reason: "its pictures are \(reader.width)×\(reader.height)")
    }
    format = VideoFormat(width: reader.width, height: reader.height, framesPerSecond: reader.framesPerSecond)
    repeat { held = reader.next() } while held != nil && reader.turns == 0 && picture(at: .zero) == nil
    if held == nil || reader.turns > 0 { throw .unreadable(path, reason: "none of its pictures can be converted") }
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) {
    let number = run.withLock { run in
      run += 1
      return run
    }
    let start = SharedStart.of(path, at: lane.scheduler.now)
    lane.post { [weak self] in self?.start(number, start, lane, deliver) }
  }

  func stop() { run.withLock { $0 += 1 } }

  private func start(_ number: Int, _ start: Tick, _ lane: Lane, _ deliver: @escaping @Sendable (VideoFrame) -> Void) {
    origin = lastTime
    prepare(number, start, lane, deliver)
  }

  private func prepare(_ number: Int, _ start: Tick, _ lane: Lane, _ deliver: @escaping @Sendable (VideoFrame) -> Void)
  {
    guard run.withLock({ $0 }) == number, let time = held ?? reader.next() else { return }
    held = nil
    lastTime = time
    let due = start + .nanoseconds(Int64(min(time - origin, 1e9) * 1e9))
    let picture = picture(at: due)
    lane.post(at: due) { [weak self] in
      guard let self, run.withLock({ $0 }) == number else { return }
      if let picture { deliver(picture) }  // what cannot be converted is passed over
      prepare(number, start, lane, deliver)
    }
  }

  private func picture(at due: Tick) -> VideoFrame? { pictures.convert(reader.frame, captured: due) }
}

/// A file's sound at 48 kHz, mono, at its own pace, looped.
final class FileAudioSource: AudioSource, @unchecked Sendable {  // lane only, but for `run`
  let channels = 1
  private let path: String
  private let reader: MediaReader
  private var resampler: OpaquePointer?
  /// What the resampler takes: it may change within a file.
  private var resampled = AVChannelLayout()
  private var resampledRate: Int32 = 0, resampledFormat: Int32 = -1
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

  deinit {
    swr_free(&resampler)
    av_channel_layout_uninit(&resampled)
  }

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
    let frame = reader.frame
    if resampler != nil, frame.pointee.format == resampledFormat, frame.pointee.sample_rate == resampledRate,
      av_channel_layout_compare(&frame.pointee.ch_layout, &resampled) == 0
    {
      return true
    }
    swr_free(&resampler)
    (resampledRate, resampledFormat) = (frame.pointee.sample_rate, frame.pointee.format)
    var mono = AVChannelLayout()
    av_channel_layout_default(&mono, 1)
    var status = av_channel_layout_copy(&resampled, &frame.pointee.ch_layout)
    if status >= 0 {
      status = swr_alloc_set_opts2(
        &resampler, &mono, AV_SAMPLE_FMT_S16, Int32(AudioBlock.sampleRate), &resampled,
        AVSampleFormat(rawValue: resampledFormat), resampledRate, 0, nil)
    }
    if status >= 0 { status = swr_init(resampler) }
    if status < 0 { swr_free(&resampler) }
    return status >= 0
  }
}
