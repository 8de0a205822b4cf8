import CKoineOpus
import CKoineVPX
import KoineBase
import KoineCodecs
import KoineRTP

/// VP8 descriptors, beside what libvpx says of the frame behind them.
func fuzzVP8(_ bytes: UnsafeRawBufferPointer) {
  guard let (descriptor, length) = try? VP8Descriptor.parse(bytes) else {
    withCopy(bytes) { copy in
      require(
        !VP8Descriptor.rewrite(copy, pictureID: 1, tl0PictureIndex: 2, keyIndex: 3), "no descriptor, no rewriting")
      require(copy.elementsEqual(bytes), "and nothing changes")
    }
    return
  }
  require((1...6).contains(length) && length <= bytes.count, "a descriptor has 1 to 6 bytes")
  withRoom(6) { room in
    var writer = ByteWriter(room)
    descriptor.write(to: &writer)
    require(!writer.overflowed, "they are enough to write it")
    let again = try? VP8Descriptor.parse(UnsafeRawBufferPointer(rebasing: room[..<writer.count]))
    require(again?.0 == descriptor && again?.length == writer.count, "the descriptor is the same")
  }
  withCopy(bytes) { copy in
    let done = VP8Descriptor.rewrite(copy, pictureID: 0x7654, tl0PictureIndex: 0xAB, keyIndex: 0x15)
    let again = try? VP8Descriptor.parse(UnsafeRawBufferPointer(copy))
    var expected = descriptor
    if descriptor.pictureID != nil { expected.pictureID = bytes[2] & 0x80 != 0 ? 0x7654 : 0x54 }
    if descriptor.tl0PictureIndex != nil { expected.tl0PictureIndex = 0xAB }
    if descriptor.keyIndex != nil { expected.keyIndex = 0x15 }
    require(done && again?.0 == expected && again?.length == length, "only the numbers change")
    require(copy[length...].elementsEqual(bytes[length...]), "and nothing behind them")
  }
  compareFrame(bytes.part(length..<bytes.count))
}

private func compareFrame(_ frame: UnsafeRawBufferPointer) {
  let size = VP8Descriptor.size(ofKeyFrame: frame)
  var told = vpx_codec_stream_info_t()
  told.sz = UInt32(MemoryLayout<vpx_codec_stream_info_t>.size)
  let data = frame.bindMemory(to: UInt8.self)
  let status = vpx_codec_peek_stream_info(vpx_codec_vp8_dx(), data.baseAddress, UInt32(frame.count), &told)
  guard status == VPX_CODEC_OK else { return }
  require((told.is_kf != 0) == VP8Descriptor.isKey(frame), "libvpx sees the same kind of frame")
  guard told.is_kf != 0 else { return }
  require(size.map { $0.width == told.w && $0.height == told.h } ?? false, "libvpx sees the same size")
}

/// VP9 descriptors, beside what libvpx says of the frame behind them.
func fuzzVP9(_ bytes: UnsafeRawBufferPointer) {
  guard let (descriptor, length) = try? VP9Descriptor.parse(bytes) else {
    withCopy(bytes) { _ = VP9Descriptor.rewrite($0, pictureID: 1, tl0PictureIndex: 2) }
    return
  }
  require(length >= 1 && length <= bytes.count, "a descriptor lies within its bytes")
  withRoom(length + 1) { room in  // a picture id of 7 bits is written with 15
    var writer = ByteWriter(room)
    descriptor.write(to: &writer)
    require(!writer.overflowed, "they are enough to write it")
    let again = try? VP9Descriptor.parse(UnsafeRawBufferPointer(rebasing: room[..<writer.count]))
    require(again?.0 == descriptor && again?.length == writer.count, "the descriptor is the same")
  }
  withCopy(bytes) { copy in
    let done = VP9Descriptor.rewrite(copy, pictureID: 0x7654, tl0PictureIndex: 0xAB)
    let again = try? VP9Descriptor.parse(UnsafeRawBufferPointer(copy))
    var expected = descriptor
    if descriptor.pictureID != nil { expected.pictureID = bytes[1] & 0x80 != 0 ? 0x7654 : 0x54 }
    if descriptor.temporalLayer != nil, !descriptor.isFlexible { expected.tl0PictureIndex = 0xAB }
    require(done && again?.0 == expected && again?.length == length, "only the numbers change")
    require(copy[length...].elementsEqual(bytes[length...]), "and nothing behind them")
  }
  let frame = bytes.part(length..<bytes.count)
  var told = vpx_codec_stream_info_t()
  told.sz = UInt32(MemoryLayout<vpx_codec_stream_info_t>.size)
  let data = frame.bindMemory(to: UInt8.self)
  let status = vpx_codec_peek_stream_info(vpx_codec_vp9_dx(), data.baseAddress, UInt32(frame.count), &told)
  guard status == VPX_CODEC_OK else { return }
  if told.is_kf != 0 { require(VP9Descriptor.isKey(frame), "libvpx sees a key frame") }
  if told.w > 0 {
    let size = VP9Header.Size.own(width: Int(told.w), height: Int(told.h))
    require(VP9Header.size(of: frame) == size, "libvpx sees a size of \(told.w)×\(told.h)")
  }
}

