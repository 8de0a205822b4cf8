/// The name of a node and of one start of it: `n1#9f2c`. A node that starts again has another incarnation.
package struct NodeID: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// 1 to 64 letters, digits, `.`, `-` and `_`.
  package let name: String
  /// 1 to 64 letters, digits, `.`, `-` and `_`; random.
  package let incarnation: String

  package init?(name: String, incarnation: String) {
    guard Self.isWord(name), Self.isWord(incarnation) else { return nil }
    (self.name, self.incarnation) = (name, incarnation)
  }

  /// - Parameter text: as `description`.
  package init?(_ text: String) {
    let halves = text.split(separator: "#", omittingEmptySubsequences: false)
    guard halves.count == 2 else { return nil }
    self.init(name: String(halves[0]), incarnation: String(halves[1]))
  }

  package var description: String { name + "#" + incarnation }

  package static func < (a: NodeID, b: NodeID) -> Bool { (a.name, a.incarnation) < (b.name, b.incarnation) }

  private static func isWord(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}

extension NodeID: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let id = NodeID(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not NAME#INCARNATION")
    }
    self = id
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

/// The fields that a node publishes about itself with each heartbeat.
///
/// JSON in the ledger. A field that a reader does not know is ignored, and all fields but `id` may be missing, so that nodes of
/// neighbouring versions read each other's records.
package struct NodeRecord: Hashable, Sendable {
  package enum State: String, Sendable, Codable {
    /// Does not know yet what it needs for rooms. Takes none.
    case starting
    case serving
    /// Takes no new rooms, and hands over those that it has.
    case draining
  }

  package var id: NodeID
  /// The state; one that this version does not know counts as `draining`.
  package var state = State.serving
  /// Where participants connect, as `wss://n1.example.com`; nil: the node homes no rooms.
  package var publicAddress: String?
  /// Where other nodes connect, as `10.0.0.1:7311`.
  package var linkAddress: String?
  /// Where media arrives, as `203.0.113.7:7000`.
  package var mediaAddress: String?
  /// Of the certificate of the node's media, as in SDP.
  package var fingerprint: String?
  /// With which other nodes verify the node's proofs (PEM).
  package var publicKey: String?
  /// Nodes and participants of one region are near each other; "" for the only region.
  package var region = ""
  /// Of the log entries and node messages that the node writes and reads.
  package var version = 1
  /// Digest of the keys with which the node checks tokens, or "open" for a node that checks none; with the suffix "-public" for a node
  /// that has none of their private keys. All nodes of a cluster should have the same digest.
  package var keysDigest: String?
  package var load = NodeLoad()

  package init(id: NodeID) { self.id = id }

  /// Whether rooms may be placed on the node.
  package var takesRooms: Bool { state == .serving && publicAddress != nil }

  /// Whether one more room fits, by what the node has published.
  package var hasCapacity: Bool {
    takesRooms && load.value < 1 && load.roomLimit.map { load.rooms < $0 } ?? true
  }
}

/// The load of a node as parts of its capacity.
package struct NodeLoad: Hashable, Sendable, Codable {
  /// The highest of: CPU ÷ 0.8, packets, bits and participants ÷ their limits. 1: the node is full.
  package var value = 0.0
  package var rooms = 0
  package var participants = 0
  /// How many rooms the node may have; nil: it does not say.
  package var roomLimit: Int?

  package init(value: Double = 0, rooms: Int = 0, participants: Int = 0, roomLimit: Int? = nil) {
    (self.value, self.rooms, self.participants) = (value, rooms, participants)
    self.roomLimit = roomLimit
  }

  private enum CodingKeys: String, CodingKey {
    case value, rooms, participants
    case roomLimit = "limit"
  }

  /// Anyone who may write into the ledger may have written a record: larger figures are cut to these, so that they can be added up.
  private static let highest = (value: 100.0, count: 1 << 32)

  private static func count(_ number: Int?) -> Int { min(max(0, number ?? 0), highest.count) }

  package init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    let value = try fields.decodeIfPresent(Double.self, forKey: .value) ?? 0
    self.value = value.isFinite ? min(max(0, value), Self.highest.value) : 1
    rooms = Self.count(try fields.decodeIfPresent(Int.self, forKey: .rooms))
    participants = Self.count(try fields.decodeIfPresent(Int.self, forKey: .participants))
    roomLimit = try fields.decodeIfPresent(Int.self, forKey: .roomLimit).map(Self.count)
  }
}

extension NodeRecord: Codable {
  private enum CodingKeys: String, CodingKey {
    case id, state, region, version, load, fingerprint, keysDigest
    case publicAddress = "public"
    case linkAddress = "link"
    case mediaAddress = "media"
    case publicKey = "key"
  }

  package init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    self.init(id: try fields.decode(NodeID.self, forKey: .id))
    state = State(rawValue: try fields.decodeIfPresent(String.self, forKey: .state) ?? "serving") ?? .draining
    publicAddress = try fields.decodeIfPresent(String.self, forKey: .publicAddress)
    linkAddress = try fields.decodeIfPresent(String.self, forKey: .linkAddress)
    mediaAddress = try fields.decodeIfPresent(String.self, forKey: .mediaAddress)
    fingerprint = try fields.decodeIfPresent(String.self, forKey: .fingerprint)
    publicKey = try fields.decodeIfPresent(String.self, forKey: .publicKey)
    region = try fields.decodeIfPresent(String.self, forKey: .region) ?? ""
    version = try fields.decodeIfPresent(Int.self, forKey: .version) ?? 1
    keysDigest = try fields.decodeIfPresent(String.self, forKey: .keysDigest)
    load = try fields.decodeIfPresent(NodeLoad.self, forKey: .load) ?? NodeLoad()
  }
}

/// A node in the list of the living ones.
package struct ListedNode: Hashable, Sendable {
  package var record: NodeRecord
  /// The time since the ledger received the node's last heartbeat, by the ledger's clock.
  package var silence: Duration

  package init(_ record: NodeRecord, silence: Duration) { (self.record, self.silence) = (record, silence) }
}
