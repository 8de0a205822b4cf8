import CKoineFFmpeg
import Foundation
import Koine
import KoineCodecs

/// Opus and pictures in a container of FFmpeg's.
final class MuxedFile: @unchecked Sendable {  // touched on its writer's queue only
  enum Container {
    /// One file, `.part` until it is whole.
    case webM
    /// A playlist, and pieces in MP4 beside it.
    case playlist
  }

  let path: String
  /// Nil: of a playlist, which names whole pieces only, and stays as it is.
  private let place: FilePlace?
  let hasSound: Bool
  var hasPictures: Bool
  /// Of the sound; what comes may have fewer.
  var channels = 1
  private let container: Container
  /// For so long sound waits for the first picture; then the file has none.
  private let patience: Duration
  private var context: UnsafeMutablePointer<AVFormatContext>?
  private var soundTrack: Int32?
  private var pictureTrack: Int32?
  /// As the first says that came.
  private var pictures: WebMHead.Pictures?
  /// A key frame has been written: the frames after it can be decoded.
  private var hasKey = false
  /// The track was announced before one came.
  private var isReserved = false
  private var waiting: [EncodedFrame] = []
  private var start: Tick?
  private var lastTimes: [Int32: Int64] = [:]
  private var problem: RecordingError?
  private var isClosed = false
  /// How many pictures came to a file that had begun without a track for them. Read from any thread.
  let unseen = Lock(0)
  /// Called once, when nothing more can be written.
  var onFailure: (@Sendable (any Error) -> Void)?

  /// Called once, when the data written so far can be opened.
  private var tellReadable: (@Sendable () -> Void)?
  private var isReadable = false

  /// The largest size so far, which the head tells of in the end.
  private var largest: WebMHead.Pictures?
  private let timeline: RecordingTimeline?

  init(
    _ container: Container, path: String, hasSound: Bool, hasPictures: Bool, patience: Duration,
    timeline: RecordingTimeline? = nil
  ) {
    self.timeline = timeline
    _ = MediaReader.silence
    self.patience = patience
    (self.path, self.hasSound, self.hasPictures) = (path, hasSound, hasPictures)
    self.container = container
    place = container == .webM ? FilePlace(path) : nil
  }

  func onReadable(_ handler: @escaping @Sendable () -> Void) {
    if isReadable { handler() } else { tellReadable = handler }
  }

  func receive(_ frame: EncodedFrame) {
    guard !isClosed, problem == nil else { return }
    if context == nil {
      waiting.append(frame)
      let key = waiting.first { !$0.codec.isAudio && $0.isKey }
      let hasWaited = waiting.first.map { frame.captured - $0.captured >= patience } ?? false
      if key != nil || !hasPictures || (hasWaited && hasSound) { beginAndWriteWaiting(key) }
      if waiting.count > 5_000 { waiting.removeFirst(2_500) }
    } else {
      write(frame)
    }
  }

  private func beginAndWriteWaiting(_ key: EncodedFrame?) {
    if key == nil { waiting.removeAll { !$0.codec.isAudio } }  // without a key frame there is nothing to be seen
    guard !waiting.isEmpty else { return }
    writeHeader(with: key)
    let late = waiting
    waiting = []
    for frame in late { write(frame) }
  }

  private func writeHeader(with key: EncodedFrame?) {
    do { try RecordingError.check(path) } catch { return fail(error) }
    start = timeline?.start ?? (key ?? waiting.first).map(time(of:))
    var status = avformat_alloc_output_context2(&context, nil, container == .webM ? "webm" : "hls", file)
    guard status >= 0, let context else { return fail(status) }
    isReserved = key == nil && hasPictures && container == .webM  // a participant may turn a camera on later
    pictures = key.map(Self.pictures)
    largest = pictures
    if key != nil || isReserved { pictureTrack = addPictures(context) }
    if hasSound { soundTrack = addSound(context) }
    if container == .webM { status = avio_open(&context.pointee.pb, file, AVIO_FLAG_WRITE) }
    // Clusters and pieces are written out when they are whole, whichever track is silent for how long.
    context.pointee.flags |= AVFMT_FLAG_FLUSH_PACKETS
    context.pointee.max_interleave_delta = 500_000
    var options: OpaquePointer?
    defer { av_dict_free(&options) }
    for (name, value) in settings { av_dict_set(&options, name, value, 0) }
    if status >= 0 { status = avformat_write_header(context, &options) }
    if status < 0 { return fail(status) }
    if container == .webM, pictures != nil {
      avio_flush(context.pointee.pb)
      settleHead()
    }
  }

