import Combine; import CoreVideo; import FoundationNetworking
#sourceLocation(file: "Tests/LinuxCopy/App/Screens+More.swift", line: 1)
import Foundation
import UIKit

extension Screen {
        func addedElsewhere() { note("added") }
        private func unused() { note("unused") }
}

private extension Screen {
        func hiddenElsewhere() {}
}

extension Screen {
        func hidden() { note("hidden") }
}

extension UIViewController {
        func ofAllControllers() { (self as? BaseScreen)?.note("of the extension") }
}

/// All of its methods are Objective-C's, and it is no view.
             final class Model: NSObject, ObservableObject, SelectorPerforming {
  @Published var count = 0
  private var buffer: CVPixelBuffer?
  var request: URLRequest?
           func plus(_ number: Int) { count += number }
  func increment() { plus(1) }
  func step(by sender: NSNumber) { count += sender.intValue }

#sourceLocation()
  @MainActor func performSelector(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "increment":
      self.increment()
      return true
    case "stepBy:":
      guard let sender = sender as? NSNumber else { return false }
      self.step(by: sender)
      return true
    default: return false
    }
  }
#sourceLocation(file: "Tests/LinuxCopy/App/Screens+More.swift", line: 29)
}
#sourceLocation()

extension Screen {
  @MainActor func performSelectorOfExtension1(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "addedElsewhere":
      self.addedElsewhere()
      return true
    case "unused":
      self.unused()
      return true
    default: return false
    }
  }
}
extension Screen {
  @MainActor func performSelectorOfExtension2(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "hiddenElsewhere":
      self.hiddenElsewhere()
      return true
    default: return false
    }
  }
}
extension Screen {
  @MainActor func performSelectorOfExtension3(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "hidden":
      self.hidden()
      return true
    default: return false
    }
  }
}
extension UIViewController {
  @MainActor func performSelectorOfExtension4(_ selector: Selector, sender: Any?) -> Bool {
    switch selector.name {
    case "ofAllControllers":
      self.ofAllControllers()
      return true
    default: return false
    }
  }
}
