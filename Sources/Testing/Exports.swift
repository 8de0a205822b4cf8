// A test imports `KoineTesting` and has the common layer with it.
@_exported public import Koine
@_exported public import KoineCallKit
@_exported public import KoineEmbeddedBackend
@_exported public import KoineUIKit
@_exported public import class KoineReplayKit.RPBroadcastSampleHandler
@_exported public import class KoineReplayKit.ScreenBroadcast
