public import Foundation

public final class VideoOptions: NSObject {
  public let localVideoStreams: [LocalVideoStream]
  public init(localVideoStreams: [LocalVideoStream]) { self.localVideoStreams = localVideoStreams }
}

public final class AudioOptions: NSObject {
  public var muted = false
}

public final class OutgoingVideoOptions: NSObject {
  public var streams: [LocalVideoStream] = []
}

public final class OutgoingAudioOptions: NSObject {
  public var muted = false
}

/// What calls begin with. The older and the newer names of the same wishes stand side by side and are taken together.
open class CallOptions: NSObject {
  public var outgoingVideoOptions: OutgoingVideoOptions?
  public var outgoingAudioOptions: OutgoingAudioOptions?
  public var videoOptions: VideoOptions?
  public var audioOptions: AudioOptions?

  /// Apps add a stream each time they turn a camera on: the first counts.
  var camera: LocalVideoStream? { videoOptions?.localVideoStreams.first ?? outgoingVideoOptions?.streams.first }
  var startsMuted: Bool { audioOptions?.muted ?? outgoingAudioOptions?.muted ?? false }
}

public final class StartCallOptions: CallOptions {
  /// Kept; there are no telephone numbers to show it to.
  public var alternateCallerId: PhoneNumberIdentifier!
}

public final class AcceptCallOptions: CallOptions {}

public final class JoinCallOptions: CallOptions {}

public final class HangUpOptions: NSObject {
  public var forEveryone = false
}

public final class CallAgentOptions: NSObject {
  public var displayName = ""
}

public final class CallDiagnosticsOptions: NSObject {
  public var appName = ""
  public var appVersion = ""
  public var tags: [String] = []
}

/// Kept and readable; nothing here reports to anybody.
public final class CallClientOptions: NSObject {
  public var diagnostics: CallDiagnosticsOptions?
}

// MARK: Where to meet

open class JoinMeetingLocator: NSObject {
  let room: String
  init(room: String) { self.room = room }
}

public final class GroupCallLocator: JoinMeetingLocator {
  public let groupId: UUID

  public init(groupId: UUID) {
    self.groupId = groupId
    super.init(room: "group-" + groupId.uuidString.lowercased())
  }
}

public final class RoomCallLocator: JoinMeetingLocator {
  public let roomId: String

  public init(roomId: String) {
    self.roomId = roomId
    super.init(room: roomId)
  }
}
