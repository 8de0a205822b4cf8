package import KoineJSONCodec

/// Bytes that are not a message.
public struct UnreadableMessage: Error, Hashable, Sendable {
  public var reason: SignalingError
  /// The number under which it asks, where that much can be read: the answer repeats it.
  public var request: Int?

  public init(_ reason: SignalingError, request: Int? = nil) { (self.reason, self.request) = (reason, request) }
}

/// Messages as bytes of JSON.
extension ClientMessage {
  /// What the bytes say, or what their refusal has to say.
  public static func reading(_ json: UnsafeRawBufferPointer) -> Result<ClientMessage, UnreadableMessage> {
    do {
      return try read(Reading.self, json, .clientMessage).result
    } catch {
      return .failure(UnreadableMessage(error))
    }
  }

  /// - Throws: `SignalingError`, for any bytes that are not a message.
  public init(json: UnsafeRawBufferPointer) throws(SignalingError) {
    self = try read(ClientMessage.self, json, .clientMessage)
  }

  public func json() throws(SignalingError) -> [UInt8] { try written(self, limit: SignalingLimits.clientMessage) }
}

extension ServerMessage {
  /// - Throws: `SignalingError`, for any bytes that are not a message.
  public init(json: UnsafeRawBufferPointer) throws(SignalingError) {
    self = try read(ServerMessage.self, json, JSONCodec.Limits(size: SignalingLimits.serverMessage))
  }

  public func json() throws(SignalingError) -> [UInt8] {
    guard case .history(let page) = self else { return try written(self, limit: SignalingLimits.serverMessage) }
    do { return try page.json(limit: SignalingLimits.serverMessage) } catch { throw SignalingError(error) }
  }
}

/// A message, or the request number of an object that is not a valid message.
private struct Reading: Decodable {
  private struct Numbered: Decodable {
    var request: Int?
  }

  let result: Result<ClientMessage, UnreadableMessage>

  init(from decoder: any Decoder) {
    do {
      result = .success(try ClientMessage(from: decoder))
    } catch {
      let request = (try? Numbered(from: decoder))?.request
      result = .failure(UnreadableMessage(SignalingError(error), request: request))
    }
  }
}

private func read<Message: Decodable>(
  _ type: Message.Type, _ json: UnsafeRawBufferPointer, _ limits: JSONCodec.Limits
) throws(SignalingError) -> Message {
  do {
    return try JSONCodec.decode(type, from: json, limits: limits)
  } catch {
    throw SignalingError(error)
  }
}

private func written(_ message: some Encodable, limit: Int) throws(SignalingError) -> [UInt8] {
  do {
    return try JSONCodec.encode(message, limits: JSONCodec.Limits(size: limit))
  } catch {
    throw SignalingError(error)
  }
}

extension JSONCodec.Limits {
  /// Of what strangers send: refused before anything is made of it.
  package static var clientMessage: JSONCodec.Limits {
    JSONCodec.Limits(size: SignalingLimits.clientMessage, values: SignalingLimits.clientValues)
  }
}

extension SignalingError {
  init(_ error: any Error) {
    switch error {
    case let error as SignalingError: self = error
    case JSONError.tooLarge(let limit): self = .tooLarge(field: "message", limit: limit)
    case JSONError.tooMany(let limit): self = .tooLarge(field: "values", limit: limit)
    case JSONError.tooDeep(let limit): self = .tooLarge(field: "depth", limit: limit)
    case JSONError.malformed(let reason, let offset): self = .malformed("\(reason) at byte \(offset)")
    case DecodingError.keyNotFound(let key, let context):
      self = .malformed(Self.text(context, "“\(key.stringValue)” is missing"))
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
      DecodingError.dataCorrupted(let context):
      self = .malformed(Self.text(context, context.debugDescription))
    case EncodingError.invalidValue(_, let context): self = .malformed(context.debugDescription)
    default: self = .malformed("\(error)")
    }
  }

  private static func text(_ context: DecodingError.Context, _ reason: String) -> String {
    guard !context.codingPath.isEmpty else { return reason }
    return context.codingPath.map(\.stringValue).joined(separator: ".") + ": " + reason
  }
}
