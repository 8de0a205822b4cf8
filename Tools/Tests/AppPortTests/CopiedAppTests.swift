import AppCheck
import AppPort
import CompilerFacts
import Foundation
import KoinePorting
import TestSupport
import Testing

/// Layers of an app that was built from copies (`koine linux`).
@Suite struct CopiedAppTests {
  private let compilation: Compilation
  private static let vendor = """
    public protocol MeetingEventListener: AnyObject { func onMeetingJoined(); func onHlsStarted() }
    public class Participant { public let id = "" }
    public class Meeting { public func muteMic() {}; public func unmuteMic() {} }

    """
  private static let platform = """
    public struct Selector { public let name: String; public init(_ name: String) { self.name = name } }
    public protocol SelectorPerforming { @MainActor func performSelector(_ selector: Selector, sender: Any?) -> Bool }
    open class Control { public init() {}; public func add(_ selector: Selector, _ label: String) {} }

    """
  private static let screen = """
    import UIKit; import VideoSDKRTC
    import os.log

    class Screen: Control, MeetingEventListener {
      @IBOutlet weak var title: Control!
      private var meeting: Meeting?
      private let control = Control()
      func show() {
        control.add(#selector(mute), "a"); control.add(#selector(Screen.show(_:)), meeting == nil ? "b" : "c")
        control.add(
          #selector(
            shout
          ), "d")
        meeting?.unmuteMic()
        control.add(#selector(onHlsStarted), "e")
      }
      @objc func mute() { meeting?.muteMic() }  // as before
      @IBAction func show(_ sender: Control) { print("shown") }
      @objc func shout() {}
      @objc func onHlsStarted() { print("live") }
      func onMeetingJoined() { show() }
    }

    """

  init() throws {
    compilation = try Compilation(importing: "VideoSDKRTC", Self.vendor)
    try #require(try compilation.compile("UIKit", ["UIKit.swift": Self.platform]))
    for name in ["KoineOS", "Koine", "KoineBackends", "KoineTokens", "Combine", "AVFoundation"] {
      try #require(try compilation.compile(name, ["\(name).swift": ""]))
    }
  }

  private func command() -> CompileCommand {
    CompileCommand(
      module: "App", files: [compilation.path("Screen.linux.swift")],
      options: ["-parse-as-library", "-I", compilation.folder], toolchain: compilation.toolchain)
  }

  private func layer(isInPlace: Bool = false, isForTests: Bool = false) throws -> CallLayer {
    let path = compilation.path("Screen.swift")
    try Self.screen.write(toFile: path, atomically: true, encoding: .utf8)
    let copy = LinuxCopy(AppSources(sources: [(path, Self.screen)])).files[0].text
    try #require(try compilation.compile("App", ["Screen.linux.swift": copy]), "\(copy)")
    let store = try IndexStore(path: compilation.store, toolchain: compilation.toolchain)
    let app = try CompiledApp(store, files: [path], modules: ["VideoSDKRTC"])
    let facts = try TreeDump(command(), toolchain: compilation.toolchain)
    return try CallLayer(of: "Screen", in: app, to: .koine, isForTests: isForTests, isInPlace: isInPlace) {
      _ throws(FactsFailure) in facts
    }
  }

  @Test func newFileHasTheTextOfTheAppAndNotOfItsCopy() throws {
    let layer = try layer()
    for part in [
      "\nimport os.log\n", "\nimport UIKit\n", "\nclass KoineScreen: Control {\n",
      "  @IBOutlet weak var title: Control!\n",
      "  @objc func mute() { meeting?.setStream(kind: .microphone, isOn: false) }  // as before\n",
      "  @IBAction func show(_ sender: Control) { print(\"shown\") }\n",
      "#selector(mute), \"a\"); control.add(#selector(KoineScreen.show(_:)), meeting == nil ? \"b\" : \"c\")\n",
      "      #selector(\n        shout\n      ), \"d\")\n    meeting?.setStream(kind: .microphone, isOn: true)\n",
      // The function is a comment, so nothing can name it.
      "    // control.add(#selector(onHlsStarted), \"e\")\n",
    ] {
      #expect(layer.source.contains(part), "\(layer.source)")
    }
    for part in ["Selector(", "performSelector", "KoineOS", "KoineUIKit", "#sourceLocation"] {
      #expect(!layer.source.contains(part))
    }
    #expect(layer.report.contains("`koine linux` copies the file, too"))
  }

  @Test func newFileForATestTargetHasTheTextOfACopy() throws {
    let layer = try layer(isForTests: true)
    let text = layer.written(layer.source)
    #expect(text.hasPrefix("// swift-format-ignore-file\n// Written by `koine port` from Screen"))
    #expect(text.contains("\nimport KoineOS\n"))
    #expect(text.contains("class KoineScreen: Control, SelectorPerforming {\n            weak var title: Control!\n"))
    #expect(text.contains("    case \"mute\":\n      self.mute()\n"))
    #expect(!text.contains("#sourceLocation"))
  }

  @Test func compilerReadsTheNewFileAsACopy() throws {
    let layer = try layer()
    let errors = try layer.typecheck(beside: command()).errors
    // Koine's modules are empty here: that is all that the compiler has to say.
    #expect(errors.contains { $0.contains("cannot find") })
    #expect(!errors.contains { $0.contains("objc") || $0.contains("Objective-C") || $0.contains("elector") })
    let line = layer.source.split(separator: "\n", omittingEmptySubsequences: false).firstIndex {
      $0.contains("@objc func mute()")
    }
    #expect(errors.contains { $0.contains("KoineScreen.swift:\(line! + 1):") })
  }

  @Test func portInPlaceChangesTheOwnFileOfTheApp() throws {
    let layer = try layer(isInPlace: true)
    let file = try #require(layer.changedFiles.first)
    #expect(file.path == compilation.path("Screen.swift"))
    #expect(file.text.contains("class Screen: Control {\n  @IBOutlet weak var title: Control!\n"))
    #expect(file.text.contains("#selector(Screen.show(_:))"))
  }
}
