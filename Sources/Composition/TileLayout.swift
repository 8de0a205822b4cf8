/// Where so many pictures of a room lie, in pixels from the upper left corner.
public struct TileLayout: Sendable {
  public struct Tile: Hashable, Sendable { public var x, y, width, height: Double }

  /// How the tiles share the frame.
  public enum Shape: Sendable, Hashable {
    /// All tiles have the same size.
    case grid
    /// The first tile takes four fifths of the height; the others share a row below.
    case rowBelow
    /// The first tile takes four fifths of the width; the others share a column on the right. In a frame that is higher than wide,
    /// as `rowBelow`.
    case columnBeside
  }

  public private(set) var all: [Tile] = []

  /// - Parameter hasLarge: the first takes four fifths of the height, the others share a row below.
  public init(width: Double, height: Double, count: Int, hasLarge: Bool = false) {
    self.init(hasLarge ? .rowBelow : .grid, width: width, height: height, count: count)
  }

  /// - Parameters:
  ///   - width, height: of the frame, in pixels.
  ///   - count: number of tiles; of a shape with a large tile at least one.
  public init(_ shape: Shape, width: Double, height: Double, count: Int) {
    switch shape {
    case .grid: addGrid(width, height, count)
    case .rowBelow: addRow(width, height, count)
    case .columnBeside: if width < height { addRow(width, height, count) } else { addColumn(width, height, count) }
    }
  }

  private mutating func addRow(_ width: Double, _ height: Double, _ count: Int) {
    let row = height / 5
    all.append(Tile(x: 0, y: 0, width: width, height: height - row))
    for index in 0..<max(count - 1, 0) {
      let share = width / Double(count - 1)
      all.append(Tile(x: Double(index) * share, y: height - row, width: share, height: row))
    }
  }

  private mutating func addColumn(_ width: Double, _ height: Double, _ count: Int) {
    let column = width / 5
    all.append(Tile(x: 0, y: 0, width: width - column, height: height))
    for index in 0..<max(count - 1, 0) {
      let share = height / Double(count - 1)
      all.append(Tile(x: width - column, y: Double(index) * share, width: column, height: share))
    }
  }

  /// In rows of as many columns, as nearly square as they come. A frame that is higher than wide has at least as many rows as columns.
  private mutating func addGrid(_ width: Double, _ height: Double, _ count: Int) {
    let side = max(Int(Double(count).squareRoot().rounded(.up)), 1)
    let other = max((count + side - 1) / side, 1)
    let (columns, rows) = width < height ? (other, side) : (side, other)
    let (width, height) = (width / Double(columns), height / Double(rows))
    for index in 0..<count {
      all.append(
        Tile(x: Double(index % columns) * width, y: Double(index / columns) * height, width: width, height: height))
    }
  }
}
