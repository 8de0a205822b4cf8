import CKoineFFmpeg
import Foundation
import Koine

/// Why something could not be coded or written.
struct TrackError: Error, CustomStringConvertible {
  let description: String

  @discardableResult
  static func check(_ status: Int32) throws(TrackError) -> Int32 {
    if status < 0 { throw TrackError(description: MediaReader.reason(status)) }
    return status
  }
}

/// One of a file's tracks with its encoder. One owner, one thread.
private final class Track {
  let codec: UnsafeMutablePointer<AVCodecContext>
  private let stream: UnsafeMutablePointer<AVStream>
  private let packet: UnsafeMutablePointer<AVPacket>
  /// Bytes of packets written so far.
  private(set) var bytes = 0
  /// For how long the writing of packets has taken.
  private(set) var writing = Duration.zero

  /// - Parameter prepare: sets what this kind of encoder wants to know; options go into the dictionary.
  init(
    _ context: UnsafeMutablePointer<AVFormatContext>, _ name: String, hasGlobalHeader: Bool,
    prepare: (UnsafeMutablePointer<AVCodecContext>, inout OpaquePointer?) -> Void
  ) throws(TrackError) {
    guard let encoder = avcodec_find_encoder_by_name(name), let codec = avcodec_alloc_context3(encoder),
      let packet = av_packet_alloc()
    else { throw TrackError(description: "'\(name)' cannot be made") }
    (self.codec, self.packet) = (codec, packet)
    var options: OpaquePointer?
    defer { av_dict_free(&options) }
    prepare(codec, &options)
    if hasGlobalHeader { codec.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER }
    let status = avcodec_open2(codec, encoder, &options)
    guard status >= 0 else {
      throw TrackError(description: "the encoder '\(name)' does not open: \(MediaReader.reason(status))")
    }
    guard let stream = avformat_new_stream(context, nil) else {
      throw TrackError(description: "'\(name)' cannot be made")
    }
    self.stream = stream
    stream.pointee.time_base = codec.pointee.time_base
    try TrackError.check(avcodec_parameters_from_context(stream.pointee.codecpar, codec))
  }

  deinit {
    var (codec, packet): (UnsafeMutablePointer<AVCodecContext>?, UnsafeMutablePointer<AVPacket>?) = (codec, packet)
    avcodec_free_context(&codec)
    av_packet_free(&packet)
  }

  /// - Parameter frame: nil: what the encoder still holds is wanted.
  func encode(_ frame: UnsafeMutablePointer<AVFrame>?, into context: UnsafeMutablePointer<AVFormatContext>)
    throws(TrackError)
  {
    try TrackError.check(avcodec_send_frame(codec, frame))
    while true {
      let status = avcodec_receive_packet(codec, packet)
      if status == koine_again() || status == koine_end_of_file() { return }
      try TrackError.check(status)
      av_packet_rescale_ts(packet, codec.pointee.time_base, stream.pointee.time_base)
      packet.pointee.stream_index = stream.pointee.index
      bytes += Int(packet.pointee.size)
      let start = ContinuousClock.now
      let written = av_interleaved_write_frame(context, packet)  // takes over the packet's data
      writing += ContinuousClock.now - start
      try TrackError.check(written)
    }
  }
}

/// Pictures of one size.
final class PictureTrack {
  /// What all usual rates divide, and MPEG-4 allows.
  private static let clock: Int32 = 60_000
  private let track: Track
  private let frame: UnsafeMutablePointer<AVFrame>
  private let pool = FramePool(limit: 4)
  private let width, height: Int
  /// Whether the bitrate changes while the encoder runs.
  private let isAdaptive: Bool
  private var last = Int64.min

  init(
    _ context: UnsafeMutablePointer<AVFormatContext>, _ encoder: String, _ plan: BroadcastPlan, hasGlobalHeader: Bool,
    isAdaptive: Bool
  ) throws(TrackError) {
    guard let frame = av_frame_alloc() else { throw TrackError(description: "no memory") }
    (self.frame, self.isAdaptive) = (frame, isAdaptive)
    // What halves colour in both directions takes even sizes only.
    (width, height) = (plan.width & ~1, plan.height & ~1)
    let (width, height) = (width, height)
    let keyInterval = max(1, Int32((plan.keyFrameInterval.inSeconds * plan.framesPerSecond).rounded()))
    track = try Track(context, encoder, hasGlobalHeader: hasGlobalHeader) { codec, options in
      (codec.pointee.width, codec.pointee.height) = (Int32(width), Int32(height))
      codec.pointee.pix_fmt = AV_PIX_FMT_YUV420P
      codec.pointee.color_range = AVCOL_RANGE_MPEG
      codec.pointee.colorspace = AVCOL_SPC_SMPTE170M
      codec.pointee.time_base = AVRational(num: 1, den: Self.clock)
      codec.pointee.framerate = AVRational(num: Int32((plan.framesPerSecond * 1_000).rounded()), den: 1_000)
      Self.setBitrate(plan.bitrate, of: codec, isAdaptive)
      codec.pointee.gop_size = keyInterval
      codec.pointee.max_b_frames = plan.usesBFrames ? 2 : 0
      // A call is on the same machine. Encoders that do not know these ignore them.
      av_dict_set(&options, "preset", "superfast", 0)
      if plan.usesBFrames { av_dict_set(&options, "b_strategy", "0", 0) }  // no lookahead decides about them
      av_dict_set(&options, "tune", "zerolatency", 0)
      av_dict_set(&options, "forced-idr", "1", 0)
      av_dict_set(&options, "sc_threshold", "0", 0)  // key frames where they are expected, and nowhere else
    }
  }

