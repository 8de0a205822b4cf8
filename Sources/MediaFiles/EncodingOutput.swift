import CKoineFFmpeg
public import Foundation
public import Koine

/// A broadcast in formats that calls do not have: H.264 and AAC into a fragmented `.mp4`, HLS (`.m3u8` with its segments
/// beside it; `PlaylistRecorder` makes one of a call's own formats), or to an RTMP server.
///
/// With `BroadcastPlan.bitrateLimits`, the bitrate of a stream to an RTMP server follows the speed at which the server takes the stream.
///
/// Encodes and writes on a thread of its own. Frames and audio that arrive faster than that are dropped, and counted. An `.mp4` has
/// the ending `.part` while it is written, and keeps it if it fails. The `.part` file of a killed process can be played up to its
/// last fragment, too. An HLS playlist can be read while it is written, so its written segments stay after a failure.
public final class EncodingOutput: RawBroadcastOutput {
  /// Twenty pictures of 1280×720.
  private static let capacity = 28 << 20
  private let queue = WritingQueue(capacity: capacity)
  private let place: CodedPlace
  private let interruption: Interruption

  /// Creates an output for a file or an RTMP server.
  /// - Parameters:
  ///   - url: of a file that ends in `.mp4` or `.m3u8`, or `rtmp://HOST[:PORT]/APP/KEY`.
  ///   - encoders: by FFmpeg's names.
  ///   - authorities: a PEM file with the certificates that an `rtmps:` server's must lead to; nil: those of
  ///     `SSL_CERT_FILE`, or of the system.
  ///   - mayConnect: called with the address right before it is connected to, on the thread that writes; may wait. What it
  ///     throws is the output's failure.
  /// - Throws: `RecordingError` where this build of FFmpeg has no encoder of that name.
  public init(
    _ url: URL, encoders: Encoders = Encoders(), authorities: String? = nil,
    mayConnect: (@Sendable (URL) throws -> Void)? = nil
  ) throws(RecordingError) {
    let interruption = Interruption()
    self.interruption = interruption
    place = try CodedPlace(url, encoders, interruption, authorities: authorities, mayConnect)
  }

  /// The encoders of video and audio, by FFmpeg's names. The available encoders depend on how FFmpeg was built. Most are under the
  /// GPL or need a device (Docs/legal.md).
  public struct Encoders: Sendable, Hashable {
    /// `libx264`, `h264_nvenc`, `h264_v4l2m2m`, …
    public var video: String
    /// FFmpeg's name of the audio encoder.
    public var sound: String

    /// Creates the names of the encoders.
    public init(video: String = "libx264", sound: String = "aac") { (self.video, self.sound) = (video, sound) }
  }

  deinit {
    interruption.interrupt(after: .zero)
    queue.forget { place.abandon() }
  }

  /// How many pictures and blocks of sound came while too much waited.
  public var dropped: Int { queue.dropped }

  public func start(_ plan: BroadcastPlan) {
    _ = queue.add(0) { [place] in place.start(plan) }
  }

  public func render(_ frame: VideoFrame) {
    let arrival = ContinuousClock.now
    queue.add(frame.width * frame.height * 3 / 2) { [place] in place.encode(frame, arrived: arrival) }
  }

  public func play(_ block: AudioBlock) {
    queue.add(block.samples.count * 2) { [place] in place.encode(block) }
  }

  public func flush() { queue.finish {} }

  public func onReadable(_ handler: @escaping @Sendable () -> Void) {
    _ = queue.add(0) { [place] in place.onReadable(handler) }
  }

  public func onFailure(_ handler: @escaping @Sendable (any Error) -> Void) {
    _ = queue.add(0) { [place] in place.onFailure = handler }
  }

  /// Waits until all received frames and audio are written. For a server that does not accept them, it waits five seconds at most.
  /// - Throws: `RecordingError` if frames could not be written.
  public func close() throws(RecordingError) {
    if place.kind == .rtmp { interruption.interrupt(after: .seconds(5)) }
    try queue.finish { place.close() }.get()
  }
}

/// Aborts FFmpeg's blocking calls when their result is no longer needed. FFmpeg polls it repeatedly, on the blocked thread.
final class Interruption: Sendable {
  private let end = Lock<ContinuousClock.Instant?>(nil)

  var isOver: Bool { end.withLock { $0.map { $0 <= .now } ?? false } }

  func interrupt(after wait: Duration) {
    end.withLock { end in if end == nil { end = .now + wait } }
  }
}

/// Where it is written, touched on its output's queue only.
private final class CodedPlace: @unchecked Sendable {
  enum Kind { case mp4, hls, rtmp }

  let kind: Kind
  private let url: URL
  /// Of an `.mp4`; a playlist is read while it is written, and stays as it is.
  private let file: FilePlace?
  private let encoders: EncodingOutput.Encoders
  private let interruption: Interruption
  private let authorities: String?
  private let mayConnect: (@Sendable (URL) throws -> Void)?
  private var plan: BroadcastPlan?
  private var context: UnsafeMutablePointer<AVFormatContext>?
  private var pictures: PictureTrack?
  private var sound: SoundTrack?
  private var isOpen = false
  private var start: Tick?
  private var problem: RecordingError?
  private var isClosed = false
  /// Called once, when nothing more can be written.
  var onFailure: (@Sendable (any Error) -> Void)?
  /// Called once, when others can open it.
  private var readableHandler: (@Sendable () -> Void)?
  private var isReadable = false
  /// Nil: the bitrate stays.
  private var adaptation: LiveBitrate?
  private let begin = ContinuousClock.now

