// What the vendor has and there is nothing behind here. Code that names it is told why when it is compiled.

@available(*, unavailable, message: "CallKit belongs to iOS; calls ring through CallAgentDelegate")
public final class CallKitOptions {}
@available(*, unavailable, message: "CallKit belongs to iOS")
public final class CallKitRemoteInfo {}
@available(*, unavailable, message: "there are no emergency services to reach")
public final class EmergencyCallOptions {}
@available(*, unavailable, message: "the backend is chosen by KOINE_BACKEND; it has its own way through networks")
public final class CallNetworkOptions {}
@available(*, unavailable, message: "the backend is chosen by KOINE_BACKEND; it has its own way through networks")
public final class IceServer {}
@available(*, unavailable, message: "nothing is written that could be sent to a vendor")
public final class CallDebugInfo {}
@available(*, unavailable, message: "Teams is not reached; use CallAgent")
public final class TeamsCallAgent {}
@available(*, unavailable, message: "Teams is not reached; use CallAgentOptions")
public final class TeamsCallAgentOptions {}
@available(*, unavailable, message: "Teams is not reached; use Call")
public final class TeamsCall {}
@available(*, unavailable, message: "Teams is not reached; use IncomingCall")
public final class TeamsIncomingCall {}
@available(*, unavailable, message: "Teams is not reached; a room's lobby is the common layer's: Session.admit")
public final class CallLobby {}
@available(*, unavailable, message: "rooms know no roles in this style")
public final class CallParticipantRole {}
@available(*, unavailable, message: "Teams is not reached; captions are CommunicationCaptions")
public final class TeamsCaptions {}
@available(*, unavailable, message: "Koine collects no surveys")
public final class SurveyCallFeature {}
@available(*, unavailable, message: "Koine collects no surveys")
public final class CallSurvey {}
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class LocalVideoEffectsFeature {}
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class BackgroundBlurEffect {}
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class BackgroundReplacementEffect {}
@available(*, unavailable, message: "rights come with the token; ask and see")
public final class CapabilitiesCallFeature {}
@available(*, unavailable, message: "not built yet; Session.statistics has the figures")
public final class MediaStatisticsCallFeature {}
@available(*, unavailable, message: "not built yet")
public final class LocalUserDiagnosticsCallFeature {}
@available(*, unavailable, message: "sound is the machine's: an AudioFeed may be its microphone")
public final class RawOutgoingAudioStream {}
@available(*, unavailable, message: "sound is the machine's: attach an AudioTap to the session")
public final class RawIncomingAudioStream {}
@available(*, unavailable, message: "the microphone's filters are the world's choice")
public final class OutgoingAudioFilters {}
@available(*, unavailable, message: "the microphone's filters are the world's choice")
public final class LiveOutgoingAudioFilters {}
