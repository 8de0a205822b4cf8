public import Foundation
import Koine

/// The size of a text's characters. All texts are drawn in one face.
public final class UIFont: NSObject, Sendable {
  public struct Weight: Hashable, Sendable, RawRepresentable {
    public let rawValue: CGFloat
    public init(rawValue: CGFloat) { self.rawValue = rawValue }
    public static let light = Weight(rawValue: -0.4)
    public static let regular = Weight(rawValue: 0)
    public static let medium = Weight(rawValue: 0.23)
    public static let semibold = Weight(rawValue: 0.3)
    public static let bold = Weight(rawValue: 0.4)
    public static let heavy = Weight(rawValue: 0.56)
  }

  public struct TextStyle: Hashable, Sendable {
    /// In points, at the default text size.
    let size: CGFloat
    public static let largeTitle = TextStyle(size: 34)
    public static let title1 = TextStyle(size: 28)
    public static let title2 = TextStyle(size: 22)
    public static let title3 = TextStyle(size: 20)
    public static let headline = TextStyle(size: 17)
    public static let body = TextStyle(size: 17)
    public static let callout = TextStyle(size: 16)
    public static let subheadline = TextStyle(size: 15)
    public static let footnote = TextStyle(size: 13)
    public static let caption1 = TextStyle(size: 12)
    public static let caption2 = TextStyle(size: 11)
  }

  /// In points.
  public let pointSize: CGFloat
  public var lineHeight: CGFloat { CGFloat(scale * BitmapFont.lineHeight) }
  public static let systemFontSize: CGFloat = 14
  public static let labelFontSize: CGFloat = 17
  public static let buttonFontSize: CGFloat = 18

  init(size: CGFloat) { pointSize = size }

  /// - Parameter fontSize: in points.
  public class func systemFont(ofSize fontSize: CGFloat) -> UIFont { UIFont(size: fontSize) }
  public class func systemFont(ofSize fontSize: CGFloat, weight: Weight) -> UIFont { UIFont(size: fontSize) }
  public class func boldSystemFont(ofSize fontSize: CGFloat) -> UIFont { UIFont(size: fontSize) }
  public class func italicSystemFont(ofSize fontSize: CGFloat) -> UIFont { UIFont(size: fontSize) }
  public class func monospacedDigitSystemFont(ofSize fontSize: CGFloat, weight: Weight) -> UIFont {
    UIFont(size: fontSize)
  }
  public class func monospacedSystemFont(ofSize fontSize: CGFloat, weight: Weight) -> UIFont { UIFont(size: fontSize) }
  public class func preferredFont(forTextStyle style: TextStyle) -> UIFont { UIFont(size: style.size) }
  public func withSize(_ fontSize: CGFloat) -> UIFont { UIFont(size: fontSize) }

  /// Points of a dot of the bitmap font.
  private var scale: Int { max(1, Int((pointSize * 1.2).rounded(.down)) / BitmapFont.lineHeight) }
  var advance: CGFloat { CGFloat(6 * scale) }
}

public enum NSTextAlignment: Int, Sendable { case left = 0, center, right, justified, natural }
public enum NSLineBreakMode: Int, Sendable {
  case byWordWrapping = 0, byCharWrapping, byClipping, byTruncatingHead, byTruncatingTail, byTruncatingMiddle
}

/// Lines of text.
///
/// [Apple's page](https://developer.apple.com/documentation/uikit/uilabel)
@preconcurrency @MainActor
open class UILabel: UIView {
  open var text: String? { didSet { if text != oldValue { invalidateIntrinsicContentSize() } } }
  /// Its characters are drawn as those of `text`.
  open var attributedText: NSAttributedString? {
    get { text.map { NSAttributedString(string: $0) } }
    set { text = newValue?.string }
  }
  open var textColor: UIColor! = .black
  open var textAlignment = NSTextAlignment.natural
  /// Nil: the text is as high as the label.
  private var ownFont: UIFont?
  open var font: UIFont! {
    get { ownFont ?? UIFont.systemFont(ofSize: UIFont.labelFontSize) }
    set {
      ownFont = newValue
      invalidateIntrinsicContentSize()
    }
  }
  /// 0: as many as the text needs.
  open var numberOfLines = 1 { didSet { invalidateIntrinsicContentSize() } }
  open var lineBreakMode = NSLineBreakMode.byTruncatingTail
  open var adjustsFontSizeToFitWidth = false
  open var minimumScaleFactor: CGFloat = 0
  open var adjustsFontForContentSizeCategory = false
  open var preferredMaxLayoutWidth: CGFloat = 0
  open var isHighlighted = false
  open var isEnabled = true
  /// The width at which the text was wrapped last; nil: not wrapped.
  private var wrappedWidth: CGFloat?

