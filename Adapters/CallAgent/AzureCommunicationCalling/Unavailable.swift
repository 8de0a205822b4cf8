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
@available(*, unavailable, message: "nothing turns speech into text")
public final class CaptionsCallFeature {}
@available(*, unavailable, message: "nothing turns speech into text")
public final class CallCaptions {}
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class LocalVideoEffectsFeature {}
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class BackgroundBlurEffect {}
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class BackgroundReplacementEffect {}
