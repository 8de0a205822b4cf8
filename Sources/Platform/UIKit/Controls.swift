public import Foundation
import Koine

/// A button with a title, an image or both.
///
/// [Apple's page](https://developer.apple.com/documentation/uikit/uibutton)
@preconcurrency @MainActor
open class UIButton: UIControl {
  public enum ButtonType: Int, Sendable {
    case custom, system, detailDisclosure, infoLight, infoDark, contactAdd, close = 7
  }

  /// The look of a button as one value.
  public struct Configuration {
    public var title: String?
    public var subtitle: String?
    public var image: UIImage?
    public var baseForegroundColor: UIColor?
    public var baseBackgroundColor: UIColor?
    public var imagePadding: CGFloat = 0
    public var contentInsets = NSDirectionalEdgeInsets(top: 7, leading: 12, bottom: 7, trailing: 12)
    public static func plain() -> Configuration { Configuration() }
    public static func filled() -> Configuration {
      var filled = Configuration()
      (filled.baseBackgroundColor, filled.baseForegroundColor) = (.systemBlue, .white)
      return filled
    }
    public static func tinted() -> Configuration { gray() }
    public static func gray() -> Configuration {
      var gray = Configuration()
      gray.baseBackgroundColor = .systemGray5
      return gray
    }
    public static func bordered() -> Configuration { gray() }
    public static func borderedProminent() -> Configuration { filled() }
  }

  public let titleLabel: UILabel? = UILabel(frame: .zero)
  public let imageView: UIImageView? = UIImageView(frame: .zero)
  public let buttonType: ButtonType
  open var configuration: Configuration? { didSet { stateChanged() } }
  open var contentEdgeInsets = UIEdgeInsets.zero { didSet { invalidateIntrinsicContentSize() } }
  private var titles: [State: String] = [:]
  private var images: [State: UIImage] = [:]
  private var colors: [State: UIColor] = [:]

  public override init(frame: CGRect) {
    buttonType = .custom
    super.init(frame: frame)
    addParts()
  }
  public init(type buttonType: ButtonType) {
    self.buttonType = buttonType
    super.init(frame: .zero)
    addParts()
  }
  public convenience init(type buttonType: ButtonType = .system, primaryAction: UIAction?) {
    self.init(type: buttonType)
    apply(primaryAction)
  }
  public convenience init(frame: CGRect, primaryAction: UIAction?) {
    self.init(frame: frame)
    apply(primaryAction)
  }
  public convenience init(configuration: Configuration, primaryAction: UIAction? = nil) {
    self.init(type: .system)
    self.configuration = configuration
    apply(primaryAction)
  }
  public required init?(coder: NSCoder) { nil }

  private func addParts() {
    titleLabel?.font = UIFont.systemFont(ofSize: UIFont.buttonFontSize)
    titleLabel?.textAlignment = .center
    for view in [imageView, titleLabel] as [UIView?] { if let view { addSubview(view) } }
    stateChanged()
  }

  private func apply(_ action: UIAction?) {
    guard let action else { return }
    if !action.title.isEmpty, configuration?.title == nil { setTitle(action.title, for: .normal) }
    if let image = action.image { setImage(image, for: .normal) }
    addAction(action, for: .primaryActionTriggered)
  }

  open func setTitle(_ title: String?, for state: State) {
    titles[state] = title
    stateChanged()
  }
  open func title(for state: State) -> String? { titles[state] ?? titles[.normal] }
  open func setAttributedTitle(_ title: NSAttributedString?, for state: State) { setTitle(title?.string, for: state) }
  open func setTitleColor(_ color: UIColor?, for state: State) {
    colors[state] = color
    stateChanged()
  }
  open func titleColor(for state: State) -> UIColor? { colors[state] ?? colors[.normal] }
  open func setImage(_ image: UIImage?, for state: State) {
    images[state] = image
    stateChanged()
  }
  open func image(for state: State) -> UIImage? { images[state] ?? images[.normal] }
  public var currentTitle: String? { configuration?.title ?? title(for: state) }
  public var currentImage: UIImage? { configuration?.image ?? image(for: state) }

  override func stateChanged() {
    super.stateChanged()
    titleLabel?.text = currentTitle
    titleLabel?.textColor =
      isEnabled
      ? configuration?.baseForegroundColor ?? titleColor(for: state) ?? (buttonType == .system ? tintColor : .white)
      : .systemGray3
    if let background = configuration?.baseBackgroundColor { backgroundColor = background }
    imageView?.image = currentImage
    invalidateIntrinsicContentSize()
  }

