public import Foundation
public import Koine
public import KoineUIKit
public import Testing

/// The content of a view, read from its drawn pixels.
@MainActor
public struct TestScreen {
  /// A stamped video frame that is visible in the view.
  public struct Sighting: Sendable, Hashable {
    /// Name of the person that the camera belongs to.
    public let name: String
    /// Number of the newest frame.
    public let number: UInt32
    /// Time of capture, on the room's clock.
    public let captured: Tick
    /// Size of the frame as it arrived, in pixels.
    public let width, height: Int
    /// The area in which the frame is drawn.
    public let area: CGRect
  }

  let view: UIView
  let room: TestRoom

  /// Whether a frame of this person's camera is visible that was captured after `time`; nil: at any time.
  public func shows(_ name: String, newerThan time: Tick? = nil) -> Bool {
    sightings.contains { sighting in sighting.name == name && (time.map { sighting.captured > $0 } ?? true) }
  }

  /// Names of the people with visible camera frames, from back to front. A person that is shown twice is listed twice.
  public var names: [String] { sightings.map(\.name) }
  /// Number of visible frames.
  public var count: Int { sightings.count }
  /// Size of this person's newest visible frame, as it arrived, in pixels; nil if no frame of the person is visible.
  public func size(of name: String) -> CGSize? {
    sightings.filter { $0.name == name }.max { $0.captured < $1.captured }
      .map { CGSize(width: $0.width, height: $0.height) }
  }

  /// Every stamp that can be read in the drawn pixels. Hidden, covered and very small pictures are left out. A picture
  /// that fills its tile and is cut by it counts while as much of it is visible as of a 16:9 picture in a 9:16 tile.
  public var sightings: [Sighting] { findings.sightings }

  /// Pictures of which too little is drawn, and how much that is, 0...1.
  var cut: [(name: String, visible: Double)] { findings.cut }

  /// A description of the drawn frames for failure messages: readable stamps, cut frames, and frames without a readable stamp.
  var content: String {
    let readable = sightings.map { "\($0.name) (\(room.describe($0)))" }
    let cut = cut.map { "\($0.name)'s picture is there, but cut: only \(Int($0.visible * 100)) % of it is visible" }
    let parts = readable + cut + findings.unreadable
    return parts.isEmpty ? "no picture" : parts.joined(separator: ", ")
  }

  /// The name of the person with the app that made the view or one of its subviews.
  var owner: String? {
    func appID(_ view: UIView) -> String? { view.appID ?? view.subviews.lazy.compactMap(appID).first }
    return appID(view).flatMap(room.people.name(ofID:))
  }

  /// The visible texts of labels, buttons, fields and segments, from back to front. Passwords are left out, and so are hidden views with
  /// all their subviews.
  public var texts: [String] {
    view.layoutIfNeeded()
    return Self.texts(in: view)
  }

  private static func texts(in view: UIView) -> [String] {
    guard !view.isHidden, view.alpha >= 0.5 else { return [] }
    let own: [String?] =
      switch view {
      case let label as UILabel: [label.text]
      case let field as UITextField: field.isSecureTextEntry ? [] : [field.text]
      case let control as UISegmentedControl: (0..<control.numberOfSegments).map(control.titleForSegment)
      default: []
      }
    return own.compactMap { $0 }.filter { !$0.isEmpty } + view.subviews.flatMap(texts)
  }

  private var findings: Findings {
    view.layoutIfNeeded()
    let places = PicturePlace.all(in: view)
    let key = ViewKey(view)
    if let known = room.screens.known(view, key) { return known }
    let canvas = view.snapshot()
    var found = Findings()
    for place in places {
      switch StampOnCanvas.read(canvas, place) {
      case .hidden: continue
      case .tooSmall: found.unreadable.append("a frame that is drawn too small for a stamp")
      case .unstamped: found.unreadable.append("a frame of \(place.frame.width)x\(place.frame.height) without a stamp")
      case .covered(let stamp):
        found.unreadable.append("\(room.people.name(ofLabel: stamp.name))'s picture is there, but covered")
      case .cut(let stamp, let visible): found.cut.append((room.people.name(ofLabel: stamp.name), visible))
      case .readable(let stamp):
        found.sightings.append(
          Sighting(
            name: room.people.name(ofLabel: stamp.name), number: stamp.number, captured: stamp.captured,
            width: place.frame.width, height: place.frame.height, area: place.area))
      }
    }
    room.screens.remember(view, key, found)
    return found
  }

