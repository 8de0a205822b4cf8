import AVFoundation
import Testing
import UIKit

@testable import LinuxCopyApp

/// The copy that `koine linux` has written of an app with selectors of every form.
@MainActor @Suite struct SelectorTests {
  private func screen() -> Screen {
    let screen = Screen()
    screen.loadViewIfNeeded()
    for (number, view) in screen.view.subviews.enumerated() {
      view.frame = CGRect(x: 0, y: 30 * number, width: 200, height: 28)
    }
    return screen
  }

  @Test(arguments: [
    ("plain", ["plain"]), ("sender", ["sender sender"]), ("labelled", ["show"]), ("event", ["touched"]),
    ("renamed", ["renamed"]), ("cast", ["overloaded"]), ("optional", ["optional"]), ("result", ["result"]),
    ("shared", ["base shared"]), ("replaced", ["base replaced", "replaced"]), ("added", ["added"]),
    ("ofExtension", ["of the extension"]), ("hidden", ["hidden"]), ("row", ["row"]), ("chain", ["plain"]),
  ]) func tappedButtonCallsItsMethod(title: String, calls: [String]) throws {
    let screen = screen()
    try screen.view.tap(title)
    #expect(screen.calls == calls)
  }

  @Test func notificationsCallTheirMethodsUntilTheScreenIsGone() {
    var screen: Screen? = screen()
    weak let gone = screen
    NotificationCenter.default.post(name: .screenNotice, object: nil)
    #expect(screen?.calls.sorted() == ["noticed", "noticed screenNotice"])
    screen = nil
    #expect(gone == nil)
    NotificationCenter.default.post(name: .screenNotice, object: nil)
  }

  @Test func routeChangeCallsTheScreen() {
    let screen = screen()
    NotificationCenter.default.post(name: AVAudioSession.routeChangeNotification, object: nil)
    #expect(screen.calls == ["route"])
  }

  @Test func optionalRequirementIsCalledWhereAClassHasIt() {
    let (first, second) = (screen(), screen())
    first.use(QuietDelegate())
    #expect(first.calls == ["started", "no title"])
    second.use(LoudDelegate())
    #expect(second.calls == ["started", "heard start", "Tea"])
  }

  @Test func modelWithAllMethodsExposedPerformsThem() {
    let model = Model()
    #expect(model.performSelector(Selector("increment"), sender: nil))
    #expect(model.performSelector(Selector("stepBy:"), sender: NSNumber(value: 2)))
    #expect(!model.performSelector(Selector("plus:"), sender: NSNumber(value: 1)))
    #expect(model.count == 3)
  }
}
