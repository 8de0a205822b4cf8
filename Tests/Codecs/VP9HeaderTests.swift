import KoineBase
import KoineCodecs
import Testing

/// The size in a VP9 frame header is checked before the decoder allocates.
@Suite struct VP9HeaderTests {
  private let pool = FramePool()
  private static let sync: (Int, Int) = (24, 0x49_8342)

  /// A frame's first bits: (how many, their value).
  private func frame(_ fields: [(Int, Int)]) -> [UInt8] {
    let bits = fields.flatMap { count, value in (0..<count).map { UInt8(value >> (count - 1 - $0) & 1) } }
    return stride(from: 0, to: bits.count, by: 8).map { start in
      (start..<start + 8).reduce(0) { $0 << 1 | ($1 < bits.count ? bits[$1] : 0) }
    }
  }

  private func size(_ bytes: [UInt8]) -> VP9Header.Size? { bytes.withUnsafeBytes { VP9Header.size(of: $0) } }

  /// Refers to the frames 0, 1 and 2, has the size of none of them, and refreshes frame 0.
  private func jump(width: Int, height: Int) -> [UInt8] {
    frame([
      (2, 2), (2, 0), (1, 0), (1, 1), (1, 1), (1, 0), (2, 0), (8, 1), (4, 0), (4, 2), (4, 4), (3, 0), (16, width - 1),
      (16, height - 1), (64, 0),
    ])
  }

  private func encodedFrames(_ count: Int) throws -> [[UInt8]] {
    var encoder = try VideoEncoder(VideoEncoderSettings(codec: .vp9, width: 320, height: 240, bitrate: 200_000))
    return try (0..<count).map {
      try #require(try encoder.encode(scene($0, width: 320, height: 240, pool: pool))).data.array
    }
  }

  private func index(of sizes: [Int]) -> [UInt8] {
    let marker = UInt8(0xC0 | 1 << 3 | (sizes.count - 1))
    return [marker] + sizes.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] } + [marker]
  }

  private final class Screen {
    private var decoder: VideoDecoder
    private let pool = FramePool()

    init() throws { decoder = try VideoDecoder(.vp9, pixelLimit: 4_096 * 2_304) }

    func show(_ bytes: [UInt8]) throws -> String? {
      let frame = try bytes.withUnsafeBytes { try decoder.decode($0, captured: .zero, pool: pool) }
      return frame.map { "\($0.width)×\($0.height)" }
    }
  }

  @Test func frameSizeIsReadFromTheHeader() throws {
    let key = frame([(2, 2), (2, 0), (1, 0), (1, 0), (1, 1), (1, 0), Self.sync, (3, 1), (1, 0), (16, 639), (16, 359)])
    #expect(size(key) == .own(width: 640, height: 360))
    let deep = frame([
      (2, 2), (2, 3), (1, 0), (1, 0), (1, 0), (1, 1), (1, 0), Self.sync, (1, 1), (3, 7), (1, 0), (16, 7), (16, 65_535),
    ])
    #expect(size(deep) == .own(width: 8, height: 65_536), "profile 3, RGB")
    let intra = frame([
      (2, 2), (2, 0), (1, 0), (1, 1), (1, 0), (1, 0), (1, 1), (2, 0), Self.sync, (8, 1), (16, 99), (16, 49),
    ])
    #expect(size(intra) == .own(width: 100, height: 50))
    #expect(size(jump(width: 5_120, height: 3_840)) == .own(width: 5_120, height: 3_840))
    #expect(size(frame([(2, 2), (2, 0), (1, 1), (3, 5)])) == .known, "shown again")
    for cut in [key, deep, intra] { for count in cut.indices { #expect(size(Array(cut.prefix(count))) == nil) } }
    #expect(size([0x42, 0, 0, 0, 0, 0, 0, 0, 0]) == nil)
    let coded = try encodedFrames(3)
    #expect(size(coded[0]) == .own(width: 320, height: 240))
    #expect(coded.dropFirst().allSatisfy { size($0) == .known })
  }

  @Test func superframeIndexDelimitsItsFrames() {
    func frames(_ bytes: [UInt8]) -> [Range<Int>]? { bytes.withUnsafeBytes { VP9Header.frames(of: $0)?.ranges } }
    #expect(frames([0x82, 1, 2]) == [0..<3])
    #expect(frames([0x82, 1, 0x82, 2, 3] + index(of: [2, 3])) == [0..<2, 2..<5])
    #expect(frames([]) == nil)
    #expect(frames([0x82, 1] + index(of: [2, 1])) == nil, "beyond the index")
    #expect(frames([0x82, 1] + index(of: [2, 0])) == nil)
    #expect(frames([0x82, 0xC0]) == nil, "too short for an index")
    #expect(frames([0x82, 1, 2, 1, 0xC0]) == nil, "not the same at its beginning")
  }

  @Test func resizeAboveTheLimitIsRefusedBeforeAllocation() throws {
    let coded = try encodedFrames(3)
    let screen = try Screen()
    #expect(try screen.show(coded[0]) == "320×240")
    let jump = jump(width: 5_120, height: 3_840)  // sixteen times the frames it refers to: the most that is valid
    #expect(throws: CodecError(.unsupported, "a picture of 5120×3840")) { try screen.show(jump) }
    let both = coded[1] + jump
    #expect(throws: CodecError(.unsupported, "a picture of 5120×3840")) {
      try screen.show(both + index(of: [coded[1].count, jump.count]))
    }
    // Without an index only the first frame is decoded.
    #expect(try screen.show(both) == "320×240")
    #expect(try screen.show(coded[2]) == "320×240", "and the decoder goes on")
  }

  @Test func superframesAreDecoded() throws {
    let coded = try encodedFrames(4)
    let screen = try Screen()
    #expect(try screen.show(coded[0]) == "320×240")
    #expect(try screen.show(coded[1] + coded[2] + index(of: [coded[1].count, coded[2].count])) == "320×240")
    #expect(try screen.show(coded[3]) == "320×240")
  }
}