  struct Findings: Sendable {
    var sightings: [Sighting] = []
    var cut: [(name: String, visible: Double)] = []
    /// Frames without a readable stamp, in words.
    var unreadable: [String] = []
  }

  /// Writes the view's present image as a PNG file.
  /// - Throws: when the file cannot be written.
  public func writePNG(to path: String) throws { try view.writePNG(to: path) }
}

extension TestScreen: @preconcurrency CustomTestStringConvertible {
  public var testDescription: String {
    "\(owner.map { "\($0)'s" } ?? "a") screen that shows \(content)"
  }
}

extension TestRoom {
  /// Reads the drawn content of a view and its subviews.
  @MainActor
  public func screen(_ view: UIView) -> TestScreen {
    screens.add(view)
    return TestScreen(view: view, room: self)
  }
}

/// The views that a test has looked at.
final class Screens: Sendable {
  private struct Entry {
    weak var view: UIView?
    var key: ViewKey?
    var findings: TestScreen.Findings?
  }

  private let entries = Lock<[Entry]>([])

  var views: [UIView] { entries.withLock { $0.compactMap(\.view) } }

  func add(_ view: UIView) {
    entries.withLock { entries in
      entries.removeAll { $0.view == nil }
      if !entries.contains(where: { $0.view === view }) { entries.append(Entry(view: view)) }
    }
  }

  func known(_ view: UIView, _ key: ViewKey) -> TestScreen.Findings? {
    entries.withLock { entries in
      guard let entry = entries.first(where: { $0.view === view }), entry.key == key else { return nil }
      return entry.findings
    }
  }

  func remember(_ view: UIView, _ key: ViewKey, _ findings: TestScreen.Findings) {
    entries.withLock { entries in
      guard let index = entries.firstIndex(where: { $0.view === view }) else { return }
      (entries[index].key, entries[index].findings) = (key, findings)
    }
  }
}

/// All that decides how views look, but for texts and colours: drawing is dear, and most looks find nothing new.
struct ViewKey: Equatable, Sendable {
  private struct Part: Equatable, Sendable {
    let frame: CGRect
    let contentOrigin: CGPoint
    let isVisible, isFilled: Bool
    let mode: UIView.ContentMode
    /// Kept, so that no other frame takes its place in memory.
    let picture: VideoFrame?

    static func == (a: Part, b: Part) -> Bool {
      a.frame == b.frame && a.contentOrigin == b.contentOrigin && a.isVisible == b.isVisible && a.isFilled == b.isFilled
        && a.mode == b.mode
        && a.picture === b.picture
    }
  }

  private var parts: [Part] = []

  @MainActor init(_ view: UIView) { add(view) }

  @MainActor private mutating func add(_ view: UIView) {
    parts.append(
      Part(
        frame: view.frame, contentOrigin: view.contentOrigin, isVisible: !view.isHidden && view.alpha >= 0.5,
        isFilled: view.backgroundColor != nil,
        mode: view.contentMode, picture: (view as? VideoView)?.lastFrame))
    for child in view.subviews { add(child) }
  }
}

/// A picture in a view, and the pixels that it covers, as `contentMode` places it.
@MainActor
private struct PicturePlace {
  let frame: VideoFrame
  let area: CGRect
  /// The part of `area` inside its own view and all superviews.
  let visible: CGRect

  static func all(in view: UIView) -> [PicturePlace] {
    var places: [PicturePlace] = []
    collect(view, at: .zero, clip: CGRect(origin: .zero, size: view.frame.size), into: &places)
    return places
  }

