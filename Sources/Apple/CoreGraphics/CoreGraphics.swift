// Foundation has points, sizes and rectangles here.
@_exported public import Foundation
