import Foundation
import QuartzCore

extension Screen {
  @objc func addedElsewhere() { note("added") }
  @objc private func unused() { note("unused") }
}

private extension Screen {
  @objc func hiddenElsewhere() {}
}

extension Screen {
  @objc func hidden() { note("hidden") }
}

extension UIViewController {
  @objc func ofAllControllers() { (self as? BaseScreen)?.note("of the extension") }
}

/// All of its methods are Objective-C's, and it is no view.
@objcMembers final class Model: NSObject, ObservableObject {
  @Published var count = 0
  private var buffer: CVPixelBuffer?
  var request: URLRequest?
  @nonobjc func plus(_ number: Int) { count += number }
  func increment() { plus(1) }
  func step(by sender: NSNumber) { count += sender.intValue }
}
