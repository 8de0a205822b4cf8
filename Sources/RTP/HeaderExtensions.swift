/// Which header extension goes by which number on one connection (RFC 8285).
package struct HeaderExtensionMap: Hashable, Sendable {
  package enum Kind: Int, CaseIterable, Sendable {
    case audioLevel, mid, rid, repairedRID, absoluteSendTime, absoluteCaptureTime, videoOrientation, transportSequence
    case playoutDelay

    /// The name under which it is negotiated.
    package var uri: String {
      switch self {
      case .audioLevel: "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
      case .mid: "urn:ietf:params:rtp-hdrext:sdes:mid"
      case .rid: "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"
      case .repairedRID: "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"
      case .absoluteSendTime: "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
      case .absoluteCaptureTime: "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time"
      case .videoOrientation: "urn:3gpp:video-orientation"
      case .transportSequence: "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
      case .playoutDelay: "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
      }
    }
  }

  private var ids: [UInt8]  // by kind; 0: not in use
  private var kinds: [Kind?]  // by number, for a look-up per element of every packet
  /// Whether a number does not fit a one-byte element header.
  let hasWideIDs: Bool

  /// - Parameter ids: 1...14; above 14, and only where the other side understands two-byte element headers, 15...255.
  package init(_ ids: [Kind: UInt8]) {
    self.ids = Kind.allCases.map { ids[$0] ?? 0 }
    kinds = Array(repeating: nil, count: 256)
    hasWideIDs = ids.values.contains { $0 > 14 }
    for kind in Kind.allCases.reversed() {
      if let id = id(of: kind) { kinds[Int(id)] = kind }
    }
  }

  /// What Koine's programs use between themselves: all but the playout delay, which they choose by themselves.
  package static let koine = HeaderExtensionMap(
    Dictionary(
      uniqueKeysWithValues: Kind.allCases.enumerated().filter { $1 != .playoutDelay }.map { ($1, UInt8($0 + 1)) }))

  package func id(of kind: Kind) -> UInt8? {
    let id = ids[kind.rawValue]
    return id == 0 ? nil : id
  }

  package func kind(of id: UInt8) -> Kind? { kinds[Int(id)] }
}

/// What header extensions say of a packet. The two names are given as bytes on request, so that reading the rest
/// allocates nothing.
package struct HeaderExtensions: Hashable, Sendable {
  /// RFC 6464: −127...0 dBov.
  package var audioLevel: Int8?
  package var voiceActivity = false
  /// Only a stream's first packets have names: as one reference they cost the other packets nothing.
  private var names: Names?
  /// Seconds modulo 64, 6.18 fixed point.
  package var absoluteSendTime: UInt32?
  /// 64-bit NTP time of the capturing system.
  package var absoluteCaptureTime: UInt64?
  /// Estimated offset of the capturing system's clock from the sender's, 32.32 fixed point.
  package var captureClockOffset: Int64?
  /// 3GPP TS 26.114: clockwise quarter turns to apply.
  package var quarterTurns: UInt8?
  package var transportSequence: UInt16?
  /// How long the receiver should hold a video frame back at least, in units of 10 ms, 0...4095.
  package var minimumPlayoutDelay: UInt16?

  package init() {}

  private final class Names: Hashable, Sendable {
    let mid, rid, repairedRID: String?

    init(mid: String?, rid: String?, repairedRID: String?) {
      (self.mid, self.rid, self.repairedRID) = (mid, rid, repairedRID)
    }

    static func == (a: Names, b: Names) -> Bool { (a.mid, a.rid, a.repairedRID) == (b.mid, b.rid, b.repairedRID) }

    func hash(into hasher: inout Hasher) {
      hasher.combine(mid)
      hasher.combine(rid)
      hasher.combine(repairedRID)
    }
  }

  private mutating func setNames(mid: String?, rid: String?, repairedRID: String?) {
    let isNamed = mid != nil || rid != nil || repairedRID != nil
    names = isNamed ? Names(mid: mid, rid: rid, repairedRID: repairedRID) : nil
  }

  package var mid: String? {
    get { names?.mid }
    set { setNames(mid: newValue, rid: rid, repairedRID: repairedRID) }
  }

  package var rid: String? {
    get { names?.rid }
    set { setNames(mid: mid, rid: newValue, repairedRID: repairedRID) }
  }

  package var repairedRID: String? {
    get { names?.repairedRID }
    set { setNames(mid: mid, rid: rid, repairedRID: newValue) }
  }

  /// - Parameter names: whether mid and rids are wanted; reading them allocates.
  package init(
    _ packet: RTPPacket, in bytes: UnsafeRawBufferPointer, map: HeaderExtensionMap, names: Bool = false
  ) {
    packet.forEachExtension(in: bytes) { id, value in
      switch map.kind(of: id) {
      case .audioLevel:
        guard let byte = value.byte(at: 0) else { break }
        voiceActivity = byte & 0x80 != 0
        audioLevel = -Int8(byte & 0x7F)
      case .mid: if names { mid = String(decoding: value, as: UTF8.self) }
      case .rid: if names { rid = String(decoding: value, as: UTF8.self) }
      case .repairedRID: if names { repairedRID = String(decoding: value, as: UTF8.self) }
      case .absoluteSendTime: absoluteSendTime = value.uint24(at: 0)
      case .absoluteCaptureTime:
        absoluteCaptureTime = value.uint64(at: 0)
        captureClockOffset = value.uint64(at: 8).map { Int64(bitPattern: $0) }
      case .videoOrientation: quarterTurns = value.byte(at: 0).map { $0 & 3 }
      case .transportSequence: transportSequence = value.uint16(at: 0)
      case .playoutDelay: minimumPlayoutDelay = value.uint24(at: 0).map { UInt16($0 >> 12 & 0xFFF) }
      case nil: break
      }
      return true
    }
  }
}
