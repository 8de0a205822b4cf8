public import Foundation
import Koine

public final class VideoOptions: NSObject {
  public let localVideoStreams: [LocalVideoStream]
  public init(localVideoStreams: [LocalVideoStream]) { self.localVideoStreams = localVideoStreams }
}

public final class AudioOptions: NSObject {
  public var muted = false
}

public final class OutgoingVideoOptions: NSObject {
  public var streams: [OutgoingVideoStream] = []
  public var constraints: OutgoingVideoConstraints?
}

/// Limits on the sent video, in pixels, frames per second and bit/s; 0 sets no limit.
public final class OutgoingVideoConstraints: NSObject {
  public var maxWidth: Int32 = 0
  public var maxHeight: Int32 = 0
  public var maxFrameRate: Int32 = 0
  public var maxBitRate: Int32 = 0
}

public final class IncomingVideoOptions: NSObject {
  /// How others' pictures come: to be rendered, or frame by frame (`rawIncoming`).
  public var streamType = VideoStreamType.remoteIncoming
}

public final class OutgoingAudioOptions: NSObject {
  public var muted = false
  /// The processing of the microphone's audio; nil: the usual one of the microphone.
  public var filters: OutgoingAudioFilters?
  /// Starts when the call connects; nil: the machine's microphone.
  public var stream: OutgoingAudioStream?
}

public final class IncomingAudioOptions: NSObject {
  /// Whether remote audio is muted on this client.
  public var muted = false
  /// Starts when the call connects; nil: the machine's loudspeaker.
  public var stream: IncomingAudioStream?
}

/// What calls begin with. The older and the newer names of the same wishes stand side by side and are taken together.
open class CallOptions: NSObject {
  public var incomingVideoOptions: IncomingVideoOptions?
  public var outgoingVideoOptions: OutgoingVideoOptions?
  public var incomingAudioOptions: IncomingAudioOptions?
  public var outgoingAudioOptions: OutgoingAudioOptions?
  public var videoOptions: VideoOptions?
  public var audioOptions: AudioOptions?

  /// Apps add a stream each time they turn a camera on: the first of each kind counts.
  var pictures: [OutgoingVideoStream] {
    let wished: [OutgoingVideoStream] = (videoOptions?.localVideoStreams ?? []) + (outgoingVideoOptions?.streams ?? [])
    return [VideoStreamSourceType.video, .screenSharing].compactMap { kind in
      wished.first { $0.sourceType == kind }
    }
  }
  var startsMuted: Bool { audioOptions?.muted ?? outgoingAudioOptions?.muted ?? false }
  var startsDeaf: Bool { incomingAudioOptions?.muted ?? false }
}

public final class StartCallOptions: CallOptions {
  /// Kept; there are no telephone numbers to show it to.
  public var alternateCallerId: PhoneNumberIdentifier! {
    didSet { if alternateCallerId != nil { NoEffect.alternateCaller.log() } }
  }
}

public final class AcceptCallOptions: CallOptions {}

public final class JoinCallOptions: CallOptions {}

public final class AddPhoneNumberOptions: NSObject {
  /// Kept, as that of `StartCallOptions`.
  public var alternateCallerId: PhoneNumberIdentifier! {
    didSet { if alternateCallerId != nil { NoEffect.alternateCaller.log() } }
  }
}

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

/// Kept and readable, without effect: Koine reports no diagnostics.
public final class CallClientOptions: NSObject {
  public var diagnostics: CallDiagnosticsOptions? {
    didSet { if diagnostics != nil { NoEffect.diagnostics.log() } }
  }
}
