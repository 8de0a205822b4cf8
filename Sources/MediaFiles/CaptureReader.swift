import CKoineFFmpeg
import Koine

/// One device that FFmpeg captures, a decoded frame at a time. One owner at a time; reading blocks.
final class CaptureReader {
  private static let devices: Void = avdevice_register_all()

  let width, height: Int
  let framesPerSecond: Double
  private var format: UnsafeMutablePointer<AVFormatContext>?
  private var codec: UnsafeMutablePointer<AVCodecContext>?
  private var packet: UnsafeMutablePointer<AVPacket>?
  private var frame: UnsafeMutablePointer<AVFrame>?
  private let pictures = PictureConverter(limit: 6)

  /// - Parameters:
  ///   - name: FFmpeg's name of the kind of device.
  ///   - options: FFmpeg's options of that kind.
  init(_ name: String, _ url: String, options: [String: String]) throws(DeviceError) {
    Self.devices
    MediaReader.silence
    guard let input = av_find_input_format(name) else { throw .unreadable(url, reason: "FFmpeg has no '\(name)'") }
    var dictionary: OpaquePointer?
    for (key, value) in options { av_dict_set(&dictionary, key, value, 0) }
    var status = avformat_open_input(&format, url, input, &dictionary)
    av_dict_free(&dictionary)
    let opened = Self.openDecoder(format, &codec, &status)
    packet = av_packet_alloc()
    frame = av_frame_alloc()
    guard opened, packet != nil, frame != nil, let codec, (2...4096).contains(codec.pointee.width),
      (2...4096).contains(codec.pointee.height)
    else {
      (width, height, framesPerSecond) = (0, 0, 0)
      let reason = status < 0 ? MediaReader.reason(status) : "it gives no pictures of a usual size"
      free()
      throw .unreadable(url, reason: reason)
    }
    (width, height) = (Int(codec.pointee.width), Int(codec.pointee.height))
    let rate = format?.pointee.streams[0]?.pointee.avg_frame_rate ?? AVRational(num: 30, den: 1)
    framesPerSecond = rate.num > 0 && rate.den > 0 ? Double(rate.num) / Double(rate.den) : 30
  }

  deinit { free() }

  /// Only members that are set are freed.
  private func free() {
    avcodec_free_context(&codec)
    avformat_close_input(&format)
    av_packet_free(&packet)
    av_frame_free(&frame)
  }

  private static func openDecoder(
    _ format: UnsafeMutablePointer<AVFormatContext>?, _ codec: inout UnsafeMutablePointer<AVCodecContext>?,
    _ status: inout Int32
  ) -> Bool {
    guard status >= 0, let format, format.pointee.nb_streams > 0,
      let parameters = format.pointee.streams[0]?.pointee.codecpar,
      let decoder = avcodec_find_decoder(parameters.pointee.codec_id)
    else { return false }
    codec = avcodec_alloc_context3(decoder)
    status = avcodec_parameters_to_context(codec, parameters)
    codec?.pointee.thread_count = 1  // threads of a decoder hold frames back
    if status >= 0 { status = avcodec_open2(codec, decoder, nil) }
    return status >= 0
  }

  /// Waits for the next picture.
  /// - Parameter size: what it is scaled to.
  /// - Returns: nil when the device gives no more.
  func next(size: (width: Int, height: Int), now: () -> Tick) -> VideoFrame? {
    while av_read_frame(format, packet) >= 0 {
      let captured = now()
      defer { av_packet_unref(packet) }
      guard avcodec_send_packet(codec, packet) >= 0, avcodec_receive_frame(codec, frame) >= 0 else { continue }
      if let frame, let picture = pictures.convert(frame, to: size, captured: captured) { return picture }
    }
    return nil
  }
}
