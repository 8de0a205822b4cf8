import Foundation
import Koine

/// The head of a WebM file (EBML, RFC 8794; Matroska, RFC 9559), as FFmpeg writes it. Corrects the codec and size of the video track,
/// which were not known when the head was written.
struct WebMHead {
  struct Pictures: Hashable {
    var codec: Codec
    var width, height: Int
  }

  private struct Element {
    let id: UInt64
    let start: Int
    let content: Range<Int>
  }

  private(set) var bytes: [UInt8]

  /// - Parameter bytes: the file's first, up to the end of its tracks at least.
  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// - Parameter pictures: the codec and size of the recorded video; nil: no video has come, and the video track is removed.
  static func settle(_ path: String, _ pictures: Pictures?) throws {
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    defer { try? file.close() }
    var head = WebMHead(Array(try file.read(upToCount: 4_096) ?? Data()))
    head.settle(pictures)
    try file.seek(toOffset: 0)
    try file.write(contentsOf: Data(head.bytes))
  }

  mutating func settle(_ pictures: Pictures?) {
    let segment = elements(in: 0..<bytes.count).first { $0.id == 0x1853_8067 }
    let tracks = segment.flatMap { elements(in: $0.content).first { $0.id == 0x1654_AE6B } }
    for track in tracks.map({ elements(in: $0.content) }) ?? [] where track.id == 0xAE {
      let parts = elements(in: track.content)
      guard let type = parts.first(where: { $0.id == 0x83 }), bytes[type.content] == [1] else { continue }
      guard let pictures else {
        bytes[track.start] = 0xEC  // Void
        return
      }
      for part in parts {
        if part.id == 0x86 { put(Array(pictures.codec.matroskaID.utf8), at: part) }
        guard part.id == 0xE0 else { continue }
        let sizes: [(id: UInt64, value: Int)] = [(0xB0, pictures.width), (0xBA, pictures.height)]
        for (id, value) in sizes {
          guard let size = elements(in: part.content).first(where: { $0.id == id }) else { continue }
          put([UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)], at: size)
        }
      }
    }
  }

  private mutating func put(_ value: [UInt8], at element: Element) {
    if value.count == element.content.count { bytes.replaceSubrange(element.content, with: value) }
  }

  private func elements(in range: Range<Int>) -> [Element] {
    var found: [Element] = []
    var next = range.lowerBound
    while let id = number(at: next, in: range, keepsMarker: true),
      let length = number(at: id.end, in: range, keepsMarker: false)
    {
      let end = min(length.value, UInt64(range.upperBound - length.end))  // a segment goes on beyond its head
      found.append(Element(id: id.value, start: next, content: length.end..<length.end + Int(end)))
      next = length.end + Int(end)
    }
    return found
  }

  /// RFC 8794, 4: as many bytes as the first has leading zeros, and one.
  private func number(at start: Int, in range: Range<Int>, keepsMarker: Bool) -> (value: UInt64, end: Int)? {
    guard range.contains(start), bytes[start] != 0 else { return nil }
    let length = bytes[start].leadingZeroBitCount + 1
    guard range.upperBound - start >= length else { return nil }
    let first = keepsMarker ? bytes[start] : bytes[start] & UInt8(truncatingIfNeeded: 0xFF >> length)
    let value = bytes[start + 1..<start + length].reduce(UInt64(first)) { $0 << 8 | UInt64($1) }
    return (value, start + length)
  }
}
