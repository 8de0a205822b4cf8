public import Foundation
public import Koine
public import KoineUIKit

/// What is drawn in a view, read from its pixels.
@MainActor
public struct TestScreen {
  /// A stamped picture that is to be seen.
  public struct Sighting: Sendable, Hashable {
    /// Whose camera it is from.
    public let name: String
    public let number: UInt32
    /// When it was taken, on the room's clock.
    public let captured: Tick
    /// Of the picture as it arrived, in pixels.
    public let width, height: Int
    /// Where it is drawn.
    public let area: CGRect
  }

  let view: UIView
  let room: TestRoom

  /// Whether a picture of this person's camera is to be seen, taken after `time`.
  public func shows(_ name: String, newerThan time: Tick? = nil) -> Bool {
    sightings.contains { sighting in sighting.name == name && (time.map { sighting.captured > $0 } ?? true) }
  }

  /// Everybody whose pictures are to be seen, from the back to the front; somebody twice if shown twice.
  public var names: [String] { sightings.map(\.name) }
  /// How many pictures are to be seen.
  public var count: Int { sightings.count }
  /// Of the newest picture of this person, as it arrived; nil if there is none.
  public func size(of name: String) -> CGSize? {
    sightings.filter { $0.name == name }.max { $0.captured < $1.captured }
      .map { CGSize(width: $0.width, height: $0.height) }
  }

  /// Every stamp that can be read in the drawn pixels. What is hidden, covered or too small to be read is not there.
  public var sightings: [Sighting] {
    let places = PicturePlace.all(in: view)
    let key = ViewKey(view)
    if let known = room.screens.known(view, key) { return known }
    let canvas = view.snapshot()
    let found = places.compactMap { place in
      StampOnCanvas.read(canvas, in: place.area).map { stamp in
        Sighting(
          name: room.people.name(ofLabel: stamp.name), number: stamp.number, captured: stamp.captured,
          width: place.frame.width, height: place.frame.height, area: place.area)
      }
    }
    room.screens.remember(view, key, found)
    return found
  }

  /// - Throws: when the file cannot be written.
  public func writePNG(to path: String) throws { try view.writePNG(to: path) }
}

extension TestRoom {
  /// What is drawn in a view and all that is in it.
  @MainActor
  public func screen(_ view: UIView) -> TestScreen {
    screens.note(view)
    return TestScreen(view: view, room: self)
  }
}

/// The views that a test has looked at.
final class Screens: Sendable {
  private struct Entry {
    weak var view: UIView?
    var key: ViewKey?
    var sightings: [TestScreen.Sighting]?
  }

  private let entries = Lock<[Entry]>([])

  var views: [UIView] { entries.withLock { $0.compactMap(\.view) } }

  func note(_ view: UIView) {
    entries.withLock { entries in
      entries.removeAll { $0.view == nil }
      if !entries.contains(where: { $0.view === view }) { entries.append(Entry(view: view)) }
    }
  }

  func known(_ view: UIView, _ key: ViewKey) -> [TestScreen.Sighting]? {
    entries.withLock { entries in
      guard let entry = entries.first(where: { $0.view === view }), entry.key == key else { return nil }
      return entry.sightings
    }
  }

  func remember(_ view: UIView, _ key: ViewKey, _ sightings: [TestScreen.Sighting]) {
    entries.withLock { entries in
      guard let index = entries.firstIndex(where: { $0.view === view }) else { return }
      (entries[index].key, entries[index].sightings) = (key, sightings)
    }
  }
}

/// All that decides how views look, but for texts and colours: drawing is dear, and most looks find nothing new.
struct ViewKey: Equatable, Sendable {
  private struct Part: Equatable, Sendable {
    let frame: CGRect
    let isVisible, isFilled: Bool
    let mode: UIView.ContentMode
    /// Kept, so that no other frame takes its place in memory.
    let picture: VideoFrame?

    static func == (a: Part, b: Part) -> Bool {
      a.frame == b.frame && a.isVisible == b.isVisible && a.isFilled == b.isFilled && a.mode == b.mode
        && a.picture === b.picture
    }
  }

  private var parts: [Part] = []

  @MainActor init(_ view: UIView) { add(view) }

  @MainActor private mutating func add(_ view: UIView) {
    parts.append(
      Part(
        frame: view.frame, isVisible: !view.isHidden && view.alpha >= 0.5, isFilled: view.backgroundColor != nil,
        mode: view.contentMode, picture: (view as? VideoView)?.lastFrame))
    for child in view.subviews { add(child) }
  }
}

/// A picture in a view, and the pixels that it covers, as `contentMode` places it.
@MainActor
private struct PicturePlace {
  let frame: VideoFrame
  let area: CGRect

  static func all(in view: UIView) -> [PicturePlace] {
    var places: [PicturePlace] = []
    collect(view, at: .zero, into: &places)
    return places
  }

  private static func collect(_ view: UIView, at origin: CGPoint, into places: inout [PicturePlace]) {
    guard !view.isHidden, view.alpha >= 0.5 else { return }
    if let frame = (view as? VideoView)?.lastFrame {
      places.append(PicturePlace(frame: frame, area: area(of: frame, in: view, at: origin)))
    }
    for child in view.subviews {
      collect(child, at: CGPoint(x: origin.x + child.frame.minX, y: origin.y + child.frame.minY), into: &places)
    }
  }

  private static func area(of frame: VideoFrame, in view: UIView, at origin: CGPoint) -> CGRect {
    let bounds = CGRect(origin: origin, size: view.frame.size)
    let isTurned = frame.quarterTurns % 2 == 1
    let width = CGFloat(isTurned ? frame.height : frame.width)
    let height = CGFloat(isTurned ? frame.width : frame.height)
    let (across, down) = (bounds.width / width, bounds.height / height)
    let scale: CGFloat
    switch view.contentMode {
    case .scaleToFill: return bounds
    case .scaleAspectFit: scale = min(across, down)
    case .scaleAspectFill: scale = max(across, down)
    }
    return CGRect(
      x: bounds.midX - width * scale / 2, y: bounds.midY - height * scale / 2, width: width * scale,
      height: height * scale)
  }
}

/// Reads a stamp where it is drawn, mirrored or not.
private enum StampOnCanvas {
  static func read(_ canvas: Canvas, in area: CGRect) -> Stamp? {
    guard area.width >= 32, area.height >= 24 else { return nil }
    var rows: [[Bool]] = []
    for row in 0..<Stamp.rows {
      var bits: [Bool] = []
      for column in 0..<Stamp.columns {
        guard let bright = isBright(canvas, area, column, row) else { return nil }
        bits.append(bright)
      }
      rows.append(bits)
    }
    return Stamp(bits: rows.flatMap { $0 }) ?? Stamp(bits: rows.flatMap { $0.reversed() })
  }

  /// Five points in the middle of a block; nil where the block is outside of the canvas.
  private static func isBright(_ canvas: Canvas, _ area: CGRect, _ column: Int, _ row: Int) -> Bool? {
    var sum = 0
    for (x, y) in [(0.5, 0.5), (0.35, 0.35), (0.65, 0.35), (0.35, 0.65), (0.65, 0.65)] {
      let point = (
        Int(area.minX + area.width * (Double(column) + x) / Double(Stamp.columns)),
        Int(area.minY + area.height * (Double(row) + y) / Double(Stamp.rows))
      )
      guard let color = canvas.color(x: point.0, y: point.1) else { return nil }
      sum += Int(color.green)
    }
    return sum > 5 * 126
  }
}
