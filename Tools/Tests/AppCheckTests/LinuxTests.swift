import AppCheck
import Testing

@Suite struct LinuxTests {
  private func lines(_ source: String) -> [String] { check(source).problems.map { "\($0.location.line) \($0.what)" } }

  @Test func objectiveCAndWindowSystemUsesAreReportedWithReplacement() {
    let check = check(
      """
      import UIKit
      import SwiftUI
      import Intents
      import os.log
      class Screen: UIViewController {
        @IBOutlet weak var view2: UIView!
        @objc func tapped() {}
        func wire(_ button: UIButton) { button.addTarget(self, action: #selector(tapped), for: .touchUpInside) }
        var blur: UIVisualEffectView?
      }
      """)
    #expect(
      check.problems.map { "\($0.location.line) \($0.what)" } == [
        "2 import SwiftUI", "3 import Intents", "9 UIVisualEffectView is not there on Linux",
      ])
    #expect(check.problems[0].instead == "leave the views out (`exclude:`); test the model that they show")
    #expect(
      check.changes.map { "\($0.location.line) \($0.what)" } == [
        "4 import os.log", "6 @IBOutlet", "7 @objc", "8 #selector(tapped)",
      ])
  }

  @Test func clausesNotCompiledOnLinuxAreSkipped() {
    #expect(
      lines(
        """
        #if canImport(SwiftUI)
        import SwiftUI
        #elseif os(macOS) || os(iOS)
        import Intents
        #else
        import Combine
        #endif
        #if !os(Linux) && DEBUG
        import WebKit
        #endif
        #if targetEnvironment(simulator)
        import Metal
        #endif
        #if DEBUG
        import Vision
        #endif
        """) == ["15 import Vision"])
  }

  @Test func clauseCompiledOnLinuxIsChecked() {
    #expect(
      lines(
        """
        import VideoSDKRTC
        #if os(Linux)
        func f(_ meeting: Meeting) { meeting.startWhiteboard() }
        #else
        func f(_ meeting: Meeting) { meeting.nothing() }
        #endif
        """) == ["3 Meeting.startWhiteboard() is not to be had"])
  }

  @Test func missingMemberOfAppleClassIsReported() {
    #expect(
      lines(
        """
        import UIKit
        extension UIViewController { func showSomething() {} }
        class Screen: UIViewController {
          let own = 1
          func f() {
            _ = self.own
            self.showSomething()
            self.view.backgroundColor = nil
            self.splitViewController?.show()
          }
        }
        """) == ["9 UIViewController has no 'splitViewController' here"])
  }

  @Test func onlyMissingSymbolsOfAppleModulesAreReported() {
    #expect(
      lines(
        """
        import CoreVideo
        func f(_ buffer: CVPixelBuffer, _ rect: CGRect) -> CGFloat {
          CVPixelBufferLockBaseAddress(buffer, [])
          let format = kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange
          let metal = kCVPixelBufferOpenGLCompatibilityKey
          let turned = CGAffineTransform(scaleX: 1, y: 1)
          autoreleasepool { print(format, metal) }
          return rect.width
        }
        """) == [
          "5 kCVPixelBufferOpenGLCompatibilityKey is not there on Linux", "6 CGAffineTransform is not there on Linux",
        ])
  }

  @Test func availableModulesAreAcceptedAndUnknownModulesRemarked() {
    let check = check(
      """
      import AVFoundation
      import Combine
      import CoreGraphics
      import Foundation
      import ReplayKit
      @testable import struct VideoSDKRTC.Mode
      import SomebodysNetworking
      let timer = Timer()
      """)
    #expect(check.canWork)
    #expect(check.remarks.map(\.what) == ["import SomebodysNetworking", "Timer"])
  }
}
