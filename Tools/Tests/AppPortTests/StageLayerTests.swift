import AppPort
import CompilerFacts
import KoinePorting
import TestSupport
import Testing

/// Layers of small apps in the stage strategy style. The new text is compared; Scripts/check-layers compiles a whole app's.
@Suite struct StageLayerTests {
  private let compilation: Compilation
  private static let vendor = """
    public struct IVSParticipantCapability: OptionSet {
      public let rawValue: UInt
      public init(rawValue: UInt) { self.rawValue = rawValue }
      public static let publish = Self(rawValue: 1), subscribe = Self(rawValue: 2)
    }
    public class IVSParticipantInfo {
      public let participantId = "", userId = "", isLocal = false, capabilities: IVSParticipantCapability = []
    }
    public class IVSBroadcastConfiguration { public enum AspectMode { case none, fit, fill } }
    public protocol IVSErrorSource: AnyObject { var errorDelegate: (any IVSErrorDelegate)? { get set } }
    public protocol IVSErrorDelegate: AnyObject { func source(_ source: any IVSErrorSource, didEmitError error: any Error) }
    public let IVSBroadcastErrorIsFatalKey = "fatal"
    public class IVSDeviceDescriptor { public let urn = "" }
    public protocol IVSDevice: IVSErrorSource { func descriptor() -> IVSDeviceDescriptor }
    public protocol IVSImageDevice: IVSDevice {}
    public protocol IVSAudioDevice: IVSDevice {}
    public class IVSCamera: IVSImageDevice {
      public weak var errorDelegate: (any IVSErrorDelegate)?
      public func descriptor() -> IVSDeviceDescriptor { IVSDeviceDescriptor() }
    }
    public class IVSMicrophone: IVSAudioDevice {
      public weak var errorDelegate: (any IVSErrorDelegate)?
      public func descriptor() -> IVSDeviceDescriptor { IVSDeviceDescriptor() }
    }
    public class IVSDeviceDiscovery { public init() {}; public func listLocalDevices() -> [any IVSDevice] { [] } }
    public class IVSStageStream { public let device: any IVSDevice; public let isMuted = false; init() { fatalError() } }
    public class IVSUnknownList { public init() {}; public var streams: [IVSLocalStageStream] { [] } }
    public class IVSLocalStageStream: IVSStageStream { public func setMuted(_ muted: Bool) {} }
    public class IVSSimulcastConfiguration { public var enabled = false }
    public class IVSLocalStageStreamVideoConfiguration {
      public init() {}
      public var simulcast = IVSSimulcastConfiguration()
      public func setTargetFramerate(_ rate: Int) throws {}
    }
    public enum IVSStageSubscribeType { case none, audioOnly, audioVideo }
    public enum IVSStageConnectionState { case disconnected, connecting, connected }
    public enum IVSParticipantPublishState { case notPublished, published }
    public enum IVSParticipantSubscribeState { case notSubscribed, subscribed }
    public protocol IVSBaseStageStrategy: AnyObject {
      func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool
      func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo) -> [IVSLocalStageStream]
    }
    public protocol IVSStageStrategy: IVSBaseStageStrategy {
      func stage(_ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo) -> IVSStageSubscribeType
    }
    public protocol IVSStageRenderer: AnyObject {
      func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo)
      func stage(_ stage: IVSStage, didChange state: IVSStageConnectionState, withError error: (any Error)?)
      func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChange state: IVSParticipantPublishState)
      func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChange state: IVSParticipantSubscribeState)
    }
    extension IVSStageRenderer {
      public func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {}
      public func stage(_ stage: IVSStage, didChange state: IVSStageConnectionState, withError error: (any Error)?) {}
      public func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChange state: IVSParticipantPublishState) {}
      public func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChange state: IVSParticipantSubscribeState) {}
    }
    public class IVSStage: IVSErrorSource {
      public weak var errorDelegate: (any IVSErrorDelegate)?
      public init(token: String, strategy: any IVSBaseStageStrategy) throws {}
      public func addRenderer(_ renderer: any IVSStageRenderer) {}
      public func join() throws {}; public func leave() {}; public func refreshStrategy() {}
    }

    """
  /// The answers that a strategy has to give.
  private static let strategy = """

    extension Model: IVSStageStrategy {
      func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { isOn }
      func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo) -> [IVSLocalStageStream] { own }
      func stage(_ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo) -> IVSStageSubscribeType {
        isOn ? .audioVideo : IVSStageSubscribeType.none
      }
    }
    """

