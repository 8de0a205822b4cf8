import AppPort
import CompilerFacts
import Foundation
import KoinePorting
import TestSupport
import Testing

/// Layers of small apps in the call agent style, against a module under the vendor's name. The new text is compared; Scripts/check-layers
/// compiles a whole app's.
@Suite struct CallAgentLayerTests {
  private let compilation: Compilation
  private static let vendor = """
    import Foundation
    public class PropertyChangedEventArgs {}
    public enum CallState { case none, connecting, connected, localHold, disconnecting, disconnected }
    public class HangUpOptions { public init() {}; public var forEveryone = false }
    public class CommunicationIdentifier { public let rawId = "" }
    public class CommunicationUserIdentifier: CommunicationIdentifier { public let identifier = "" }
    public class PhoneNumberIdentifier: CommunicationIdentifier { public let phoneNumber = "" }
    public enum ParticipantState { case idle, connected, disconnected }
    public class CommunicationTokenRefreshOptions {
      public init(
        initialToken: String? = nil, refreshProactively: Bool = false,
        tokenRefresher: @escaping (@escaping (String?, Error?) -> Void) -> Void) {}
    }
    public class CommunicationTokenCredential { public init(withOptions: CommunicationTokenRefreshOptions) throws {} }
    public enum MediaStreamType { case video, screenSharing }
    public class CallVideoStream { public let id: Int32 = 0, mediaStreamType = MediaStreamType.video }
    public class OutgoingVideoStream: CallVideoStream {}
    public class IncomingVideoStream: CallVideoStream { public var isAvailable: Bool { true } }
    public class RemoteVideoStream: IncomingVideoStream {}
    public class VideoDeviceInfo { public let id = "", name = "" }
    public class LocalVideoStream: OutgoingVideoStream {
      public init(camera: VideoDeviceInfo) {}
      public var source: VideoDeviceInfo { VideoDeviceInfo() }
    }
    public class RemoteParticipant {
      public let displayName = "", identifier = CommunicationIdentifier(), isSpeaking = false
      public let state = ParticipantState.idle
      public var incomingVideoStreams: [CallVideoStream] { [] }
      public weak var delegate: (any RemoteParticipantDelegate)?
    }
    public protocol RemoteParticipantDelegate: AnyObject {
      func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs)
      func remoteParticipant(_ remoteParticipant: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs)
    }
    extension RemoteParticipantDelegate {
      public func remoteParticipant(_ one: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs) {}
      public func remoteParticipant(_ one: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs) {}
    }
    public class RemoteVideoStreamsEventArgs {
      public var addedRemoteVideoStreams: [RemoteVideoStream] { [] }
      public var removedRemoteVideoStreams: [RemoteVideoStream] { [] }
    }
    public class ParticipantsUpdatedEventArgs {
      public var addedParticipants: [RemoteParticipant] { [] }
      public var removedParticipants: [RemoteParticipant] { [] }
    }
    public class OutgoingAudioOptions { public init() {}; public var muted = false }
    public class AudioOptions { public init() {}; public var muted = false }
    public class OutgoingVideoOptions { public init() {}; public var streams: [OutgoingVideoStream] = [] }
    public class IncomingVideoOptions { public init() {}; public var streamType = 0 }
    public class IncomingAudioOptions { public init() {}; public var muted = false }
    public class VideoOptions { public init(localVideoStreams: [LocalVideoStream]) {} }
    public class CallOptions {
      public var outgoingAudioOptions: OutgoingAudioOptions?, videoOptions: VideoOptions?, audioOptions: AudioOptions?
      public var outgoingVideoOptions: OutgoingVideoOptions?, incomingVideoOptions: IncomingVideoOptions?
      public var incomingAudioOptions: IncomingAudioOptions?
    }
    public class JoinCallOptions: CallOptions { public override init() {} }
    public class JoinMeetingLocator {}
    public class RoomCallLocator: JoinMeetingLocator { public init(roomId: String) {} }
    public class GroupCallLocator: JoinMeetingLocator { public init(groupId: UUID) {} }
    public class TeamsMeetingLinkLocator: JoinMeetingLocator { public init(meetingLink: String) {} }
    public protocol CallDelegate: AnyObject {
      func call(_ call: Call, didChangeState args: PropertyChangedEventArgs)
      func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs)
      func call(_ call: Call, didBecomeStrange args: PropertyChangedEventArgs)
    }
    extension CallDelegate {
      public func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) {}
      public func call(_ call: Call, didBecomeStrange args: PropertyChangedEventArgs) {}
    }
    public class CallsUpdatedEventArgs { public let addedCalls: [Call] = [], removedCalls: [Call] = [] }
    public protocol CallAgentDelegate: AnyObject {
      func callAgent(_ callAgent: CallAgent, didUpdateCalls args: CallsUpdatedEventArgs)
    }
    public class CallFeature {}
    public class DominantSpeakersCallFeature: CallFeature {}
    public class RecordingCallFeature: CallFeature {}
    public enum Features {
      public static let dominantSpeakers = DominantSpeakersCallFeature.self, recording = RecordingCallFeature.self
      public static let dataChannel = DataChannelCallFeature.self
    }
    public class DataChannelCallFeature: CallFeature {
      public weak var delegate: (any DataChannelCallFeatureDelegate)?
      public func getDataChannelSender(options: DataChannelSenderOptions) -> DataChannelSender { DataChannelSender() }
    }
    public protocol DataChannelCallFeatureDelegate: AnyObject {
      func dataChannelCallFeature(
        _ dataChannelCallFeature: DataChannelCallFeature, didCreateReceiver args: DataChannelReceiverCreatedEventArgs)
    }
    public class DataChannelReceiverCreatedEventArgs { public let receiver = DataChannelReceiver() }
    public class DataChannelSenderOptions { public init() {}; public var channelId: Int32 = 0 }
    public class DataChannelSender {}
    public class DataChannelMessage { public let data = Data() }
    public class DataChannelReceiver { public func receiveMessage() -> DataChannelMessage? { nil } }
    public class Call {
      public let id = ""
      public weak var delegate: (any CallDelegate)?
      public var state: CallState { .none }
      public var remoteParticipants: [RemoteParticipant] { [] }
      public func feature<Feature: CallFeature>(_ type: Feature.Type) -> Feature { fatalError() }
      public func hangUp(options: HangUpOptions?, completionHandler: @escaping (Error?) -> Void) {}
      public func hangUp(options: HangUpOptions?) async throws {}
      public func muteOutgoingAudio(completionHandler: @escaping (Error?) -> Void) {}
      public func startVideo(stream: OutgoingVideoStream, completionHandler: @escaping (Error?) -> Void) {}
    }
    public class CallAgent {
      public weak var delegate: (any CallAgentDelegate)?
      public func join(
        with meetingLocator: JoinMeetingLocator, joinCallOptions: JoinCallOptions?,
        completionHandler: @escaping (Call?, Error?) -> Void
      ) {}
      public func join(with meetingLocator: JoinMeetingLocator, joinCallOptions: JoinCallOptions?) async throws -> Call { Call() }
    }
    public struct CallingCommunicationErrors: OptionSet {
      public let rawValue: Int
      public init(rawValue: Int) { self.rawValue = rawValue }
      public static let noAudioPermission = Self(rawValue: 1), invalidTokenProvider = Self(rawValue: 2)
    }

    """

