import Foundation
import Koine
import KoinePeer

/// A message of the relay's protocol: one line of text, a verb and named fields, `publish track=camera-1 kind=camera`. Names and
/// values are percent-encoded.
struct Line {
  let verb: String
  private(set) var fields: [String: String] = [:]

  init(_ verb: String, _ fields: [String: String?] = [:]) {
    self.verb = verb
    self.fields = fields.compactMapValues(\.self)
  }

  init?(parsing text: String) {
    var words = text.split(separator: " ").map(String.init)
    guard !words.isEmpty else { return nil }
    verb = words.removeFirst()
    for word in words {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let name = parts[0].removingPercentEncoding, let value = parts[1].removingPercentEncoding
      else { return nil }
      fields[name] = value
    }
  }

  var text: String {
    ([verb] + fields.sorted { $0.key < $1.key }.map { "\(Self.escape($0.key))=\(Self.escape($0.value))" })
      .joined(separator: " ")
  }

  private static func escape(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
  }

  subscript(_ name: String) -> String? { fields[name] }

  func text(_ name: String) -> String { fields[name] ?? "" }

  // MARK: Values of more than one field

  /// The fields with a prefix in their names, by the rest of the name.
  func map(_ prefix: String) -> [String: String] {
    Dictionary(
      uniqueKeysWithValues: fields.filter { $0.key.hasPrefix(prefix) }.map {
        (String($0.key.dropFirst(prefix.count)), $0.value)
      })
  }

  mutating func set(_ values: [String: String], prefix: String) {
    for (name, value) in values { fields[prefix + name] = value }
  }

  mutating func set(_ description: PeerDescription) {
    fields["ufrag"] = description.ice.ufrag
    fields["password"] = description.ice.password
    fields["fingerprint"] = description.fingerprint.value
    fields["lite"] = description.isLite ? "yes" : "no"
    fields["setup"] = description.setup.rawValue
    for (index, candidate) in description.candidates.enumerated() {
      fields["candidate\(index)"] = "\(candidate.host) \(candidate.port) \(candidate.priority)"
    }
  }

  var description: PeerDescription? {
    guard let ufrag = self["ufrag"], let password = self["password"], let fingerprint = self["fingerprint"],
      let setup = PeerDescription.Setup(rawValue: text("setup"))
    else { return nil }
    let candidates = map("candidate").sorted { $0.key < $1.key }.compactMap { _, value -> ICECandidate? in
      let words = value.split(separator: " ")
      guard words.count == 3, let port = UInt16(words[1]), let priority = UInt32(words[2]) else { return nil }
      return ICECandidate(host: String(words[0]), port: port, kind: .host, priority: priority, foundation: "1")
    }
    return PeerDescription(
      ice: ICECredentials(ufrag: ufrag, password: password), candidates: candidates,
      fingerprint: Fingerprint(algorithm: "sha-256", value: fingerprint), isLite: self["lite"] == "yes", setup: setup)
  }

  mutating func set(_ parameters: StreamParameters) {
    fields["mid"] = parameters.mid
    fields["codec"] = parameters.codec.rawValue
    fields["type"] = String(parameters.payloadType)
    fields["rtx"] = parameters.rtxPayloadType.map(String.init)
    let sources = parameters.encodings.map { "\($0.ssrc) \($0.rtxSSRC ?? 0)" }
    fields["source"] = sources.first
  }

  var parameters: StreamParameters? {
    let sources = text("source").split(separator: " ").compactMap { UInt32($0) }
    guard let mid = self["mid"], let codec = Codec(rawValue: text("codec")), let type = UInt8(text("type")),
      sources.count == 2
    else { return nil }
    return StreamParameters(
      mid: mid, codec: codec, payloadType: type, rtxPayloadType: self["rtx"].flatMap { UInt8($0) },
      encodings: [.init(ssrc: sources[0], rtxSSRC: sources[1] == 0 ? nil : sources[1])])
  }

  var track: Track.ID { Track.ID(participant: text("participant"), track: text("track")) }

  mutating func set(_ track: Track.ID) {
    fields["participant"] = track.participant
    fields["track"] = track.track
  }

  init(_ verb: String, of track: Track.ID, _ fields: [String: String?] = [:]) {
    self.init(verb, fields)
    set(track)
  }
}