/// Whole VP9 pictures behind a good one: whatever they say of their size, no more room is made than the limit allows.
func fuzzVP9Picture(_ bytes: UnsafeRawBufferPointer) {
  let limit = 160 * 90
  let pool = FramePool()
  guard var decoder = try? VideoDecoder(.vp9, pixelLimit: limit) else { return }
  for picture in [vp9Pictures.first ?? [], Array(bytes)] {
    let frame = picture.withUnsafeBytes { try? decoder.decode($0, captured: .zero, pool: pool) }
    if let frame { require(frame.width * frame.height <= limit, "a picture of \(frame.width)×\(frame.height)") }
  }
}

/// A key frame and what follows it, of 96×54.
let vp9Pictures: [[UInt8]] = {
  let pool = FramePool()
  guard var encoder = try? VideoEncoder(VideoEncoderSettings(codec: .vp9, width: 96, height: 54)) else { return [] }
  return (0..<3).compactMap { number in
    let frame = pool.make(width: 96, height: 54, captured: .zero + .milliseconds(33 * number)) { planes in
      for row in 0..<54 {
        for x in 0..<96 { planes.y[row * planes.lumaStride + x] = UInt8((row * x + number * 9) & 255) }
      }
      for row in 0..<planes.chromaHeight {
        for x in 0..<planes.chromaWidth {
          (planes.u[row * planes.chromaStride + x], planes.v[row * planes.chromaStride + x]) = (128, 128)
        }
      }
    }
    return (try? encoder.encode(frame))?.data.array
  }
}()

/// Opus packets, beside what libopus says of them: both take the same ones, and see the same in them. Then the decoder has
/// them.
func fuzzOpus(_ bytes: UnsafeRawBufferPointer) {
  compareOpus(bytes)
  guard var decoder = try? OpusDecoder(channels: 1) else { return }
  var pcm = [Int16](repeating: 0, count: OpusDecoder.maximumLength)
  let length = pcm.withUnsafeMutableBufferPointer { pcm in try? decoder.decode(bytes, into: pcm) }
  if let length, !bytes.isEmpty { require(length == OpusDecoder.sampleCount(of: bytes), "it is as long as it says") }
}

private func compareOpus(_ bytes: UnsafeRawBufferPointer) {
  let payload = try? OpusPayload(parsing: bytes)
  guard let data = bytes.bindMemory(to: UInt8.self).baseAddress, !bytes.isEmpty else {
    require(payload == nil, "nothing is no packet")
    return
  }
  var sizes = [Int16](repeating: 0, count: 48)
  let count = opus_packet_parse(data, Int32(bytes.count), nil, nil, &sizes, nil)
  guard let payload else {
    require(count < 0, "libopus takes \(count) frames")
    return
  }
  require(count == payload.frameCount, "libopus sees \(count) frames, we \(payload.frameCount)")
  require(opus_packet_get_samples_per_frame(data, 48_000) == payload.frameDuration, "of the same duration")
  require(opus_packet_get_nb_samples(data, Int32(bytes.count), 48_000) == payload.duration, "and in all")
  require((opus_packet_get_nb_channels(data) == 2) == payload.isStereo, "on the same channels")
  let bandwidth = Int(opus_packet_get_bandwidth(data)) - Int(OPUS_BANDWIDTH_NARROWBAND)
  require(bandwidth == payload.bandwidth.rawValue, "over the same band")
  require(payload.isDiscontinuous == sizes.prefix(Int(count)).allSatisfy { $0 <= 1 }, "and the same silence")
}