  public override init(frame: CGRect) { super.init(frame: frame) }
  public required init?(coder: NSCoder) { nil }

  private func lines(within width: CGFloat?) -> [Substring] {
    guard let text, !text.isEmpty else { return [] }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard numberOfLines != 1, let width, width >= font.advance else {
      return Array(lines.prefix(numberOfLines == 0 ? .max : numberOfLines))
    }
    let columns = max(1, Int(width / font.advance))
    var wrapped: [Substring] = []
    for line in lines {
      var rest = line
      while rest.count > columns {
        let head = rest.prefix(columns + 1)
        let end = head.lastIndex(of: " ") ?? rest.index(rest.startIndex, offsetBy: columns)
        wrapped.append(rest[..<end])
        rest = rest[end...].drop { $0 == " " }
      }
      wrapped.append(rest)
    }
    return Array(wrapped.prefix(numberOfLines == 0 ? .max : numberOfLines))
  }

  private func size(within width: CGFloat?) -> CGSize {
    let lines = lines(within: width)
    return CGSize(
      width: CGFloat(lines.map(\.count).max() ?? 0) * font.advance, height: CGFloat(lines.count) * font.lineHeight)
  }

  open override var intrinsicContentSize: CGSize {
    size(within: preferredMaxLayoutWidth > 0 ? preferredMaxLayoutWidth : nil)
  }
  override var layoutSize: CGSize {
    let own = intrinsicContentSize
    guard let wrappedWidth else { return own }
    return CGSize(width: own.width, height: size(within: wrappedWidth).height)
  }
  open override func sizeThatFits(_ size: CGSize) -> CGSize { self.size(within: size.width > 0 ? size.width : nil) }

  /// Notes the width that the layout has given.
  /// - Returns: whether the text has another height at it.
  func wrap() -> Bool {
    let width = numberOfLines == 1 || frame.width >= intrinsicContentSize.width ? nil : frame.width
    guard width != wrappedWidth else { return false }
    wrappedWidth = width
    return true
  }

  open override func draw(into canvas: inout Canvas, area: CGRect) {
    guard let ownFont else {
      if let text {
        drawLine(
          text[...], into: &canvas, in: area, advance: CGFloat(6 * max(1, Int(area.height) / 8)), height: area.height)
      }
      return
    }
    let lines = lines(within: area.width)
    var top = area.midY - CGFloat(lines.count) * ownFont.lineHeight / 2
    for line in lines {
      drawLine(
        line, into: &canvas, in: CGRect(x: area.minX, y: top, width: area.width, height: ownFont.lineHeight),
        advance: ownFont.advance, height: ownFont.lineHeight)
      top += ownFont.lineHeight
    }
  }

  private func drawLine(
    _ line: Substring, into canvas: inout Canvas, in area: CGRect, advance: CGFloat, height: CGFloat
  ) {
    let room = area.width - CGFloat(line.count) * advance
    let left: CGFloat =
      switch textAlignment {
      case .center: max(0, room / 2)
      case .right: max(0, room)
      case .left, .justified, .natural: 0
      }
    canvas.draw(String(line), at: CGPoint(x: area.minX + left, y: area.minY), height: height, color: textColor)
  }
}

@preconcurrency @MainActor
public protocol UITextFieldDelegate: AnyObject {
  func textFieldShouldBeginEditing(_ textField: UITextField) -> Bool
  func textFieldDidBeginEditing(_ textField: UITextField)
  func textFieldShouldReturn(_ textField: UITextField) -> Bool
  func textFieldDidEndEditing(_ textField: UITextField)
  func textField(_ textField: UITextField, shouldChangeCharactersIn range: NSRange, replacementString string: String)
    -> Bool
}
extension UITextFieldDelegate {
  public func textFieldShouldBeginEditing(_ textField: UITextField) -> Bool { true }
  public func textFieldDidBeginEditing(_ textField: UITextField) {}
  public func textFieldShouldReturn(_ textField: UITextField) -> Bool { true }
  public func textFieldDidEndEditing(_ textField: UITextField) {}
  public func textField(
    _ textField: UITextField, shouldChangeCharactersIn range: NSRange, replacementString string: String
  ) -> Bool { true }
}

