import AppPort
import CompilerFacts
import KoinePorting
import TestSupport
import Testing

/// Ports that change the files of the app instead of writing new ones.
@Suite struct InPlaceTests {
  private let small: SmallListenerApp

  init() throws { small = try SmallListenerApp() }

  @Test func portInPlaceChangesTheFilesOfTheAppAndNoNames() throws {
    let model = """
      final class Model: MeetingEventListener {
        private var meeting: Meeting?
        func mute() { meeting?.muteMic() }  // as before
        func onMeetingJoined() { print("joined") }
      }
      struct Other { let number = 1 }

      """
    let (app, facts) = try small.compiled(model, "struct View { let model = Model() }\n")
    let layer = try CallLayer(of: "Model", in: app, to: .koine, isInPlace: true) { _ throws(FactsFailure) in facts }
    let files = Dictionary(
      uniqueKeysWithValues: layer.changedFiles.map { ($0.path.split(separator: "/").last, $0.text) })
    let text = try #require(files["Model.swift"])
    #expect(text.hasPrefix("import Foundation\nimport Koine\nfinal class Model {"))
    #expect(text.contains("{ meeting?.setStream(kind: .microphone, isOn: false) }  // as before"))
    #expect(text.contains("\nstruct Other { let number = 1 }\n"))
    #expect(text.contains("\nextension Model {\n"))
    #expect(!text.contains("VideoSDKRTC"))
    #expect(layer.typeName == "Model")
    // It names the class, and no symbol of the vendor's.
    #expect(
      files["View.swift"].map { $0 == "import Foundation\nimport Koine\nstruct View { let model = Model() }\n" } ?? true
    )
  }

  @Test func portInPlaceImportsTheNewVendor() throws {
    let (app, facts) = try small.compiled(
      """
      final class Model: MeetingEventListener {
        private var meeting: Meeting?
        func mute() { meeting?.muteMic() }
        func onMeetingJoined() { print("joined") }
      }

      """)
    let layer = try CallLayer(of: "Model", in: app, to: .meetingSession, isInPlace: true) { _ throws(FactsFailure) in
      facts
    }
    let text = try #require(layer.changedFiles.first { $0.path.hasSuffix("/Model.swift") }?.text)
    #expect(text.hasPrefix("import AmazonChimeSDK\nimport Foundation\nfinal class Model {"))
    #expect(text.contains("{ _ = meeting?.session.audioVideo.realtimeLocalMute() }"))
    #expect(text.contains("\n    case .joined:\n      joined()\n"))
    #expect(!text.contains("VideoSDKRTC"))
  }

  @Test func portInPlaceImportsTheNewStyleBehindOtherImports() throws {
    let (app, facts) = try small.compiled(
      "final class Model { var meeting: Meeting? }\n",
      "import Foundation\n\nstruct View { let muted = Model().meeting?.muteMic() }\n")
    let layer = try CallLayer(of: "Model", in: app, to: .koine, isInPlace: true) { _ throws(FactsFailure) in facts }
    let view = try #require(layer.changedFiles.first { $0.path.hasSuffix("/View.swift") })
    #expect(view.text.hasPrefix("import Foundation\nimport Koine\n\nstruct View {"))
  }

  @Test func portInPlaceLeavesNoEmptyLineOfAnImport() throws {
    let (app, facts) = try small.compiled(
      "final class Model { var meeting: Meeting? }\n", "import Foundation\nimport VideoSDKRTC\nstruct Other {}\n")
    let layer = try CallLayer(of: "Model", in: app, to: .koine, isInPlace: true) { _ throws(FactsFailure) in facts }
    let other = layer.changedFiles.first { $0.path.hasSuffix("/View.swift") }
    #expect(other?.text == "import Foundation\nstruct Other {}\n")
  }
}
