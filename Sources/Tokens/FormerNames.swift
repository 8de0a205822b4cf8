// Names of earlier versions.

@available(*, deprecated, renamed: "KoineToken")
public typealias RoomPass = KoineToken
@available(*, deprecated, renamed: "AzureUserToken")
public typealias CommunicationUserToken = AzureUserToken
@available(*, deprecated, renamed: "IVSStageToken")
public typealias StageToken = IVSStageToken
@available(*, deprecated, renamed: "ChimeJoinInfo")
public typealias MeetingPass = ChimeJoinInfo
@available(*, deprecated, renamed: "VideoSDKToken")
public typealias RoomToken = VideoSDKToken