  /// The path of the file that is written: the `.part` file where there is one.
  private var file: String { place?.part ?? path }

  private var settings: [(String, String)] {
    let stem = (path as NSString).deletingPathExtension
    return switch container {
    case .webM: [("cluster_time_limit", "500")]
    case .playlist:
      [
        ("hls_time", "1"), ("hls_list_size", "0"), ("hls_playlist_type", "event"), ("hls_segment_type", "fmp4"),
        ("hls_flags", "independent_segments+temp_file"),
        ("hls_segment_filename", stem.replacingOccurrences(of: "%", with: "%%") + "-%d.m4s"),
        ("hls_fmp4_init_filename", (stem as NSString).lastPathComponent + "-init.mp4"),
      ]
    }
  }

  private func addPictures(_ context: UnsafeMutablePointer<AVFormatContext>) -> Int32? {
    let pictures = pictures ?? WebMHead.Pictures(codec: .vp8, width: 640, height: 360)
    guard let stream = avformat_new_stream(context, nil), let parameters = stream.pointee.codecpar else { return nil }
    parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
    parameters.pointee.codec_id = pictures.codec.ffmpegID
    parameters.pointee.format = AV_PIX_FMT_YUV420P.rawValue
    // FFmpeg writes numbers below 256 in one byte: then there would be no place for a larger size in the head.
    let least = container == .webM ? 256 : 0
    parameters.pointee.width = Int32(max(pictures.width, least))
    parameters.pointee.height = Int32(max(pictures.height, least))
    stream.pointee.time_base = AVRational(num: 1, den: 1000)
    return stream.pointee.index
  }

  private static func pictures(of key: EncodedFrame) -> WebMHead.Pictures {
    let size = key.codec.size(ofKeyFrame: key.data.readable) ?? (640, 360)
    return WebMHead.Pictures(codec: key.codec, width: size.width, height: size.height)
  }

