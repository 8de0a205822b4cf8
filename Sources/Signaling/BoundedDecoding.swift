import KoineBase

/// Reads fields and bounds their size. Unknown fields are ignored everywhere, so that newer programs may add some.
extension KeyedDecodingContainer {
  func text(_ key: Key, limit: Int = SignalingLimits.name) throws -> String {
    try bounded(try decode(String.self, forKey: key), key, limit)
  }

  func textIfPresent(_ key: Key, limit: Int = SignalingLimits.name) throws -> String? {
    guard let text = try decodeIfPresent(String.self, forKey: key) else { return nil }
    return try bounded(text, key, limit)
  }

  /// A number from zero on.
  func numberIfPresent(_ key: Key, limit: Int) throws -> Int? {
    guard let number = try decodeIfPresent(Int.self, forKey: key) else { return nil }
    guard number >= 0 else { throw SignalingError.malformed("“\(key.stringValue)” is negative") }
    guard number <= limit else { throw SignalingError.tooLarge(field: key.stringValue, limit: limit) }
    return number
  }

  /// A list that may be missing, which means empty. Stops reading as soon as it is too long.
  func list<Element: Decodable>(_ key: Key, limit: Int) throws -> [Element] {
    guard contains(key), try !decodeNil(forKey: key) else { return [] }
    var items = try nestedUnkeyedContainer(forKey: key)
    if let count = items.count, count > limit { throw SignalingError.tooLarge(field: key.stringValue, limit: limit) }
    var result: [Element] = []
    while !items.isAtEnd { result.append(try items.decode(Element.self)) }
    return result
  }

  /// A value of the room's model within its limits.
  func sized<Value: Decodable & SizeLimited>(_ key: Key) throws -> Value {
    let value = try decode(Value.self, forKey: key)
    try value.checkSize(key.stringValue)
    return value
  }

  /// Media of a codec that this version knows; nil for another one, and where there is none.
  func media(_ key: Key) throws -> StreamParameters? {
    guard let named = try decodeIfPresent(NamedCodec.self, forKey: key), Codec(rawValue: named.codec) != nil else {
      return nil
    }
    return try sized(key) as StreamParameters
  }

  /// A list of such values that may be missing, which means empty.
  func sizedList<Element: Decodable & SizeLimited>(_ key: Key, limit: Int) throws -> [Element] {
    let values: [Element] = try list(key, limit: limit)
    for value in values { try value.checkSize(key.stringValue) }
    return values
  }

  /// The tracks of a participant, which may be missing.
  func tracks(_ key: Key, of participant: Participant.ID) throws -> [Track] {
    let tracks = try decodeIfPresent(OwnedTracks.self, forKey: key)?.tracks(of: participant) ?? []
    try checkSize(of: tracks, key.stringValue)
    return tracks
  }

  func names(_ key: Key, limit: Int) throws -> [String] {
    let names: [String] = try list(key, limit: limit)
    for name in names { _ = try bounded(name, key, SignalingLimits.name) }
    return names
  }

  /// Addresses of servers, which may be missing. Addresses that do not begin with `ws://` or `wss://` are left out: a later version
  /// may name further kinds.
  func places(_ key: Key) throws -> [String] {
    try names(key, limit: SignalingLimits.places).filter(SignalingLimits.isPlace)
  }

  /// The address of a server, which may be missing. An address of another kind counts as none.
  func placeIfPresent(_ key: Key) throws -> String? {
    guard let place = try textIfPresent(key), SignalingLimits.isPlace(place) else { return nil }
    return place
  }

  /// Attributes that may be missing, which means none.
  func attributes(_ key: Key) throws -> [String: String] {
    guard contains(key), try !decodeNil(forKey: key) else { return [:] }
    let fields = try nestedContainer(keyedBy: AttributeName.self, forKey: key)
    // Counted before a dictionary is made of them.
    let names = fields.allKeys
    guard names.count <= SignalingLimits.attributes else {
      throw SignalingError.tooLarge(field: key.stringValue, limit: SignalingLimits.attributes)
    }
    var attributes: [String: String] = [:]
    for name in names {
      let value = try fields.decode(String.self, forKey: name)
      attributes[try bounded(name.stringValue, key, SignalingLimits.name)] =
        try bounded(value, key, SignalingLimits.attributeValue)
    }
    return attributes
  }

  /// The message's version. Call it before reading other fields, so that a message of another version is refused with
  /// `unknownVersion` and not because of its other fields.
  func version(_ key: Key) throws -> Int {
    let version = try decode(Int.self, forKey: key)
    guard version == SignalingVersion.current else { throw SignalingError.unknownVersion(version) }
    return version
  }

  private func bounded(_ text: String, _ key: Key, _ limit: Int) throws -> String {
    guard text.utf8.count <= limit else { throw SignalingError.tooLarge(field: key.stringValue, limit: limit) }
    return text
  }
}

extension SignalingLimits {
  /// Whether a text may be the address of a server's signalling.
  package static func isPlace(_ text: String) -> Bool { text.hasPrefix("ws://") || text.hasPrefix("wss://") }
}

extension KeyedEncodingContainer {
  /// Leaves an empty list out, as programs do that know no places.
  mutating func encodePlaces(_ places: [String], forKey key: Key) throws {
    if !places.isEmpty { try encode(places, forKey: key) }
  }
}

private struct AttributeName: CodingKey {
  let stringValue: String
  let intValue: Int? = nil
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

private struct NamedCodec: Decodable {
  let codec: String
}
