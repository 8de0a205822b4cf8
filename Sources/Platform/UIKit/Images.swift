import CKoinePNG
public import Foundation
public import Koine

/// A picture: from a PNG file or data, or from a video frame.
///
/// [Apple's page](https://developer.apple.com/documentation/uikit/uiimage)
public final class UIImage: NSObject, Sendable {
  public enum RenderingMode: Int, Sendable { case automatic, alwaysOriginal, alwaysTemplate }

  public enum Orientation: Int, Sendable {
    case up, down, left, right, upMirrored, downMirrored, leftMirrored, rightMirrored
  }

  /// RGBA, row by row from the top.
  let pixels: [UInt8]
  let pixelWidth, pixelHeight: Int
  /// The name of the symbol that the picture stands for; nil: it is a picture of its own.
  private let symbol: String?

  /// In points; a point is a pixel.
  public var size: CGSize { CGSize(width: pixelWidth, height: pixelHeight) }
  public var scale: CGFloat { 1 }
  public var imageOrientation: Orientation { .up }

  init(pixels: [UInt8], width: Int, height: Int, symbol: String? = nil) {
    (self.pixels, pixelWidth, pixelHeight, self.symbol) = (pixels, width, height, symbol)
  }

  public override convenience init() { self.init(pixels: [], width: 0, height: 0) }

  /// - Parameter data: a PNG file. Nil for other data.
  public convenience init?(data: Data) {
    var image = png_image()
    image.version = UInt32(PNG_IMAGE_VERSION)
    let pixels = data.withUnsafeBytes { bytes -> [UInt8]? in
      guard let start = bytes.baseAddress, png_image_begin_read_from_memory(&image, start, bytes.count) != 0 else {
        return nil
      }
      // The size is checked before memory is taken for the pixels.
      guard image.width <= 8_192, image.height <= 8_192 else {
        png_image_free(&image)
        return nil
      }
      image.format = UInt32(PNG_FORMAT_FLAG_ALPHA | PNG_FORMAT_FLAG_COLOR)
      var pixels = [UInt8](repeating: 0, count: Int(image.width) * Int(image.height) * 4)
      return png_image_finish_read(&image, nil, &pixels, 0, nil) != 0 ? pixels : nil
    }
    guard let pixels else { return nil }
    self.init(pixels: pixels, width: Int(image.width), height: Int(image.height))
  }

  /// - Parameter path: of a PNG file.
  public convenience init?(contentsOfFile path: String) {
    guard let data = FileManager.default.contents(atPath: path) else { return nil }
    self.init(data: data)
  }

  /// Reads `NAME.png` from the main bundle's resources; nil if there is none.
  public convenience init?(named name: String) { self.init(named: name, in: nil) }

  /// - Parameter bundle: nil: the main bundle.
  public convenience init?(named name: String, in bundle: Bundle?) {
    let stem = name.hasSuffix(".png") ? String(name.dropLast(4)) : name
    guard let path = (bundle ?? .main).path(forResource: stem, ofType: "png") else { return nil }
    self.init(contentsOfFile: path)
  }

  /// A stand-in for a symbol of the system: its initials in a frame of 24 points. The system's symbols are not here.
  public convenience init?(systemName name: String) {
    guard !name.isEmpty else { return nil }
    let side = 24
    var canvas = Canvas(width: side, height: side)
    canvas.fill(CGRect(x: 0, y: 0, width: side, height: side), .white)
    canvas.fill(CGRect(x: 1, y: 1, width: side - 2, height: side - 2), .systemBlue)
    canvas.fill(CGRect(x: 2, y: 2, width: side - 4, height: side - 4), .white)
    let initials = name.split(separator: ".").prefix(2).compactMap(\.first).map(String.init).joined()
    canvas.draw(initials, at: CGPoint(x: 6, y: 8), height: 8, color: .systemBlue)
    self.init(pixels: canvas.pixels, width: side, height: side, symbol: name)
  }

  /// The picture of a video frame, upright.
  public convenience init(_ frame: VideoFrame) {
    let upright = frame.upright(pool: FramePool(limit: 0))
    self.init(pixels: upright.pixels(.rgba), width: upright.width, height: upright.height)
  }

  public func withRenderingMode(_ renderingMode: RenderingMode) -> UIImage { self }
  public func withTintColor(_ color: UIColor) -> UIImage { self }

  /// The picture as a PNG file; nil for a picture without pixels.
  public func pngData() -> Data? {
    guard pixelWidth > 0, pixelHeight > 0 else { return nil }
    var image = png_image()
    image.version = UInt32(PNG_IMAGE_VERSION)
    (image.width, image.height) = (UInt32(pixelWidth), UInt32(pixelHeight))
    image.format = UInt32(PNG_FORMAT_FLAG_ALPHA | PNG_FORMAT_FLAG_COLOR)
    var size = png_alloc_size_t(0)
    guard png_image_write_to_memory(&image, nil, &size, 0, pixels, 0, nil) != 0 else { return nil }
    var data = Data(count: Int(size))
    let isWritten = data.withUnsafeMutableBytes { bytes in
      png_image_write_to_memory(&image, bytes.baseAddress, &size, 0, pixels, 0, nil) != 0
    }
    return isWritten ? data.prefix(Int(size)) : nil
  }

  /// Two pictures are equal if their pixels are.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? UIImage else { return false }
    return symbol == other.symbol && pixelWidth == other.pixelWidth && pixels == other.pixels
  }
  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(symbol)
    hasher.combine(pixels)
    return hasher.finalize()
  }
}

/// Shows a picture.
@preconcurrency @MainActor
open class UIImageView: UIView {
  open var image: UIImage? { didSet { invalidateIntrinsicContentSize() } }
  open var highlightedImage: UIImage?
  open var isHighlighted = false

  public override init(frame: CGRect) { super.init(frame: frame) }
  /// As large as the picture.
  public convenience init(image: UIImage?) {
    self.init(frame: CGRect(origin: .zero, size: image?.size ?? .zero))
    self.image = image
  }
  public required init?(coder: NSCoder) { nil }

  private var shown: UIImage? { isHighlighted ? highlightedImage ?? image : image }

  open override var intrinsicContentSize: CGSize { shown?.size ?? super.intrinsicContentSize }

  open override func draw(into canvas: inout Canvas, area: CGRect) {
    if let shown { canvas.draw(shown, in: area, mode: contentMode) }
  }
}
