import KoineMedia
package import KoineRouter
package import KoineTokens

/// What the APIs of all vendors share.
struct APIContext: Sendable {
  let registry: Registry
  let rules: AdmissionRules
  private let currentKeys: Lock<APITokenKeys>
  private let highestTime = Lock(APITime(milliseconds: 0))
  let identifiers: IdentifierMaker
  let settings: APISettings
  let clock: @Sendable () -> APITime
  let events: EventOutput
  let homes: RoomHomes?
  private let execute: RoomExecution
  private let log: @Sendable (String) -> Void

  init(_ configuration: VendorAPIs.Configuration, rules: AdmissionRules) {
    registry = Registry(store: configuration.store)
    self.rules = rules
    currentKeys = Lock(configuration.keys)
    (settings, clock) = (configuration.settings, configuration.clock)
    identifiers = IdentifierMaker(random: configuration.random)
    (events, homes) = (configuration.events, configuration.homes)
    (execute, log) = (configuration.execute, configuration.log)
  }

  /// The latest time that the clock has shown to this function: later than the clock if that has been set back since.
  func latestTime() -> APITime {
    let now = clock()
    return highestTime.withLock { highest in
      highest = max(highest, now)
      return highest
    }
  }

  var keys: APITokenKeys { currentKeys.withLock { $0 } }

  /// Signs further tokens by other keys.
  func renewKeys(of set: KeySet?) throws(TokenError) {
    let new = try APITokenKeys(of: set, after: keys)
    currentKeys.withLock { $0 = new }
  }

  /// Carries out a command of `RoomControl` in the name of a back end.
  /// - Parameter subject: the access key, resource or API key that signed the request.
  @discardableResult
  func execute(
    _ command: RoomCommand, for subject: String, reason: String? = nil
  ) async -> Result<RoomAnswer, RoomControlError> {
    await execute(request: RoomRequest(command, by: CommandOrigin(.vendorAPI, subject), reason: reason))
  }

  /// Carries out a command of `RoomControl` as it is.
  func execute(request: RoomRequest) async -> Result<RoomAnswer, RoomControlError> {
    let result = await execute(request)
    if case .failure(let error) = result, error.code == .unavailable { CommandOutcome.current?.noteUnavailable() }
    return result
  }

  /// Writes a line to the server's log. It must contain no secret.
  func log(_ text: String) { log(text) as Void }
}

/// Whether commands of the request that is being answered could not reach their room. An operation does not look at the results of
/// its commands, because the registry has the change; but the caller must know that the room has not followed.
final class CommandOutcome: Sendable {
  @TaskLocal static var current: CommandOutcome?

  private let state = Lock(false)

  var isUnavailable: Bool { state.withLock { $0 } }
  func noteUnavailable() { state.withLock { $0 = true } }
}

/// Carries out a command of `RoomControl`.
package typealias RoomExecution = @Sendable (RoomRequest) async -> Result<RoomAnswer, RoomControlError>

/// Settings of the APIs that tests and operators change.
package struct APISettings: Sendable, Equatable {
  /// The authority under which apps reach the server, such as `calls.example:8443`; nil: the one that a request names.
  package var publicAuthority: String?
  /// Seconds after which a meeting of Chime without participants ends.
  package var emptyMeetingSeconds: Int64 = 5 * 60
  /// Seconds for which a meeting of Chime lasts at most, and for which the join tokens of its attendees are valid.
  package var meetingSeconds: Int64 = 24 * 60 * 60
  /// Sessions that are kept for each stage or room.
  package var sessionsPerRoom = 100
  /// Events that are kept for each participant of a session.
  package var eventsPerParticipant = 1_000
  /// Participants of a stage's session of which only refusals are kept. A join may name any id before it is refused.
  package var refusedPerSession = 1_000
  /// Rooms of VideoSDK that no back end has made, and participants of their sessions, with history kept for each API key. Apps name
  /// such rooms as they like.
  package var unmadeRoomsPerKey = 1_000
  package var unmadeVisitsPerKey = 10_000
  /// Recordings that are listed for each room of VideoSDK.
  package var recordingsPerRoom = 1_000
  /// Seconds for which the history of a stage or room is kept.
  package var historySeconds: Int64 = 60 * 24 * 60 * 60

  /// Seconds after which a link of a name is removed by which nobody has joined.
  package var linkSeconds: Int64 = 180 * 24 * 60 * 60

  /// Seconds for which the registry remembers what has ended beyond the last token for it: clocks of servers differ, and a clock may
  /// be set back by an hour.
  package var tombstoneMargin: Int64 = 2 * 60 * 60

  /// Rooms on one page of Azure's list.
  package var azurePage = 100

  package init() {}
}

