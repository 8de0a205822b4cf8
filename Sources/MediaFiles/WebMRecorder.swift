import CKoineFFmpeg
import Foundation
public import Koine

/// Writes received Opus and VP8 or VP9 frames to WebM as they came, without coding them anew.
///
/// By FFmpeg's muxer: Debian's libwebm-dev ships the parser's headers only. The file begins with the first key frame (or
/// the first sound, if pictures have not come within a second). Nothing is left of a recording that fails. While it is
/// written it has the ending `.part`; what a killed process leaves so can be played up to its last second or two.
///
/// The file is written on a thread of its own; frames that come faster than the disk takes them are left out.
public final class WebMRecorder: BroadcastOutput {
  /// About a minute of good pictures.
  private static let capacity = 16 << 20
  private let queue = WritingQueue(capacity: capacity)
  private let file: WebMFile
  /// Pictures were left out: those that follow refer to them, up to the next key frame.
  private let needsKey = Lock(false)

  /// - Parameters: hasSound, hasPictures: which tracks the file gets.
  public init(_ path: String, hasSound: Bool = true, hasPictures: Bool = true) {
    file = WebMFile(path: path, hasSound: hasSound, hasPictures: hasPictures)
  }

  /// A recording that nobody closed is none.
  deinit { queue.forget { file.abandon() } }

  /// How often the disk was too slow for a frame. Pictures that needed one of those are not counted.
  public var dropped: Int { queue.dropped }

  /// Takes one stream's frames; sound and pictures of one participant go to one recorder.
  public var tap: any EncodedFrameSink { Tap(recorder: self) }

  public func take(_ frame: EncodedFrame) {
    let isPicture = !frame.codec.isAudio
    if isPicture, !frame.isKey, needsKey.withLock({ $0 }) { return }
    let hasRoom = queue.add(frame.data.count) { [file] in file.take(frame) }
    if isPicture { needsKey.withLock { $0 = !hasRoom } }
  }

  public func onFailure(_ handler: @escaping @Sendable (any Error) -> Void) {
    _ = queue.add(0) { [file] in file.onFailure = handler }
  }

  public func close() throws(RecordingError) { try queue.finish { file.close() }.get() }

  /// Until all that has been taken is written.
  package func flush() { queue.finish {} }

  private final class Tap: EncodedFrameSink {
    private let recorder: WebMRecorder
    init(recorder: WebMRecorder) { self.recorder = recorder }
    func take(_ frame: EncodedFrame) { recorder.take(frame) }
  }
}

private final class WebMFile: @unchecked Sendable {  // touched on its recorder's queue only
  let path: String
  let hasSound, hasPictures: Bool
  private var context: UnsafeMutablePointer<AVFormatContext>?
  private var soundTrack: Int32?
  private var pictureTrack: Int32?
  private var waiting: [EncodedFrame] = []
  private var start: Tick?
  private var lastTimes: [Int32: Int64] = [:]
  private var problem: RecordingError?
  private var isClosed = false
  /// Called once, when nothing more can be written.
  var onFailure: (@Sendable (any Error) -> Void)?

  init(path: String, hasSound: Bool, hasPictures: Bool) {
    (self.path, self.hasSound, self.hasPictures) = (path, hasSound, hasPictures)
  }

  func take(_ frame: EncodedFrame) {
    guard !isClosed, problem == nil else { return }
    if context == nil {
      waiting.append(frame)
      let key = waiting.first { !$0.codec.isAudio && $0.isKey }
      let hasWaited = waiting.first.map { frame.captured - $0.captured >= .seconds(1) } ?? false
      if key != nil || !hasPictures || (hasWaited && hasSound) { beginAndWriteWaiting(key) }
      if waiting.count > 500 { waiting.removeFirst(250) }
    } else {
      write(frame)
    }
  }

  private func beginAndWriteWaiting(_ key: EncodedFrame?) {
    if key == nil { waiting.removeAll { !$0.codec.isAudio } }  // without a key frame there is nothing to be seen
    guard !waiting.isEmpty else { return }
    begin(with: key)
    let late = waiting
    waiting = []
    for frame in late { write(frame) }
  }

  private func begin(with key: EncodedFrame?) {
    try? FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    start = key?.captured ?? waiting.first?.captured
    var status = avformat_alloc_output_context2(&context, nil, "webm", path + ".part")
    guard status >= 0, let context else { return fail(status) }
    if let key { pictureTrack = addPictures(context, key) }
    if hasSound { soundTrack = addSound(context) }
    status = avio_open(&context.pointee.pb, path + ".part", AVIO_FLAG_WRITE)
    // Clusters of half a second, each written out when it is whole, whichever track is silent for how long.
    context.pointee.flags |= AVFMT_FLAG_FLUSH_PACKETS
    context.pointee.max_interleave_delta = 500_000
    var options: OpaquePointer?
    defer { av_dict_free(&options) }
    av_dict_set(&options, "cluster_time_limit", "500", 0)
    if status >= 0 { status = avformat_write_header(context, &options) }
    if status < 0 { fail(status) }
  }