  private var insets: UIEdgeInsets {
    guard let own = configuration?.contentInsets else { return contentEdgeInsets }
    return UIEdgeInsets(top: own.top, left: own.leading, bottom: own.bottom, right: own.trailing)
  }
  private var gap: CGFloat { currentImage != nil && currentTitle != nil ? configuration?.imagePadding ?? 4 : 0 }

  open override var intrinsicContentSize: CGSize {
    let (text, image) = (titleLabel?.intrinsicContentSize ?? .zero, currentImage?.size ?? .zero)
    return CGSize(
      width: text.width + image.width + gap + insets.left + insets.right,
      height: max(text.height, image.height, 18) + insets.top + insets.bottom + 12)
  }

  open override func layoutSubviews() {
    super.layoutSubviews()
    let (text, image) = (titleLabel?.intrinsicContentSize ?? .zero, currentImage?.size ?? .zero)
    var left = max(0, bounds.midX - (text.width + image.width + gap) / 2)
    imageView?.frame = CGRect(x: left, y: bounds.midY - image.height / 2, width: image.width, height: image.height)
    left += image.width + gap
    titleLabel?.frame = CGRect(
      x: left, y: bounds.midY - text.height / 2, width: min(text.width, bounds.width - left), height: text.height)
  }
}

/// A switch that is on or off.
@preconcurrency @MainActor
open class UISwitch: UIControl {
  open var isOn = false
  open var onTintColor: UIColor? = .systemGreen
  public override init(frame: CGRect) {
    super.init(frame: CGRect(origin: frame.origin, size: CGSize(width: 51, height: 31)))
  }
  public required init?(coder: NSCoder) { nil }

  public func setOn(_ on: Bool, animated: Bool) { isOn = on }
  open override var intrinsicContentSize: CGSize { CGSize(width: 51, height: 31) }
  override func tap() {
    isOn.toggle()
    sendActions(for: [.touchUpInside, .valueChanged, .primaryActionTriggered])
  }

  open override func draw(into canvas: inout Canvas, area: CGRect) {
    canvas.fill(area, isOn ? onTintColor ?? .systemGreen : .systemGray4)
    let knob = area.height - 4
    canvas.fill(
      CGRect(x: isOn ? area.maxX - knob - 2 : area.minX + 2, y: area.minY + 2, width: knob, height: knob), .white)
  }
}

/// A value that a person sets along a line.
@preconcurrency @MainActor
open class UISlider: UIControl {
  open var minimumValue: Float = 0
  open var maximumValue: Float = 1
  private var own: Float = 0
  /// Between `minimumValue` and `maximumValue`.
  open var value: Float {
    get { own }
    set { own = min(max(newValue, minimumValue), max(minimumValue, maximumValue)) }
  }
  open var isContinuous = true
  public override init(frame: CGRect) { super.init(frame: frame) }
  public required init?(coder: NSCoder) { nil }

  open func setValue(_ value: Float, animated: Bool) { self.value = value }
  /// As when a person moves the slider.
  func slide(to value: Float) {
    self.value = value
    sendActions(for: [.valueChanged, .touchUpInside])
  }
  open override var intrinsicContentSize: CGSize { CGSize(width: Self.noIntrinsicMetric, height: 31) }

  open override func draw(into canvas: inout Canvas, area: CGRect) {
    let range = maximumValue - minimumValue
    let part = range > 0 ? CGFloat((own - minimumValue) / range) : 0
    canvas.fill(CGRect(x: area.minX, y: area.midY - 2, width: area.width, height: 4), .systemGray4)
    canvas.fill(CGRect(x: area.minX, y: area.midY - 2, width: area.width * part, height: 4), tintColor)
  }
}

/// Segments of which one is selected.
@preconcurrency @MainActor
open class UISegmentedControl: UIControl {
  nonisolated public static let noSegment = -1
  private var titles: [String?] = []
  open var selectedSegmentIndex = noSegment

  /// - Parameter items: strings or images.
  public init(items: [Any]?) {
    titles = (items ?? []).map { $0 as? String }
    super.init(frame: .zero)
  }
  public override init(frame: CGRect) { super.init(frame: frame) }
  public required init?(coder: NSCoder) { nil }

  public var numberOfSegments: Int { titles.count }
  open func titleForSegment(at segment: Int) -> String? { titles.indices.contains(segment) ? titles[segment] : nil }
  open func setTitle(_ title: String?, forSegmentAt segment: Int) {
    if titles.indices.contains(segment) { titles[segment] = title }
  }
  open func insertSegment(withTitle title: String?, at segment: Int, animated: Bool) {
    titles.insert(title, at: min(max(segment, 0), titles.count))
  }
  open func removeAllSegments() { (titles, selectedSegmentIndex) = ([], Self.noSegment) }