  init() throws {
    compilation = try Compilation(importing: "AmazonIVSBroadcast", Self.vendor)
  }

  private func layer(_ model: String, to target: Style = .koine) throws -> CallLayer {
    try #require(
      try compilation.compile("App", ["Model.swift": "import AmazonIVSBroadcast\n" + model + Self.strategy]))
    let files = [compilation.path("Model.swift")]
    let store = try IndexStore(path: compilation.store, toolchain: compilation.toolchain)
    let command = CompileCommand(
      module: "App", files: files, options: ["-parse-as-library", "-I", compilation.folder],
      toolchain: compilation.toolchain)
    let facts = try TreeDump(command, toolchain: compilation.toolchain)
    let app = try CompiledApp(store, files: files, modules: ["AmazonIVSBroadcast"])
    return try CallLayer(of: "Model", in: app, to: target) { _ throws(FactsFailure) in facts }
  }

  private static let head =
    "final class Model { var stage: IVSStage?; var isOn = true; var own: [IVSLocalStageStream] = []"

  @Test func deviceOfAStreamIsTheOneThatItWasMadeWith() throws {
    let layer = try layer(
      Self.head + """

          func stream(of camera: IVSCamera) -> IVSLocalStageStream? { own.first { $0.device === camera } }
          func isSame(_ one: IVSStageStream, _ other: IVSStageStream) -> Bool { one.device === other.device }
          func first<Device>(_ type: Device.Type) -> Device? { IVSDeviceDiscovery().listLocalDevices().compactMap { $0 as? Device }.first }
          func camera() -> IVSCamera? { first(IVSCamera.self) }
        }
        """)
    #expect(layer.source.contains("-> RoomStream? { own.first { $0.device == camera } }"))
    // Streams are compared as objects.
    #expect(layer.source.contains("_ other: RoomStream) -> Bool { one == other }"))
    // A type for all devices does not say which.
    #expect(layer.source.contains("#warning(\"PORT 3: not known to the common layer: IVSCamera.self\")"))
  }

  @Test func stateOfAStageThatIsNotJoinedIsAnEnd() throws {
    let source = try layer(
      Self.head + """

          var state = IVSStageConnectionState.disconnected
          var isOver: Bool { state == .disconnected }
        }
        extension Model: IVSStageRenderer {
          func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChange state: IVSParticipantPublishState) {
            isOn = state == .published
          }
        }
        """
    ).source
    #expect(source.contains("var state = SessionState.ended(.left)\n"))
    #expect(source.contains("var isOver: Bool { state.isEnded }"))
    // Publishing ends with the participant.
    #expect(source.contains("case .participantLeft(let participant, _):\n      publishingChanged("))
    #expect(source.contains("didChange: false)"))
  }

  @Test func strategyWithoutAPortedFunctionPublishesNothing() throws {
    let source = try layer(
      """
      final class Model {
        var stage: IVSStage?; var isOn = true; var list = IVSUnknownList(); var own: [IVSLocalStageStream] { list.streams }
        func go() { stage?.refreshStrategy() }
      }
      """
    ).source
    #expect(source.contains("func go() { decide(in: stage) }"))
    #expect(source.contains("stage.session.state == .connected else { return }\n    stage.publish(nil)\n"))
    #expect(source.contains("    stage.receive(wantedMedia("))
  }

  @Test func strategyBecomesFunctionsThatDecideAsks() throws {
    let layer = try layer(
      """
      \(Self.head)
        func join(_ token: String) throws {
          let stage = try IVSStage(token: token, strategy: self)
          try stage.join()
          self.stage = stage
        }
        func rest() { isOn.toggle(); stage?.refreshStrategy() }
        func leave() { stage?.leave() }
      }
      """)
    let source = layer.source
    #expect(source.contains("let stage = try RoomStage(token: token)\n    try stage.join()"))
    #expect(source.contains("isOn.toggle(); decide(in: stage) }"))
    #expect(source.contains("func leave() { stage?.leave() }"))
    #expect(source.contains("-> Set<Track.Kind> {\n    isOn ? Set(Track.Kind.allCases) : []"))
    #expect(source.contains("guard let stage, stage.session.state == .connected else { return }"))
    #expect(source.contains("extension KoineModel {\n  func shouldPublish(_ stage: Session, shouldPublishParticipant"))
    #expect(layer.warnings == [])
  }

  @Test func rendererBecomesFunctionsThatTheSessionsEventsCall() throws {
    let layer = try layer(
      """
      \(Self.head)
        var people: [IVSParticipantInfo] = []
        func listen() { stage?.addRenderer(self) }
      }
      extension Model: IVSStageRenderer {
        func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) { people.append(participant) }
        func stage(_ stage: IVSStage, didChange state: IVSStageConnectionState, withError error: (any Error)?) {
          switch state {
          case .connecting, .connected: break
          case .disconnected: stage.leave()
          @unknown default: break
          }
        }
        func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChange state: IVSParticipantPublishState) {
          if state == .published { print(participant.userId) }
        }
      }
      """)
    let source = layer.source
    #expect(source.contains("stage?.handler = { [weak self] event, call in self?.handle(event, in: call) }"))
    // A handler that uses the stage gets it; the others get the session.
    #expect(source.contains("func stateChanged(_ stage: RoomStage, didChange state: SessionState, withError"))
    #expect(source.contains("case .connecting, .connected: break\n    case .ended: stage.leave()\n    default: break"))
    #expect(source.contains("participantJoined(stage.session, participantDidJoin: participant)"))
    #expect(source.contains("didChange state: Bool) {\n    if state == true { print((participant.externalUserID ??"))
    // Participants are values: the app's list gets the new one.
    #expect(source.contains("if let index = people.firstIndex(where: { $0.id == participant.id })"))
    #expect(layer.warnings == [])
  }

  @Test func streamsAndTheirDevicesAreOne() throws {
    let layer = try layer(
      """
      \(Self.head)
        func isVideo(_ stream: IVSStageStream) -> Bool { stream.device is IVSImageDevice }
        func sound(_ stream: IVSStageStream?) -> Bool { (stream?.device as? IVSAudioDevice) != nil }
        func name(_ stream: IVSStageStream) -> String { stream.device.descriptor().urn }
        func isSame(_ one: IVSStageStream, _ other: IVSLocalStageStream?) -> Bool { one === other }
        func options() -> IVSLocalStageStreamVideoConfiguration {
          let options = IVSLocalStageStreamVideoConfiguration()
          try? options.setTargetFramerate(30)
          return options
        }
      }
      """)
    let source = layer.source
    #expect(source.contains("(_ stream: RoomStream) -> Bool { stream.kind.isVideo }"))
    #expect(source.contains("{ (stream.flatMap({ $0.kind.isAudio ? $0 : nil })) != nil }"))
    #expect(source.contains("-> String { stream.id.description }"))
    #expect(source.contains("{ one === other }"))
    #expect(source.contains("-> VideoPublishOptions {\n    var options = VideoPublishOptions(maximumBitrate: 900_000"))
    #expect(source.contains("    options.maximumFramesPerSecond = 30\n"))
    #expect(layer.warnings == [])
  }

  @Test(arguments: [
    (Style.koine, "(stage?.session.permissions ?? Set(ParticipantPermission.allCases)).contains(.subscribe)"),
    (.eventListener, "ListenerStage.capabilities.contains(.subscribe)"),
  ]) func capabilitiesAreThoseOfTheWholeSession(_ target: Style, _ text: String) throws {
    let layer = try layer(
      """
      \(Self.head)
        func mayReceive(_ one: IVSParticipantInfo) -> Bool { one.capabilities.contains(.subscribe) }
      }
      """, to: target)
    #expect(layer.source.contains("-> Bool { \(text) }"))
    #expect(layer.warnings == [])
  }

  @Test func typeInsideAnotherTypeOfTheVendorsIsReplacedAsAWhole() throws {
    let layer = try layer(
      """
      \(Self.head)
        func mode(_ isWhole: Bool) -> IVSBroadcastConfiguration.AspectMode { isWhole ? .fit : .fill }
      }
      """)
    #expect(layer.source.contains("-> UIView.ContentMode { isWhole ? .scaleAspectFit : .scaleAspectFill }"))
    #expect(layer.warnings == [])
  }

  @Test func errorsComeToOneFunction() throws {
    let layer = try layer(
      """
      \(Self.head)
        func listen() { stage?.errorDelegate = self }
      }
      extension Model: IVSErrorDelegate {
        func source(_ source: any IVSErrorSource, didEmitError error: any Error) { print(error) }
      }
      """)
    #expect(layer.source.contains("func failed(_ source: Track.Kind?, didEmitError error: any Error)"))
    #expect(layer.source.contains("// stage?.errorDelegate = self"))
    #expect(layer.source.contains("failed(nil, didEmitError: RoomFault.error(of: failure))"))
    #expect(layer.warnings == [])
  }

  @Test func assignmentBesideOneWithoutCounterpartStays() throws {
    let layer = try layer(
      """
      \(Self.head)
        func take(_ new: IVSStage) {
          (new.errorDelegate, stage, isOn) = (self, new, true)
          (new.errorDelegate, stage) = (self, new)
        }
        func takeInOneLine(_ one: IVSStage) { (one.errorDelegate, stage) = (self, one) }
        lazy var taker: (IVSStage) -> Void = { two in (two.errorDelegate, self.stage) = (self, two) }
      }
      extension Model: IVSErrorDelegate {
        func source(_ source: any IVSErrorSource, didEmitError error: any Error) { print(error) }
      }
      """)
    #expect(
      layer.source.contains(
        "// (new.errorDelegate, stage, isOn) = (self, new, true)\n    (stage, isOn) = (new, true)\n"))
    #expect(layer.source.contains("// (new.errorDelegate, stage) = (self, new)\n    stage = new\n"))
    #expect(layer.source.contains("// (one.errorDelegate, stage) = (self, one)\n    stage = one\n  }"))
    #expect(layer.source.contains("// (two.errorDelegate, self.stage) = (self, two)\n    self.stage = two\n  }"))
    #expect(layer.warnings == [])
  }

  @Test func otherStrategyThanTheClassItselfIsAWarning() throws {
    let layer = try layer(
      """
      \(Self.head)
        func join(_ token: String, _ other: Model) throws { stage = try IVSStage(token: token, strategy: other) }
      }
      """)
    #expect(layer.warnings.count == 1)
    #expect(layer.warnings.first?.contains("with another strategy than self") == true)
  }

  @Test func meetingHasTheStrategysFunctionsToo() throws {
    let layer = try layer(
      """
      \(Self.head)
        func join(_ token: String) throws {
          let stage = try IVSStage(token: token, strategy: self)
          try stage.join()
          self.stage = stage
        }
        func rest() { isOn.toggle(); stage?.refreshStrategy() }
      }
      """, to: .meetingSession)
    let source = layer.source
    #expect(source.contains("let stage = try MeetingStage(token: token)\n    try stage.join()"))
    #expect(source.contains("isOn.toggle(); decide(in: stage) }"))
    #expect(source.contains("-> Set<MeetingStream.Kind> {\n    isOn ? Set(MeetingStream.Kind.allCases) : []"))
    #expect(source.contains("guard let stage, stage.isConnected else { return }"))
    #expect(source.contains("func shouldPublish(_ stage: MeetingStage, shouldPublishParticipant"))
    #expect(source.contains("private func handle(_ report: MeetingStage.Report, in stage: MeetingStage) {"))
    #expect(layer.warnings == [])
    #expect(layer.helpers.count == 7)
    for helper in layer.helpers {
      #expect(helper.source.split(separator: "\n", omittingEmptySubsequences: false).count <= 121, "\(helper.fileName)")
    }
  }

  @Test func eventListenerHasTheVendorsParticipantsAndStates() throws {
    let layer = try layer(
      """
      \(Self.head)
        var people: [IVSParticipantInfo] = []
        func join(_ token: String) throws {
          let stage = try IVSStage(token: token, strategy: self)
          stage.addRenderer(self)
          try stage.join()
          self.stage = stage
        }
      }
      extension Model: IVSStageRenderer {
        func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {
          if participant.userId.isEmpty { people.append(participant) }
        }
        func stage(_ stage: IVSStage, didChange state: IVSStageConnectionState, withError error: (any Error)?) {
          switch state {
          case .connecting, .connected: break
          case .disconnected: stage.leave()
          @unknown default: break
          }
        }
      }
      """, to: .eventListener)
    let source = layer.source
    #expect(source.contains("import VideoSDKRTC\nimport WebRTC\n"))
    #expect(source.contains("let stage = try ListenerStage(token: token)\n"))
    #expect(source.contains("var people: [VideoSDKRTC.Participant] = []"))
    #expect(source.contains("if participant.displayName.isEmpty { people.append(participant) }"))
    #expect(source.contains("didChange state: MeetingState, withError"))
    #expect(source.contains("case .CONNECTING, .CONNECTED: break\n    case .CLOSED: stage.leave()\n    default: break"))
    #expect(source.contains("if phase == .CONNECTED { decide(in: stage) }"))
    #expect(source.contains("-> Set<ListenerKind> {\n    isOn ? Set(ListenerKind.allCases) : []"))
    #expect(layer.warnings == [])
    #expect(
      layer.helpers.map(\.fileName) == [
        "ListenerCall.swift", "ListenerEvents.swift", "ListenerStage.swift", "ListenerStageStream.swift",
        "ListenerToken.swift", "ListenerStageMedia.swift",
      ])
    for helper in layer.helpers {
      #expect(helper.source.split(separator: "\n", omittingEmptySubsequences: false).count <= 121, "\(helper.fileName)")
      #expect(!helper.source.contains("‹"), "\(helper.fileName)")
    }
  }

  @Test func callAgentHasAStageOverItsCall() throws {
    let layer = try layer(
      """
      \(Self.head)
        var people: [IVSParticipantInfo] = []
        func join(_ token: String) throws {
          let stage = try IVSStage(token: token, strategy: self)
          stage.addRenderer(self)
          try stage.join()
          self.stage = stage
        }
      }
      extension Model: IVSStageRenderer {
        func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {
          if participant.userId.isEmpty { people.append(participant) }
        }
        func stage(_ stage: IVSStage, didChange state: IVSStageConnectionState, withError error: (any Error)?) {
          if state == .disconnected { stage.leave() }
        }
      }
      """, to: .callAgent)
    let source = layer.source
    #expect(source.contains("\nimport AzureCommunicationCalling\n"))
    #expect(source.contains("let stage = try AzureStage(token: token)\n"))
    #expect(source.contains("var people: [AzurePerson] = []"))
    #expect(source.contains("if participant.name.isEmpty { people.append(participant) }"))
    #expect(source.contains("if state == .ended { stage.leave() }"))
    #expect(source.contains("-> Set<AzureStream.Kind> {\n    isOn ? Set(AzureStream.Kind.allCases) : []"))
    #expect(layer.warnings == [])
    let helpers = layer.helpers.suffix(3)
    #expect(helpers.map(\.fileName) == ["AzureStage.swift", "AzureStageStream.swift", "AzureStageMedia.swift"])
    for helper in helpers {
      #expect(helper.source.split(separator: "\n", omittingEmptySubsequences: false).count <= 121, "\(helper.fileName)")
      #expect(!helper.source.contains("‹"), "\(helper.fileName)")
    }
  }

  @Test func isFatalOfAnErrorIsReadUnderTheHelpersKey() throws {
    let errors = """
       }
      extension Model: IVSErrorDelegate {
        func source(_ source: any IVSErrorSource, didEmitError error: any Error) {
          let fault = error as NSError
          print(fault.userInfo[IVSBroadcastErrorIsFatalKey] as? Bool ?? false)
        }
      }
      """
    for (target, fault) in [(Style.koine, "RoomFault"), (.meetingSession, "MeetingStage.Fault")] {
      let layer = try layer("import Foundation\n" + Self.head + errors, to: target)
      #expect(layer.source.contains("print(fault.userInfo[\(fault).isFatalKey] as? Bool ?? false)"), "\(layer.source)")
      #expect(layer.warnings == [])
    }
  }

  @Test func meetingsLayerSaysThatTwoEndsHaveOneCode() throws {
    let state = """
       }
      extension Model: IVSStageRenderer {
        func stage(_ stage: IVSStage, didChange state: IVSStageConnectionState, withError error: (any Error)?) {
          if state == .disconnected, let error { print(error) }
        }
      }
      """
    let layer = try layer(Self.head + state, to: .meetingSession)
    let says = "IVSStageConnectionState.disconnected: a removal and a closed room"
    #expect(layer.report.contains(says), "\(layer.report)")
  }

  @Test func layerBringsTheHelpersOfTheStyleOnly() throws {
    let layer = try layer(Self.head + " }")
    #expect(layer.helpers.map(\.fileName) == ["RoomStage.swift", "RoomStream.swift", "RoomFault.swift"])
    for helper in layer.helpers { #expect(helper.source.split(separator: "\n").count <= 120) }
  }

  private static let devices = """
      func sort(_ streams: [IVSStageStream]) {
        for device in IVSDeviceDiscovery().listLocalDevices() {
          switch device {
          case let camera as IVSCamera where isOn: print(camera)
          case is IVSMicrophone: print("microphone")
          default: break
          }
        }
        for case let image as IVSImageDevice in streams.map({ $0.device }) { print(image.descriptor().urn) }
        for case let audio as IVSAudioDevice in streams.map(\\.device) where isOn { print(audio.descriptor().urn) }
      }
    """

  @Test func patternsWithACastBecomeConditionsOnTheKind() throws {
    for target in [Style.koine, .meetingSession] {
      let layer = try layer("\(Self.head)\n\(Self.devices)\n}\n", to: target)
      let source = layer.source
      #expect(source.contains("      case let camera where camera.kind == .camera && (isOn): print(camera)\n"))
      #expect(source.contains("      case _ where device.kind == .microphone: print(\"microphone\")\n"))
      #expect(source.contains("    for image in streams.map({ $0 }) where image.kind.isVideo { print(image."))
      #expect(
        source.contains("    for audio in streams.map(\\.self) where audio.kind.isAudio && (isOn) { print(audio."))
      #expect(layer.warnings == [])
    }
  }

  @Test func sourceOfAnErrorIsTheKindOfItsStreamAndNilForTheStage() throws {
    let layer = try layer(
      """
      \(Self.head); var notes: [String] = []; func listen() { stage?.errorDelegate = self } }
      extension Model: IVSErrorDelegate {
        func source(_ source: any IVSErrorSource, didEmitError error: any Error) {
          if source is IVSStage { notes.append("stage") }
          switch source {
          case is IVSCamera: notes.append("camera")
          case is IVSStage: notes.append("stage")
          case is IVSAudioDevice: notes.append(source is any IVSDevice ? "device" : "")
          default: notes.append(source is IVSMicrophone ? "microphone" : "stage")
          }
        }
      }
      """)
    #expect(layer.source.contains("if source == nil { notes.append(\"stage\") }"))
    #expect(
      layer.source.contains("    case .camera: notes.append(\"camera\")\n    case nil: notes.append(\"stage\")\n"))
    #expect(layer.source.contains("    case .microphone: notes.append(source != nil ? \"device\" : \"\")\n"))
    #expect(layer.source.contains("notes.append(source == .microphone ? \"microphone\" : \"stage\")"))
    #expect(layer.warnings == [])
  }

  @Test func castsInOtherPatternsStayUnderAWarning() throws {
    let layer = try layer(
      """
      \(Self.head)
        func show(_ device: any IVSDevice) { if case let camera as IVSCamera = device { print(camera.descriptor().urn) } }
      }
      extension Model: IVSErrorDelegate {
        func source(_ source: any IVSErrorSource, didEmitError error: any Error) {
          if let camera = source as? IVSCamera { print(camera.descriptor().urn) }
        }
      }
      """)
    #expect(layer.warnings.contains { $0.contains("IVSCamera in a pattern that is no case of a switch and no loop") })
    #expect(layer.warnings.contains { $0.contains("IVSCamera of an error's source") })
  }

  @Test func layersAndSubscribeStatesAreTheSDKs() throws {
    let layer = try layer(
      """
      \(Self.head)
        func configure(_ video: IVSLocalStageStreamVideoConfiguration) { video.simulcast.enabled = true; isOn = true }
      }
      extension Model: IVSStageRenderer {
        func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChange state: IVSParticipantSubscribeState) {
          isOn = state == .subscribed
        }
      }
      """)
    #expect(layer.source.contains("// video.simulcast.enabled = true"))
    #expect(layer.source.contains("streams come with their subscription, and go with it"))
    #expect(layer.warnings == [])
  }
}
