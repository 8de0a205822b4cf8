import KoineRTP
import Testing

struct VP9DescriptorTests {
  /// RFC 9628, section 4.2, non-flexible mode: I P L F B E V Z; id; TID U SID D; TL0PICIDX.
  @Test func descriptorInNonFlexibleModeIsRead() throws {
    let (descriptor, length) = try vp9(hex("EC 92 67 B5 2A"))
    #expect(length == 5)
    #expect(descriptor.isInterPicturePredicted)
    #expect(!descriptor.isFlexible)
    #expect(descriptor.startsFrame)
    #expect(descriptor.endsFrame)
    #expect(!descriptor.isNotReferenceForUpperLayers)
    #expect(descriptor.pictureID == 4_711)
    #expect(descriptor.temporalLayer == 5)
    #expect(descriptor.switchingUp)
    #expect(descriptor.spatialLayer == 2)
    #expect(descriptor.isInterLayerPredicted)
    #expect(descriptor.tl0PictureIndex == 0x2A)
    #expect(descriptor.references.isEmpty)
  }

  @Test func descriptorInFlexibleModeIsRead() throws {
    let (descriptor, length) = try vp9(hex("F1 11 20 03 05 FE"))
    #expect(length == 6)
    #expect(descriptor.isFlexible)
    #expect(descriptor.isInterPicturePredicted)
    #expect(descriptor.isNotReferenceForUpperLayers)
    #expect(!descriptor.startsFrame)
    #expect(!descriptor.endsFrame)
    #expect(descriptor.pictureID == 17)
    #expect(descriptor.temporalLayer == 1)
    #expect(Array(descriptor.references) == [1, 2, 127])
  }

  @Test func moreThanThreeReferencesAreMalformed() {
    #expect(throws: RTPError.malformed) { try vp9(hex("D0 11 03 05 07 08")) }
    #expect(throws: RTPError.malformed) { try vp9(hex("D0 11 03 05 07 09 0A")) }
  }

  @Test func referenceListHoldsThree() {
    var references: VP9Descriptor.References = [1, 2, 3, 4]
    #expect(Array(references) == [1, 2, 3])
    let isTaken = references.append(5)
    #expect(!isTaken)
    #expect(references != [1, 2])
    #expect(references == [1, 2, 3])
    let none: VP9Descriptor.References = []
    #expect(none.isEmpty)
    #expect(none.hashValue == VP9Descriptor.References().hashValue)
  }

  @Test func scalabilityStructureIsRead() throws {
    // Two spatial layers with sizes, a group of two pictures: the second refers to one and two back.
    let bytes = hex("8A 11  38  0140 00B4 0280 0168  02  00  58 01 02  AA")
    let (descriptor, length) = try vp9(bytes)
    #expect(length == bytes.count - 1)
    let scalability = try #require(descriptor.scalability)
    #expect(scalability.layerCount == 2)
    #expect(scalability.sizes.map(\.width) == [320, 640])
    #expect(scalability.sizes.map(\.height) == [180, 360])
    #expect(scalability.group.map(\.temporalLayer) == [0, 2])
    #expect(scalability.group.map(\.switchingUp) == [false, true])
    #expect(scalability.group.map { Array($0.references) } == [[], [1, 2]])
  }

  static let samples: [VP9Descriptor] = {
    var samples: [VP9Descriptor] = []
    for fields in 0..<128 {
      var descriptor = VP9Descriptor()
      if fields & 1 != 0 { descriptor.pictureID = UInt16(fields * 200) }
      descriptor.isInterPicturePredicted = fields & 2 != 0
      descriptor.isFlexible = fields & 4 != 0
      if fields & 8 != 0 {
        (descriptor.temporalLayer, descriptor.spatialLayer) = (UInt8(fields & 7), 7)
        (descriptor.switchingUp, descriptor.isInterLayerPredicted) = (true, fields & 2 != 0)
        if !descriptor.isFlexible { descriptor.tl0PictureIndex = UInt8(fields) }
      }
      if descriptor.isFlexible && descriptor.isInterPicturePredicted {
        descriptor.references = fields & 1 == 0 ? [1] : [1, 127, 64]
      }
      (descriptor.startsFrame, descriptor.endsFrame) = (fields & 16 != 0, fields & 32 != 0)
      descriptor.isNotReferenceForUpperLayers = fields & 16 == 0
      if fields & 64 != 0 {
        descriptor.scalability = .init(
          layerCount: fields & 7 + 1, sizes: [],
          group: (0..<UInt8(fields & 3)).map { .init(temporalLayer: $0, switchingUp: $0 == 1, references: [$0 + 1]) })
        if fields & 16 != 0 {
          descriptor.scalability?.sizes = (0...UInt16(fields & 7)).map { .init(width: $0 * 2, height: .max) }
        }
      }
      samples.append(descriptor)
    }
    return samples
  }()

  @Test(arguments: samples) func descriptorIsReadBackAndTruncatedWhenCut(_ descriptor: VP9Descriptor) throws {
    let bytes = try #require(written { descriptor.write(to: &$0) })
    let (read, length) = try vp9(bytes)
    #expect(read == descriptor)
    #expect(length == bytes.count)
    for cut in 0..<bytes.count {
      #expect(throws: RTPError.truncated) { try vp9(bytes.prefix(cut)) }
      #expect(written(capacity: cut) { descriptor.write(to: &$0) } == nil)
    }
  }

  @Test func interPredictionInFlexibleModeWithoutReferencesIsNotWritten() throws {
    var descriptor = VP9Descriptor()
    (descriptor.isFlexible, descriptor.isInterPicturePredicted) = (true, true)
    let read = try vp9(#require(written { descriptor.write(to: &$0) })).0
    #expect(!read.isInterPicturePredicted)
    #expect(read.isFlexible)
  }

  private func rewritten(_ text: String, _ id: UInt16?, _ index: UInt8?) -> [UInt8]? {
    var bytes = hex(text)
    let isDone = bytes.withUnsafeMutableBytes { VP9Descriptor.rewrite($0, pictureID: id, tl0PictureIndex: index) }
    if !isDone { #expect(bytes == hex(text)) }
    return isDone ? bytes : nil
  }

  @Test func frameNumbersAreRewrittenInPlace() {
    #expect(rewritten("EC 92 67 B5 2A FF", 0x7FFF, 0) == hex("EC FFFF B5 00 FF"))
    #expect(rewritten("AC 12 B5 2A FF", 0x7FFF, 0) == hex("AC 7F B5 00 FF"))
    #expect(rewritten("2C B5 2A FF", 0x7FFF, 0) == hex("2C B5 00 FF"))
    #expect(rewritten("F1 11 20 03 05 FE", 5, 9) == hex("F1 05 20 03 05 FE"))  // flexible mode has no TL0PICIDX
    #expect(rewritten("0C FF", 5, 9) == hex("0C FF"))
    for text in ["", "80", "80 80", "A0 8000", "A0 8000 00", "A0 11 00", "20 00", "B0 11"] {
      #expect(rewritten(text, 1, 1) == nil)
    }
  }

  /// VP9 bitstream specification, 6.2, with and without the reserved bit of profile 3.
  @Test(arguments: [
    ("80", true), ("84", false), ("88", false), ("A0", true), ("90", true), ("B0", true), ("B2", false), ("B4", false),
    ("40", false), ("", false),
  ]) func keyFramesAreRecognisedInTheFrameHeader(_ text: String, _ isKey: Bool) {
    withBlock(hex(text)) { #expect(VP9Descriptor.isKey($0) == isKey) }
  }
}