  deinit {
    var frame: UnsafeMutablePointer<AVFrame>? = frame
    av_frame_free(&frame)
  }

  /// - Parameter time: since the beginning.
  func encode(_ picture: VideoFrame, at time: Duration, into context: UnsafeMutablePointer<AVFormatContext>)
    throws(TrackError)
  {
    let stamp = time.nanoseconds * 6 / 100_000
    guard stamp > last else { return }
    last = stamp
    let isFitting = picture.width == width && picture.height == height
    try fill(isFitting ? picture : picture.scaled(to: width, height, pool: pool))
    frame.pointee.pts = stamp
    defer { av_frame_unref(frame) }
    try track.encode(frame, into: context)
  }

  func finish(into context: UnsafeMutablePointer<AVFormatContext>) throws(TrackError) {
    try track.encode(nil, into: context)
  }

  /// Bytes of packets written so far.
  var bytes: Int { track.bytes }
  /// For how long the writing of packets has taken.
  var writing: Duration { track.writing }

  /// Encodes the next frames with another bitrate, in bit/s. libx264 takes it over with the next frame; an encoder that cannot change it
  /// while it runs goes on as before.
  func setBitrate(_ bitrate: Int) { Self.setBitrate(bitrate, of: track.codec, isAdaptive) }

  /// libx264 follows a changed bitrate only if the stream began with a constant one, which is its maximum, too.
  private static func setBitrate(_ bitrate: Int, of codec: UnsafeMutablePointer<AVCodecContext>, _ isConstant: Bool) {
    codec.pointee.bit_rate = Int64(bitrate)
    codec.pointee.rc_max_rate = isConstant ? Int64(bitrate) : Int64(bitrate) * 3 / 2
    codec.pointee.rc_buffer_size = Int32(clamping: isConstant ? bitrate : bitrate * 2)
  }

  /// Lends the picture's own memory: an encoder may keep it for a while, and lets go of it by the call below.
  private func fill(_ picture: VideoFrame) throws(TrackError) {
    (frame.pointee.width, frame.pointee.height) = (Int32(width), Int32(height))
    frame.pointee.format = AV_PIX_FMT_YUV420P.rawValue
    let planes = picture.withPlanes { $0 }
    let size = planes.v + planes.chromaStride * planes.chromaHeight - planes.y
    let buffer = av_buffer_create(
      UnsafeMutablePointer(mutating: planes.y), size,
      { picture, _ in Unmanaged<VideoFrame>.fromOpaque(picture!).release() },
      Unmanaged.passRetained(picture).toOpaque(), Int32(AV_BUFFER_FLAG_READONLY))
    guard let buffer else {
      Unmanaged.passUnretained(picture).release()
      throw TrackError(description: "no memory")
    }
    frame.pointee.buf.0 = buffer
    frame.pointee.data.0 = UnsafeMutablePointer(mutating: planes.y)
    frame.pointee.data.1 = UnsafeMutablePointer(mutating: planes.u)
    frame.pointee.data.2 = UnsafeMutablePointer(mutating: planes.v)
    frame.pointee.linesize.0 = Int32(planes.lumaStride)
    frame.pointee.linesize.1 = Int32(planes.chromaStride)
    frame.pointee.linesize.2 = Int32(planes.chromaStride)
    frame.pointee.color_range = AVCOL_RANGE_MPEG
    frame.pointee.colorspace = AVCOL_SPC_SMPTE170M
  }
}

