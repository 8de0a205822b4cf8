import Foundation
import KoineSignaling
import Testing

/// Messages as version 1 of the room protocol wrote them, in `Golden/1`: `client-TYPE-N.json` and `server-TYPE-N.json`, one
/// message each. They are never changed. A new kind of message gets files of its own: `KOINE_GOLDEN=write swift test --filter
/// GoldenTests` writes those that are missing.
struct GoldenTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/1")

  /// The type of each example with its number among the examples of that type.
  private static func named(_ messages: [[UInt8]], by side: String) throws -> [(name: String, json: Data)] {
    var counts: [String: Int] = [:]
    return try messages.map { bytes in
      let json = Data(bytes)
      let fields = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
      let type = try #require(fields["type"] as? String)
      counts[type, default: 0] += 1
      return ("\(side)-\(type)-\(counts[type]!).json", json)
    }
  }

  private static func examples() throws -> [(name: String, json: Data)] {
    try named(Examples.client.map { try $0.json() }, by: "client")
      + named(Examples.server.map { try $0.json() }, by: "server")
  }

  private static func files(of side: String) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .filter { $0.lastPathComponent.hasPrefix(side + "-") }
      .sorted { $0.lastPathComponent < $1.lastPathComponent }
  }

  @Test(.enabled(if: ProcessInfo.processInfo.environment["KOINE_GOLDEN"] == "write"))
  func examplesWithoutGoldenFileAreWritten() throws {
    for example in try Self.examples() {
      let file = Self.folder.appending(path: example.name)
      if !FileManager.default.fileExists(atPath: file.path) { try (example.json + Data("\n".utf8)).write(to: file) }
    }
  }

  @Test func everyKindOfMessageHasAGoldenFile() throws {
    let names = Set(try (Self.files(of: "client") + Self.files(of: "server")).map(\.lastPathComponent))
    #expect(Set(ClientMessage.types.map { "client-\($0)-1.json" }).subtracting(names) == [])
    #expect(Set(ServerMessage.types.map { "server-\($0)-1.json" }).subtracting(names) == [])
  }

  /// Messages that are written otherwise than they were read: an unknown end reason counts as `removed`, and the media of published
  /// tracks, which no receiver uses, are left out.
  private static let writtenOtherwise = [
    "server-ended-2.json": #"{"type":"ended","reason":"removed"}"#,
    "server-published-1.json":
      #"{"type":"published","participant":"ana","tracks":[{"id":"cam","kind":"camera","muted":true}]}"#,
  ]

  @Test func clientMessagesOfVersion1AreReadAndWrittenWithAllTheirFields() throws {
    let files = try Self.files(of: "client")
    #expect(files.count >= 35)
    for file in files {
      let json = try Data(contentsOf: file)
      let message = try Array(json).withUnsafeBytes { try ClientMessage(json: $0) }
      try expectSame(json, Data(message.json()), file.lastPathComponent)
    }
  }

  @Test func serverMessagesOfVersion1AreReadAndWrittenWithAllTheirFields() throws {
    let files = try Self.files(of: "server")
    #expect(files.count >= 40)
    for file in files {
      let json = try Data(contentsOf: file)
      let message = try Array(json).withUnsafeBytes { try ServerMessage(json: $0) }
      let name = file.lastPathComponent
      try expectSame(Self.writtenOtherwise[name].map { Data($0.utf8) } ?? json, Data(message.json()), name)
    }
  }

  /// Programs and proxies may compare bytes, and a cluster's fields are absent elsewhere.
  @Test func messagesWithoutFieldsOfClustersAreWrittenByteForByteAsBefore() throws {
    let names = (1...3).map { "client-join-\($0).json" } + (1...4).map { "server-joined-\($0).json" }
    for name in names + ["server-refused-1.json", "server-registered-1.json", "server-dataReceipt-1.json"] {
      let json = try Array(Data(contentsOf: Self.folder.appending(path: name)).dropLast())
      let written = try json.withUnsafeBytes {
        name.hasPrefix("client") ? try ClientMessage(json: $0).json() : try ServerMessage(json: $0).json()
      }
      #expect(String(decoding: written, as: UTF8.self) == String(decoding: json, as: UTF8.self), "\(name)")
    }
  }

  @Test func version1ReadsCurrentMessages() throws {
    for message in Examples.client {
      #expect(throws: Never.self) { try Version1.readClientMessage(Data(message.json())) }
    }
    // Clients of version 1 ignore messages of an unknown type, and count them as received.
    let added: Set = ["bandwidth", "permissions", "moved"]
    for message in Examples.server {
      let json = try Data(message.json())
      var fields = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
      if let type = fields["type"] as? String, added.contains(type) { continue }
      // The reader expects one field in `refused` and `registered`. Programs of version 1 ignore a field that they do not know.
      let hadPlaces = fields.removeValue(forKey: "places") != nil
      let read = hadPlaces ? try JSONSerialization.data(withJSONObject: fields) : json
      #expect(throws: Never.self) { try Version1.readServerMessage(read) }
    }
  }

  @Test func version1RejectsMessagesWithoutARequiredField() throws {
    #expect(throws: (any Error).self) { try Version1.readServerMessage(Data(#"{"type":"joined","version":1}"#.utf8)) }
    #expect(throws: (any Error).self) {
      try Version1.readClientMessage(Data(#"{"type":"mute","participant":"ana","muted":true}"#.utf8))
    }
    #expect(throws: (any Error).self) { try Version1.readServerMessage(Data(#"{"type":"newer"}"#.utf8)) }
  }

  /// Whether two messages have the same fields with the same values, in any order.
  private func expectSame(_ old: Data, _ new: Data, _ name: String) throws {
    let before = try #require(try JSONSerialization.jsonObject(with: old) as? NSDictionary)
    let after = try #require(try JSONSerialization.jsonObject(with: new) as? NSDictionary)
    #expect(before == after, "\(name)")
  }
}
