// Users reach tracks, views, camera positions and Foundation with `import VideoSDKRTC` alone, as with the vendor's binaries.
@_exported public import Foundation
@_exported public import FoundationNetworking
@_exported public import KoineAVFoundation
@_exported public import KoineCoreVideo
@_exported public import KoineUIKit
@_exported public import Mediasoup
@_exported public import WebRTC
