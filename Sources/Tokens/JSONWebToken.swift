import KoineJSONCodec

/// A signed JSON Web Token (RFC 7519) in the compact form of RFC 7515: `header.payload.signature`.
///
/// `parse` takes any text and gives a token or an error; nothing that a parsed token says is to be believed before
/// `verify` has passed, and nothing that it grants counts before `checkTimes` has. Encryption, `none` and header
/// parameters that must be understood (`crit`) are not taken.
public struct JSONWebToken: Sendable {
  /// The longest token that is taken or made, in bytes.
  public static let sizeLimit = 16_384
  static let jsonLimits = JSONCodec.Limits(depth: 8, size: sizeLimit)

  /// The token in compact form.
  public let text: String
  /// As the header names it; may be one that is not known here.
  public let algorithm: String
  /// Id of the signing key (`kid`); nil if the header names none.
  public let keyID: String?
  /// JSON.
  public let payload: [UInt8]
  let signed: [UInt8]
  let signature: [UInt8]

  private struct Header: Codable {
    var alg: String
    var typ: String?
    var kid: String?
    var crit: [String]?
  }

  /// RFC 7519 sections 4.1.4 to 4.1.6.
  struct Times: Decodable {
    var exp: NumericDate?
    var nbf: NumericDate?
    var iat: NumericDate?

    /// - Throws: `.expired`; `.notYetValid` before `nbf`, or if issued in the future.
    func check(at now: NumericDate, leeway: Double) throws(TokenError) {
      if let exp, now >= exp + leeway { throw .expired(at: exp) }
      if let nbf, now + leeway < nbf { throw .notYetValid(from: nbf) }
      if let iat, now + leeway < iat { throw .notYetValid(from: iat) }
    }
  }

  /// Parses a token in compact form. The signature is not checked.
  /// - Throws: `.tooLarge`, `.malformed`.
  public static func parse(_ text: String) throws(TokenError) -> JSONWebToken {
    let parts = try parts(of: text)
    guard parts.count == 3 else { throw .malformed("three parts are expected, not \(parts.count)") }
    guard let header = Base64URL.decode(parts[0]) else { throw .malformed("the header is not base64url") }
    guard let payload = Base64URL.decode(parts[1]) else { throw .malformed("the payload is not base64url") }
    guard let signature = Base64URL.decode(parts[2]) else { throw .malformed("the signature is not base64url") }
    let fields = try decode(Header.self, from: header)
    guard fields.crit == nil else { throw .malformed("the header has parameters that are not understood") }
    guard payload.first(where: { !isSpace($0) }) == UInt8(ascii: "{") else { throw .malformed("no claims") }
    let signedCount = parts[0].count + 1 + parts[1].count
    return JSONWebToken(
      text: text, algorithm: fields.alg, keyID: fields.kid, payload: payload,
      signed: Array(text.utf8.prefix(signedCount)), signature: signature)
  }

  /// The claims of a text with a payload as its second part; the other parts are ignored. For clients, which cannot check a signature
  /// and need not. The payload may be padded.
  /// - Throws: `.tooLarge`, `.malformed`, `.missingClaim`, `.invalidClaim`.
  public static func uncheckedClaims<Claims: Decodable>(
    _ type: Claims.Type, in text: String
  ) throws(TokenError) -> Claims {
    let parts = try parts(of: text)
    guard parts.count >= 2 else { throw .malformed("a payload is expected after the first dot") }
    guard let payload = Base64URL.decodeLeniently(parts[1]) else { throw .malformed("the payload is not base64url") }
    return try decode(type, from: payload)
  }

  /// Signs claims with a key.
  /// - Throws: `.tooLarge`, `.failed`, `.malformed` for claims that are no JSON.
  public static func sign(_ claims: some Encodable, with key: SigningKey) throws(TokenError) -> JSONWebToken {
    let payload = try encode(claims)
    return try sign(payload: payload, with: key)
  }

  static func sign(payload: [UInt8], with key: SigningKey) throws(TokenError) -> JSONWebToken {
    let header = try encode(Header(alg: key.algorithm.rawValue, typ: "JWT", kid: key.id))
    let signed = Base64URL.encode(header) + "." + Base64URL.encode(payload)
    let signature = try key.sign(Array(signed.utf8))
    let text = signed + "." + Base64URL.encode(signature)
    guard text.utf8.count <= sizeLimit else { throw .tooLarge(limit: sizeLimit) }
    return JSONWebToken(
      text: text, algorithm: key.algorithm.rawValue, keyID: key.id, payload: payload, signed: Array(signed.utf8),
      signature: signature)
  }

  /// Checks the signature with one key.
  /// - Throws: `.wrongAlgorithm` unless the header names the key's own algorithm (RFC 8725 section 3.1), `.unknownKey`
  ///   if the key has an id and the header names another, `.badSignature`.
  public func verify(with key: VerificationKey) throws(TokenError) {
    guard algorithm == key.algorithm.rawValue else { throw .wrongAlgorithm(algorithm) }
    if let id = key.id, let keyID, id != keyID { throw .unknownKey(id: keyID) }
    guard try key.isSignature(signature, of: signed) else { throw .badSignature }
  }

  /// RFC 7519 sections 4.1.4 to 4.1.6. A token without times is always valid.
  /// - Parameter leeway: seconds by which the clocks of both sides may differ.
  /// - Throws: `.expired`; `.notYetValid` before `nbf`, or if issued in the future; `.invalidClaim`.
  public func checkTimes(at now: NumericDate, leeway: Double = 60) throws(TokenError) {
    try claims(as: Times.self).check(at: now, leeway: leeway)
  }

  /// Decodes the payload. Call `verify` before using the claims.
  /// - Throws: `.malformed`, `.missingClaim`, `.invalidClaim`.
  public func claims<Claims: Decodable>(as type: Claims.Type) throws(TokenError) -> Claims {
    try Self.decode(type, from: payload)
  }

  // MARK: Parts

  private static func parts(of text: String) throws(TokenError) -> [Substring.UTF8View] {
    guard text.utf8.count <= sizeLimit else { throw .tooLarge(limit: sizeLimit) }
    return text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

  static func decode<Value: Decodable>(
    _ type: Value.Type, from json: [UInt8], limits: JSONCodec.Limits = jsonLimits
  ) throws(TokenError) -> Value {
    do {
      return try JSONCodec.decode(type, from: json, limits: limits)
    } catch let error as TokenError {
      throw error
    } catch DecodingError.keyNotFound(let key, _) {
      throw .missingClaim(key.stringValue)
    } catch DecodingError.valueNotFound(_, let context), DecodingError.typeMismatch(_, let context),
      DecodingError.dataCorrupted(let context)
    {
      guard let key = context.codingPath.last else { throw .malformed(context.debugDescription) }
      throw .invalidClaim(key.stringValue, reason: context.debugDescription)
    } catch {
      throw .malformed("\(error)")
    }
  }

  static func encode(
    _ value: some Encodable, limits: JSONCodec.Limits = jsonLimits
  ) throws(TokenError) -> [UInt8] {
    do {
      return try JSONCodec.encode(value, limits: limits)
    } catch let error as TokenError {
      throw error
    } catch JSONError.tooLarge {
      throw .tooLarge(limit: limits.size)
    } catch {
      throw .malformed("\(error)")
    }
  }
}
