#sourceLocation(file: "Tests/LinuxCopy/App/Screens.swift", line: 1)
import AVFoundation
import UIKit
import KoineOS

/// Every form of selector and attribute that `koine linux` rewrites. This file is not compiled; its copy is.
public class BaseScreen: UIViewController, SelectorPerforming {
  public internal(set) var calls: [String] = []

  func note(_ call: String) { calls.append(call) }

        func shared() { note("base shared") }
        func replaced(_ sender: Any?) { note("base replaced") }

#sourceLocation()
  @MainActor public func performSelector(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "shared":
      self.shared()
      return true
    case "replaced:":
      self.replaced(sender)
      return true
    default: return performSelectorOfExtension4(selector, sender: sender)
    }
  }
#sourceLocation(file: "Tests/LinuxCopy/App/Screens.swift", line: 13)
}

public final class Screen: BaseScreen {
            weak var outlet: UIButton!
                 var corner: CGFloat = 4
  private let log = OSLog(subsystem: "tea", category: "screen")
  private lazy var row = Row(screen: self)
  private(set) weak var delegate: ScreenDelegate?

  public override func viewDidLoad() {
    super.viewDidLoad()
    let button = UIButton(type: .system)
    view.addSubview(button)
    outlet = button
    add("plain", Selector("plain"))
    add("sender", Selector("sender:"))
    add("labelled", Selector("showWithPanel:"))
    add("event", Selector("touched:with:"))
    add("renamed", Selector("anotherName"))
    add("cast", Selector("overloaded:"))
    add("optional", Selector("optionalSender:"))
    add("result", Selector("withResult"))
    add("shared", Selector("shared"))
    add("replaced", Selector("replaced:"))
    add("added", Selector("addedElsewhere"))
    add("ofExtension", Selector("ofAllControllers"))
    add("hidden", Selector("hidden"))
    let nested = UIButton(type: .system)
    nested.setTitle("row", for: .normal)
    nested.addTarget(row, action: Selector("tapped"), for: .touchUpInside)
    view.addSubview(nested)
    let chain = UIButton(type: .system)
    chain.setTitle("chain", for: .normal)
    chain.addTarget(nil, action: Selector("plain"), for: .touchUpInside)
    view.addSubview(chain)
    NotificationCenter.default.addObserver(
      self, selector: Selector("noticedWithNotification:"), name: .screenNotice, object: nil)
    NotificationCenter.default.addObserver(
      self, selector: Selector("noticedOld:"), name: .screenNotice, object: nil)
    NotificationCenter.default.addObserver(
      self, selector: Selector("routeChanged"), name: AVAudioSession.routeChangeNotification, object: nil)
  }

  deinit { NotificationCenter.default.removeObserver(self) }

  private func add(_ title: String, _ action: Selector) {
    let button = UIButton(type: .system)
    button.setTitle(title, for: .normal)
    button.addTarget(self, action: action, for: .touchUpInside)
    view.addSubview(button)
  }

        func plain() { note("plain") }
            private func sender(_ sender: UIButton) { note("sender \(sender.title(for: .normal) ?? "")") }
        dynamic fileprivate func show(panel: UIButton!) { note("show") }
        func touched(_ sender: UIControl, with event: UIEvent) { note("touched") }
                     func renamed() { note("renamed") }
        func overloaded(_ sender: UIButton) { note("overloaded") }
        func optionalSender(_ sender: UIButton?) { note(sender == nil ? "no sender" : "optional") }
        @discardableResult func withResult() -> Bool {
    note("result")
    return true
  }
        override func replaced(_ sender: Any?) {
    super.replaced(sender)
    note("replaced")
  }
        private func noticed(notification: Notification) {
    os_log("noticed %{public}@", log: log, type: .debug, notification.name.rawValue)
    note("noticed")
  }
        private func noticedOld(_ notification: NSNotification) { note("noticed \(notification.name.rawValue)") }
        private func routeChanged() { note("route") }

  func use(_ delegate: ScreenDelegate) {
    self.delegate = delegate
    delegate.screenDidStart(self)
    self.delegate?.screen (self, didNote: "start")
    note(self.delegate?.title () ?? "no title")
  }

  /// A class that no other file sees.
  @MainActor private final class Row: NSObject, SelectorPerforming {
    weak var screen: Screen?
    init(screen: Screen) { self.screen = screen }
          func tapped() { screen?.note("row") }
  
#sourceLocation()
  @MainActor func performSelector(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "tapped":
      self.tapped()
      return true
    default: return false
    }
  }
#sourceLocation(file: "Tests/LinuxCopy/App/Screens.swift", line: 99)
}

#sourceLocation()
  @MainActor public override func performSelector(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "plain":
      self.plain()
      return true
    case "sender:":
      guard let sender = sender as? UIButton else { return false }
      self.sender(sender)
      return true
    case "showWithPanel:":
      guard let sender = sender as? UIButton else { return false }
      self.show(panel: sender)
      return true
    case "touched:with:":
      guard let sender = sender as? UIControl else { return false }
      self.touched(sender, with: UIEvent())
      return true
    case "anotherName":
      self.renamed()
      return true
    case "overloaded:":
      guard let sender = sender as? UIButton else { return false }
      self.overloaded(sender)
      return true
    case "optionalSender:":
      let sender = sender as? UIButton
      self.optionalSender(sender)
      return true
    case "withResult":
      _ = self.withResult()
      return true
    case "replaced:":
      self.replaced(sender)
      return true
    case "noticedWithNotification:":
      guard let sender = sender as? Notification else { return false }
      self.noticed(notification: sender)
      return true
    case "noticedOld:":
      guard let sender = (sender as? Notification).map({ $0 as NSNotification }) else { return false }
      self.noticedOld(sender)
      return true
    case "routeChanged":
      self.routeChanged()
      return true
    default: return performSelectorOfExtension1(selector, sender: sender) || performSelectorOfExtension2(selector, sender: sender) || performSelectorOfExtension3(selector, sender: sender) || super.performSelector(selector, sender: sender)
    }
  }
#sourceLocation(file: "Tests/LinuxCopy/App/Screens.swift", line: 100)
}

@MainActor       protocol ScreenDelegate: AnyObject {
  func screenDidStart(_ screen: Screen)
                 func screen(_ screen: Screen, didNote text: String)
                 func title() -> String?
}

final class QuietDelegate: ScreenDelegate {
  func screenDidStart(_ screen: Screen) { screen.note("started") }
}

final class LoudDelegate: NSObject, ScreenDelegate, SelectorPerforming {
  func screenDidStart(_ screen: Screen) { screen.note("started") }
        func screen(_ screen: Screen, didNote text: String) { screen.note("heard \(text)") }
        func title() -> String? { "Tea" }

#sourceLocation()
  @MainActor func performSelector(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "title":
      _ = self.title()
      return true
    default: return false
    }
  }
#sourceLocation(file: "Tests/LinuxCopy/App/Screens.swift", line: 116)
}

extension Notification.Name {
  static let screenNotice = Notification.Name("screenNotice")
}
#sourceLocation()

extension ScreenDelegate {
  func screen(_ screen: Screen, didNote text: String) {}
  func title() -> String? { nil }
}
