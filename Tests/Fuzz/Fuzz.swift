import Glibc
import KoineBase
import KoineCodecs
import KoineJSONCodec
import KoineRTP
import KoineSignaling
@testable import KoineTransport

// One entry for libFuzzer; `KOINE_FUZZ_TARGET` says which parser its bytes go to. Scripts/fuzz builds and runs it.

private typealias Target = @Sendable (UnsafeRawBufferPointer) -> Void

private let targets: [String: Target] = [
  "rtp": { bytes in
    guard let packet = try? RTPPacket(parsing: bytes) else { return }
    _ = HeaderExtensions(packet, in: bytes, map: .koine, names: true)
    _ = packet.payload(in: bytes).count
  },
  "rtcp": { bytes in
    let out = Bytes(capacity: 4_096)
    try? RTCP.forEach(in: bytes) { packet in
      var writer = ByteWriter(out.writable)
      packet.write(to: &writer)
    }
  },
  "vp8": { bytes in
    guard let (descriptor, length) = try? VP8Descriptor.parse(bytes) else { return }
    _ = VP8Descriptor.size(ofKeyFrame: bytes.part(length..<bytes.count))
    let out = Bytes(capacity: 16)
    withExtendedLifetime(out) {
      var writer = ByteWriter(out.writable)
      descriptor.write(to: &writer)
    }
  },
  "vp9": { bytes in
    guard let (descriptor, length) = try? VP9Descriptor.parse(bytes) else { return }
    _ = VP9Descriptor.isKey(bytes.part(length..<bytes.count))
    let out = Bytes(capacity: 2_048)
    var writer = ByteWriter(out.writable)
    descriptor.write(to: &writer)
  },
  "opus": { bytes in
    _ = OpusDecoder.sampleCount(of: bytes)
    guard var decoder = try? OpusDecoder(channels: 1) else { return }
    var pcm = [Int16](repeating: 0, count: OpusDecoder.maximumLength)
    pcm.withUnsafeMutableBufferPointer { pcm in _ = try? decoder.decode(bytes, into: pcm) }
  },
  "stun": { bytes in
    guard let message = try? STUNMessage(parsing: bytes) else { return }
    _ = message.verify(bytes, key: "VOkJxbRl1RmTxUk/WvJxBt")
    _ = STUNMessage.localFragment(ofRequest: bytes)
    let out = Bytes(capacity: 2_048)
    withExtendedLifetime(out) { _ = message.write(into: out.writable, key: "k") }
  },
  "json": { bytes in
    _ = try? ClientMessage(json: bytes)
    if let message = try? ServerMessage(json: bytes) { _ = try? message.json() }
  },
  // Retransmissions as a peer meets them: the prefix, the packet behind it, and the way to a frame.
  "rtx": { bytes in
    let parameters = StreamParameters(
      mid: "v", codec: .vp8, payloadType: 96, rtxPayloadType: 97, encodings: [.init(ssrc: 1, rtxSSRC: 2)])
    guard let packet = try? RTPPacket(parsing: bytes), let original = packet.payload(in: bytes).uint16(at: 0) else {
      return
    }
    var stream = RTPReceiveStream(receiver: ReceiverID(value: 1), parameters: parameters, layer: 0, mode: .frames)
    let datagram = Bytes(Array(bytes))
    let range = (packet.payloadRange.lowerBound + 2)..<packet.payloadRange.upperBound
    if let shared = stream.take(
      datagram, packet, HeaderExtensions(packet, in: datagram.readable, map: .koine), sequence: original,
      payloadRange: range, isRecovered: true, at: .zero)
    {
      stream.assemble(shared, at: .zero) { _ in }
    }
  },
]

private let chosen: Target = {
  let name = getenv("KOINE_FUZZ_TARGET").map { String(cString: $0) } ?? ""
  guard let target = targets[name] else {
    print("KOINE_FUZZ_TARGET must be one of \(targets.keys.sorted().joined(separator: " "))")
    exit(64)
  }
  return target
}()

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  chosen(UnsafeRawBufferPointer(start: data, count: size))
  return 0
}

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ one: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// The package manager takes this for the program's `main`.
@_cdecl("koine_fuzz_main")
public func fuzzMain(_ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> CInt {
  var (count, arguments) = (count, arguments)
  return runDriver(&count, &arguments) { data, size in fuzzOneInput(data, size) }
}