  private func addPictures(_ context: UnsafeMutablePointer<AVFormatContext>, _ key: EncodedFrame) -> Int32? {
    guard let stream = avformat_new_stream(context, nil), let parameters = stream.pointee.codecpar else { return nil }
    parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
    parameters.pointee.codec_id = key.codec == .vp9 ? AV_CODEC_ID_VP9 : AV_CODEC_ID_VP8
    let size = Self.size(of: key)
    parameters.pointee.width = Int32(size.width)
    parameters.pointee.height = Int32(size.height)
    stream.pointee.time_base = AVRational(num: 1, den: 1000)
    return stream.pointee.index
  }

  /// VP8 key frames tell their size in bytes 6...9 (RFC 6386, 9.1); a VP9 decoder finds it by itself.
  private static func size(of key: EncodedFrame) -> (width: Int, height: Int) {
    let bytes = key.data.readable
    guard key.codec == .vp8, bytes.count >= 10 else { return (640, 360) }
    return (Int(bytes[6]) | Int(bytes[7] & 0x3F) << 8, Int(bytes[8]) | Int(bytes[9] & 0x3F) << 8)
  }

  private func addSound(_ context: UnsafeMutablePointer<AVFormatContext>) -> Int32? {
    guard let stream = avformat_new_stream(context, nil), let parameters = stream.pointee.codecpar else { return nil }
    parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
    parameters.pointee.codec_id = AV_CODEC_ID_OPUS
    parameters.pointee.sample_rate = 48_000
    av_channel_layout_default(&parameters.pointee.ch_layout, 1)
    // RFC 7845, 5.1: the identification header, with the 312 samples by which libopus delays sound.
    parameters.pointee.initial_padding = 312
    let header: [UInt8] = Array("OpusHead".utf8) + [1, 1, 0x38, 0x01, 0x80, 0xBB, 0, 0, 0, 0, 0]
    guard let extra = av_mallocz(header.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else { return nil }
    extra.copyMemory(from: header, byteCount: header.count)
    parameters.pointee.extradata = extra.assumingMemoryBound(to: UInt8.self)
    parameters.pointee.extradata_size = Int32(header.count)
    stream.pointee.time_base = AVRational(num: 1, den: 1000)
    return stream.pointee.index
  }

  private func write(_ frame: EncodedFrame) {
    guard let context, let start, problem == nil, let track = frame.codec.isAudio ? soundTrack : pictureTrack,
      frame.captured >= start, let packet = av_packet_alloc(),
      let stream = context.pointee.streams[Int(track)]
    else { return }
    var owned: UnsafeMutablePointer<AVPacket>? = packet
    defer { av_packet_free(&owned) }
    guard av_new_packet(packet, Int32(frame.data.count)) >= 0, let source = frame.data.readable.baseAddress else {
      return
    }
    UnsafeMutableRawPointer(packet.pointee.data).copyMemory(from: source, byteCount: frame.data.count)
    let milliseconds = (frame.captured - start).nanoseconds / 1_000_000
    let base = stream.pointee.time_base
    var time = av_rescale_q(milliseconds, AVRational(num: 1, den: 1000), base)
    if let last = lastTimes[track], time <= last { time = last + 1 }  // sound that overtook other sound
    lastTimes[track] = time
    packet.pointee.pts = time
    packet.pointee.dts = time
    packet.pointee.stream_index = track
    if frame.isKey || frame.codec.isAudio { packet.pointee.flags = AV_PKT_FLAG_KEY }
    let status = av_interleaved_write_frame(context, packet)
    if status < 0 { fail(status) }
  }

  private func fail(_ status: Int32) {
    let failure = RecordingError(path: path, reason: MediaReader.reason(status))
    problem = failure
    onFailure?(failure)
    onFailure = nil
  }

  func abandon() {
    guard !isClosed, let context else { return }
    isClosed = true
    avio_closep(&context.pointee.pb)
    avformat_free_context(context)
    self.context = nil
    unlink(path + ".part")
  }

  func close() -> Result<Void, RecordingError> {
    guard !isClosed else { return .success(()) }
    onFailure = nil  // whoever closes is told by this
    if context == nil, problem == nil, hasSound { beginAndWriteWaiting(nil) }  // shorter than a second
    isClosed = true
    if let context {
      if problem == nil { av_write_trailer(context) }
      avio_closep(&context.pointee.pb)
      avformat_free_context(context)
      self.context = nil
      if problem == nil, rename(path + ".part", path) != 0 {
        problem = RecordingError(path: path, reason: String(cString: strerror(errno)))
      }
    }
    guard let problem else { return .success(()) }
    unlink(path + ".part")
    return .failure(problem)
  }
}