  init(
    _ url: URL, _ encoders: EncodingOutput.Encoders, _ interruption: Interruption, authorities: String?,
    _ mayConnect: (@Sendable (URL) throws -> Void)?
  ) throws(RecordingError) {
    _ = MediaReader.silence
    kind = url.isFileURL ? (url.pathExtension == "m3u8" ? .hls : .mp4) : .rtmp
    for name in [encoders.video, encoders.sound] where avcodec_find_encoder_by_name(name) == nil {
      throw RecordingError(path: Self.text(of: url), reason: "this build of FFmpeg has no encoder '\(name)'")
    }
    if kind == .rtmp, avio_find_protocol_name(url.absoluteString) == nil {
      throw RecordingError(path: Self.text(of: url), reason: "this build of FFmpeg knows no '\(url.scheme ?? "")'")
    }
    if url.isFileURL { try RecordingError.check(url.path) }
    (self.url, self.encoders, self.interruption) = (url, encoders, interruption)
    (self.authorities, self.mayConnect) = (authorities, mayConnect)
    file = kind == .mp4 ? FilePlace(url.path) : nil
  }

  /// The URL for messages, without the stream key, which is secret.
  private static func text(of url: URL) -> String {
    url.isFileURL ? url.path : url.deletingLastPathComponent().absoluteString + "…"
  }

  /// What the system trusts, where FFmpeg's own library does not know it.
  private static let systemAuthorities: String? = {
    var files = [
      "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
    ]
    if let file = ProcessInfo.processInfo.environment["SSL_CERT_FILE"] { files.insert(file, at: 0) }
    return files.first { access($0, R_OK) == 0 }
  }()

  private var path: String { file?.part ?? (kind == .hls ? url.path : url.absoluteString) }

  private var muxer: String {
    switch kind {
    case .mp4: "mp4"
    case .hls: "hls"
    case .rtmp: "flv"
    }
  }

  // MARK: Beginning

  func start(_ plan: BroadcastPlan) {
    guard self.plan == nil, !isClosed else { return }
    self.plan = plan
    if kind == .rtmp, plan.hasVideo, let limits = plan.bitrateLimits {
      adaptation = LiveBitrate(plan.bitrate, within: limits, increasesQuickly: plan.increasesBitrateQuickly)
    }
    do throws(RecordingError) {
      try open(plan)
    } catch {
      return fail(error)
    }
    if kind != .hls { tellReadable() }
  }

  func onReadable(_ handler: @escaping @Sendable () -> Void) {
    if isReadable { handler() } else { readableHandler = handler }
  }

  private func tellReadable() {
    isReadable = true
    readableHandler?()
    readableHandler = nil
  }

  private func open(_ plan: BroadcastPlan) throws(RecordingError) {
    try check(avformat_alloc_output_context2(&context, nil, muxer, path))
    guard let context else { throw RecordingError(path: Self.text(of: url), reason: "no memory") }
    let hasGlobalHeader = context.pointee.oformat.pointee.flags & AVFMT_GLOBALHEADER != 0
    do throws(TrackError) {
      if plan.hasVideo {
        pictures = try PictureTrack(
          context, encoders.video, plan, hasGlobalHeader: hasGlobalHeader, isAdaptive: adaptation != nil)
      }
      sound = try SoundTrack(context, encoders.sound, plan, hasGlobalHeader: hasGlobalHeader)
    } catch {
      throw RecordingError(path: Self.text(of: url), reason: error.description)
    }
    // Lives as long as the context: both are this object's.
    let waiting = AVIOInterruptCB(
      callback: { Unmanaged<Interruption>.fromOpaque($0!).takeUnretainedValue().isOver ? 1 : 0 },
      opaque: Unmanaged.passUnretained(interruption).toOpaque())
    context.pointee.interrupt_callback = waiting
    if kind != .hls {  // which opens its files by itself
      var waiting = waiting
      var options: OpaquePointer?
      defer { av_dict_free(&options) }
      if kind == .rtmp {
        do { try mayConnect?(url) } catch { throw RecordingError(path: Self.text(of: url), reason: "\(error)") }
        av_dict_set(&options, "rw_timeout", "10000000", 0)  // in microseconds
        // In bytes. Linux by itself lets several megabytes wait here, in which a slow server would not be noticed for many seconds.
        if adaptation != nil { av_dict_set(&options, "send_buffer_size", "65536", 0) }
        // For `rtmps:`, so that no third party reads the stream key. FFmpeg checks no certificate by itself.
        av_dict_set(&options, "tls_verify", "1", 0)
        if let file = authorities ?? Self.systemAuthorities { av_dict_set(&options, "ca_file", file, 0) }
      }
      try check(avio_open2(&context.pointee.pb, path, AVIO_FLAG_WRITE, &waiting, &options))
    }
    try writeHeader(context, plan)
    isOpen = true
  }