  private func addSound(_ context: UnsafeMutablePointer<AVFormatContext>) -> Int32? {
    guard let stream = avformat_new_stream(context, nil), let parameters = stream.pointee.codecpar else { return nil }
    parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
    parameters.pointee.codec_id = Codec.opus.ffmpegID
    parameters.pointee.sample_rate = 48_000
    av_channel_layout_default(&parameters.pointee.ch_layout, Int32(channels))
    // RFC 7845, 5.1: the identification header, with the 312 samples by which libopus delays sound.
    parameters.pointee.initial_padding = OpusDecoder.delayInSamples
    let header: [UInt8] = Array("OpusHead".utf8) + [1, UInt8(channels), 0x38, 0x01, 0x80, 0xBB, 0, 0, 0, 0, 0]
    guard let extra = av_mallocz(header.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else { return nil }
    extra.copyMemory(from: header, byteCount: header.count)
    parameters.pointee.extradata = extra.assumingMemoryBound(to: UInt8.self)
    parameters.pointee.extradata_size = Int32(header.count)
    stream.pointee.time_base = AVRational(num: 1, den: 1000)
    return stream.pointee.index
  }

  /// A packet's sound begins a little before its time. In WebM the times of packets are later than those of their sound by the
  /// delay that the track tells of, in MP4 they are the sound's.
  private func time(of frame: EncodedFrame) -> Tick {
    frame.codec.isAudio && container == .playlist ? frame.captured - OpusDecoder.delay : frame.captured
  }

  private func write(_ frame: EncodedFrame) {
    if hasPictures, !frame.codec.isAudio, pictureTrack == nil, problem == nil { unseen.withLock { $0 += 1 } }
    guard let context, let start, problem == nil, let track = frame.codec.isAudio ? soundTrack : pictureTrack,
      timeline != nil || time(of: frame) >= start, let packet = av_packet_alloc(),
      let stream = context.pointee.streams[Int(track)]
    else { return }
    if !frame.codec.isAudio, pictures == nil {
      guard frame.isKey else { return }  // with nothing before it, it cannot be seen
      pictures = Self.pictures(of: frame)
    }
    if !frame.codec.isAudio, !hasKey {
      guard frame.isKey else { return }
      hasKey = true
    }
    if !frame.codec.isAudio, frame.isKey { noteSize(of: frame) }
    var owned: UnsafeMutablePointer<AVPacket>? = packet
    defer { av_packet_free(&owned) }
    guard av_new_packet(packet, Int32(frame.data.count)) >= 0, let source = frame.data.readable.baseAddress else {
      return
    }
    UnsafeMutableRawPointer(packet.pointee.data).copyMemory(from: source, byteCount: frame.data.count)
    let position = timeline?.position(of: time(of: frame)) ?? time(of: frame) - start
    let milliseconds = position.nanoseconds / 1_000_000
    let base = stream.pointee.time_base
    var time = av_rescale_q(milliseconds, AVRational(num: 1, den: 1000), base)
    if let last = lastTimes[track], time <= last { time = last + 1 }  // sound that overtook other sound
    lastTimes[track] = time
    packet.pointee.pts = time
    packet.pointee.dts = time
    packet.pointee.stream_index = track
    if frame.isKey || frame.codec.isAudio { packet.pointee.flags = AV_PKT_FLAG_KEY }
    let status = av_interleaved_write_frame(context, packet)
    if status < 0 { return fail(status) }
    if !isReadable { lookWhetherReadable() }
  }

  private func noteSize(of key: EncodedFrame) {
    let size = Self.pictures(of: key)
    if let largest, size.width * size.height <= largest.width * largest.height { return }
    largest = size
  }

  private func lookWhetherReadable() {
    guard access(path, R_OK) == 0 || container == .webM else { return }
    isReadable = true
    tellReadable?()
    tellReadable = nil
  }

  private func fail(_ status: Int32) { fail(RecordingError(path: path, reason: MediaReader.reason(status))) }

  /// The first reason is the one that is told.
  private func fail(_ failure: RecordingError) {
    guard problem == nil else { return }
    problem = failure
    onFailure?(place?.told(failure, isPlayable: isReadable) ?? failure)
    onFailure = nil
  }

  func abandon() {
    guard !isClosed, let context else { return }
    isClosed = true
    _ = free(context)
    place?.abandon()
  }

  /// - Returns: FFmpeg's status of writing the remaining bytes: negative if they could not be written.
  private func free(_ context: UnsafeMutablePointer<AVFormatContext>) -> Int32 {
    let status = container == .webM ? avio_closep(&context.pointee.pb) : 0  // else its pieces' are the muxer's own
    avformat_free_context(context)
    self.context = nil
    return status
  }

  func close() -> Result<Void, RecordingError> {
    guard !isClosed else { return .success(()) }
    onFailure = nil  // `close` returns the failure to its caller
    if context == nil, problem == nil, hasSound { beginAndWriteWaiting(nil) }  // shorter than a second
    isClosed = true
    if let context {
      let ending = problem == nil ? av_write_trailer(context) : 0
      let closing = free(context)
      if min(ending, closing) < 0 { fail(ending < 0 ? ending : closing) }
      // The muxer has written its own head again.
      if problem == nil, container == .webM, isReserved || pictures != nil { settleHead() }
      if let place { problem = place.finish(problem, isPlayable: isReadable) }
    }
    return problem.map { .failure($0) } ?? .success(())
  }

  private func settleHead() {
    do { try WebMHead.settle(file, largest ?? pictures) } catch { fail(RecordingError(path: path, reason: "\(error)")) }
  }
}