/// The keys of the tokens that the APIs make. They are not the keys that sign requests.
package struct APITokenKeys: Sendable {
  /// Signs join tokens of Chime and tokens of Azure users: HS256, so that equal claims give equal tokens and none has to be stored.
  package let secret: SigningKey
  /// Signs tokens of stages: ES384, which the vendor's format requires.
  package let pair: SigningKey
  /// Keys that sign no token any more, whose tokens are still valid.
  private let older: [SigningKey]
  /// Keys that no file has. They stay when a file is read again.
  private let temporary: (secret: SigningKey?, pair: SigningKey?)

  /// - Parameters:
  ///   - seed: at least 32 secret bytes. Equal seeds give equal keys `secret`.
  ///   - pair: a key on P-384.
  /// - Throws: `TokenError.invalidKey` for a short seed.
  package init(seed: [UInt8], pair: SigningKey) throws(TokenError) {
    guard seed.count >= 32 else { throw .invalidKey("a seed under 32 bytes") }
    (secret, self.pair, older) = (try Self.secret(of: seed), pair, [])
    temporary = (nil, nil)
  }

  /// Keys that follow from a set of keys, so that tokens stay valid over a restart. The first private key of the set signs; what the
  /// others have signed is still valid. What the set has no private key for is made anew.
  /// - Parameter former: the keys in use until now.
  /// - Throws: `TokenError` if the cryptographic library fails.
  package init(of keys: KeySet?, after former: APITokenKeys? = nil) throws(TokenError) {
    var secrets: [SigningKey] = []
    for key in keys?.signingKeys ?? [] {
      secrets.append(try Self.secret(of: key.derivedSecret(for: "koine back-end APIs")))
    }
    var temporary: (secret: SigningKey?, pair: SigningKey?) = former?.temporary ?? (nil, nil)
    if secrets.isEmpty, temporary.secret == nil { temporary.secret = try Self.secret(of: Self.temporarySeed()) }
    var pairs: [SigningKey] = []
    if let own = try? keys?.signingKey(for: .stageStrategy, room: nil), own.algorithm == .es384 { pairs = [own] }
    if pairs.isEmpty, temporary.pair == nil { temporary.pair = try Self.temporaryPair() }
    secrets += [temporary.secret].compactMap { $0 }
    pairs += [temporary.pair].compactMap { $0 }
    (secret, pair, self.temporary) = (secrets[0], pairs[0], temporary)
    older = Array(secrets.dropFirst() + pairs.dropFirst())
  }

  /// The key's id follows from the seed, so that tokens name the key that has signed them.
  private static func secret(of seed: [UInt8]) throws(TokenError) -> SigningKey {
    let id = Digest.hex(Array(Digest.hmacSHA256(Array("koine key id".utf8), key: seed).prefix(6)))
    return try SigningKey(
      secret: Digest.hmacSHA256(Array("koine join tokens".utf8), key: seed), id: "koine.api.\(id)")
  }

  private static func temporarySeed() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: 0...255) } }

  private static func temporaryPair() throws(TokenError) -> SigningKey {
    try SigningKey(generating: .p384, id: "koine.stages")
  }

  /// Keys that are valid while the process runs.
  /// - Throws: `TokenError.failed` if the cryptographic library makes no key.
  package static func makeTemporary() throws(TokenError) -> APITokenKeys {
    try APITokenKeys(seed: temporarySeed(), pair: temporaryPair())
  }

  /// Check the tokens that the APIs make. They check no token without a key id.
  package var verificationKeys: [VerificationKey] {
    ([secret, pair] + older).compactMap { key in
      var verification = try? key.verificationKey
      verification?.needsKeyID = true
      return verification
    }
  }
}
