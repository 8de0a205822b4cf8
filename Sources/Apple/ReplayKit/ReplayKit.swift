@_exported public import Foundation
// A handler of samples uses them without a further import, as on Apple's systems.
@_exported public import KoineCoreMedia
@_exported public import KoineCoreVideo
@_exported public import KoineReplayKit
