import CKoineFFmpeg
import Koine

/// One stream of a media file, decoded; at its end it begins again, with times going on, as they do where the file's own
/// leap. One owner, one thread.
final class MediaReader {
  enum Kind {
    case video, audio
    var word: String { self == .video ? "pictures" : "sound" }
  }

  /// FFmpeg writes to standard error of its own accord; what matters is thrown.
  static let silence: Void = av_log_set_level(AV_LOG_FATAL)

  private let path: String
  private var format: UnsafeMutablePointer<AVFormatContext>?
  private var codec: UnsafeMutablePointer<AVCodecContext>?
  private var packet: UnsafeMutablePointer<AVPacket>?
  private(set) var frame: UnsafeMutablePointer<AVFrame>
  private let index: Int32
  private let timeBase: AVRational
  /// In seconds: where the file begins, with whichever stream; nil where it does not say. What lies before zero is there to be
  /// left out.
  private var begin: Double? {
    guard let start = format?.pointee.start_time, start != koine_no_time() else { return nil }
    return max(Double(start) / Double(AV_TIME_BASE), 0)
  }
  /// Of the whole file, in seconds; nil where it does not say.
  private var length: Double? {
    guard let duration = format?.pointee.duration, duration > 0 else { return nil }
    return Double(duration) / Double(AV_TIME_BASE)
  }
  /// In seconds: where the present turn of the loop begins, and where the last frame ended.
  private var offset = 0.0
  private var lastEnd = 0.0
  private var newest = 0.0
  private var firstTime: Double?
  /// The file's length is none of its time then.
  private var hasLeapt = false
  private var isDraining = false
  private var framesThisTurn = 0
  /// How often it has begun again.
  private(set) var turns = 0
  /// In seconds. A larger step between two frames counts as a jump of the file's clock; playback continues without waiting for it.
  private static let longestStep = 60.0

  init(path: String, kind: Kind) throws(DeviceError) {
    self.path = path
    Self.silence
    func failure(_ code: Int32) -> DeviceError { .unreadable(path, reason: Self.reason(code)) }
    guard let frame = av_frame_alloc(), let packet = av_packet_alloc() else {
      throw .unreadable(path, reason: "no memory")
    }
    self.frame = frame
    self.packet = packet
    var decoder: UnsafePointer<AVCodec>?
    let opened = avformat_open_input(&format, path, nil, nil)
    var stream: Int32 = -1
    var status = opened
    if status >= 0 { status = avformat_find_stream_info(format, nil) }
    if status >= 0 {
      stream = av_find_best_stream(
        format, kind == .video ? AVMEDIA_TYPE_VIDEO : AVMEDIA_TYPE_AUDIO, -1, -1, &decoder, 0)
    }
    index = stream
    guard status >= 0, stream >= 0, let decoder, let parameters = format?.pointee.streams[Int(stream)] else {
      timeBase = AVRational(num: 1, den: 1)
      throw status < 0 ? failure(status) : .unreadable(path, reason: "there is no \(kind.word) in it")
    }
    timeBase = parameters.pointee.time_base
    codec = avcodec_alloc_context3(decoder)
    status = avcodec_parameters_to_context(codec, parameters.pointee.codecpar)
    if status >= 0 { status = avcodec_open2(codec, decoder, nil) }
    guard status >= 0 else { throw failure(status) }
  }

  deinit {
    avcodec_free_context(&codec)
    avformat_close_input(&format)
    av_packet_free(&packet)
    var frame: UnsafeMutablePointer<AVFrame>? = frame
    av_frame_free(&frame)
  }

  var width: Int { Int(codec?.pointee.width ?? 0) }
  var height: Int { Int(codec?.pointee.height ?? 0) }
  var sampleRate: Int { Int(codec?.pointee.sample_rate ?? 0) }
  var channels: Int { Int(codec?.pointee.ch_layout.nb_channels ?? 0) }

  var framesPerSecond: Double {
    guard let rate = format?.pointee.streams[Int(index)]?.pointee.avg_frame_rate, rate.num > 0, rate.den > 0 else {
      return 30
    }
    return Double(rate.num) / Double(rate.den)
  }

  /// Decodes the next frame into `frame`.
  /// - Returns: its time in seconds since the very beginning; nil when the file cannot be read any more.
  func next() -> Double? {
    while true {
      let status = avcodec_receive_frame(codec, frame)
      if status >= 0 {
        framesThisTurn += 1
        return time()
      }
      if status == koine_end_of_file() {
        guard framesThisTurn > 0, rewind() else { return nil }
      } else if status != koine_again() || !feed() {
        return nil
      }
    }
  }

  private func time() -> Double {
    let stamp = frame.pointee.best_effort_timestamp
    let span =
      frame.pointee.sample_rate > 0
      ? Double(frame.pointee.nb_samples) / Double(frame.pointee.sample_rate) : 1 / framesPerSecond
    let raw =
      stamp == koine_no_time() ? nil : Double(stamp) * Double(timeBase.num) / Double(max(timeBase.den, 1))
    // Streams of one file keep their distance.
    if firstTime == nil { firstTime = raw.map { min($0, begin ?? $0) } ?? 0 }
    var time = raw.map { offset + max(0, $0 - (firstTime ?? 0)) } ?? lastEnd
    if abs(time - lastEnd) > Self.longestStep {
      offset += lastEnd - time
      time = lastEnd
      hasLeapt = true
    }
    time = max(time, newest)  // after a leap, numbers are coarse
    newest = time
    lastEnd = max(lastEnd, time + min(max(span, 0), 1))  // a rate over a leap is none
    return time
  }

  private func feed() -> Bool {
    guard !isDraining else { return false }
    while av_read_frame(format, packet) >= 0 {
      defer { av_packet_unref(packet) }
      guard packet?.pointee.stream_index == index else { continue }
      let status = avcodec_send_packet(codec, packet)
      if status >= 0 || status == koine_again() { return true }
      // A damaged packet: the next may be whole.
    }
    isDraining = true
    return avcodec_send_packet(codec, nil) >= 0
  }

  private func rewind() -> Bool {
    isDraining = false
    framesThisTurn = 0
    turns += 1
    // All streams of a file begin again at once, if one of them is a little shorter.
    let whole = hasLeapt ? lastEnd : offset + (length ?? 0)
    offset = whole > lastEnd && whole - lastEnd < 1 ? whole : lastEnd
    lastEnd = offset
    avcodec_flush_buffers(codec)
    return av_seek_frame(format, index, 0, AVSEEK_FLAG_BACKWARD) >= 0
      || avformat_seek_file(format, index, .min, 0, .max, 0) >= 0
  }

  static func reason(_ code: Int32) -> String {
    var text = [CChar](repeating: 0, count: 128)
    koine_reason(code, &text, text.count)
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
