// Names of earlier versions.

/// The former name of `KoineToken`.
@available(*, deprecated, renamed: "KoineToken")
public typealias RoomPass = KoineToken
/// The former name of `AzureUserToken`.
@available(*, deprecated, renamed: "AzureUserToken")
public typealias CommunicationUserToken = AzureUserToken
/// The former name of `IVSStageToken`.
@available(*, deprecated, renamed: "IVSStageToken")
public typealias StageToken = IVSStageToken
/// The former name of `ChimeJoinInfo`.
@available(*, deprecated, renamed: "ChimeJoinInfo")
public typealias MeetingPass = ChimeJoinInfo
/// The former name of `VideoSDKToken`.
@available(*, deprecated, renamed: "VideoSDKToken")
public typealias RoomToken = VideoSDKToken
