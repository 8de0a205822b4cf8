public import Foundation
import KoineTokens

public typealias CommunicationTokenCompletionHandler = (CommunicationAccessToken?, (any Error)?) -> Void
public typealias TokenRefreshHandler = (String?, (any Error)?) -> Void
public typealias TokenRefresher = (@escaping TokenRefreshHandler) -> Void

/// An operation that can be cancelled.
///
/// [Vendor reference](https://azure.github.io/azure-sdk-for-ios/AzureCommunicationCommon/Protocols/Cancellable.html)
public protocol Cancellable { func cancel() }

/// A source of access tokens for clients.
///
/// [Vendor reference](https://azure.github.io/azure-sdk-for-ios/AzureCommunicationCommon/Protocols/CommunicationTokenCredentialProviding.html)
public protocol CommunicationTokenCredentialProviding: Cancellable {
  func token(completionHandler: @escaping CommunicationTokenCompletionHandler)
}

/// An access token and its expiry.
///
/// [Vendor reference](https://azure.github.io/azure-sdk-for-ios/AzureCommunicationCommon/Classes/CommunicationAccessToken.html)
public final class CommunicationAccessToken: NSObject, Sendable {
  public let token: String
  public let expiresOn: Date

  public init(token: String, expiresOn: Date) {
    self.token = token
    self.expiresOn = expiresOn
  }
}

/// The app's function that renews tokens, with an optional initial token.
///
/// [Vendor reference](https://azure.github.io/azure-sdk-for-ios/AzureCommunicationCommon/Classes/CommunicationTokenRefreshOptions.html)
public final class CommunicationTokenRefreshOptions: NSObject {
  let initialToken: String?
  let refreshProactively: Bool
  let tokenRefresher: TokenRefresher

  public init(
    initialToken: String? = nil, refreshProactively: Bool = false, tokenRefresher: @escaping TokenRefresher
  ) {
    self.initialToken = initialToken
    self.refreshProactively = refreshProactively
    self.tokenRefresher = tokenRefresher
  }
}

/// A user's credential: a fixed token, or a token that the app's refresher renews.
///
/// For a fixed token the handler is called at once, on the caller's thread, as in the vendor's SDK. A refresher is called on a
/// background queue, once for all waiting handlers. Signatures are not checked here: the server checks them.
///
/// [Vendor reference](https://azure.github.io/azure-sdk-for-ios/AzureCommunicationCommon/Classes/CommunicationTokenCredential.html)
public final class CommunicationTokenCredential: NSObject, CommunicationTokenCredentialProviding, @unchecked Sendable {
  // everything mutable sits in `state`, under `lock`
  private struct State {
    var token: CommunicationAccessToken?
    var isCancelled = false
    /// The handlers that wait for the refresher; nil while no refresh runs.
    var waiting: [CommunicationTokenCompletionHandler]?
    /// Counts plans: only the newest one's timer renews.
    var plan = 0
  }

  /// A token that is valid for at most so many seconds more is renewed before it is given out.
  static let margin: TimeInterval = 120
  /// The same for a credential that renews proactively, which does so without being asked, too.
  static let proactiveMargin: TimeInterval = 600

  private let lock = NSLock()
  private var state = State()
  private let refresher: TokenRefresher?
  private let isProactive: Bool
  private let clock: TokenClock

  /// - Throws: when the text is no token with a time of expiry; an expired one is taken.
  public init(token: String) throws {
    (refresher, isProactive, clock) = (nil, false, .system)
    state.token = try AccessTokenParser.parse(token)
  }

  public convenience init(withOptions options: CommunicationTokenRefreshOptions) throws {
    try self.init(withOptions: options, clock: .system)
  }

  package init(withOptions options: CommunicationTokenRefreshOptions, clock: TokenClock) throws {
    (refresher, isProactive, self.clock) = (options.tokenRefresher, options.refreshProactively, clock)
    state.token = try options.initialToken.map { try AccessTokenParser.parse($0) }
    super.init()
    if isProactive { plan() }
  }

  public func token(completionHandler: @escaping CommunicationTokenCompletionHandler) {
    let (token, isCancelled) = lock.withLock { (state.token, state.isCancelled) }
    if isCancelled { return completionHandler(nil, Self.cancelled) }
    let margin = isProactive ? Self.proactiveMargin : Self.margin
    guard refresher != nil, left(of: token) <= margin else { return completionHandler(token, nil) }
    refresh(completionHandler)
  }

  nonisolated(nonsending) public func token() async throws -> CommunicationAccessToken {
    try await withCheckedThrowingContinuation { done in
      token { token, error in
        if let token {
          done.resume(returning: token)
        } else {
          done.resume(throwing: error ?? CocoaError(.featureUnsupported))
        }
      }
    }
  }

