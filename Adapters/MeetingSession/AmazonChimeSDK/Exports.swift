// Users reach pixel buffers, audio ports, views and Foundation with `import AmazonChimeSDK` alone, as with the vendor's.
@_exported public import Foundation
@_exported public import FoundationNetworking
@_exported public import KoineAVFoundation
@_exported public import KoineCoreMedia
@_exported public import KoineCoreVideo
@_exported public import KoineUIKit