  init() throws {
    compilation = try Compilation(importing: "AzureCommunicationCalling", Self.vendor)
  }

  private func layer(_ model: String, to target: Style = .koine) throws -> CallLayer {
    let text = "import AzureCommunicationCalling\nimport Foundation\n" + model
    try #require(try compilation.compile("App", ["Model.swift": text]))
    let files = [compilation.path("Model.swift")]
    let store = try IndexStore(path: compilation.store, toolchain: compilation.toolchain)
    let command = CompileCommand(
      module: "App", files: files, options: ["-parse-as-library", "-I", compilation.folder],
      toolchain: compilation.toolchain)
    let app = try CompiledApp(store, files: files, modules: ["AzureCommunicationCalling"])
    let facts = try TreeDump(command, toolchain: compilation.toolchain)
    return try CallLayer(of: "Model", in: app, to: target) { _ throws(FactsFailure) in facts }
  }

  @Test func vendorsStyleHasTheUsersAndCallsOfItsHelper() throws {
    let layer = try layer(
      """
      final class Model: CallDelegate, RemoteParticipantDelegate, CallAgentDelegate {
        var agent: CallAgent?
        var call: Call?
        var cameras: [LocalVideoStream] = []
        func start(_ devices: [VideoDeviceInfo]) {
          agent?.delegate = self
          cameras = devices.map(LocalVideoStream.init(camera:))
        }
        func join(_ group: UUID) {
          let options = JoinCallOptions()
          options.videoOptions = VideoOptions(localVideoStreams: cameras)
          agent?.join(with: GroupCallLocator(groupId: group), joinCallOptions: options) { [weak self] call, error in
            call?.delegate = self
            self?.call = call
            self?.fail(error)
          }
        }
        func fail(_ error: Error?) {
          guard let error else { return }
          let code = (error as NSError).code
          if CallingCommunicationErrors(rawValue: code) == .noAudioPermission { print("denied") }
        }
        func callAgent(_ callAgent: CallAgent, didUpdateCalls args: CallsUpdatedEventArgs) { call = args.addedCalls.first }
        func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) { print(call.state == .disconnected) }
        func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) {
          for participant in args.addedParticipants { participant.delegate = self }
        }
        func remoteParticipant(_ one: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs) {
          print(one.displayName, args.addedRemoteVideoStreams.map(\\.id))
        }
      }
      """, to: .meetingSession)
    let source = layer.source
    #expect(layer.warnings == [])
    #expect(source.contains("import AmazonChimeSDK\n"))
    #expect(source.contains("  var agent: MeetingAgent?\n  var call: MeetingAgent.Call?\n"))
    #expect(source.contains("cameras = devices.map(MeetingAgent.Video.init(camera:))"))
    #expect(
      source.contains(
        "agent?.callsHandler = { [weak self] calls, agent in self?.callsChanged(agent, didUpdateCalls: calls) }"))
    #expect(source.contains("    let options = MeetingAgent.Setup()\n    options.video = cameras\n"))
    #expect(source.contains("agent?.start(room: group.uuidString.lowercased(), setup: options)"))
    #expect(source.contains("if (error as? MeetingAgent.Failure) == .microphoneDenied"))
    #expect(source.contains("print(call.state == .ended)"))
    #expect(
      source.contains("didUpdateVideoStreams args: (added: [MeetingAgent.Stream], removed: [MeetingAgent.Stream])"))
    #expect(source.contains("print(one.name, args.added.map(\\.number))"))
    #expect(
      source.contains(
        """
            case .stateChanged:
              stateChanged(call, didChangeState: event)
            case .personJoined(let person):
              participantsChanged(call, didUpdateRemoteParticipant: (added: [person], removed: []))
            case .personLeft(let person):
              participantsChanged(call, didUpdateRemoteParticipant: (added: [], removed: [person]))
            case .streamAdded(let stream, let person) where followed.contains(person.id):
              streamsChanged(person, didUpdateVideoStreams: (added: [stream], removed: []))
            case .streamRemoved(let stream, let person) where followed.contains(person.id):
              streamsChanged(person, didUpdateVideoStreams: (added: [], removed: [stream]))
            default: break

        """))
    #expect(
      layer.helpers.map(\.fileName).suffix(10) == [
        "MeetingAgent.swift", "MeetingAgentCall.swift", "MeetingAgentPeople.swift", "MeetingAgentVideo.swift",
        "MeetingAgentViews.swift", "MeetingAgentChannel.swift", "MeetingAgentAwait.swift", "MeetingToken.swift",
        "MeetingAgentMedia.swift", "MeetingAgentScreen.swift",
      ])
  }

  private static let chat = """
    final class Model: DataChannelCallFeatureDelegate {
      var people: [RemoteParticipant] = []
      private(set) var lines: [String] = []
      private var sender: DataChannelSender?
      func open(in call: Call) {
        let feature = call.feature(Features.dataChannel)
        feature.delegate = self
        let options = DataChannelSenderOptions()
        options.channelId = 7
        sender = feature.getDataChannelSender(options: options)
        lines = []
      }
      func names() -> [String] { people.map { $0.displayName } }
      func isShare(_ stream: RemoteVideoStream) -> Bool { stream.mediaStreamType == .screenSharing }
      func dataChannelCallFeature(
        _ feature: DataChannelCallFeature, didCreateReceiver args: DataChannelReceiverCreatedEventArgs
      ) {
        while let message = args.receiver.receiveMessage() { lines.append(String(decoding: message.data, as: UTF8.self)) }
      }
    }
    """

  @Test func layerOfVideoSDKNamesParticipantsAndStreamsAsTheSDKDoes() throws {
    let layer = try layer(Self.chat, to: .eventListener)
    let source = layer.source
    #expect(layer.warnings == [])
    #expect(source.contains("import VideoSDKRTC\n"))
    #expect(source.contains("people: [ListenerAgent.Person] = []"))
    #expect(source.contains("people.map { $0.displayName }"))
    #expect(source.contains("isShare(_ stream: ListenerAgent.Stream) -> Bool { stream.streamKind == .screen }"))
    #expect(source.contains("private var sender: ListenerAgent.Channel?"))
    #expect(source.contains("sender = feature.channel(setup: options)"))
    #expect(layer.helpers.map(\.fileName).contains("ListenerAgentChannel.swift"))
    let call = try #require(layer.helpers.first { $0.fileName == "ListenerAgentCall.swift" })
    #expect(call.source.contains("case .messageReceived(let message): receive(message)\n"))
  }

  @Test func layerOfAStageLeavesOutDataChannels() throws {
    let layer = try layer(Self.chat, to: .stageStrategy)
    let source = layer.source
    #expect(layer.warnings == [])
    #expect(source.contains("people: [StageAgent.Person] = []"))
    #expect(source.contains("people.map { $0.name }"))
    #expect(source.contains("  // private var sender: DataChannelSender?\n"))
    #expect(source.contains("    // sender = feature.getDataChannelSender(options: options)\n    lines = []\n"))
    #expect(source.contains("  // func dataChannelCallFeature(\n"))
    #expect(!layer.helpers.map(\.fileName).contains("StageAgentChannel.swift"))
    let call = try #require(layer.helpers.first { $0.fileName == "StageAgentCall.swift" })
    #expect(!call.source.contains("essage"))
    #expect(!call.source.contains("‹"))
  }

  @Test func completionHandlersAndOptionsHaveTheHelpersForm() throws {
    let layer = try layer(
      """
      final class Model {
        var agent: CallAgent?
        var call: Call?
        func join(_ room: String, isMuted: Bool) {
          let options = JoinCallOptions()
          options.outgoingAudioOptions = OutgoingAudioOptions()
          options.outgoingAudioOptions?.muted = isMuted  // as before
          agent?.join(with: RoomCallLocator(roomId: room), joinCallOptions: options) { [weak self] call, _ in self?.call = call }
        }
        func leave() { call?.hangUp(options: HangUpOptions()) { _ in } }
        func mute(_ done: @escaping (Error?) -> Void) { call?.muteOutgoingAudio(completionHandler: done) }
      }
      """)
    let source = layer.source
    #expect(source.contains("    let options = CallSetup()\n"))
    #expect(source.contains("    // options.outgoingAudioOptions = OutgoingAudioOptions()\n"))
    #expect(source.contains("    options.isMuted = isMuted  // as before\n"))
    #expect(source.contains("agent?.start(room: room, setup: options) { [weak self] call, _ in self?.call = call }"))
    #expect(source.contains("func leave() { call?.hangUp { _ in } }"))
    #expect(source.contains("{ call?.setMuted(true, completion: done) }"))
    #expect(layer.warnings == [])
  }

  @Test func delegatesBecomeHandlersAndBatchesAreOfOneParticipant() throws {
    let layer = try layer(
      """
      final class Model: CallDelegate, RemoteParticipantDelegate {
        var names: [String] = []
        func take(_ call: Call) { call.delegate = self }
        func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) { names = [] }
        func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) {
          for one in args.addedParticipants { names.append(one.displayName); one.delegate = self }
          for one in args.removedParticipants { names.removeAll { $0 == one.identifier.rawId } }
        }
        func remoteParticipant(_ remoteParticipant: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs) { names = [] }
      }
      """)
    let source = layer.source
    #expect(source.contains("final class KoineModel {"))
    #expect(source.contains("call.agentHandler = { [weak self] event, call in self?.handle(event, in: call) }"))
    #expect(
      source.contains(
        "didUpdateRemoteParticipant args: (added: [RoomParticipant], removed: [RoomParticipant])) {"))
    #expect(source.contains("for one in args.added { names.append(one.name); followed.insert(one.id) }"))
    #expect(source.contains("for one in args.removed { names.removeAll { $0 == one.id } }"))
    #expect(source.contains("(added: [RoomParticipant(call: call, last: participant)], removed: [])"))
    #expect(source.contains("if call.hasNewState { stateChanged(call, didChangeState: event) }"))
    #expect(source.contains("guard followed.contains(owner.id) else { break }"))
    #expect(layer.warnings == [])
  }

  @Test func identifiersAreTextsThatBeginWithTheirKind() throws {
    let source = try layer(
      """
      final class Model {
        func name(_ one: RemoteParticipant) -> String? {
          switch one.identifier {
          case is CommunicationUserIdentifier: return (one.identifier as! CommunicationUserIdentifier).identifier
          case let phone as PhoneNumberIdentifier: return phone.phoneNumber
          default: return nil
          }
        }
        func isHere(_ one: RemoteParticipant) -> Bool { one.state == .connected }
        func number(_ one: RemoteParticipant) -> String? { (one.identifier as? PhoneNumberIdentifier)?.phoneNumber }
        func user(_ one: RemoteParticipant) -> String? { (one.identifier as? CommunicationUserIdentifier)?.identifier }
        func isPhone(_ one: RemoteParticipant?) -> Bool { one?.identifier is PhoneNumberIdentifier }
      }
      """
    ).source
    let isUser = "one.id.prefix(2) != \"4:\""
    #expect(source.contains("    case _ where \(isUser): return ((\(isUser) ? one.id : nil)!)\n"))
    #expect(source.contains("    case let phone where phone.hasPrefix(\"4:\"): return String(phone.dropFirst(2))\n"))
    #expect(source.contains("-> Bool { one.state == .connected }"))
    let isPhone = "one.id.hasPrefix(\"4:\")"
    #expect(source.contains("-> String? { ((\(isPhone) ? one.id : nil)).map { String($0.dropFirst(2)) } }"))
    #expect(source.contains("-> String? { ((\(isUser) ? one.id : nil)) }"))
    #expect(source.contains("-> Bool { ((one?.id).map { $0.hasPrefix(\"4:\") } ?? false) }"))
    #expect(!source.contains("#warning"))
  }

  @Test func tokenThatTheAppFetchesIsRead() throws {
    let layer = try layer(
      """
      final class Model {
        let fetch: (@escaping (String?, Error?) -> Void) -> Void = { $0("token", nil) }
        func credential() throws -> CommunicationTokenCredential {
          let options = CommunicationTokenRefreshOptions(initialToken: nil, refreshProactively: true, tokenRefresher: fetch)
          return try CommunicationTokenCredential(withOptions: options)
        }
      }
      """)
    let source = layer.source
    #expect(source.contains("func credential() throws -> RoomCredential {"))
    #expect(source.contains("    let options = RoomCredential(initialToken: nil, refresher: fetch)\n"))
    #expect(source.contains("    return try RoomCredential(of: options)\n"))
    #expect(layer.report.contains("Works otherwise (1)\n  CommunicationTokenRefreshOptions.init("))
  }

  @Test func variableWithoutItsValueStopsTheBranch() throws {
    let layer = try layer(
      """
      final class Model {
        func locator(_ link: String, isTeams: Bool) -> JoinMeetingLocator {
          var locator: JoinMeetingLocator!
          if isTeams {
            locator = TeamsMeetingLinkLocator(meetingLink: link)
          } else {
            locator = RoomCallLocator(roomId: link)
          }
          return locator
        }
      }
      """)
    let source = layer.source
    #expect(source.contains("      // locator = TeamsMeetingLinkLocator(meetingLink: link)\n"))
    #expect(source.contains("      fatalError(\"PORT: the value of locator is not ported\")\n    } else {\n"))
    #expect(source.contains("      locator = link\n"))
    #expect(
      layer.report.contains("No word in the common layer, left out (1)\n  TeamsMeetingLinkLocator.init(meetingLink:): ")
    )
  }

  @Test func delegateThatTheCallClassKeepsGetsItsCallbacks() throws {
    let layer = try layer(Self.delegates)
    let source = layer.source
    #expect(
      source.contains("func streamMuted(_ one: RoomParticipant, didChangeMuteState args: SessionEvent) { changed() }"))
    #expect(source.contains("    followed.insert(one.id)\n"))
    #expect(
      source.contains(
        "if track.kind == .microphone { observer.streamMuted(RoomParticipant(call: call, last: owner), didChangeMuteState: event) }"
      ))
    // In its own class it cannot reach the call.
    #expect(layer.warnings.count == 1)
    #expect(source.contains("RemoteParticipant.delegate in another class than Model"))
    // Agents have a handler for each class.
    #expect(source.contains("agent.callsHandler = { [weak self] calls, agent in self?.callsChanged("))
  }

  @Test func delegateFromElsewhereOrAListIsNotTheOneThatIsKept() throws {
    for code in ["one.delegate = make()", "one.delegate = rows[0]"] {
      let source = try layer(
        Self.delegates.replacing("one.delegate = observer", with: code)
          .replacing(
            "let observer = Observer()",
            with: code.contains("rows")
              ? "let observer = Observer(), rows: [Observer] = []"
              : "let observer = Observer()\n  func make() -> Observer { Observer() }")
      ).source
      #expect(source.contains("    // \(code)\n"))
    }
  }

  @Test func delegatesOfOtherClassesStayUnderAWarning() throws {
    let layer = try layer(
      Self.delegates.replacing("let observer = Observer()", with: "let observer = Observer(), other = Observer()"))
    let source = layer.source
    #expect(source.contains("RemoteParticipant.delegate in another class than Model"))
    #expect(source.contains("// func remoteParticipant(_ one: RemoteParticipant, didChangeMuteState"))
    #expect(source.contains("    // one.delegate = observer\n"))
    #expect(source.contains("if call.hasNewState { stateChanged(call, didChangeState: event) }"))
    #expect(!source.contains("followed"))
    #expect(layer.plan.text.contains("Observer.remoteParticipant(_:didChangeMuteState:)"))
  }

  /// A class that listens to participants, and the call class with one object of it.
  private static let delegates = """
    final class Observer: RemoteParticipantDelegate, CallAgentDelegate {
      var changed: () -> Void = {}
      func follow(_ one: RemoteParticipant) { changed(); one.delegate = self }
      func sign(_ agent: CallAgent) { agent.delegate = self }
      func remoteParticipant(_ one: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs) { changed() }
      func callAgent(_ callAgent: CallAgent, didUpdateCalls args: CallsUpdatedEventArgs) { changed() }
    }
    final class Model: CallDelegate {
      var call: Call?
      let observer = Observer()
      func take(_ call: Call, _ one: RemoteParticipant) {
        call.delegate = self
        one.delegate = observer
      }
      func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) { print(call.state == .connected) }
    }
    """

  @Test func everydaySymbolsAreTheHelpersMembers() throws {
    let text = """
      final class Model: CallDelegate, RemoteParticipantDelegate {
        var call: Call?
        func take(_ call: Call, _ one: RemoteParticipant) {
          call.delegate = self
          one.delegate = self
        }
        func end(_ agent: CallAgent, _ one: RemoteParticipant, _ stream: RemoteVideoStream) {
          one.delegate = nil
          call?.delegate = nil
          agent.delegate = nil
          print(call?.id ?? "", one.isSpeaking, stream.isAvailable)
        }
        func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) { print(call.id == self.call?.id) }
        func remoteParticipant(_ one: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs) { print(one) }
      }
      """
    for style in [Style.koine, .meetingSession] {
      let layer = try layer(text, to: style)
      let source = layer.source
      #expect(layer.warnings == [])
      #expect(source.contains("    followed.remove(one.id)\n    call?.agentHandler = nil\n"))
      #expect(source.contains("    agent.handler = nil\n    agent.callsHandler = nil\n"))
      #expect(source.contains("print(call?.id ?? \"\", one.isSpeaking, stream.isSent)"))
      #expect(source.contains("print(call.id == self.call?.id)"))
      let helpers = layer.helpers.map(\.source).joined()
      #expect(helpers.contains("var isSpeaking"))
      #expect(helpers.contains("id = UUID().uuidString.lowercased()"))
    }
  }

  @Test func objectsAreComparedByIdentityAndMembersOfParticipantsHaveSelf() throws {
    let layer = try layer(
      """
      extension RemoteParticipant { var label: String { displayName.isEmpty ? identifier.rawId : displayName } }
      final class Model {
        var call: Call?
        func isMine(_ other: Call) -> Bool { other === call }
        func labels(_ call: Call) -> [String] { call.remoteParticipants.map(\\.label) }
      }
      """)
    #expect(layer.source.contains("extension RoomParticipant { var label: String {"))
    #expect(layer.source.contains("{ self.name.isEmpty ? self.id : self.name } }"))
    #expect(layer.source.contains("func isMine(_ other: AgentCall) -> Bool { other === call }"))
    #expect(layer.source.contains("{ call.others.map(\\.label) }"))
    #expect(layer.warnings == [])
  }

  @Test func errorsAreReadFromTheErrorOfTheirNumber() throws {
    let layer = try layer(
      """
      final class Model {
        var call: Call?
        func text(_ error: Error) -> String {
          let code = (error as NSError).code
          switch CallingCommunicationErrors(rawValue: code) {
          case .noAudioPermission: return "microphone"
          case .invalidTokenProvider: return "token"
          default: return "\\(code)"
          }
        }
      }
      """)
    #expect(layer.source.contains("switch (error as? Failure)?.code {"))
    #expect(layer.source.contains("case .microphoneDenied: return \"microphone\""))
    #expect(layer.source.contains("case .unauthorized: return \"token\""))
    #expect(layer.warnings == [])
  }

  @Test func casesWithALostValueStayAsComments() throws {
    let layer = try layer(
      """
      enum Phase { case ready, inCall(CallState) }
      final class Model {
        var phase = Phase.ready
        var text: String {
          switch phase {
          case .inCall(.localHold): "on hold"
          case .inCall(.disconnected): "over"
          default: "running"
          }
        }
      }
      """)
    #expect(layer.source.contains("// case .inCall(.localHold): \"on hold\""))
    #expect(layer.source.contains("case .inCall(.ended): \"over\""))
    #expect(layer.count("dropped") == 1)
  }

  @Test func featuresAndOptionsThatAreNotKnownStayUnderAWarning() throws {
    let layer = try layer(
      """
      final class Model {
        var call: Call?
        func follow() { print("follows"); _ = call?.feature(Features.recording) }
        func listen(_ options: JoinCallOptions) { print("hears"); options.incomingAudioOptions = nil }
      }
      """)
    #expect(layer.source.contains("PORT 3: not known to the common layer: the feature Features.recording"))
    #expect(layer.source.contains("print(\"follows\");"))
    #expect(layer.source.contains("// options.incomingAudioOptions = nil"))
    #expect(layer.count("warned").map { $0 > 0 } == true)
  }

  private static let joinWithParts = """
    final class Model {
      var agent: CallAgent?
      var call: Call?
      func join(_ room: String, camera: LocalVideoStream) {
        let options = JoinCallOptions()
        let audio = OutgoingAudioOptions()
        audio.muted = true
        options.outgoingAudioOptions = audio
        let video = OutgoingVideoOptions()
        video.streams = [camera]
        options.outgoingVideoOptions = video
        agent?.join(with: RoomCallLocator(roomId: room), joinCallOptions: options) { call, _ in self.call = call }
      }
      func joinAsBefore(_ room: String) {
        let options = JoinCallOptions()
        let audioOptions = AudioOptions()
        audioOptions.muted = false
        options.audioOptions = audioOptions
        agent?.join(with: RoomCallLocator(roomId: room), joinCallOptions: options) { call, _ in self.call = call }
      }
      func leave(forAll: Bool) {
        let options = HangUpOptions()
        options.forEveryone = forAll
        call?.hangUp(options: options) { _ in }
      }
    }
    """

  @Test func optionsThatAreMadeApartKeepTheirEffectOnTheCall() throws {
    let layer = try layer(Self.joinWithParts)
    let source = layer.source
    #expect(layer.warnings == [])
    #expect(source.contains("    let audio = CallSetup()\n    audio.isMuted = true\n    options.audio = audio\n"))
    #expect(source.contains("    let video = CallSetup()\n    video.videos = [camera]\n    options.sent = video\n"))
    #expect(source.contains("    agent?.start(room: room, setup: options) { call, _ in self.call = call }\n"))
    #expect(source.contains("audioOptions.isMuted = false\n    options.audio = audioOptions\n"))
    #expect(
      source.contains(
        "    let options = CallSetup()\n    options.endsForAll = forAll\n    call?.hangUp(setup: options) { _ in }\n"))
    let call = try #require(layer.helpers.first { $0.fileName == "CallSetup.swift" })
    #expect(call.source.contains("get { audio?.isMuted ?? ownMute }"))
    #expect(call.source.contains("if setup?.endsForAll == true { session?.closeRoom() }"))
  }

  @Test func optionsThatAreMadeApartAreTheHelpersInAVendorsStyle() throws {
    let layer = try layer(Self.joinWithParts, to: .meetingSession)
    #expect(layer.warnings == [])
    #expect(layer.source.contains("    let audio = MeetingAgent.Setup()\n    audio.isMuted = true\n"))
    #expect(layer.source.contains("    call?.hangUp(setup: options) { _ in }\n"))
    #expect(layer.source.contains("the app's own server deletes the meeting"))
    #expect(layer.source.contains("    // options.forEveryone = forAll\n"))
  }

  @Test func statementsThatNeedWhatIsMissingAreCommentsAndTheOthersStay() throws {
    let layer = try layer(
      """
      final class Model {
        var agent: CallAgent?
        var call: Call?
        func join(_ room: String) {
          let options = JoinCallOptions()
          let incoming = IncomingVideoOptions()
          incoming.streamType = 1
          options.incomingVideoOptions = incoming
          let heard = IncomingAudioOptions()
          heard.muted = true
          options.incomingAudioOptions = heard
          agent?.join(with: RoomCallLocator(roomId: room), joinCallOptions: options) { call, _ in
            self.call = call
            print("joined")
          }
        }
      }
      """)
    let source = layer.source
    #expect(source.contains("    // let incoming = IncomingVideoOptions()\n"))
    #expect(source.contains("    // incoming.streamType = 1\n"))
    #expect(source.contains("    // options.incomingVideoOptions = incoming\n"))
    #expect(source.contains("    // let heard = IncomingAudioOptions()\n"))
    #expect(source.contains("    agent?.start(room: room, setup: options) { call, _ in\n      self.call = call\n"))
    #expect(layer.warnings.count == 3)
    #expect(layer.warnings.allSatisfy { $0.contains("IncomingAudioOptions") || $0.contains("incomingAudioOptions") })
  }

  @Test func statementThatGoesWithWhatHasNoCounterpartStaysUnderAWarning() throws {
    let layer = try layer(
      """
      final class Model {
        var agent: CallAgent?
        var call: Call?
        func join(_ room: String) {
          print("joins")
          agent?.join(with: RoomCallLocator(roomId: room), joinCallOptions: nil) { call, _ in print(call?.state == .localHold) }
        }
      }
      """)
    #expect(layer.source.contains("#warning(\"PORT 3: not known to the common layer: CallState.localHold"))
    #expect(layer.source.contains("    // agent?.join(with: RoomCallLocator(roomId: room)"))
    #expect(layer.count("dropped") == 0)
  }

  @Test func functionsWithAwaitHaveTheHelpersFormAndOptionsTakeVideos() throws {
    let layer = try layer(
      """
      final class Model: NSObject {
        var agent: CallAgent?
        var call: Call?
        var camera: LocalVideoStream?
        var video: VideoOptions? { camera.map { VideoOptions(localVideoStreams: [$0]) } }
        func join(_ room: String, _ device: VideoDeviceInfo?) async throws {
          camera = device.map(LocalVideoStream.init(camera:))
          let options = JoinCallOptions()
          options.videoOptions = video
          call = try await agent?.join(with: RoomCallLocator(roomId: room), joinCallOptions: options)
        }
        func join(group: UUID) async throws { call = try await agent?.join(with: GroupCallLocator(groupId: group), joinCallOptions: nil) }
        func leave() async throws { try await call?.hangUp(options: nil) }
      }
      """)
    #expect(layer.source.contains("var video: [RoomVideo]? { camera.map { [$0] } }"))
    #expect(layer.source.contains("camera = device.map(RoomVideo.init(camera:))"))
    #expect(layer.source.contains("options.video = video\n"))
    #expect(layer.source.contains("call = try await agent?.start(room: room, setup: options)"))
    #expect(layer.source.contains("start(room: group.uuidString.lowercased(), setup: nil)"))
    #expect(layer.source.contains("{ try await call?.hangUp() }"))
    #expect(layer.warnings == [])
  }

  @Test func listsOfStreamsAndOfCallsHaveWhatCameAndWhatWent() throws {
    let layer = try layer(
      """
      final class Model: CallAgentDelegate, CallDelegate, RemoteParticipantDelegate {
        var ids: [Int32] = []
        func take(_ agent: CallAgent, _ call: Call, _ participant: RemoteParticipant) {
          agent.delegate = self
          call.delegate = self
          participant.delegate = self
        }
        func callAgent(_ callAgent: CallAgent, didUpdateCalls args: CallsUpdatedEventArgs) { ids = args.removedCalls.isEmpty ? ids : [] }
        func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) {}
        func remoteParticipant(_ participant: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs) {
          ids += args.addedRemoteVideoStreams.map(\\.id)
        }
      }
      """)
    #expect(
      layer.source.contains(
        "agent.callsHandler = { [weak self] calls, agent in self?.callsChanged(agent, didUpdateCalls: calls) }"))
    #expect(layer.source.contains("{ ids = args.removed.isEmpty ? ids : [] }"))
    #expect(layer.source.contains("ids += args.added.map(\\.number)"))
    let added = "(added: [RoomTrack(call: call, track: track)], removed: [])"
    #expect(layer.source.contains("didUpdateVideoStreams: \(added))"))
    #expect(layer.source.contains("where track.isMuted:\n      if track.kind.isVideo, followed.contains(owner.id)"))
    #expect(layer.warnings == [])
  }

  @Test func callbackWithoutAFactStaysUnderAWarning() throws {
    let layer = try layer(
      """
      final class Model: CallDelegate {
        var notes: [String] = []
        func take(_ call: Call) { call.delegate = self }
        func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) { notes = [] }
        func call(_ call: Call, didBecomeStrange args: PropertyChangedEventArgs) { notes.append("strange") }
      }
      """)
    #expect(
      layer.source.contains(
        "#warning(\"PORT 3: not known to the common layer: CallDelegate.call(_:didBecomeStrange:)\")"))
    #expect(layer.source.contains("// func call(_ call: Call, didBecomeStrange args: PropertyChangedEventArgs)"))
    #expect(layer.warnings.count == 1)
  }

  @Test func programKeepsOneStart() throws {
    let layer = try layer(
      """
      final class Model { var call: Call? }
      @main struct Program {
        static func main() { print(Model()) }
      }
      """)
    #expect(layer.source.contains("/* @main */ struct KoineProgram {"))
  }
}