/// Sound at 48 kHz, in as many channels as planned, without gaps: where blocks are missing there is silence.
final class SoundTrack {
  private let track: Track
  private let frame: UnsafeMutablePointer<AVFrame>
  private let channels: Int
  /// For how long the writing of packets has taken.
  var writing: Duration { track.writing }
  /// Whether the encoder takes each channel by itself.
  private let isPlanar: Bool
  /// Received samples, −1...1, interleaved, that do not fill a frame of the encoder yet.
  private var waiting: [Float] = []
  /// The position of the received audio, in samples since the beginning.
  private var position = 0
  private var hasBegun = false
  private var sent = 0
  private let length: Int
  /// What clocks may be apart before it counts as a gap, in samples.
  private static let slack = AudioBlock.sampleRate / 20

  init(
    _ context: UnsafeMutablePointer<AVFormatContext>, _ encoder: String, _ plan: BroadcastPlan, hasGlobalHeader: Bool
  ) throws(TrackError) {
    guard let frame = av_frame_alloc() else { throw TrackError(description: "no memory") }
    self.frame = frame
    let channels = plan.channels
    self.channels = channels
    func makeTrack(_ format: AVSampleFormat) throws(TrackError) -> Track {
      try Track(context, encoder, hasGlobalHeader: hasGlobalHeader) { codec, options in
        if let complexity = plan.audioComplexity {  // encoders ignore the options of others
          av_dict_set(&options, "compression_level", "\(complexity)", 0)
          av_dict_set(&options, "aac_coder", complexity < 5 ? "fast" : "twoloop", 0)
        }
        codec.pointee.sample_fmt = format
        codec.pointee.sample_rate = Int32(AudioBlock.sampleRate)
        av_channel_layout_default(&codec.pointee.ch_layout, Int32(channels))
        codec.pointee.time_base = AVRational(num: 1, den: Int32(AudioBlock.sampleRate))
        codec.pointee.bit_rate = Int64(plan.soundBitrate)
      }
    }
    // AAC takes each channel by itself, libopus all in one; what neither suits does not open.
    if let planar = try? makeTrack(AV_SAMPLE_FMT_FLTP) {
      (track, isPlanar) = (planar, true)
    } else {
      (track, isPlanar) = (try makeTrack(AV_SAMPLE_FMT_FLT), false)
    }
    length = track.codec.pointee.frame_size > 0 ? Int(track.codec.pointee.frame_size) : 1_024
  }

  deinit {
    var frame: UnsafeMutablePointer<AVFrame>? = frame
    av_frame_free(&frame)
  }

  /// - Parameter time: since the beginning; may be before it.
  func encode(_ block: AudioBlock, at time: Duration, into context: UnsafeMutablePointer<AVFormatContext>)
    throws(TrackError)
  {
    let samples = block.with(channels: channels).samples
    let count = samples.count / channels
    let late = Int(time.nanoseconds / 1_000 * 48 / 1_000) - position
    let slack = hasBegun ? Self.slack : 0
    if late > slack {
      let gap = min(late, 60 * AudioBlock.sampleRate)
      waiting.append(contentsOf: repeatElement(0, count: gap * channels))
      position += gap
    }
    // What belongs before the beginning, or where other sound has come already.
    let skipped = late < -slack ? min(-late, count) : 0
    for sample in samples.dropFirst(skipped * channels) { waiting.append(Float(sample) / 32_768) }
    position += count - skipped
    hasBegun = position > 0
    while waiting.count >= length * channels { try encodeWaiting(length, into: context) }
  }

  func finish(into context: UnsafeMutablePointer<AVFormatContext>) throws(TrackError) {
    if !waiting.isEmpty { try encodeWaiting(waiting.count / channels, into: context) }
    try track.encode(nil, into: context)
  }

  /// - Parameter count: of samples per channel.
  private func encodeWaiting(_ count: Int, into context: UnsafeMutablePointer<AVFormatContext>) throws(TrackError) {
    frame.pointee.nb_samples = Int32(count)
    frame.pointee.format = track.codec.pointee.sample_fmt.rawValue
    frame.pointee.sample_rate = Int32(AudioBlock.sampleRate)
    av_channel_layout_default(&frame.pointee.ch_layout, Int32(channels))
    defer { av_frame_unref(frame) }
    try TrackError.check(av_frame_get_buffer(frame, 0))
    fill(count)
    frame.pointee.pts = Int64(sent)
    sent += count
    waiting.removeFirst(count * channels)
    try track.encode(frame, into: context)
  }

  private func fill(_ count: Int) {
    let planes = isPlanar && channels == 2 ? [frame.pointee.data.0, frame.pointee.data.1] : [frame.pointee.data.0]
    let step = planes.count
    for (plane, memory) in planes.enumerated() {
      memory?.withMemoryRebound(to: Float.self, capacity: count * channels / step) { samples in
        for index in 0..<count * channels / step { samples[index] = waiting[index * step + plane] }
      }
    }
  }
}
