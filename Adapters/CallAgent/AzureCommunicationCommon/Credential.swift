public import Foundation
import KoineTokens

public typealias CommunicationTokenCompletionHandler = (CommunicationAccessToken?, (any Error)?) -> Void
public typealias TokenRefreshHandler = (String?, (any Error)?) -> Void
public typealias TokenRefresher = (@escaping TokenRefreshHandler) -> Void

public protocol Cancellable { func cancel() }

/// A token and until when it holds.
public final class CommunicationAccessToken: NSObject, Sendable {
  public let token: String
  public let expiresOn: Date

  public init(token: String, expiresOn: Date) {
    self.token = token
    self.expiresOn = expiresOn
  }
}

/// How an app keeps its token fresh.
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

/// What lets a user in: a fixed token, or one that the app's refresher renews.
///
/// A fixed token's handler is called at once, on the caller's thread, as the vendor does; a refresher is called on a
/// background queue. Signatures are not looked at: that is for the server.
public final class CommunicationTokenCredential: NSObject, Cancellable, @unchecked Sendable {  // `state` under `lock`
  private struct State {
    var token: CommunicationAccessToken?
    var isCancelled = false
  }

  /// Renewed on demand when less is left.
  private static let margin: TimeInterval = 120

  private let lock = NSLock()
  private var state = State()
  private let refresher: TokenRefresher?
  private let refreshing = DispatchQueue(label: "CommunicationTokenCredential", qos: .utility)

  /// - Throws: when the text is no token with a time of expiry; an expired one is taken.
  public init(token: String) throws {
    refresher = nil
    state.token = try AccessTokenParser.parse(token)
  }

  public init(withOptions options: CommunicationTokenRefreshOptions) throws {
    refresher = options.tokenRefresher
    state.token = try options.initialToken.map { try AccessTokenParser.parse($0) }
    super.init()
    if options.refreshProactively { token { _, _ in } }
  }

  public func token(completionHandler: @escaping CommunicationTokenCompletionHandler) {
    let (token, isCancelled) = lock.withLock { (state.token, state.isCancelled) }
    if isCancelled { return completionHandler(nil, Self.error("\(Self.self).token", "a cancelled credential is over")) }
    guard let refresher, (token?.expiresOn.timeIntervalSinceNow ?? 0) < Self.margin else {
      return completionHandler(token, nil)
    }
    nonisolated(unsafe) let (ask, tell) = (refresher, completionHandler)  // handed over to the queue, used there only
    refreshing.async { [self] in
      ask { text, error in
        do {
          if let error { throw error }
          let fresh = try AccessTokenParser.parse(text ?? "")
          guard fresh.expiresOn > Date() else {
            throw Self.error("ThreadSafeRefreshableAccessTokenCache.refreshAccessToken", "the new token is expired")
          }
          self.lock.withLock { self.state.token = fresh }
          tell(fresh, nil)
        } catch {
          tell(nil, error)
        }
      }
    }
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
    lock.withLock {
      state.isCancelled = true
      state.token = nil
    }
  }

  /// The last token, whatever its age; nil before a refresher has given one.
  package var current: CommunicationAccessToken? { lock.withLock { state.token } }

  static func error(_ place: String, _ message: String) -> NSError {
    NSError(
      domain: "AzureCommunicationCommon.\(place)", code: 0,
      userInfo: ["message": message, NSLocalizedDescriptionKey: message])
  }
}

/// Reads what an access token says of itself.
package enum AccessTokenParser {
  static func parse(_ token: String) throws -> CommunicationAccessToken {
    CommunicationAccessToken(
      token: token, expiresOn: Date(timeIntervalSince1970: try claims(of: token).expires.seconds))
  }

  /// Whom the token was given to, as a raw id; nil when it does not say.
  package static func identity(of token: String) -> String? { try? claims(of: token).identity }

  private static func claims(of token: String) throws -> CommunicationUserToken {
    guard token.split(separator: ".", omittingEmptySubsequences: false).count >= 2 else {
      throw CommunicationTokenCredential.error("JwtTokenParser.decodeJwtPayload", "the token has no payload")
    }
    do throws(TokenError) {
      return try CommunicationUserToken.reading(token)
    } catch {
      throw CommunicationTokenCredential.error("JwtTokenParser.convertFromBase64Url", error.description)
    }
  }
}
