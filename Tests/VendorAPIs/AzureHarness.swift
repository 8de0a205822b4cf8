import KoineAdmissions
import KoineBase
import KoineRouter
import KoineSignaling
import KoineTokens
import Testing

@testable import KoineVendorAPIs

extension APIHarness {
  /// A request signed as Azure's SDKs do it.
  /// - Parameters:
  ///   - signing: the path and query that the signature covers; nil: those that are sent.
  ///   - names: the signed headers, in their order.
  func signedForAzure(
    _ method: String, _ target: String, _ body: String = "", key: [UInt8] = Array("primary key of the resource".utf8),
    signing: String? = nil, names: [String] = ["x-ms-date", "host", "x-ms-content-sha256"]
  ) -> APIRequest {
    let values = [
      "x-ms-date": time.withLock { $0 }.httpDate, "host": "127.0.0.1:8080",
      "x-ms-content-sha256": Base64.encode(Digest.sha256(Array(body.utf8))),
    ]
    let text = "\(method)\n\(signing ?? target)\n\(names.compactMap { values[$0] }.joined(separator: ";"))"
    let signature = Base64.encode(Digest.hmacSHA256(Array(text.utf8), key: key))
    var headers = values.map { (name: $0.key, value: $0.value) }
    headers.append(
      ("Authorization", "HMAC-SHA256 SignedHeaders=\(names.joined(separator: ";"))&Signature=\(signature)"))
    return APIRequest(method: method, target: target, headers: headers, body: Array(body.utf8))
  }

  /// Sends a request with an `api-version`.
  func azure(_ method: String, _ path: String, _ body: String = "") async -> APIResponse {
    await apis.answer(signedForAzure(method, path + (path.contains("?") ? "&" : "?") + "api-version=2025-03-13", body))
  }

  func azureFault(_ method: String, _ path: String, _ body: String = "") async throws -> (Int, AzureFault.Members) {
    let answer = await azure(method, path, body)
    return (answer.status, try answer.decoded(AzureFault.self).error)
  }

  func makeAzureUser() async throws -> (id: String, token: String) {
    let answer = await azure("POST", "/identities", #"{"createTokenWithScopes":["voip"]}"#)
    #expect(answer.status == 201, "\(answer.text)")
    let made = try answer.decoded(AzureMadeIdentity.self)
    return (made.identity.id, try #require(made.accessToken?.token))
  }

  func issueAzureToken(to user: String) async throws -> String {
    let answer = await azure(
      "POST", "/identities/\(PercentEncoding.encode(user))/:issueAccessToken", #"{"scopes":["voip"]}"#)
    #expect(answer.status == 200, "\(answer.text)")
    return try answer.decoded(AzureMadeToken.self).token
  }

  func makeAzureRoom(_ body: String) async throws -> AzureMadeRoom {
    let answer = await azure("POST", "/rooms", body)
    #expect(answer.status == 201, "\(answer.text)")
    return try answer.decoded()
  }

  /// What the room server decides about a join: the token, then the rules.
  /// - Parameter keys: check the token; nil: the keys of the APIs.
  func verdict(_ token: String, room: String, keys: [VerificationKey]? = nil) -> Result<Grants, Failure> {
    let keys = Authorization.tokens(trusting: .keys(keys ?? apis.verificationKeys))
    let join = Join(
      room: room, credential: token, participantID: nil, name: "",
      description: PeerDescription(
        ice: ICECredentials(ufrag: "", password: ""), fingerprint: .init(value: ""), isLite: false, setup: .active))
    return apis.authorization(after: keys).check(join).flatMap { grants in
      switch apis.rules.policy.decide(.init(occasion: .join, join: join, grants: grants, room: nil)) {
      case .admit(let grants), .wait(let grants): return .success(grants)
      case .refuse(let failure): return .failure(failure)
      }
    }
  }

  /// Why a join is refused; nil: it is admitted.
  func refusal(_ token: String, room: String, keys: [VerificationKey]? = nil) -> Failure.Code? {
    if case .failure(let failure) = verdict(token, room: room, keys: keys) { failure.code } else { nil }
  }
}

struct AzureMadeToken: Decodable {
  var token: String
  var expiresOn: String
}

struct AzureMadeIdentity: Decodable {
  struct Members: Decodable { var id: String }
  var identity: Members
  var accessToken: AzureMadeToken?
}

struct AzureMadeRoom: Decodable {
  var id: String
  var validFrom: String
  var validUntil: String
  var pstnDialOutEnabled: Bool
}

struct AzureFault: Decodable {
  struct Members: Decodable {
    struct Detail: Decodable {
      var message: String
      var target: String
    }
    var code: String
    var message: String
    var target: String?
    var details: [Detail]?
  }
  var error: Members
}
