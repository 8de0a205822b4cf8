// Users reach views, sample buffers and Foundation with `import AmazonIVSBroadcast` alone, as with the vendor's binary.
@_exported public import Foundation
@_exported public import FoundationNetworking
@_exported public import KoineAVFoundation
@_exported public import KoineCoreMedia
@_exported public import KoineCoreVideo
@_exported public import KoineUIKit
