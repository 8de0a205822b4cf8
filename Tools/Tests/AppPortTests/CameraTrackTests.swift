import AppPort
import CompilerFacts
import KoinePorting
import TestSupport
import Testing

/// Camera tracks that an app of the event listener makes itself: their settings are left out, and nothing else.
@Suite struct CameraTrackTests {
  private let small: SmallListenerApp

  init() throws { small = try SmallListenerApp() }

  @Test(arguments: ["guard let track = try? TRACK else { return }", "let track = try? TRACK"])
  func settingsOfACameraTrackAreLeftOut(_ statement: String) throws {
    let track = "VideoSDK.createCameraVideoTrack(encoderConfig: .h360p_w640p)"
    let (app, facts) = try small.compiled(
      """
      final class Model {
        private var meeting: Meeting?
        func join() {
          \(statement.replacing("TRACK", with: track))
          meeting = VideoSDK.initMeeting(meetingId: "a", participantName: "Ana", customCameraVideoStream: track)
          meeting?.join(cameraPosition: .front)
        }
      }

      """)
    let layer = try CallLayer(of: "Model", in: app, to: .koine) { _ throws(FactsFailure) in facts }
    #expect(layer.source.contains("    // \(statement.replacing("TRACK", with: track))\n"))
    #expect(
      layer.source.contains(
        "    meeting = RoomCall(room: \"a\", credential: credential, name: \"Ana\")\n    meeting?.join(side: .front)\n")
    )
    #expect(!layer.source.contains("#warning"), "\(layer.source)")
    #expect(layer.report.contains("is sent, in the new layer's own size"))
  }

  @Test func guardOfTheAppsOwnLogicStays() throws {
    let (app, facts) = try small.compiled(
      """
      struct Camera { var stream: CustomRTCMediaStream? { nil } }
      final class Model {
        private var meeting: Meeting?
        var camera: Camera?
        func join() {
          guard let camera = camera else { print("no camera"); return }
          meeting = VideoSDK.initMeeting(meetingId: "a", customCameraVideoStream: camera.stream)
        }
      }

      """)
    let layer = try CallLayer(of: "Model", in: app, to: .koine) { _ throws(FactsFailure) in facts }
    #expect(layer.source.contains("    guard let camera = camera else { print(\"no camera\"); return }\n"))
  }

  @Test(
    arguments: [
      "guard let track = try? VideoSDK.createCameraVideoTrack() else { return }; later { [track] in use(track) }",
      "guard let track = makeTrack() else { return }; use(track)", "use(makeTrack())",
    ]) func trackThatMoreDependsOnIsWrittenByHand(_ statements: String) throws
  {
    let call = "VideoSDK.initMeeting(meetingId: \"a\", customCameraVideoStream: "
    let (app, facts) = try small.compiled(
      """
      final class Model {
        private var meeting: Meeting?
        func join() {
          \(statements.replacing("; ", with: "\n    ").replacing("use(", with: "self.meeting = " + call))
        }
        func makeTrack() -> CustomRTCMediaStream? { nil }
        func later(_ action: @escaping () -> Void) {}
      }

      """)
    let layer = try CallLayer(of: "Model", in: app, to: .koine) { _ throws(FactsFailure) in facts }
    #expect(layer.source.contains("#warning(\"PORT 3: "), "\(layer.source)")
    let code = layer.source.split(separator: "\n").filter { !$0.contains("//") && !$0.contains("#warning") }
    #expect(!code.contains { $0.contains("track") || $0.contains("RoomCall(") }, "\(layer.source)")
  }

  @Test func trackWithAnotherUseIsWrittenByHand() throws {
    let (app, facts) = try small.compiled(
      """
      final class Model {
        private var meeting: Meeting?
        func join() {
          guard let track = try? VideoSDK.createCameraVideoTrack() else { return }
          meeting = VideoSDK.initMeeting(meetingId: "a", customCameraVideoStream: track)
          keep(track)
        }
        func keep(_ track: AnyObject) {}
      }

      """)
    let layer = try CallLayer(of: "Model", in: app, to: .koine) { _ throws(FactsFailure) in facts }
    #expect(layer.source.contains("#warning(\"PORT 3: "))
    #expect(!layer.source.contains("\n    keep(track)"))
  }
}
