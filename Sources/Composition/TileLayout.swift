/// Where so many pictures of a room lie, in pixels from the upper left corner.
public struct TileLayout: Sendable {
  public struct Tile: Hashable, Sendable { public var x, y, width, height: Double }
  public private(set) var all: [Tile] = []

  /// - Parameter hasLarge: the first takes four fifths of the height, the others share a row below.
  public init(width: Double, height: Double, count: Int, hasLarge: Bool = false) {
    guard hasLarge else {
      addGrid(width, height, count)
      return
    }
    let row = height / 5
    all.append(Tile(x: 0, y: 0, width: width, height: height - row))
    for index in 0..<max(count - 1, 0) {
      let share = width / Double(count - 1)
      all.append(Tile(x: Double(index) * share, y: height - row, width: share, height: row))
    }
  }

  /// In rows of as many columns, as nearly square as they come.
  private mutating func addGrid(_ width: Double, _ height: Double, _ count: Int) {
    let columns = max(Int(Double(count).squareRoot().rounded(.up)), 1)
    let rows = max((count + columns - 1) / columns, 1)
    let (width, height) = (width / Double(columns), height / Double(rows))
    for index in 0..<count {
      all.append(
        Tile(x: Double(index % columns) * width, y: Double(index / columns) * height, width: width, height: height))
    }
  }
}
