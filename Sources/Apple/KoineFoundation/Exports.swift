// `import Foundation` includes these on Apple's systems; on Linux they need further imports: `URLSession` and its like,
// `ObservableObject` and `@Published`, `autoreleasepool`.
@_exported public import Foundation
@_exported public import FoundationNetworking
@_exported public import KoineObjectiveC
@_exported public import OpenCombine
@_exported public import OpenCombineDispatch
@_exported public import OpenCombineFoundation
