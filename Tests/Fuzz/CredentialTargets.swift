import KoineBase
import KoineServer

@testable import KoineTokens

// The readers behind admission: tokens, key sets and PEM from strangers and backends, settings from a server's operator.

private let now = NumericDate(1_700_000_000)
private let secret = [UInt8](repeating: 7, count: 32)

private let signers: [SigningKey] = {
  let keys = try? [
    SigningKey(secret: secret, id: "s"),
    SigningKey(.p256, d: .init(pair.d), x: .init(pair.x), y: .init(pair.y), id: "e"),
  ]
  return keys ?? []
}()

/// RFC 7515, appendix A.3.
private let pair: (d: [UInt8], x: [UInt8], y: [UInt8]) = {
  func bytes(_ text: String) -> [UInt8] { Base64URL.decode(text.utf8) ?? [] }
  return (
    bytes("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"), bytes("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
    bytes("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")
  )
}()

/// The first byte says what the others are.
private enum Form: UInt8, CaseIterable { case text, claims, keySet, privateKey, publicKey }

/// Tokens, key sets and keys: an accepted one was checked once, and can be written and read again.
func fuzzToken(_ bytes: UnsafeRawBufferPointer) {
  guard let first = bytes.first, let form = Form(rawValue: first % UInt8(Form.allCases.count)) else { return }
  let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
  let text = String(decoding: rest, as: UTF8.self)
  switch form {
  case .text: readToken(text)
  case .claims:
    // Signed by us: without that no input would come past the signature.
    for signer in signers {
      if let token = try? JSONWebToken.sign(payload: Array(rest), with: signer) { readToken(token.text) }
    }
  case .keySet: readKeySet(text)
  case .privateKey:
    guard let key = try? SigningKey(pem: text), let pem = try? key.pem else { return }
    require((try? SigningKey(pem: pem)) != nil, "a private key that was read can be written and read again")
    tryKey(key)
  case .publicKey:
    guard let key = try? VerificationKey(pem: text), let pem = try? key.pem else { return }
    require((try? VerificationKey(pem: pem)) != nil, "a public key that was read can be written and read again")
    require((try? key.isSignature([UInt8](repeating: 1, count: 64), of: [1])) == false, "not everything is a signature")
  }
}

private func readToken(_ text: String) {
  let checks = Lock(0)
  let keys = signers.map { signer in
    var key = VerificationKey(of: signer)
    key.willCheck = { checks.withLock { $0 += 1 } }
    return key
  }
  let credential = try? Trust.keys(keys).read(text, at: now)
  require(checks.withLock { $0 } <= 1, "one signature check, as no two keys have one algorithm")
  let unchecked = try? Trust.anybody.read(text, at: now)
  guard let credential else { return }
  require(checks.withLock { $0 } == 1, "nothing is accepted without a signature check")
  require(credential == unchecked, "what is accepted says the same where anybody is trusted")
  require(credential.admission.expiry.map { $0 + 60 > now } ?? true, "it has not expired")
  if let identity = credential.ownIdentity { require(!identity.isEmpty, "an identity has a name") }
}

private func readKeySet(_ text: String) {
  guard let keys = try? KeySet(json: text) else { return }
  guard let json = try? keys.json, let again = try? KeySet(json: json) else {
    return require(false, "a set that was read can be written and read again")
  }
  require(again.keys.map(\.id) == keys.keys.map(\.id), "the keys are the same")
  require(again.keys.map(\.binding) == keys.keys.map(\.binding), "so is what they are bound to")
  if let json = try? keys.publicJSON {
    let publicKeys = try? KeySet(json: json)
    require(publicKeys?.keys.map(\.id) == keys.keys.map(\.id), "so are their public halves")
    require((try? publicKeys?.signingKey) == nil, "which sign nothing")
  }
  if let key = try? keys.signingKey { tryKey(key) }
}

/// What a key signs, its public half checks.
private func tryKey(_ key: SigningKey) {
  guard let token = try? JSONWebToken.sign(payload: Array("{}".utf8), with: key) else { return }
  require((try? token.verify(with: VerificationKey(of: key))) != nil, "the public half is of the same key")
}

/// Files of settings: they are read or refused, and their values are within bounds.
func fuzzSettings(_ bytes: UnsafeRawBufferPointer) {
  let read = try? ServerSettings(options: [:], file: ("koine.json", Array(bytes)))
  guard let settings = read else { return }
  require((0...65_535).contains(settings.port) && !settings.host.isEmpty, "there is something to listen at")
  require(settings.loops.map { (1...64).contains($0) } ?? true, "there are threads, and not too many")
  require(settings.recordingsFree >= 0 && settings.livestreamHosts.allSatisfy { !$0.isEmpty }, "recordings have bounds")
  require(!settings.livestreams || settings.recordings != nil, "live streams need recordings")
  require((try? ServerSettings(options: [:], file: ("koine.json", Array(bytes)))) == settings, "it says so twice")
}

// MARK: Seeds

func tokenSeeds() -> [[UInt8]] {
  let tokens: [any AccessToken] = [
    KoineToken(room: "tea", participantID: "ana", issued: now, expires: now + 60),
    AzureUserToken(identity: "8:acs:ana", issued: now, expires: now + 60),
    IVSStageToken(participantID: "ana", stage: "tea", attributes: ["a": "b"], issued: now, expires: now + 60),
    VideoSDKToken(apiKey: "k", roomID: "tea", participantID: "ana", issued: now, expires: now + 60),
  ]
  let claims =
    tokens.compactMap { try? JSONWebToken.encode($0) } + [
      Array(#"{"MeetingId":"m","AttendeeId":"a","ExternalUserId":"a#A","aud":["b"],"exp":1700000060}"#.utf8)
    ]
  let texts = signers.compactMap { signer in try? tokens.first?.signed(with: signer) }
  var seeds = claims.map { [Form.claims.rawValue] + $0 } + texts.map { [Form.text.rawValue] + Array($0.utf8) }
  let ours = #"{"kty":"oct","kid":"s","k":"\#(Base64URL.encode(secret))","koine":{"kinds":["room"],"rooms":"team-*"}}"#
  let theirs =
    #"{"kty":"EC","kid":"e","crv":"P-256","x":"\#(Base64URL.encode(pair.x))","y":"\#(Base64URL.encode(pair.y))","#
  let sets = [
    #"{"keys":[\#(ours)]}"#, #"{"keys":[\#(theirs)"d":"\#(Base64URL.encode(pair.d))"}]}"#,
    #"{"keys":[\#(theirs)"koine":{"audience":"a"}},\#(ours)]}"#,
  ]
  seeds += sets.map { [Form.keySet.rawValue] + Array($0.utf8) }
  for signer in signers {
    if let pem = try? signer.pem { seeds.append([Form.privateKey.rawValue] + Array(pem.utf8)) }
    if let pem = try? VerificationKey(of: signer).pem { seeds.append([Form.publicKey.rawValue] + Array(pem.utf8)) }
  }
  return seeds
}

func settingsSeeds() -> [[UInt8]] {
  [
    #"{"open": true}"#,
    #"{"keys": "keys.json", "listen": "[::]:9000", "udp": 50000, "loops": 2, "log-level": "debug"}"#,
    #"{"open": true, "address": ["203.0.113.7=10.0.0.2", "::1"], "limits": {"participants": 50, "rooms": 1}}"#,
    #"{"open": true, "recordings": "r", "recordings-free": "2G", "livestream-hosts": ["a", "*"], "livestreams": true}"#,
    #"{"open": true, "tls-certificate": "chain.pem", "tls-key": "key.pem"}"#, #"{"open": false}"#,
  ].map { Array($0.utf8) }
}
