import KoineJSONCodec
import KoineLedger
import Testing

@Suite struct NodeRecordTests {
  @Test func nodeNamesAreReadBack() throws {
    let id = try #require(NodeID(name: "n1.example", incarnation: "9f"))
    #expect(NodeID(id.description) == id)
    #expect(id.description == "n1.example#9f")
  }

  @Test(arguments: ["", "n1", "#", "n1#", "#9f", "n1#9f#3", "n 1#9f", "n1#ü", String(repeating: "a", count: 65) + "#1"])
  func malformedNodeNamesAreRefused(_ text: String) { #expect(NodeID(text) == nil) }

  @Test func recordsAreReadBack() throws {
    var record = NodeRecord(id: try #require(NodeID("n1#9f")))
    (record.state, record.publicAddress, record.region) = (.draining, "wss://n1", "eu")
    record.load = NodeLoad(value: 0.5, rooms: 3, participants: 12)
    #expect(try JSONCodec.decode(NodeRecord.self, from: JSONCodec.encode(record)) == record)
  }

  @Test func figuresOfARecordAreBounded() throws {
    let text = #"{"id":"n2#1","load":{"value":1e308,"rooms":9223372036854775807,"participants":-5,"limit":-1}}"#
    let load = try JSONCodec.decode(NodeRecord.self, from: Array(text.utf8)).load
    #expect(load == NodeLoad(value: 100, rooms: 1 << 32, participants: 0, roomLimit: 0))
  }

  @Test func nodeHasCapacityBelowBothLimits() throws {
    var record = NodeRecord(id: try #require(NodeID("n1#9f")))
    #expect(!record.hasCapacity, "it has no address")
    record.publicAddress = "wss://n1"
    #expect(record.hasCapacity)
    record.load = NodeLoad(value: 0.5, rooms: 2, roomLimit: 2)
    #expect(!record.hasCapacity)
    record.load = NodeLoad(value: 1, rooms: 1, roomLimit: 2)
    #expect(!record.hasCapacity)
    record.load = NodeLoad(value: 0.9, rooms: 1, roomLimit: 2)
    record.state = .starting
    #expect(!record.hasCapacity)
  }

  @Test func recordsOfOtherVersionsAreRead() throws {
    let text = #"{"id":"n2#1","state":"resting","colour":"red","load":{"value":-3,"heat":2}}"#
    let record = try JSONCodec.decode(NodeRecord.self, from: Array(text.utf8))
    #expect(record.id.name == "n2")
    #expect(record.state == .draining)
    #expect(record.load == NodeLoad())
    #expect(!record.takesRooms)
  }
}