/// One line of text that a person types.
@preconcurrency @MainActor
open class UITextField: UIControl {
  public enum BorderStyle: Int, Sendable { case none, line, bezel, roundedRect }

  open var text: String? = "" { didSet { setNeedsLayout() } }
  open var placeholder: String?
  open var textColor: UIColor? = .black
  open var font: UIFont? = UIFont.systemFont(ofSize: UIFont.labelFontSize)
  open var textAlignment = NSTextAlignment.natural
  open var borderStyle = BorderStyle.none
  open var isSecureTextEntry = false
  open weak var delegate: (any UITextFieldDelegate)?
  /// Whether a person types into the field.
  public var isEditing: Bool { isFirstResponder }

  public override init(frame: CGRect) { super.init(frame: frame) }
  public required init?(coder: NSCoder) { nil }

  @discardableResult
  open override func becomeFirstResponder() -> Bool {
    guard !isFirstResponder else { return true }
    guard isEnabled, delegate?.textFieldShouldBeginEditing(self) ?? true else { return false }
    _ = super.becomeFirstResponder()
    delegate?.textFieldDidBeginEditing(self)
    sendActions(for: .editingDidBegin)
    return true
  }

  @discardableResult
  open override func resignFirstResponder() -> Bool {
    guard isFirstResponder else { return true }
    _ = super.resignFirstResponder()
    delegate?.textFieldDidEndEditing(self)
    sendActions(for: .editingDidEnd)
    return true
  }

  /// As when a person types a text in the place of the field's.
  func type(_ new: String) {
    guard becomeFirstResponder() else { return }
    let range = NSRange(location: 0, length: (text ?? "").utf16.count)
    guard delegate?.textField(self, shouldChangeCharactersIn: range, replacementString: new) ?? true else { return }
    text = new
    sendActions(for: .editingChanged)
  }

  /// As when a person presses the return key.
  func pressReturn() {
    guard delegate?.textFieldShouldReturn(self) ?? true else { return }
    sendActions(for: [.editingDidEndOnExit, .primaryActionTriggered])
  }

  private var shown: String { text.flatMap { $0.isEmpty ? nil : $0 } ?? placeholder ?? "" }
  open override var intrinsicContentSize: CGSize {
    guard let font else { return super.intrinsicContentSize }
    return CGSize(width: CGFloat(shown.count) * font.advance + 14, height: font.lineHeight + 12)
  }

  open override func draw(into canvas: inout Canvas, area: CGRect) {
    let isEmpty = text?.isEmpty ?? true
    let shown = isEmpty || !isSecureTextEntry ? shown : String(repeating: "*", count: shown.count)
    canvas.draw(
      shown, at: CGPoint(x: area.minX + 7, y: area.midY - (font?.lineHeight ?? 8) / 2), height: font?.lineHeight ?? 8,
      color: isEmpty ? .placeholderText : textColor ?? .black)
  }
}

@preconcurrency @MainActor
public protocol UITextViewDelegate: AnyObject {
  func textViewDidChange(_ textView: UITextView)
}
extension UITextViewDelegate {
  public func textViewDidChange(_ textView: UITextView) {}
}

/// Text over several lines.
@preconcurrency @MainActor
open class UITextView: UIScrollView {
  private let label = UILabel(frame: .zero)
  open var text: String! = "" { didSet { showText() } }
  open var textColor: UIColor? = .black { didSet { label.textColor = textColor ?? .black } }
  open var font: UIFont? { didSet { label.font = font } }
  open var isEditable = true
  open var isSelectable = true
  open weak var textDelegate: (any UITextViewDelegate)?

  public override init(frame: CGRect) {
    super.init(frame: frame)
    label.numberOfLines = 0
    label.font = UIFont.systemFont(ofSize: UIFont.systemFontSize)
    addSubview(label)
  }
  public required init?(coder: NSCoder) { nil }

  private func showText() {
    label.text = text
    setNeedsLayout()
  }

  /// As when a person types a text in the place of the view's.
  func type(_ new: String) {
    guard isEditable else { return }
    text = new
    textDelegate?.textViewDidChange(self)
  }

  open override func layoutSubviews() {
    super.layoutSubviews()
    label.frame = CGRect(
      x: 0, y: 0, width: bounds.width, height: label.sizeThatFits(CGSize(width: bounds.width, height: 0)).height)
    contentSize = label.frame.size
  }
}
