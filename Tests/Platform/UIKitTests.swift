import Foundation
import Koine
import KoineUIKit
import KoineTestSupport
import Testing

/// A frame of one luma on the left and another on the right: black is 16, white 235.
private func makeFrame(_ width: Int, _ height: Int, left: UInt8 = 235, right: UInt8 = 235) -> VideoFrame {
  FramePool(limit: 0).make(width: width, height: height, captured: .zero) { planes in
    for y in 0..<height {
      for x in 0..<width { planes.y[y * planes.lumaStride + x] = x < width / 2 ? left : right }
    }
    for plane in [planes.u, planes.v] {
      for index in 0..<planes.chromaStride * planes.chromaHeight { plane[index] = 128 }
    }
  }
}

private func isNear(_ color: (red: UInt8, green: UInt8, blue: UInt8)?, _ red: Int, _ green: Int, _ blue: Int) -> Bool {
  guard let color else { return false }
  return zip([color.red, color.green, color.blue], [red, green, blue]).allSatisfy { abs(Int($0) - $1) < 6 }
}

@MainActor
private func box(_ x: Double, _ y: Double, _ width: Double, _ height: Double, _ color: UIColor? = nil) -> UIView {
  let view = UIView(frame: CGRect(x: x, y: y, width: width, height: height))
  view.backgroundColor = color
  return view
}

@MainActor
@Suite struct ViewTests {
  @Test func viewHasOneSuperviewAtATime() {
    let (one, other, child) = (box(0, 0, 10, 10), box(0, 0, 10, 10), box(0, 0, 5, 5))
    one.addSubview(child)
    #expect(child.superview === one)
    other.addSubview(child)
    #expect(one.subviews.isEmpty && other.subviews == [child] && child.superview === other)
    other.addSubview(child)
    #expect(other.subviews == [child])
    child.removeFromSuperview()
    child.removeFromSuperview()
    #expect(other.subviews.isEmpty)
    #expect(child.superview == nil)
  }

  @Test func subviewOrderDeterminesDrawingOrder() {
    let root = box(0, 0, 10, 10)
    let (red, blue) = (box(0, 0, 10, 10, .red), box(0, 0, 10, 10, .blue))
    root.addSubview(red)
    root.addSubview(blue)
    #expect(isNear(root.snapshot().color(x: 5, y: 5), 0, 0, 255))
    root.bringSubviewToFront(red)
    #expect(isNear(root.snapshot().color(x: 5, y: 5), 255, 0, 0))
    root.sendSubviewToBack(red)
    root.bringSubviewToFront(box(0, 0, 1, 1))
    #expect(root.subviews == [red, blue])
    root.insertSubview(box(0, 0, 10, 10, .green), at: 99)
    #expect(isNear(root.snapshot().color(x: 5, y: 5), 0, 255, 0))
    blue.insertSubview(red, at: -3)
    #expect(root.subviews.count == 2 && blue.subviews == [red])
  }

  @Test func subviewsAreClippedAndHiddenWithTheirSuperview() {
    let root = box(0, 0, 20, 20, .white)
    let (middle, inner) = (box(5, 5, 10, 10), box(5, 5, 100, 100, .red))
    root.addSubview(middle)
    middle.addSubview(inner)
    let shown = root.snapshot()
    #expect(isNear(shown.color(x: 9, y: 9), 255, 255, 255))
    #expect(isNear(shown.color(x: 10, y: 10), 255, 0, 0))
    #expect(isNear(shown.color(x: 15, y: 15), 255, 255, 255), "clipped to the middle one")
    #expect(shown.color(x: 20, y: 0) == nil)
    #expect(shown.color(x: 0, y: -1) == nil)
    middle.isHidden = true
    #expect(isNear(root.snapshot().color(x: 12, y: 12), 255, 255, 255))
    middle.isHidden = false
    middle.alpha = 0
    #expect(isNear(root.snapshot().color(x: 12, y: 12), 255, 255, 255))
  }

  @Test func animationsRunBeforeTheCallReturns() {
    var steps: [String] = []
    UIView.animate(withDuration: 0.5) { steps.append("one") }
    UIView.animate(withDuration: 0.5, animations: { steps.append("two") }, completion: { steps.append("\($0)") })
    #expect(steps == ["one", "two", "true"])
  }

  private final class Screen: UIViewController {
    var loads = 0
    override func viewDidLoad() {
      super.viewDidLoad()
      loads += 1
    }
  }

  @Test func viewControllerLoadsItsViewOnFirstAccess() {
    let screen = Screen()
    #expect(!screen.isViewLoaded)
    #expect(screen.loads == 0)
    screen.view.tag = 4
    screen.loadViewIfNeeded()
    #expect(screen.view.tag == 4)
    #expect(screen.loads == 1)
    #expect(screen.isViewLoaded)
  }

