// What layers that `koine port` writes of the call agent style need for options: the same file for every app.
import Koine

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
