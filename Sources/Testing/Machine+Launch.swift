import Dispatch
public import Koine
import KoineCallKit
import KoineUIKit
import Testing
import XCTest

// The app of a person's machine, launched by its user or by a VoIP push.

extension Machine {
  /// Sets how the app of this machine is launched. It is not running until its user opens it (`phone.openApp()`), or a VoIP push
  /// arrives.
  ///
  ///     let machine = room.machine(of: "Ana")
  ///     machine.onLaunch { AppDelegate() }
  ///     machine.phone.openApp()
  ///
  /// If the object is a `UIApplicationDelegate`, it gets `application(_:didFinishLaunchingWithOptions:)`. SDK objects that the app makes
  /// belong to the machine's person, also in the callbacks. The phone keeps the object until `phone.terminateApp()`.
  /// - Parameter make: makes the app, on the main queue.
  public func onLaunch(_ make: @escaping @MainActor @Sendable () -> any AnyObject) {
    phone.setLauncher { [weak self] in
      let made = MainActor.assumeIsolated {
        let made = make()
        if let self, let delegate = made as? any UIApplicationDelegate {
          let application = UIApplication.of(self)
          application.delegate = delegate
          _ = delegate.application(application, didFinishLaunchingWithOptions: nil)
        }
        return Launched(object: made)
      }
      return made.object
    }
  }
}

/// Crosses from the main actor to the main queue, which are one here.
private struct Launched: @unchecked Sendable { let object: any AnyObject }

extension TestRoom {
  /// Records an issue for each offence for which iOS terminates an app, such as a VoIP push without a reported call.
  func reportPhoneFailures() {
    for world in people.worlds {
      for failure in world.machine.phone.takeUnreportedFailures() {
        let message = "\(world.participantID ?? "?")'s phone: \(failure)"
        if Test.current == nil { XCTFail(message) } else { Issue.record(Comment(rawValue: message)) }
      }
    }
  }
}