  /// As when a person taps a segment.
  func tap(segment: Int) {
    guard titles.indices.contains(segment), selectedSegmentIndex != segment else { return }
    selectedSegmentIndex = segment
    sendActions(for: [.valueChanged, .primaryActionTriggered])
  }
  func segment(titled title: String) -> Int? { titles.firstIndex(of: title) }
  open override var intrinsicContentSize: CGSize {
    CGSize(width: CGFloat(titles.count * 60), height: 32)
  }

  open override func draw(into canvas: inout Canvas, area: CGRect) {
    let width = area.width / CGFloat(max(titles.count, 1))
    for (index, title) in titles.enumerated() {
      let part = CGRect(x: area.minX + CGFloat(index) * width, y: area.minY, width: width, height: area.height)
      canvas.fill(part, index == selectedSegmentIndex ? .white : .systemGray5)
      canvas.draw(title ?? "", at: CGPoint(x: part.minX + 6, y: part.midY - 8), height: 16, color: .black)
    }
  }
}

/// Shows that work goes on. It does not turn.
@preconcurrency @MainActor
open class UIActivityIndicatorView: UIView {
  public enum Style: Int, Sendable { case medium = 100, large }
  open var style: Style
  open var hidesWhenStopped = true { didSet { show() } }
  open var color: UIColor! = .systemGray
  public private(set) var isAnimating = false

  public init(style: Style) {
    self.style = style
    super.init(frame: CGRect(x: 0, y: 0, width: style == .large ? 37 : 20, height: style == .large ? 37 : 20))
    show()
  }
  public override init(frame: CGRect) {
    style = .medium
    super.init(frame: frame)
    show()
  }
  public required init?(coder: NSCoder) { nil }

  open func startAnimating() {
    isAnimating = true
    show()
  }
  open func stopAnimating() {
    isAnimating = false
    show()
  }
  private func show() { isHidden = hidesWhenStopped && !isAnimating }
  open override var intrinsicContentSize: CGSize {
    style == .large ? CGSize(width: 37, height: 37) : CGSize(width: 20, height: 20)
  }
  open override func draw(into canvas: inout Canvas, area: CGRect) {
    canvas.draw("*", at: CGPoint(x: area.minX, y: area.minY), height: area.height, color: color)
  }
}

/// Shows a progress from 0 to 1.
@preconcurrency @MainActor
open class UIProgressView: UIView {
  open var progress: Float = 0
  open var progressTintColor: UIColor? = .systemBlue
  open var trackTintColor: UIColor? = .systemGray5
  public override init(frame: CGRect) { super.init(frame: frame) }
  public required init?(coder: NSCoder) { nil }

  open func setProgress(_ progress: Float, animated: Bool) { self.progress = progress }
  open override var intrinsicContentSize: CGSize { CGSize(width: Self.noIntrinsicMetric, height: 4) }
  open override func draw(into canvas: inout Canvas, area: CGRect) {
    canvas.fill(area, trackTintColor ?? .systemGray5)
    var part = area
    part.size.width *= CGFloat(min(max(progress, 0), 1))
    canvas.fill(part, progressTintColor ?? .systemBlue)
  }
}

/// A view whose content may be larger than itself. Nothing scrolls by touch; `contentOffset` moves the content.
@preconcurrency @MainActor
open class UIScrollView: UIView {
  open var contentSize = CGSize.zero
  /// The point of the content at the top left corner.
  open var contentOffset = CGPoint.zero { didSet { if contentOffset != oldValue { setNeedsLayout() } } }
  open var contentInset = UIEdgeInsets.zero
  open var isScrollEnabled = true
  open var isPagingEnabled = false
  open var bounces = true
  open var alwaysBounceVertical = false
  open var showsVerticalScrollIndicator = true
  open var showsHorizontalScrollIndicator = true
  open weak var delegate: (any UIScrollViewDelegate)?

  public override init(frame: CGRect) { super.init(frame: frame) }
  public required init?(coder: NSCoder) { nil }

  package override var contentOrigin: CGPoint { contentOffset }

  open func setContentOffset(_ contentOffset: CGPoint, animated: Bool) { self.contentOffset = contentOffset }
  open func scrollRectToVisible(_ rect: CGRect, animated: Bool) {
    contentOffset = CGPoint(
      x: max(min(contentOffset.x, rect.minX), rect.maxX - bounds.width),
      y: max(min(contentOffset.y, rect.minY), rect.maxY - bounds.height))
  }
  /// What of the content is seen.
  var visibleRect: CGRect { CGRect(origin: contentOffset, size: bounds.size) }
}

@preconcurrency @MainActor
public protocol UIScrollViewDelegate: AnyObject {
  func scrollViewDidScroll(_ scrollView: UIScrollView)
}
extension UIScrollViewDelegate {
  public func scrollViewDidScroll(_ scrollView: UIScrollView) {}
}