  private static func collect(
    _ view: UIView, at origin: CGPoint, clip: CGRect, into places: inout [PicturePlace]
  ) {
    guard !view.isHidden, view.alpha >= 0.5 else { return }
    let clip = clip.intersection(CGRect(origin: origin, size: view.frame.size))
    guard !clip.isEmpty else { return }
    if let frame = (view as? VideoView)?.lastFrame {
      let area = area(of: frame, in: view, at: origin)
      places.append(PicturePlace(frame: frame, area: area, visible: area.intersection(clip)))
    }
    for child in view.subviews {
      let place = CGPoint(
        x: origin.x + child.frame.minX - view.contentOrigin.x, y: origin.y + child.frame.minY - view.contentOrigin.y)
      collect(child, at: place, clip: clip, into: &places)
    }
  }

  private static func area(of frame: VideoFrame, in view: UIView, at origin: CGPoint) -> CGRect {
    let bounds = CGRect(origin: origin, size: view.frame.size)
    let isTurned = frame.quarterTurns % 2 == 1
    let width = CGFloat(isTurned ? frame.height : frame.width)
    let height = CGFloat(isTurned ? frame.width : frame.height)
    return Canvas.place(width: width, height: height, in: bounds, view.contentMode)
  }
}

/// Reads a stamp where it is drawn, mirrored or not.
@MainActor
private enum StampOnCanvas {
  enum Reading {
    /// Nothing of it is inside its view.
    case hidden
    case tooSmall
    /// The frame itself has no stamp: the app draws frames of its own.
    case unstamped
    /// The frame has a stamp that other views cover.
    case covered(Stamp)
    case readable(Stamp)
    /// It is drawn, and too little of it is visible, 0...1.
    case cut(Stamp, Double)
  }

  /// So many of a cut stamp's 192 blocks have to be visible: four of the sixteen columns, less some at the edges.
  private static let leastBlocks = 40

  static func read(_ canvas: Canvas, _ place: PicturePlace) -> Reading {
    guard !place.visible.isEmpty else { return .hidden }
    guard place.area.width >= 32, place.area.height >= 24 else { return .tooSmall }
    let blocks = (0..<Stamp.rows).map { row in
      (0..<Stamp.columns).map { isBright(canvas, place, $0, row) }
    }
    let seen = blocks.flatMap { $0 }
    let whole = seen.compactMap { $0 }
    if whole.count == seen.count,
      let stamp = Stamp(bits: whole) ?? Stamp(bits: blocks.flatMap { $0.reversed() }.compactMap { $0 })
    {
      return .readable(stamp)
    }
    // A cut stamp cannot be decoded: its visible blocks are compared with the frame that the view has been given.
    guard let stamp = StampReader.read(place.frame.upright(pool: FramePool(limit: 0))) else { return .unstamped }
    let mirrored = stamp.bits.indices.map { index in
      stamp.bits[index / Stamp.columns * Stamp.columns + Stamp.columns - 1 - index % Stamp.columns]
    }
    guard agrees(seen, stamp.bits) || agrees(seen, mirrored) else { return .covered(stamp) }
    return whole.count >= leastBlocks ? .readable(stamp) : .cut(stamp, Double(whole.count) / Double(seen.count))
  }

  /// All that is visible: stamps of one moment differ in a few blocks only.
  private static func agrees(_ seen: [Bool?], _ bits: [Bool]) -> Bool {
    let compared = zip(seen, bits).filter { $0.0 != nil }
    return compared.count >= 4 && compared.allSatisfy { $0.0 == $0.1 }
  }

  /// Five points in the middle of a block; nil where the block is cut.
  private static func isBright(_ canvas: Canvas, _ place: PicturePlace, _ column: Int, _ row: Int) -> Bool? {
    var sum = 0
    for (x, y) in [(0.5, 0.5), (0.35, 0.35), (0.65, 0.35), (0.35, 0.65), (0.65, 0.65)] {
      let point = CGPoint(
        x: place.area.minX + place.area.width * (Double(column) + x) / Double(Stamp.columns),
        y: place.area.minY + place.area.height * (Double(row) + y) / Double(Stamp.rows))
      guard place.visible.contains(point), let color = canvas.color(x: Int(point.x), y: Int(point.y)) else {
        return nil
      }
      sum += Int(color.green)
    }
    return sum > 5 * 126
  }
}
