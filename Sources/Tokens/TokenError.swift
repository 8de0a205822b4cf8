/// Why a token is not taken, or could not be made.
public enum TokenError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Longer than anything that is taken, in bytes.
  case tooLarge(limit: Int)
  /// Not the text of a token at all: parts, base64url or JSON.
  case malformed(String)
  /// A claim that must be there is not.
  case missingClaim(String)
  /// A claim is there and makes no sense.
  case invalidClaim(String, reason: String)
  /// The header names an algorithm that is not the key's own, or none that is known here.
  case wrongAlgorithm(String)
  /// No key given has the id that the header names.
  case unknownKey(id: String?)
  /// The signature does not fit the key.
  case badSignature
  /// The key is bound to other kinds of tokens, or to other rooms.
  case keyNotFor(String)
  /// The token has expired.
  case expired(at: NumericDate)
  /// The token is not valid yet.
  case notYetValid(from: NumericDate)
  /// A secret that is too short, or bytes that are no key on the curve.
  case invalidKey(String)
  /// The cryptographic library failed by itself.
  case failed(String)

  public var description: String {
    switch self {
    case .tooLarge(let limit): "longer than \(limit) bytes"
    case .malformed(let reason): "malformed: \(reason)"
    case .missingClaim(let name): "'\(name)' is missing"
    case .invalidClaim(let name, let reason): "'\(name)' \(reason)"
    case .wrongAlgorithm(let name): "signed by '\(name)', which the key is not for"
    case .unknownKey(let id): "no key is called '\(id ?? "")'"
    case .badSignature: "the signature is wrong"
    case .keyNotFor(let what): "the key is not for \(what)"
    case .expired(let date): "expired at \(date)"
    case .notYetValid(let date): "not valid before \(date)"
    case .invalidKey(let reason): "no key: \(reason)"
    case .failed(let what): "\(what) failed"
    }
  }
}
