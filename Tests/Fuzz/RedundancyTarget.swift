import KoineRTP

/// Payloads of redundant audio (RFC 2198): blocks lie one behind the other within the payload, and their headers written again are
/// the headers that were read.
func fuzzRED(_ bytes: UnsafeRawBufferPointer) {
  var blocks: [RED.Block] = []
  do throws(RTPError) {
    try RED.forEachBlock(of: 0..<bytes.count, in: bytes) { blocks.append($0) }
  } catch {
    return require(blocks.isEmpty, "nothing is read of a payload that is refused")
  }
  require(blocks.count <= RED.copyLimit + 1, "the number of copies is limited")
  guard let primary = blocks.last else { return require(false, "there is a primary payload") }
  require(primary.offset == 0 && primary.payload.upperBound == bytes.count, "the primary payload is the rest")
  require(blocks.map(\.distance) == Array((0..<blocks.count).reversed()), "copies are numbered by their order")
  let headers = (blocks.count - 1) * RED.copyHeaderLength + RED.primaryHeaderLength
  require(blocks[0].payload.lowerBound == headers, "payloads come behind all headers")
  for (block, next) in zip(blocks, blocks.dropFirst()) {
    require(block.payload.upperBound == next.payload.lowerBound, "payloads leave no gap")
  }
  withRoom(headers) { room in
    var writer = ByteWriter(room)
    for copy in blocks.dropLast() {
      RED.writeCopyHeader(
        payloadType: copy.payloadType, offset: copy.offset, length: copy.payload.count, to: &writer)
    }
    RED.writePrimaryHeader(payloadType: primary.payloadType, to: &writer)
    require(!writer.overflowed && writer.count == headers, "headers take what they took")
    require(room.elementsEqual(bytes.part(0..<headers)), "and are the same")
  }
}
