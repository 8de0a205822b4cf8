#sourceLocation(file: "Tests/LinuxCopy/App/AppDelegate.swift", line: 1)
import UIKit

                  
class AppDelegate: UIResponder, UIApplicationDelegate {
  var window: UIWindow?
  let model = Model()
}
