import KoineAdmissions
import KoineMedia
import KoineRouter
import KoineSignaling
import KoineTokens
import Testing

@testable import KoineVendorAPIs

/// Calls operations of Amazon IVS RealTime as a back end does, and joins as an app does.
struct IVSCalls {
  let harness: APIHarness

  struct Stage: Decodable {
    var arn: String
    var name: String
    var activeSessionId: String?
    var tags: [String: String]
    var id: String { String(arn.split(separator: "/").last ?? "") }
  }
  struct Token: Decodable {
    var participantId: String
    var token: String
  }
  struct Created: Decodable {
    var stage: Stage
    var participantTokens: [Token]?
  }
  struct Minted: Decodable { var participantToken: Token }
  struct Key: Decodable { var arn: String }
  struct Imported: Decodable { var publicKey: Key }

  func send(_ operation: String, _ body: String = "{}", region: String = "us-east-1") async -> APIResponse {
    await harness.aws("POST", "/" + operation, body, service: "ivs", region: region)
  }

  func call<Answer: Decodable>(_ operation: String, _ body: String = "{}") async throws -> Answer {
    let answer = await send(operation, body)
    #expect(answer.status == 200, "\(operation): \(answer.text)")
    return try answer.decoded()
  }

  /// Status and code of an error.
  func error(_ operation: String, _ body: String = "{}", region: String = "us-east-1") async -> String {
    let answer = await send(operation, body, region: region)
    return "\(answer.status) \(answer.header("x-amzn-ErrorType") ?? "")"
  }

  func createStage(_ body: String = #"{"participantTokenConfigurations":[{}]}"#) async throws -> Created {
    try await call("CreateStage", body)
  }

  /// Imports the public half of a new pair.
  /// - Returns: the key's ARN, and the pair with that ARN as its id.
  func importKey() async throws -> (arn: String, pair: SigningKey) {
    let pair = try SigningKey(generating: .p384)
    let imported: Imported = try await call(
      "ImportPublicKey", #"{"publicKeyMaterial":"\#(try Self.material(of: pair))"}"#)
    let arn = imported.publicKey.arn
    return (arn, try SigningKey(pem: try #require(try pair.pem), id: arn))
  }

  /// The public half of a pair, as a part of a JSON text.
  static func material(of pair: SigningKey) throws -> String {
    try #require(try pair.verificationKey.pem).replacing("\n", with: "\\n")
  }

  /// What `apis` says to a join with this token.
  func verdict(_ token: String, stage: String, by apis: VendorAPIs? = nil) -> Result<Grants, Failure> {
    let apis = apis ?? harness.apis
    let keys = Authorization.tokens(trusting: .keys(apis.verificationKeys))
    let join = Join(
      room: stage, credential: token, participantID: nil, name: "",
      description: PeerDescription(
        ice: ICECredentials(ufrag: "", password: ""), fingerprint: .init(value: ""), isLite: false, setup: .active))
    return apis.authorization(after: keys).check(join).flatMap { grants in
      switch apis.rules.policy.decide(.init(occasion: .join, join: join, grants: grants, room: nil)) {
      case .admit(let grants), .wait(let grants): .success(grants)
      case .refuse(let failure): .failure(failure)
      }
    }
  }

  func refusal(_ token: String, stage: String, by apis: VendorAPIs? = nil) -> Failure.Code? {
    if case .failure(let failure) = verdict(token, stage: stage, by: apis) { failure.code } else { nil }
  }

  /// Another process over the same registry.
  func restarted() async throws -> VendorAPIs {
    let time = harness.time
    let later = VendorAPIs(
      .init(store: harness.store, access: .open, keys: try .makeTemporary(), clock: { time.withLock { $0 } }) { _ in
        .success(.done)
      })
    try await later.load()
    return later
  }

  /// Reports an event of a room, and lets a second pass.
  func report(_ stage: String, _ id: String, _ change: RoomEvent.Change) async {
    harness.apis.observe(RoomEvent(room: stage, epoch: "e", participant: id, change))
    await harness.apis.settle()
    harness.advance(seconds: 1)
  }

  func enter(_ stage: String, _ id: String) async {
    await report(stage, id, .joined(Participant(id: id, name: id)))
  }
}