  public func cancel() {
    let waiting = lock.withLock {
      (state.isCancelled, state.token) = (true, nil)
      defer { state.waiting = nil }
      return state.waiting ?? []
    }
    for handler in waiting { handler(nil, Self.cancelled) }
  }

  /// The last token, even if it has expired; nil before a refresher has returned one, and after `cancel()`.
  package var current: CommunicationAccessToken? { lock.withLock { state.token } }

  // MARK: Renewing

  private func left(of token: CommunicationAccessToken?) -> TimeInterval {
    token.map { $0.expiresOn.timeIntervalSince(clock.now()) } ?? 0
  }

  private func refresh(_ completionHandler: @escaping CommunicationTokenCompletionHandler) {
    let isFirst = lock.withLock {
      defer { state.waiting = (state.waiting ?? []) + [completionHandler] }
      return state.waiting == nil
    }
    guard isFirst, let refresher else { return }
    nonisolated(unsafe) let ask = refresher  // handed over to the queue, used there only
    clock.after(0) { [self] in ask { text, error in self.refreshed(text, error) } }
  }

  private func refreshed(_ text: String?, _ error: (any Error)?) {
    let outcome = Result {
      if let error { throw error }
      let fresh = try AccessTokenParser.parse(text ?? "")
      guard left(of: fresh) > 0 else {
        throw Self.error(
          "ThreadSafeRefreshableAccessTokenCache.refreshAccessToken",
          "The token returned from the tokenRefresher is expired.")
      }
      return fresh
    }
    let waiting = lock.withLock {
      defer { state.waiting = nil }
      if !state.isCancelled, case .success(let fresh) = outcome { state.token = fresh }
      return state.waiting ?? []
    }
    for handler in waiting {
      switch outcome {
      case .success(let fresh): handler(fresh, nil)
      case .failure(let error): handler(nil, error)
      }
    }
    if isProactive, case .success = outcome { plan() }
  }

  /// Renews ten minutes before the end; where less is left, at half of that.
  private func plan() {
    let left = left(of: current)
    let delay = left > Self.proactiveMargin ? left - Self.proactiveMargin : max(0, left / 2)
    let plan = lock.withLock {
      state.plan += 1
      return state.plan
    }
    clock.after(delay) { [weak self] in
      guard let self, lock.withLock({ !self.state.isCancelled && self.state.plan == plan }) else { return }
      refresh { _, _ in }
    }
  }

  // MARK: Errors

  private static var cancelled: NSError {
    error(
      "CommunicationTokenCredential.token",
      "An instance of CommunicationTokenCredential cannot be reused once it has been canceled.")
  }

  /// Some apps search `localizedDescription` for the domain, as the vendor's own tests do.
  static func error(_ place: String, _ message: String) -> NSError {
    let domain = "AzureCommunicationCommon.\(place)"
    return NSError(
      domain: domain, code: 0,
      userInfo: ["message": message, NSLocalizedDescriptionKey: "\(message) (\(domain) error 0.)"])
  }
}

/// The time that tokens are measured by, and a way to do something later; tests bring their own.
package struct TokenClock: Sendable {
  package var now: @Sendable () -> Date
  /// Runs `work` after some seconds, never from inside the call.
  package var after: @Sendable (_ delay: TimeInterval, _ work: @escaping @Sendable () -> Void) -> Void

  package init(
    now: @escaping @Sendable () -> Date,
    after: @escaping @Sendable (_ delay: TimeInterval, _ work: @escaping @Sendable () -> Void) -> Void
  ) {
    (self.now, self.after) = (now, after)
  }

  static let system = TokenClock(
    now: { Date() },
    after: { delay, work in queue.asyncAfter(deadline: .now() + delay, execute: work) })
  private static let queue = DispatchQueue(label: "CommunicationTokenCredential", qos: .utility)
}

/// Reads what an access token says of itself.
package enum AccessTokenParser {
  static func parse(_ token: String) throws -> CommunicationAccessToken {
    CommunicationAccessToken(
      token: token, expiresOn: Date(timeIntervalSince1970: try claims(of: token).expires.seconds))
  }

  /// The raw id of the user that the token was issued to; nil if the token has none or cannot be parsed.
  package static func identity(of token: String) -> String? { try? claims(of: token).identity }

  private static func claims(of token: String) throws -> AzureUserToken {
    guard token.split(separator: ".", omittingEmptySubsequences: false).count >= 2 else {
      throw CommunicationTokenCredential.error("JwtTokenParser.decodeJwtPayload", "the token has no payload")
    }
    do throws(TokenError) {
      return try AzureUserToken.reading(token)
    } catch {
      throw CommunicationTokenCredential.error("JwtTokenParser.convertFromBase64Url", error.description)
    }
  }
}
