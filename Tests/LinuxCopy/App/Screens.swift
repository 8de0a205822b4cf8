import AVFoundation
import UIKit
import os.log

/// Every form of selector and attribute that `koine linux` rewrites. This file is not compiled; its copy is.
public class BaseScreen: UIViewController {
  public internal(set) var calls: [String] = []

  func note(_ call: String) { calls.append(call) }

  @objc func shared() { note("base shared") }
  @objc func replaced(_ sender: Any?) { note("base replaced") }
}

public final class Screen: BaseScreen {
  @IBOutlet weak var outlet: UIButton!
  @IBInspectable var corner: CGFloat = 4
  private let log = OSLog(subsystem: "tea", category: "screen")
  private lazy var row = Row(screen: self)
  private(set) weak var delegate: ScreenDelegate?

  public override func viewDidLoad() {
    super.viewDidLoad()
    let button = UIButton(type: .system)
    view.addSubview(button)
    outlet = button
    add("plain", #selector(plain))
    add("sender", #selector(sender(_:)))
    add("labelled", #selector(Screen.show(panel:)))
    add("event", #selector(touched(_:with:)))
    add("renamed", #selector(Self.renamed))
    add("cast", #selector(overloaded as (Screen) -> (UIButton) -> Void))
    add("optional", #selector(self.optionalSender(_:)))
    add("result", #selector(withResult))
    add("shared", #selector(shared))
    add("replaced", #selector(replaced))
    add("added", #selector(addedElsewhere))
    add("ofExtension", #selector(ofAllControllers))
    add("hidden", #selector(hidden))
    let nested = UIButton(type: .system)
    nested.setTitle("row", for: .normal)
    nested.addTarget(row, action: #selector(Row.tapped), for: .touchUpInside)
    view.addSubview(nested)
    let chain = UIButton(type: .system)
    chain.setTitle("chain", for: .normal)
    chain.addTarget(nil, action: #selector(plain), for: .touchUpInside)
    view.addSubview(chain)
    NotificationCenter.default.addObserver(
      self, selector: #selector(noticed(notification:)), name: .screenNotice, object: nil)
    NotificationCenter.default.addObserver(
      self, selector: #selector(noticedOld), name: .screenNotice, object: nil)
    NotificationCenter.default.addObserver(
      self, selector: #selector(routeChanged), name: AVAudioSession.routeChangeNotification, object: nil)
  }

  deinit { NotificationCenter.default.removeObserver(self) }

  private func add(_ title: String, _ action: Selector) {
    let button = UIButton(type: .system)
    button.setTitle(title, for: .normal)
    button.addTarget(self, action: action, for: .touchUpInside)
    view.addSubview(button)
  }

  @objc func plain() { note("plain") }
  @IBAction private func sender(_ sender: UIButton) { note("sender \(sender.title(for: .normal) ?? "")") }
  @objc dynamic fileprivate func show(panel: UIButton!) { note("show") }
  @objc func touched(_ sender: UIControl, with event: UIEvent) { note("touched") }
  @objc(anotherName) func renamed() { note("renamed") }
  @objc func overloaded(_ sender: UIButton) { note("overloaded") }
  @objc func optionalSender(_ sender: UIButton?) { note(sender == nil ? "no sender" : "optional") }
  @objc @discardableResult func withResult() -> Bool {
    note("result")
    return true
  }
  @objc override func replaced(_ sender: Any?) {
    super.replaced(sender)
    note("replaced")
  }
  @objc private func noticed(notification: Notification) {
    os_log("noticed %{public}@", log: log, type: .debug, notification.name.rawValue)
    note("noticed")
  }
  @objc private func noticedOld(_ notification: NSNotification) { note("noticed \(notification.name.rawValue)") }
  @objc private func routeChanged() { note("route") }

  func use(_ delegate: ScreenDelegate) {
    self.delegate = delegate
    delegate.screenDidStart(self)
    self.delegate?.screen?(self, didNote: "start")
    note(self.delegate?.title?() ?? "no title")
  }

  /// A class that no other file sees.
  @MainActor private final class Row: NSObject {
    weak var screen: Screen?
    init(screen: Screen) { self.screen = screen }
    @objc func tapped() { screen?.note("row") }
  }
}

@MainActor @objc protocol ScreenDelegate {
  func screenDidStart(_ screen: Screen)
  @objc optional func screen(_ screen: Screen, didNote text: String)
  @objc optional func title() -> String?
}

final class QuietDelegate: ScreenDelegate {
  func screenDidStart(_ screen: Screen) { screen.note("started") }
}

final class LoudDelegate: NSObject, ScreenDelegate {
  func screenDidStart(_ screen: Screen) { screen.note("started") }
  @objc func screen(_ screen: Screen, didNote text: String) { screen.note("heard \(text)") }
  @objc func title() -> String? { "Tea" }
}

extension Notification.Name {
  static let screenNotice = Notification.Name("screenNotice")
}
