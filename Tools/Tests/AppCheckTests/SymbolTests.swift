import AppCheck
import KoinePorting
import Testing

func check(_ source: String) -> AppCheck { AppCheck(AppSources(source: source), path: "app.swift") }

extension AppCheck {
  /// `name status line line …`
  var summaries: [String] {
    symbols.map { "\($0.name) \($0.status) " + $0.places.map { "\($0.line)" }.joined(separator: " ") }
  }
  func has(_ symbol: String) -> Bool { symbols.contains { $0.name == symbol && $0.isCertain } }
}

@Suite struct SymbolTests {
  @Test func symbolsAreResolvedByTypesOfValues() {
    let check = check(
      """
      import VideoSDKRTC
      final class Screen {
        var meeting: Meeting?
        let names = [String]()
        func enter() {
          meeting = VideoSDK.initMeeting(
            meetingId: "a", participantName: "b", micEnabled: true, webcamEnabled: true)
          meeting?.join(cameraPosition: .front)
          guard let own = meeting?.localParticipant else { return }
          own.setQuality(.high)
          for (_, other) in meeting!.participants { other.remove() }
          meeting?.participants.values.forEach { $0.pin(.CAM) }
          meeting?.participants["x"]?.streams.first(where: { $1.kind == .share })?.value.pause()
          _ = names.map { $0.count }
        }
      }
      """)
    #expect(check.styles == [.eventListener])
    #expect(check.canWork)
    for symbol in [
      "VideoSDK", "Meeting", "Meeting.join(cameraPosition:)", "Meeting.localParticipant", "Participant.setQuality(_:)",
      "VideoSDK.initMeeting(meetingId:participantId:participantName:micEnabled:webcamEnabled:customCameraVideoStream:mode:)",
      "Participant.remove()", "Participant.pin(_:)", "Participant.streams", "MediaStream.kind", "MediaStream.pause()",
    ] {
      #expect(check.has(symbol), "\(symbol)")
    }
    #expect(check.summaries.contains("Meeting.participants works 11 12 13"))
  }

  @Test func completionHandlerParametersHaveInferredTypes() {
    let check = check(
      """
      import AzureCommunicationCalling
      func start(_ client: CallClient, _ credential: CommunicationTokenCredential) {
        client.createCallAgent(userCredential: credential) { agent, error in
          agent?.startCall(participants: [], options: StartCallOptions()) { (call, error) in
            call?.remoteParticipants.first?.videoStreams.forEach { stream in print(stream.mediaStreamType) }
            call?.feature(Features.recording).isRecordingActive
          }
        }
      }
      """)
    for symbol in [
      "CallClient.createCallAgent(userCredential:completionHandler:)",
      "CallAgent.startCall(participants:options:completionHandler:)", "Call.remoteParticipants",
      "RemoteParticipant.videoStreams", "RemoteVideoStream.mediaStreamType", "RecordingCallFeature.isRecordingActive",
    ] {
      #expect(check.has(symbol), "\(symbol): \(check.summaries)")
    }
  }

  @Test func parametersOfAnInnerClosureAreNotThoseOfTheOuterOne() {
    let check = check(
      """
      import AzureCommunicationCalling
      final class Model {
        func start(_ client: CallClient, _ credential: CommunicationTokenCredential) {
          client.createCallAgent(userCredential: credential) { agent, error in
            self.onMain { $0.signedIn(agent) }
            self.onMain { agent in agent.signedIn(nil) }
          }
        }
        func onMain(_ body: @escaping (Model) -> Void) {}
        func signedIn(_ agent: CallAgent?) {}
      }
      """)
    #expect(check.canWork, "\(check.problems)")
  }

  @Test func tupleAndDictionaryElementsHaveInferredTypes() {
    let check = check(
      """
      import AmazonChimeSDK
      class Tiles {
        var tiles: [(Int, VideoTileState)] = []
        var wanted: Dictionary<RemoteVideoSource, VideoSubscriptionConfiguration> = Dictionary()
        func f() {
          print(tiles.map { $0.1.attendeeId }, tiles.first?.1.isContent ?? false)
          for (source, wish) in wanted { print(source.attendeeId, wish.priority) }
        }
      }
      """)
    for symbol in [
      "VideoTileState.attendeeId", "VideoTileState.isContent", "RemoteVideoSource.attendeeId",
      "VideoSubscriptionConfiguration.priority",
    ] {
      #expect(check.has(symbol), "\(symbol): \(check.summaries)")
    }
  }

  @Test func asyncCallIsResolvedToCompletionHandlerEntry() {
    let check = check(
      """
      import AzureCommunicationCalling
      func end(_ call: Call) async throws { try await call.hangUp(options: HangUpOptions()) }
      """)
    #expect(check.has("Call.hangUp(options:completionHandler:)"))
  }

  @Test func symbolWithoutEffectIsReportedWithReason() throws {
    let check = check(
      """
      import AzureCommunicationCalling
      func prepare(_ filters: OutgoingAudioFilters, _ options: StartCallOptions, _ number: PhoneNumberIdentifier) {
        filters.analogAutomaticGainControlEnabled = false
        options.alternateCallerId = number
      }
      """)
    #expect(check.canWork)
    let recorded = check.symbols.filter { $0.status == .recorded }
    #expect(recorded.map(\.name).contains("OutgoingAudioFilters.analogAutomaticGainControlEnabled"))
    #expect(recorded.map(\.name).contains("StartCallOptions.alternateCallerId"))
    #expect(recorded.allSatisfy { $0.why != nil })
  }