  @Test func labelDrawsItsText() {
    let label = UILabel(frame: CGRect(x: 0, y: 0, width: 60, height: 16))
    label.backgroundColor = .white
    func ink() -> Int {
      let shown = label.snapshot()
      return (0..<shown.width * shown.height).count {
        isNear(shown.color(x: $0 % shown.width, y: $0 / shown.width), 0, 0, 0)
      }
    }
    #expect(ink() == 0)
    label.text = "é!"
    #expect(ink() > 20)
  }

  @Test func writtenPNGHasTheViewsPixels() async throws {
    let folder = try Folder()
    let root = box(0, 0, 6, 4, .blue)
    root.addSubview(box(0, 0, 3, 4, .red))
    let path = folder.file("screen.png")
    try root.writePNG(to: path)
    let pixels = try await Command("ffmpeg", "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
      .bytes()
    let row: [UInt8] = [255, 0, 0, 255, 0, 0, 255, 0, 0, 0, 0, 255, 0, 0, 255, 0, 0, 255]
    #expect(pixels == row + row + row + row)
    #expect(throws: PictureError.self) { try root.writePNG(to: folder.path + "/missing/screen.png") }
    #expect(folder.names == ["screen.png"])
  }
}

@MainActor
@Suite struct VideoViewTests {
  @Test func contentModePlacesTheFrame() {
    let view = VideoView(frame: CGRect(x: 0, y: 0, width: 100, height: 100))
    view.backgroundColor = .red
    view.render(makeFrame(80, 40, left: 16, right: 235))
    view.contentMode = .scaleAspectFit
    let fitted = view.snapshot()
    #expect(isNear(fitted.color(x: 50, y: 20), 255, 0, 0))
    #expect(isNear(fitted.color(x: 50, y: 80), 255, 0, 0))
    #expect(isNear(fitted.color(x: 10, y: 50), 0, 0, 0))
    #expect(isNear(fitted.color(x: 90, y: 50), 255, 255, 255))
    for mode in [UIView.ContentMode.scaleAspectFill, .scaleToFill] {
      view.contentMode = mode
      let filled = view.snapshot()
      for y in [2, 50, 97] {
        #expect(isNear(filled.color(x: 10, y: y), 0, 0, 0))
        #expect(isNear(filled.color(x: 90, y: y), 255, 255, 255))
      }
    }
  }

  @Test func rotatedFrameIsShownUpright() {
    let view = VideoView(frame: CGRect(x: 0, y: 0, width: 40, height: 80))
    view.render(makeFrame(80, 40, left: 16, right: 235).with(quarterTurns: 1))
    let shown = view.snapshot()
    #expect(isNear(shown.color(x: 20, y: 10), 0, 0, 0))
    #expect(isNear(shown.color(x: 20, y: 70), 255, 255, 255))
  }

  @Test(arguments: [(16, 4096), (4096, 16), (1, 1), (2, 3)])
  func framesOfAnyAspectRatioFillAnyView(width: Int, height: Int) {
    for size in [CGSize(width: 960, height: 16), CGSize(width: 16, height: 540), .zero] {
      let view = VideoView(frame: CGRect(origin: .zero, size: size))
      view.contentMode = .scaleAspectFill
      view.render(makeFrame(width, height))
      let shown = view.snapshot()
      #expect(size == .zero || isNear(shown.color(x: shown.width / 2, y: shown.height / 2), 255, 255, 255))
    }
  }

  @Test func videoViewCountsFramesAndClears() async {
    let view = VideoView(frame: CGRect(x: 0, y: 0, width: 8, height: 8))
    #expect(view.framesRendered == 0)
    #expect(view.lastFrame == nil)
    await withTaskGroup { group in
      for _ in 0..<4 {
        group.addTask { for _ in 0..<50 { view.render(makeFrame(8, 8)) } }
      }
    }
    #expect(view.framesRendered == 200)
    #expect(view.lastFrame?.width == 8)
    view.clear()
    #expect(view.lastFrame == nil)
    #expect(view.framesRendered == 200)
    #expect(isNear(view.snapshot().color(x: 4, y: 4), 0, 0, 0))
  }

  @Test func tileGridHoldsEveryTile() {
    for (count, columns, rows) in [(0, 1, 1), (1, 1, 1), (2, 2, 1), (3, 2, 2), (5, 3, 2)] {
      let grid = TileGrid((0..<count).map { ("P\($0)", $0 == 1 ? nil : makeFrame(64, 36)) })
      #expect(grid.subviews.count == count)
      #expect(grid.frame.width == CGFloat(columns) * 652 + 12)
      #expect(grid.frame.height == CGFloat(rows) * 372 + 12)
    }
    let shown = TileGrid([("Ana", makeFrame(64, 36)), ("Ben", nil)]).snapshot()
    #expect(isNear(shown.color(x: 320, y: 180), 255, 255, 255))
    #expect(!isNear(shown.color(x: 320 + 652, y: 180), 255, 255, 255))
  }
}
