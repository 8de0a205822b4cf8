// The vendor's types without an implementation in Koine. Code that uses one does not compile; the error gives the reason.

/// Options of emergency calls. Unavailable in Koine.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsemergencycalloptions)
@available(*, unavailable, message: "there are no emergency services to reach")
public final class EmergencyCallOptions {}

/// Network options of a call client. Unavailable in Koine.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscallnetworkoptions)
@available(*, unavailable, message: "the backend is chosen by KOINE_BACKEND; it has its own way through networks")
public final class CallNetworkOptions {}

/// An ICE server of the app. Unavailable in Koine.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsiceserver)
@available(*, unavailable, message: "the backend is chosen by KOINE_BACKEND; it has its own way through networks")
public final class IceServer {}

/// Support files of a call client. Unavailable in Koine.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscalldebuginfo)
@available(*, unavailable, message: "nothing is written that could be sent to a vendor")
public final class CallDebugInfo {}

/// A call agent of a Teams user. Unavailable in Koine.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/how-tos/cte-calling-sdk/manage-calls)
@available(*, unavailable, message: "Teams is not reached; use CallAgent")
public final class TeamsCallAgent {}

/// Options of a Teams user's call agent. Unavailable in Koine.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/how-tos/cte-calling-sdk/manage-calls)
@available(*, unavailable, message: "Teams is not reached; use CallAgentOptions")
public final class TeamsCallAgentOptions {}

/// A call of a Teams user. Unavailable in Koine.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/how-tos/cte-calling-sdk/manage-calls)
@available(*, unavailable, message: "Teams is not reached; use Call")
public final class TeamsCall {}

/// An incoming call of a Teams user. Unavailable in Koine.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/how-tos/cte-calling-sdk/manage-calls)
@available(*, unavailable, message: "Teams is not reached; use IncomingCall")
public final class TeamsIncomingCall {}

/// Effects on the local video. Unavailable in Koine.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acslocalvideoeffectsfeature)
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class LocalVideoEffectsFeature {}

/// Blur of the background in the local video. Unavailable in Koine.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsbackgroundblureffect)
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class BackgroundBlurEffect {}

/// Replacement of the background in the local video. Unavailable in Koine.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acslocalvideoeffectsfeature)
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class BackgroundReplacementEffect {}

/// Captions of a Teams meeting. Unavailable in Koine.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
@available(*, unavailable, message: "Teams is not reached; captions are CommunicationCaptions")
public final class TeamsCaptions {}
