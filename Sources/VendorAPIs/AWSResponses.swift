import KoineJSONCodec

/// Why an operation of an API of AWS is not done, in the service's terms.
struct AWSError: Error, Hashable {
  var status: Int
  /// With the ending that the service's model has, as `NotFoundException`.
  var code: String
  var message: String

  init(_ status: Int, _ code: String, _ message: String) {
    (self.status, self.code, self.message) = (status, code, message)
  }
}

extension APIResponse {
  /// - Parameter requestID: shown to callers as `ResponseMetadata.RequestId`.
  static func aws(_ status: Int, _ body: (any Encodable)?, requestID: String) -> APIResponse {
    let bytes = body.map { (try? JSONCodec.encode($0)) ?? [] } ?? []
    var headers = [("x-amzn-RequestId", requestID)]
    if !bytes.isEmpty { headers.append(("Content-Type", "application/json")) }
    return APIResponse(status: status, headers: headers, body: bytes)
  }

  static func aws(error: AWSError, body: any Encodable, requestID: String) -> APIResponse {
    var response = aws(error.status, body, requestID: requestID)
    response.headers.append(("x-amzn-ErrorType", error.code))
    if error.status == 503 { response.headers.append(("Retry-After", "1")) }
    return response
  }
}

/// Reads the JSON body of a request.
/// - Throws: the member at fault, in words.
func decodeBody<Body: Decodable>(_ type: Body.Type, _ bytes: [UInt8]) throws(BodyFault) -> Body {
  do {
    return try JSONCodec.decode(
      type, from: bytes.isEmpty ? Array("{}".utf8) : bytes,
      limits: .init(depth: 12, size: APILimits.body, values: 20_000))
  } catch let error as DecodingError {
    switch error {
    case .keyNotFound(let key, let context):
      throw BodyFault(member: (context.codingPath + [key]).text, problem: "is missing")
    case .valueNotFound(_, let context): throw BodyFault(member: context.codingPath.text, problem: "is null")
    case .typeMismatch(_, let context): throw BodyFault(member: context.codingPath.text, problem: "has the wrong type")
    case .dataCorrupted(let context): throw BodyFault(member: context.codingPath.text, problem: "has an invalid value")
    @unknown default: throw BodyFault(member: "", problem: "cannot be read")
    }
  } catch {
    throw BodyFault(member: "", problem: "the body is not JSON")
  }
}

struct BodyFault: Error, Hashable {
  /// The path of the member; empty for the whole body.
  var member: String
  var problem: String

  var text: String { member.isEmpty ? problem : "'\(member)' \(problem)" }
}

extension [any CodingKey] {
  fileprivate var text: String { map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".") }
}
