import Foundation

// What a person does at a screen, for tests: `TestRoom.tap` and its like use these.

/// Why a tap or a typed text reached nothing.
public struct TapError: Error, CustomStringConvertible, Sendable {
  public let description: String
}

/// A control, a row, a gesture's view or a bar's button that a person can tap, by its names.
@MainActor private struct Tappable {
  let names: [String]
  let isEnabled: Bool
  let tap: @MainActor () -> Void
}

extension UIView {
  /// Taps the frontmost thing in this view that has a name: a button's title, a segment, a text in a row or in a view with a gesture, an
  /// alert's choice, a bar's button, or an accessibility identifier or label.
  /// - Throws: `TapError` if nothing that is visible and enabled has the name.
  package func tap(_ name: String) throws {
    layoutIfNeeded()
    var found: [Tappable] = []
    _ = collectTappables(into: &found)
    for item in barItems { found.append(Tappable(of: item)) }
    let named = found.filter { $0.names.contains(name) }
    guard let chosen = named.first(where: \.isEnabled) else {
      let others = found.filter(\.isEnabled).compactMap(\.names.first)
      throw TapError(
        description: named.isEmpty
          ? "nothing named '\(name)' can be tapped; there is \(others.isEmpty ? "nothing" : others.joined(separator: ", "))"
          : "'\(name)' is disabled")
    }
    chosen.tap()
  }

  /// Types a text into the field with a placeholder, an accessibility identifier or label of that name.
  package func type(_ text: String, into name: String) throws {
    layoutIfNeeded()
    let fields = reachable.filter { $0 is UITextField || $0 is UITextView }
    guard let field = fields.first(where: { $0.names.contains(name) }) else {
      let others = fields.compactMap(\.names.first)
      throw TapError(
        description: "no field is named '\(name)'; there is \(others.isEmpty ? "none" : others.joined(separator: ", "))"
      )
    }
    (field as? UITextField)?.type(text)
    (field as? UITextView)?.type(text)
  }

  /// Presses the return key in the field of that name.
  package func pressReturn(in name: String) throws {
    guard let field = reachable.lazy.compactMap({ $0 as? UITextField }).first(where: { $0.names.contains(name) }) else {
      throw TapError(description: "no text field is named '\(name)'")
    }
    field.pressReturn()
  }

  /// Moves the slider of that name to a value.
  package func slide(_ name: String, to value: Float) throws {
    guard let slider = reachable.lazy.compactMap({ $0 as? UISlider }).first(where: { $0.names.contains(name) }) else {
      throw TapError(description: "no slider is named '\(name)'")
    }
    slider.slide(to: value)
  }

  /// Views that a person can reach, from front to back: visible, not covered by a presented controller's view.
  private var reachable: [UIView] {
    var views: [UIView] = []
    _ = collectReachable(into: &views)
    return views
  }

  /// - Returns: false: what lies behind cannot be reached.
  private func collectReachable(into views: inout [UIView]) -> Bool {
    guard !isHidden, alpha >= 0.01, isUserInteractionEnabled else { return true }
    for view in subviews.reversed() where !view.collectReachable(into: &views) { return false }
    views.append(self)
    return controller?.presentingViewController == nil
  }

  private func collectTappables(into found: inout [Tappable]) -> Bool {
    for view in reachable { found += view.tappables }
    return true
  }

  /// Names by which a person, or a test, knows the view.
  var names: [String] {
    let own: [String?]
    switch self {
    case let button as UIButton: own = [button.currentTitle]
    case let label as UILabel: own = [label.text]
    case let field as UITextField: own = [field.placeholder]
    default: own = []
    }
    return (own + [accessibilityIdentifier, accessibilityLabel]).compactMap(\.self).filter { !$0.isEmpty }
  }

  /// The names of the view and of all texts in it.
  private var namesInside: [String] { names + subviews.filter { !$0.isHidden }.flatMap(\.namesInside) }

  private var tappables: [Tappable] {
    var found: [Tappable] = []
    switch self {
    case let control as UISegmentedControl:
      for segment in 0..<control.numberOfSegments {
        guard let title = control.titleForSegment(at: segment) else { continue }
        found.append(Tappable(names: [title], isEnabled: control.isEnabled) { control.tap(segment: segment) })
      }
    case let field as UITextField:
      found.append(Tappable(names: names, isEnabled: field.isEnabled) { field.becomeFirstResponder() })
    case let control as UIControl:
      found.append(Tappable(names: names, isEnabled: control.isEnabled) { control.tap() })
    case let cell as UITableViewCell:
      guard let table = cell.superview as? UITableView, let path = table.indexPath(for: cell) else { break }
      found.append(Tappable(names: namesInside, isEnabled: table.allowsSelection) { table.tap(row: path) })
    case let cell as UICollectionViewCell:
      guard let view = cell.superview as? UICollectionView, let path = view.indexPath(for: cell) else { break }
      found.append(Tappable(names: namesInside, isEnabled: view.allowsSelection) { view.tap(item: path) })
    default: break
    }
    let taps = (gestureRecognizers ?? []).filter { $0 is UITapGestureRecognizer }
    if !taps.isEmpty {
      let middle = CGPoint(x: bounds.midX, y: bounds.midY)
      found.append(
        Tappable(names: namesInside, isEnabled: taps.contains(where: \.isEnabled)) {
          for recognizer in taps { recognizer.recognize(at: middle) }
        })
    }
    return found
  }

  /// Buttons of the bars of the controllers whose views are here.
  private var barItems: [UIBarButtonItem] {
    let controllers = reachable.compactMap(\.controller)
    let items = controllers.flatMap { controller in
      (controller.navigationItem.leftBarButtonItems ?? []) + (controller.navigationItem.rightBarButtonItems ?? [])
    }
    return items
  }
}

extension Tappable {
  init(of item: UIBarButtonItem) {
    let names = [item.title, item.accessibilityIdentifier].compactMap(\.self)
    self.init(names: names, isEnabled: item.isEnabled) { item.tap() }
  }
}
