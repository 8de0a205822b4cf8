import KoineBase
import KoineJSONCodec
import KoineSignaling
import KoineTransport

/// STUN messages: what parses can be written, read again and told from a forgery.
func fuzzSTUN(_ bytes: UnsafeRawBufferPointer) {
  _ = STUNMessage.localFragment(ofRequest: bytes)
  guard let message = try? STUNMessage(parsing: bytes) else { return }
  _ = message.verify(bytes, key: "key")
  guard message.errorCode.map({ $0 < 800 }) ?? true else { return }  // three bits hold the hundreds
  guard (message.username?.utf8.count ?? 0) <= 513 else {
    withRoom(5_000) { require(message.write(into: $0, key: "key") == nil, "no name is that long") }
    return
  }
  withRoom(bytes.count * 3 + 200) { room in
    guard let length = message.write(into: room, key: "key") else {
      require(false, "there is room")
      return
    }
    let written = UnsafeRawBufferPointer(rebasing: room[..<length])
    guard let again = try? STUNMessage(parsing: written) else {
      require(false, "what was written parses")
      return
    }
    require(again.kind == message.kind && again.transaction == message.transaction, "the transaction is the same")
    require(again.username == message.username && again.priority == message.priority, "the attributes are the same")
    require(again.controlling == message.controlling && again.controlled == message.controlled, "the role is the same")
    require(again.usesCandidate == message.usesCandidate && again.errorCode == message.errorCode, "so is the outcome")
    require(again.mappedAddress == message.mappedAddress, "the address is the same")
    require(again.verify(written, key: "key") && !again.verify(written, key: "no"), "only the key verifies it")
    withRoom(bytes.count % length) { require(message.write(into: $0, key: "key") == nil, "too little room is told") }
  }
}

/// JSON: each parsed value can be written and read again.
func fuzzJSON(_ bytes: UnsafeRawBufferPointer) {
  if let value = try? JSONCodec.decode(AnyValue.self, from: bytes) {
    guard let written = try? JSONCodec.encode(value) else {
      require(false, "what was read can be written")
      return
    }
    require((try? JSONCodec.decode(AnyValue.self, from: written)) == value, "the value is the same")
  }
}

/// The messages of the room protocol: each parsed message can be written and read again.
func fuzzSignaling(_ bytes: UnsafeRawBufferPointer) {
  if let message = try? ClientMessage(json: bytes), let written = try? message.json() {
    let again = written.withUnsafeBytes { try? ClientMessage(json: $0) }
    require(again == message, "the client's message is the same")
  }
  if let message = try? ServerMessage(json: bytes), let written = try? message.json() {
    let again = written.withUnsafeBytes { try? ServerMessage(json: $0) }
    require(again == message, "the server's message is the same")
  }
}

/// Session descriptions are parsed or refused; parsed ones can be written and read again.
func fuzzSDP(_ bytes: UnsafeRawBufferPointer) {
  guard let description = try? SessionDescription(parsing: String(decoding: bytes, as: UTF8.self)) else { return }
  _ = try? description.peerDescription()
  _ = description.bundle
  for medium in description.media {
    _ = (medium.mid, medium.direction, medium.extensions.count, medium.sources.count, medium.sentLayers)
    for format in medium.knownFormats { _ = medium.takesFeedback("nack", on: format.payloadType) }
  }
  let again = try? SessionDescription(parsing: description.text)
  require(again == description, "the description is the same")
}

/// Any JSON at all.
private indirect enum AnyValue: Codable, Equatable {
  case null, bool(Bool), signed(Int64), unsigned(UInt64), number(Double), text(String)
  case list([AnyValue])
  case object([String: AnyValue])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .signed(value)
    } else if let value = try? container.decode(UInt64.self) {
      self = .unsigned(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else if let value = try? container.decode([AnyValue].self) {
      self = .list(value)
    } else {
      self = .object(try container.decode([String: AnyValue].self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .signed(let value): try container.encode(value)
    case .unsigned(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .text(let value): try container.encode(value)
    case .list(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}
