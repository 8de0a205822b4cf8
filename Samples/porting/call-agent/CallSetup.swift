// What layers that `koine port` writes of the call agent style need for options: the same file for every app.
import Foundation
import Koine
import KoineBackends
import KoineTokens

/// A user's token, or the app's way to one. A token names the identity that it was issued to.
struct RoomCredential {
  typealias Refresher = (@escaping (String?, (any Error)?) -> Void) -> Void
  private let token: String?, refresher: Refresher?
  init(token: String) throws { (self.token, refresher) = (try Self.checked(token).token, nil) }
  init(initialToken: String? = nil, refresher: @escaping Refresher) {
    (token, self.refresher) = (initialToken, refresher)
  }
  init(of other: RoomCredential) throws { self = other }
  private static func checked(_ token: String) throws -> (token: String, identity: String) {
    (token, try AzureUserToken.reading(token).identity ?? UUID().uuidString)
  }
  /// Hands over a token; one that the app fetches comes on the main queue.
  func read(_ completion: @escaping (Result<(token: String, identity: String), any Error>) -> Void) {
    if let token { return completion(Result { try Self.checked(token) }) }
    let delivery: Delivery
    do { delivery = try Backends.world().delivery } catch { return completion(.failure(error)) }
    nonisolated(unsafe) var waiting = Optional(completion)
    refresher? { token, error in
      let result = Result {
        if let error { throw error }
        return try Self.checked(token ?? "")
      }
      delivery.deliver { waiting.take()?(result) }
    }
  }
}

enum AgentCallState { case none, connecting, ringing, inLobby, connected, leaving, ended }

/// What a user, a call or a channel begins with, and how a call ends.
final class CallSetup {
  var name = "", channel: Int32 = 0, endsForAll = false
  /// The options of the microphone and those of the sent videos, where the app makes them apart.
  var audio: CallSetup?, sent: CallSetup?
  private var ownMute = false, ownVideos: [RoomVideo] = []
  var isMuted: Bool {
    get { audio?.isMuted ?? ownMute }
    set { if let audio { audio.isMuted = newValue } else { ownMute = newValue } }
  }
  var videos: [RoomVideo] {
    get { sent?.videos ?? ownVideos }
    set { if let sent { sent.videos = newValue } else { ownVideos = newValue } }
  }
  var video: [RoomVideo]? {
    get { videos }
    set { videos = newValue ?? [] }
  }
}

extension AgentCall {
  func hangUp(setup: CallSetup?, completion: @escaping RoomDone) {
    if setup?.endsForAll == true { session?.closeRoom() }
    hangUp(completion: completion)
  }
}
