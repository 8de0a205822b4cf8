import KoineRTP
import Testing

struct VP8DescriptorTests {
  /// RFC 7741, section 4.6.1: a key frame in one packet.
  @Test func keyFrameInOnePacketIsRead() throws {
    let bytes = hex("90 80 11 10 0000 9D012A 8002 6801")
    let (descriptor, length) = try vp8(bytes)
    #expect(length == 3)
    #expect(descriptor.startsPartition)
    #expect(descriptor.partition == 0)
    #expect(descriptor.isReference)
    #expect(descriptor.pictureID == 17)
    #expect(descriptor.tl0PictureIndex == nil)
    #expect(descriptor.temporalLayer == nil)
    #expect(descriptor.keyIndex == nil)
    withBlock(bytes.dropFirst(length)) { payload in
      #expect(VP8Descriptor.isKey(payload))
      let size = VP8Descriptor.size(ofKeyFrame: payload)
      #expect(size?.width == 640)
      #expect(size?.height == 360)
    }
  }

  /// RFC 7741, section 4.6.2: an inter frame that others refer to, without a picture id.
  @Test func interFrameWithoutPictureIDIsRead() throws {
    let (descriptor, length) = try vp8(hex("10 11"))
    #expect(length == 1)
    #expect(descriptor.startsPartition)
    #expect(descriptor.partition == 0)
    #expect(descriptor.isReference)
    #expect(descriptor.pictureID == nil)
    withBlock(hex("11")) { #expect(!VP8Descriptor.isKey($0)) }
  }

  /// RFC 7741, section 4.6.3: the first partition and the rest in packets of their own.
  @Test func partitionsInSeparatePacketsAreRead() throws {
    let first = try vp8(hex("90 80 11 00")).0
    #expect(first.startsPartition)
    #expect(first.partition == 0)
    #expect(first.pictureID == 17)
    let second = try vp8(hex("91 80 11 00")).0
    #expect(second.startsPartition)
    #expect(second.partition == 1)
    #expect(second.pictureID == 17)
  }

  /// RFC 7741, section 4.6.4: one partition over several packets.
  @Test func fragmentedPartitionIsRead() throws {
    let starts = try ["90 80 11", "91 80 11", "81 80 11", "81 80 11"].map { try vp8(hex($0)).0 }
    #expect(starts.map(\.startsPartition) == [true, true, false, false])
    #expect(starts.map(\.partition) == [0, 1, 1, 1])
  }

  /// RFC 7741, section 4.6.5: picture id 4711.
  @Test func longPictureIDIsRead() throws {
    let (descriptor, length) = try vp8(hex("90 80 92 67"))
    #expect(length == 4)
    #expect(descriptor.pictureID == 4_711)
  }

  @Test func descriptorWithAllFieldsIsRead() throws {
    let (descriptor, length) = try vp8(hex("B5 F0 FFFF AB FE"))
    #expect(length == 6)
    #expect(!descriptor.isReference)
    #expect(descriptor.startsPartition)
    #expect(descriptor.partition == 5)
    #expect(descriptor.pictureID == 0x7FFF)
    #expect(descriptor.tl0PictureIndex == 0xAB)
    #expect(descriptor.temporalLayer == 3)
    #expect(descriptor.layerSync)
    #expect(descriptor.keyIndex == 30)
  }

  @Test func temporalLayerAndKeyIndexShareAByte() throws {
    let layersOnly = try vp8(hex("80 20 FE")).0
    #expect(layersOnly.temporalLayer == 3)
    #expect(layersOnly.layerSync)
    #expect(layersOnly.keyIndex == nil)
    let keyOnly = try vp8(hex("80 10 FE")).0
    #expect(keyOnly.temporalLayer == nil)
    #expect(!keyOnly.layerSync)
    #expect(keyOnly.keyIndex == 30)
  }

  /// Every combination of fields, whole and cut after each byte.
  @Test func everyCombinationOfFieldsIsReadBackAndTruncatedWhenCut() throws {
    for fields in 0..<32 {
      var descriptor = VP8Descriptor()
      descriptor.startsPartition = fields & 16 == 0
      descriptor.isReference = fields & 16 == 0
      descriptor.partition = UInt8(fields & 7)
      if fields & 1 != 0 { descriptor.pictureID = UInt16(fields * 1_000) }
      if fields & 2 != 0 { descriptor.tl0PictureIndex = UInt8(fields) }
      if fields & 4 != 0 { (descriptor.temporalLayer, descriptor.layerSync) = (2, true) }
      if fields & 8 != 0 { descriptor.keyIndex = 31 }
      let bytes = try #require(written { descriptor.write(to: &$0) })
      let (read, length) = try vp8(bytes)
      #expect(read == descriptor)
      #expect(length == bytes.count)
      for cut in 0..<bytes.count {
        #expect(throws: RTPError.truncated) { try vp8(bytes.prefix(cut)) }
        #expect(written(capacity: cut) { descriptor.write(to: &$0) } == nil)
      }
    }
  }

  private func rewritten(_ text: String, _ id: UInt16?, _ index: UInt8?, _ key: UInt8?) -> [UInt8]? {
    var bytes = hex(text)
    let isDone = bytes.withUnsafeMutableBytes {
      VP8Descriptor.rewrite($0, pictureID: id, tl0PictureIndex: index, keyIndex: key)
    }
    if !isDone { #expect(bytes == hex(text)) }
    return isDone ? bytes : nil
  }

  @Test func frameNumbersAreRewrittenInPlace() {
    #expect(rewritten("B5 F0 8001 02 E3 AAAA", 0x7ABC, 0xCD, 0x1F) == hex("B5 F0 FABC CD FF AAAA"))
    #expect(rewritten("B5 F0 8001 02 E3 AAAA", nil, nil, nil) == hex("B5 F0 8001 02 E3 AAAA"))
    #expect(rewritten("B5 F0 8001 02 E3 AAAA", 5, nil, nil) == hex("B5 F0 8005 02 E3 AAAA"))
  }

  @Test func rewritingKeepsTheLengthOfFields() {
    #expect(rewritten("90 80 11 AA", 0x1234, 1, 1) == hex("90 80 34 AA"))  // 7 bits stay 7 bits
    #expect(rewritten("10 AA", 0x1234, 1, 1) == hex("10 AA"))
    #expect(rewritten("90 20 FF AA", 0x1234, 1, 1) == hex("90 20 FF AA"))  // no key index there
  }

  @Test func rewritingATruncatedDescriptorChangesNothing() {
    for text in ["", "90", "90 80", "90 80 80", "90 C0 8000", "90 E0 8000 01"] {
      #expect(rewritten(text, 1, 1, 1) == nil)
    }
  }

  @Test func frameSizeIsReadFromKeyFramesOnly() {
    let frame = hex("10 0000 9D012A FFFF 00C0")
    withBlock(frame) {
      #expect(VP8Descriptor.size(ofKeyFrame: $0)?.width == 16_383)  // 14 bits, above them the scale
      #expect(VP8Descriptor.size(ofKeyFrame: $0)?.height == 0)
    }
    for cut in 0..<frame.count { withBlock(frame.prefix(cut)) { #expect(VP8Descriptor.size(ofKeyFrame: $0) == nil) } }
    withBlock(hex("11 0000 9D012A FFFF 00C0")) { #expect(VP8Descriptor.size(ofKeyFrame: $0) == nil) }
    withBlock(hex("10 0000 9D012B FFFF 00C0")) { #expect(VP8Descriptor.size(ofKeyFrame: $0) == nil) }
    withBlock([]) { #expect(!VP8Descriptor.isKey($0)) }
  }
}
