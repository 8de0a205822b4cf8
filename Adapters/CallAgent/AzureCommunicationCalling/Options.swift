public import Foundation
import Koine
public import KoineCallKit

/// The cameras that a call sends from its start. Name of version 1; version 2 has `OutgoingVideoOptions`.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsvideooptions)
public final class VideoOptions: NSObject {
  public let localVideoStreams: [LocalVideoStream]
  public init(localVideoStreams: [LocalVideoStream]) { self.localVideoStreams = localVideoStreams }
}

/// Whether a call starts with a muted microphone. Name of version 1; version 2 has `OutgoingAudioOptions`.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsaudiooptions)
public final class AudioOptions: NSObject {
  public var muted = false
}

/// The streams that a call sends from its start, and limits on them.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsoutgoingvideooptions)
public final class OutgoingVideoOptions: NSObject {
  public var streams: [OutgoingVideoStream] = []
  public var constraints: OutgoingVideoConstraints?
}

/// Limits on the sent video, in pixels, frames per second and bit/s; 0 sets no limit.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/concepts/voice-video-calling/video-constraints)
public final class OutgoingVideoConstraints: NSObject {
  public var maxWidth: Int32 = 0
  public var maxHeight: Int32 = 0
  public var maxFrameRate: Int32 = 0
  public var maxBitRate: Int32 = 0
}

/// How a call receives remote video.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsincomingvideooptions)
public final class IncomingVideoOptions: NSObject {
  /// How others' pictures come: to be rendered, or frame by frame (`rawIncoming`).
  public var streamType = VideoStreamType.remoteIncoming
}

/// Whether a call starts with a muted microphone.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsoutgoingaudiooptions)
public final class OutgoingAudioOptions: NSObject {
  public var muted = false
  /// The processing of the microphone's audio; nil: the usual one of the microphone.
  public var filters: OutgoingAudioFilters?
  /// Starts when the call connects; nil: the machine's microphone.
  public var stream: OutgoingAudioStream?
}

/// Whether a call starts with muted remote audio.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsincomingaudiooptions)
public final class IncomingAudioOptions: NSObject {
  /// Whether remote audio is muted on this client.
  public var muted = false
  /// Starts when the call connects; nil: the machine's loudspeaker.
  public var stream: IncomingAudioStream?
}

/// Audio and video options at the start of a call. The properties of version 1 and of version 2 both have an effect.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscalloptions)
open class CallOptions: NSObject {
  public var incomingVideoOptions: IncomingVideoOptions?
  public var outgoingVideoOptions: OutgoingVideoOptions?
  public var incomingAudioOptions: IncomingAudioOptions?
  public var outgoingAudioOptions: OutgoingAudioOptions?
  public var videoOptions: VideoOptions?
  public var audioOptions: AudioOptions?
  /// The remote side as the phone shows it, for an agent with `CallKitOptions`.
  public var callKitRemoteInfo: CallKitRemoteInfo?

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

/// Options of an outgoing call.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsstartcalloptions)
public final class StartCallOptions: CallOptions {
  /// Kept; there are no telephone numbers to show it to.
  public var alternateCallerId: PhoneNumberIdentifier! {
    didSet { if alternateCallerId != nil { NoEffect.alternateCaller.log() } }
  }
}

/// Options for accepting an incoming call.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsacceptcalloptions)
public final class AcceptCallOptions: CallOptions {}

/// Options for joining a group call, a room or a meeting.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsjoincalloptions)
public final class JoinCallOptions: CallOptions {}

/// Options for adding a phone number to a call.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsaddphonenumberoptions)
public final class AddPhoneNumberOptions: NSObject {
  /// Kept, as that of `StartCallOptions`.
  public var alternateCallerId: PhoneNumberIdentifier! {
    didSet { if alternateCallerId != nil { NoEffect.alternateCaller.log() } }
  }
}

/// Whether hanging up ends the call for all participants.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acshangupoptions)
public final class HangUpOptions: NSObject {
  public var forEveryone = false
}

/// Options of a call agent: the display name of its user, and the CallKit integration.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscallagentoptions)
public final class CallAgentOptions: NSObject {
  public var displayName = ""
  /// The SDK reports the agent's calls to CallKit; nil: it does not.
  public var callKitOptions: CallKitOptions?
  /// Incoming calls reach the agent by `handlePush(notification:)` only.
  public var disableInternalPushForIncomingCall = false
  /// How long a registration for push notifications lasts, in seconds: 300...15,552,000; other values are moved to the nearest of these.
  /// 24 hours unless set.
  public var pushNotificationTtl: TimeInterval = 86_400
}

/// How the SDK reports calls to CallKit. Closures are called on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/how-tos/calling-sdk/callkit-integration)
public final class CallKitOptions: NSObject, @unchecked Sendable {  // filled in before an agent is made with it
  public let providerConfiguration: CXProviderConfiguration
  /// The caller as the phone shows it; nil: the display name and raw id.
  public var provideRemoteInfo: ((CallerInfo) -> CallKitRemoteInfo?)?
  /// Configures the audio session before a call starts or is answered, in the place of the SDK. An error fails the call.
  public var configureAudioSession: (() -> (any Error)?)?
  /// Whether the phone's user can put calls on hold. True unless set.
  public var isCallHoldSupported = true

  public init(with configuration: CXProviderConfiguration) { providerConfiguration = configuration }
}

/// The remote side of a call as the phone shows it.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/how-tos/calling-sdk/callkit-integration)
public final class CallKitRemoteInfo: NSObject, @unchecked Sendable {  // filled in before it is handed over
  public var displayName: String?
  public var handle: CXHandle?
}

/// The app's name, version and tags. They reach the room server with each call, where its operator sees them (`koine rooms show`).
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscalldiagnosticsoptions)
public final class CallDiagnosticsOptions: NSObject {
  public var appName = ""
  public var appVersion = ""
  public var tags: [String] = []

  /// One line such as `Tea 1.2 [beta, ward 3]`, of at most 1,024 bytes of UTF-8; the rest is cut off.
  var text: String {
    let words = [appName, appVersion, tags.isEmpty ? "" : "[\(tags.joined(separator: ", "))]"]
    let line = words.filter { !$0.isEmpty }.joined(separator: " ")
    guard line.utf8.count > 1_024 else { return line }
    var (kept, size) = ("", 0)
    for character in line {
      size += character.utf8.count
      guard size <= 1_024 else { break }
      kept.append(character)
    }
    return kept
  }
}

/// Options of a call client, as they are when the client is made.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscallclientoptions)
public final class CallClientOptions: NSObject {
  public var diagnostics: CallDiagnosticsOptions?
}