  @Test func unavailableAndAbsentSymbolsAreReported() {
    let unavailable = check(
      """
      import VideoSDKRTC
      func draw(_ meeting: Meeting) {
        meeting.startWhiteboard()
      }
      """)
    #expect(
      unavailable.problems.map { "\($0.location.line) \($0.what)" } == ["3 Meeting.startWhiteboard() is not to be had"])
    #expect(unavailable.problems.first?.instead == "whiteboards are pages of the vendor's service")
    let absent = check("import VideoSDKRTC\nfunc f(_ s: MediaStream) { _ = s.producer }")
    #expect(absent.problems.first?.what == "MediaStream.producer is not to be had")
    let type = check("import AmazonChimeSDK\nvar filter: BackgroundBlurVideoFrameProcessor?")
    #expect(type.problems.first?.kind == .unavailable)
  }

  @Test func unknownMemberIsReportedWithSimilarNames() {
    let check = check("import VideoSDKRTC\nfunc f(_ m: Meeting) { m.muteMick() }")
    #expect(check.problems.map(\.what) == ["Meeting has no 'muteMick' here"])
    #expect(check.problems.first?.instead == "there is muteMic(), unmuteMic(), unmuteMic(customAudioStream:)")
  }

  @Test func typesAndMembersDeclaredByTheAppAreNotReported() {
    let check = check(
      """
      import VideoSDKRTC
      struct Participant { var remove = 1 }
      extension Meeting { func muteEverybody() {} }
      func f(_ meeting: Meeting, _ person: Participant) {
        meeting.muteEverybody()
        _ = person.remove
        _ = person.fancy
      }
      """)
    #expect(check.canWork)
    #expect(!check.symbols.contains { $0.name.hasPrefix("Participant") })
  }

  @Test func memberOfUnknownTypeIsReportedOnlyIfItsNameIsDistinctive() {
    let check = check(
      """
      import VideoSDKRTC
      func f() {
        thing.startWhiteboard()
        thing.tags = []
        thing.stop()
      }
      """)
    #expect(check.problems.map(\.what) == ["Meeting.startWhiteboard() is not to be had (by its name)"])
    #expect(check.symbols.map(\.name) == ["Meeting.startWhiteboard()"])
  }

  /// Both vendors have a `Meeting`.
  @Test func nameSharedByVendorsIsResolvedByTheFilesImport() {
    let sources = AppSources(sources: [
      ("a.swift", "import VideoSDKRTC\nfunc f(_ m: Meeting) { m.muteMic() }"),
      ("b.swift", "import AmazonChimeSDK\nfunc g(_ m: Meeting?) -> VideoTileState? { nil }"),
      ("c.swift", "import Koine\nfunc h(_ p: Participant) { print(p.name) }"),
    ])
    let check = AppCheck(sources, path: ".")
    #expect(check.styles == [.eventListener, .meetingSession])
    #expect(check.canWork)
    #expect(
      check.symbols.filter { $0.name == "Meeting" }.map { "\($0.style) \($0.places)" } == [
        "eventListener [a.swift:2:13]", "meetingSession [b.swift:2:13]",
      ])
  }

  @Test func functionReferenceIsResolvedByItsLabels() {
    let check = check(
      """
      import AzureCommunicationCalling
      let one: Any = CallDelegate.call(_:didChangeState:)
      let other: Any = CallDelegate.call(_:didChangeId:)
      """)
    #expect(
      check.summaries.filter { $0.hasPrefix("CallDelegate.") } == [
        "CallDelegate.call(_:didChangeId:) recorded 3", "CallDelegate.call(_:didChangeState:) works 2",
      ])
  }

  @Test func typeOfAnotherImportedModuleIsNotReported() {
    #expect(check("import VideoSDKRTC\nimport MyParts\nvar s: VideoSDKBackgroundProcessor?").canWork)
    #expect(!check("import VideoSDKRTC\nimport Combine\nvar s: VideoSDKBackgroundProcessor?").canWork)
    #expect(!check("import VideoSDKRTC\nvar s: VideoSDKBackgroundProcessor?").canWork)
    #expect(check("import AzureCommunicationCalling\nfunc f() { text.frame(width: 1, height: 2) }").symbols.isEmpty)
  }

  @Test func sourceWithoutImportsIsAssignedToStyleByItsTypes() {
    let check = check(
      """
      let deviceDiscovery = IVSDeviceDiscovery()
      let devices = deviceDiscovery.listLocalDevices()
      let stage = try IVSStage(token: token, strategy: self)
      stage.addRenderer(self)
      """)
    #expect(check.styles == [.stageStrategy])
    #expect(check.has("IVSStage.addRenderer(_:)"))
    #expect(check.has("IVSDeviceDiscovery.listLocalDevices()"))
    #expect(self.check("let a = 1").styles.isEmpty)
  }

  private func check(_ source: String) -> AppCheck { AppCheck(AppSources(source: source), path: "app.swift") }
}