  private func writeHeader(_ context: UnsafeMutablePointer<AVFormatContext>, _ plan: BroadcastPlan)
    throws(RecordingError)
  {
    var options: OpaquePointer?
    defer { av_dict_free(&options) }
    switch kind {
    case .mp4:
      av_dict_set(&options, "movflags", "frag_keyframe+empty_moov+default_base_moof", 0)
      // Audio has no key frames that could begin fragments. In microseconds.
      if !plan.hasVideo { av_dict_set(&options, "frag_duration", "1000000", 0) }
      context.pointee.flags |= AVFMT_FLAG_FLUSH_PACKETS
    case .hls:
      av_dict_set(&options, "hls_time", "\(plan.keyFrameInterval.inSeconds)", 0)
      av_dict_set(&options, "hls_list_size", "0", 0)
      av_dict_set(&options, "hls_playlist_type", "event", 0)
      av_dict_set(&options, "hls_segment_type", "fmp4", 0)
      av_dict_set(&options, "hls_flags", "independent_segments+temp_file", 0)
      let name = url.deletingPathExtension().lastPathComponent
      av_dict_set(&options, "hls_fmp4_init_filename", name + "-init.mp4", 0)
      av_dict_set(&options, "hls_segment_filename", url.deletingPathExtension().path + "-%05d.m4s", 0)
    case .rtmp:
      av_dict_set(&options, "flvflags", "no_duration_filesize", 0)
      context.pointee.flags |= AVFMT_FLAG_FLUSH_PACKETS
    }
    try check(avformat_write_header(context, &options))
  }

  // MARK: Going on

  /// - Parameter arrival: when the frame came.
  func encode(_ frame: VideoFrame, arrived arrival: ContinuousClock.Instant) {
    guard isOpen, problem == nil, !isClosed, let context, let pictures else { return }
    if start == nil { start = frame.captured }
    guard let start, frame.captured >= start else { return }
    let began = ContinuousClock.now
    attempt { () throws(TrackError) in try pictures.encode(frame, at: frame.captured - start, into: context) }
    adapt(to: pictures, waited: began - arrival, at: ContinuousClock.now - begin)
    lookWhetherReadable()
  }

  private func adapt(to pictures: PictureTrack, waited: Duration, at now: Duration) {
    let written = LiveBitrate.Totals(
      bytes: pictures.bytes, waited: pictures.writing + (sound?.writing ?? .zero))
    guard adaptation?.frameWritten(written, waited: waited, at: now) == true, let new = adaptation?.bitrate else {
      return
    }
    pictures.setBitrate(new)
  }

  private func lookWhetherReadable() {
    if kind == .hls, !isReadable, access(path, F_OK) == 0 { tellReadable() }
  }

  func encode(_ block: AudioBlock) {
    guard isOpen, problem == nil, !isClosed, let context, let sound else { return }
    if start == nil, pictures == nil { start = block.captured }
    guard let start else { return }  // pictures begin
    attempt { () throws(TrackError) in try sound.encode(block, at: block.captured - start, into: context) }
    if pictures == nil { lookWhetherReadable() }
  }

  private func attempt(_ work: () throws(TrackError) -> Void) {
    do throws(TrackError) { try work() } catch {
      fail(RecordingError(path: Self.text(of: url), reason: error.description))
    }
  }

  private func check(_ status: Int32) throws(RecordingError) {
    if status < 0 { throw RecordingError(path: Self.text(of: url), reason: MediaReader.reason(status)) }
  }

  private func fail(_ failure: RecordingError) {
    guard problem == nil else { return }
    problem = failure
    onFailure?(file?.told(failure, isPlayable: isOpen) ?? failure)
    (onFailure, readableHandler) = (nil, nil)
  }

  // MARK: The end

  func abandon() {
    guard !isClosed else { return }
    isClosed = true
    release()
    file?.abandon()
  }

  func close() -> Result<Void, RecordingError> {
    guard !isClosed else { return .success(()) }
    (onFailure, readableHandler) = (nil, nil)  // `close` returns the failure to its caller
    if isOpen, problem == nil, let context {
      attempt { () throws(TrackError) in
        try pictures?.finish(into: context)
        try sound?.finish(into: context)
        try TrackError.check(av_write_trailer(context))
      }
    }
    isClosed = true
    let closing = release()
    if kind == .mp4, closing < 0 { fail(RecordingError(path: Self.text(of: url), reason: MediaReader.reason(closing))) }
    if let file, isOpen || problem != nil { problem = file.finish(problem, isPlayable: isOpen) }
    return problem.map { .failure($0) } ?? .success(())
  }

  /// - Returns: FFmpeg's status of writing the remaining bytes: negative if they could not be written.
  @discardableResult
  private func release() -> Int32 {
    (pictures, sound) = (nil, nil)
    guard let context else { return 0 }
    let status = kind == .hls ? 0 : avio_closep(&context.pointee.pb)
    avformat_free_context(context)
    self.context = nil
    return status
  }
}
