import AmazonChimeSDK
import AzureCommunicationCalling
import Foundation
import KoineTesting
import Testing
import VideoSDKRTC

/// Text of what persons and apps say, without audio.
@MainActor @Suite struct TranscriptTests {
  @Test func personsTextReachesOtherPersonsWordByWord() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7), network: "loss=2%")
    let (ana, bea) = (try await room.join("Ana"), try await room.join("Bea"))
    #expect(!bea.says("lost"), "the room is not transcribed yet")
    try await room.startTranscription(language: "de-DE")
    await room.until("the transcriber listens") { room.isTranscribed("Bea") }
    let start = room.now
    #expect(bea.says("hello there"))
    await room.until("Ana reads it") { ana.transcript.last?.isFinal == true }
    #expect(ana.transcript.map(\.text) == ["hello", "hello there", "hello there"])
    #expect(ana.transcript.map(\.isFinal) == [false, false, true])
    #expect(Set(ana.transcript.map(\.id)).count == 1)
    #expect(Set(ana.transcript.map(\.participant)) == ["bea"])
    #expect(ana.transcript.last?.language == "de-DE")
    #expect(ana.transcript.last?.start == start)
    #expect(ana.transcript.last?.words.map(\.text) == ["hello", "there"])
    #expect(ana.transcript.last?.end == start + .milliseconds(600))
    #expect(room.now - start < .milliseconds(1_000))
    try await room.stopTranscription()
    #expect(!room.isTranscribed("Bea"))
    #expect(!bea.says("lost, too"))
  }

  @Test func textsFollowOneAnotherAndMutingEndsThem() async throws {
    let room = try await TestRoom()
    let (ana, bea) = (try await room.join("Ana"), try await room.join("Bea"))
    try await room.startTranscription()
    await room.until("the transcriber listens") { room.isTranscribed("Bea") }
    bea.says("one")
    bea.says("two three four")
    await room.until("Ana reads the beginning") { ana.transcript.last?.text == "two three" }
    bea.mute()
    await room.until("the rest is cut") { ana.transcript.last?.isFinal == true }
    #expect(ana.transcript.filter(\.isFinal).map(\.text) == ["one", "two three"])
    await room.until("nobody listens") { !room.isTranscribed("Bea") }
    #expect(!bea.says("unheard"))
    bea.unmute()
    await room.until("the transcriber listens again") { room.isTranscribed("Bea") }
    bea.says("five")
    await room.until("Ana reads it") { ana.transcript.last?.text == "five" && ana.transcript.last?.isFinal == true }
  }

  @Test func findingsReachChimesObserversWithTheirTimes() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7))
    let bea = try await room.join("Bea")
    let watcher = MeetingTranscriptWatcher()
    let meeting = try room.enter(as: "Cleo") { try watcher.join(room.credential(.meetingSession, for: "Cleo")) }
    try await room.startTranscription(region: "eu-central-1")
    await room.until("the transcriber listens") { room.isTranscribed("Bea") }
    let findings = SpeechFindings(
      entities: [.init("Ana Lopez", type: "NAME", category: "PII", confidence: 0.75)],
      languages: [.init("en-US", score: 0.9), .init("es-US", score: 0.1)], filteredWords: ["damn"], stableAfter: 2,
      channel: "ch_1")
    bea.says("call Ana Lopez, [laughter] damn!", findings)
    await room.until("Cleo reads it") { watcher.results.last?.isPartial == false }
    let final = try #require(watcher.results.last)
    let languages = try #require(final.languageIdentification)
    #expect(languages.map(\.languageCode) == ["en-US", "es-US"])
    #expect(languages.map(\.score) == [0.9, 0.1])
    #expect(final.channelId == "ch_1")
    let alternative = try #require(final.alternatives.first)
    #expect(alternative.items.map(\.content) == ["call", "Ana", "Lopez", ",", "[laughter]", "damn", "!"])
    #expect(
      alternative.items.map(\.type) == [
        .pronunciation, .pronunciation, .pronunciation, .punctuation, .unknown, .pronunciation, .punctuation,
      ])
    #expect(alternative.items.map(\.vocabularyFilterMatch) == [false, false, false, false, false, true, false])
    #expect(alternative.items.map(\.stable) == Array(repeating: true, count: 7))
    let entity = try #require(alternative.entities?.first)
    #expect(alternative.entities?.count == 1)
    #expect(entity.content == "Ana Lopez")
    #expect(entity.type == "NAME")
    #expect(entity.category == "PII")
    #expect(entity.confidence == 0.75)
    #expect(entity.startTimeMs - final.startTimeMs == 300)
    #expect(entity.endTimeMs - final.startTimeMs == 900)
    // A partial result has the entities that are complete in it, and tells which words will stay.
    let partials = watcher.results.filter(\.isPartial).compactMap(\.alternatives.first)
    #expect(partials.map { $0.entities?.count ?? 0 } == [0, 0, 1, 1, 1])
    #expect(partials.map { $0.items.filter { $0.stable == true }.count } == [0, 0, 1, 2, 4])
    #expect(watcher.statuses.map(\.transcriptionRegion) == ["eu-central-1"])
    #expect(watcher.statuses.first?.transcriptionConfiguration.contains(#""Region":"eu-central-1""#) == true)
    withExtendedLifetime(meeting) {}
  }

  @Test func failedTranscriberIsInterruptedAndResumedForChimesObservers() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7))
    let (ana, bea) = (try await room.join("Ana"), try await room.join("Bea"))
    let watcher = MeetingTranscriptWatcher()
    let meeting = try room.enter(as: "Cleo") { try watcher.join(room.credential(.meetingSession, for: "Cleo")) }
    #expect(!room.failTranscriber(of: "Bea"), "the room is not transcribed yet")
    try await room.startTranscription()
    await room.until("the transcriber listens") { room.isTranscribed("Bea") }
    let failed = room.now
    #expect(room.failTranscriber(of: "Bea", failedRestarts: 1))
    await room.until("Cleo learns it") { watcher.statuses.last?.type == .interrupted }
    #expect(!room.isTranscribed("Bea"))
    #expect(room.isTranscribed("Cleo"), "other participants are transcribed nevertheless")
    #expect(watcher.statuses.last?.message == "the test lets the transcriber fail")
    await room.until("it runs again") { watcher.statuses.last?.type == .resumed }
    #expect(room.now - failed >= .seconds(3), "1 s before the attempt that fails, 2 s before the next")
    #expect(room.now - failed < .seconds(4))
    #expect(watcher.statuses.map(\.type) == [.started, .interrupted, .resumed])
    #expect(bea.says("here again"))
    await room.until("Ana reads it") { ana.transcript.last?.isFinal == true }
    withExtendedLifetime(meeting) {}
  }

  @Test func transcriberThatKeepsFailingIsGivenUp() async throws {
    let room = try await TestRoom(clock: .virtual(seed: 7))
    let bea = try await room.join("Bea")
    let watcher = MeetingTranscriptWatcher()
    let meeting = try room.enter(as: "Cleo") { try watcher.join(room.credential(.meetingSession, for: "Cleo")) }
    try await room.startTranscription()
    await room.until("the transcriber listens") { room.isTranscribed("Bea") }
    room.failTranscriber(of: "Bea", failedRestarts: 100)
    await room.run(for: .seconds(60))
    #expect(watcher.statuses.map(\.type) == [.started, .interrupted, .failed])
    #expect(!room.isTranscribed("Bea"))
    bea.mute()
    await room.until("all open microphones are transcribed") { watcher.statuses.last?.type == .resumed }
    bea.unmute()
    await room.until("the transcriber fails again") { watcher.statuses.last?.type == .failed }
    room.failTranscriber(of: "Cleo")
    await room.until("Cleo's transcriber fails") { watcher.statuses.last?.type == .interrupted }
    try await room.stopTranscription()
    await room.run(for: .seconds(5))
    #expect(watcher.statuses.last?.type == .stopped, "no session is started after the end")
    withExtendedLifetime(meeting) {}
  }

  @Test func unknownLanguageIsRefused() async throws {
    let room = try await TestRoom()
    _ = try await room.join("Bea")
    await #expect(throws: Failure.self) { try await room.startTranscription(language: "tlh") }
  }

  /// Ana in Azure's style, Cleo in Chime's, Dan in VideoSDK's, Eva in the common layer. The talker is a person or one of these apps.
  @Test(arguments: ["Bea", "Ana", "Cleo", "Dan", "Eva"])
  func captionsInFourStylesFromOneTalker(talker: String) async throws {
    let room = try await TestRoom(clock: .virtual(seed: 9), network: "loss=2%")
    let bea = try await room.join("Bea")
    let eva = try await room.join("Eva")
    let apps = try await CaptionApps(in: room)
    try await room.run { try await apps.startCaptions() }
    await room.until("the transcriber listens") { room.isTranscribed(talker) }
    room.say("hello there", as: talker)
    await room.until("all apps have the final text") {
      apps.call.captions.last?.isFinal == true && apps.meeting.captions.last?.isFinal == true
        && apps.listener.captions.last?.isFinal == true && eva.transcript.last?.isFinal == true
    }
    // A call agent's participant id is the whole identity; other styles have the name in small letters.
    let id = talker == "Ana" ? room.identity(of: "Ana") : talker.lowercased()
    let expected = [("hello", false), ("hello there", false), ("hello there", true)]
    let rawID = try #require(apps.call.rawID(of: talker))
    for (captions, speaker) in [(apps.call.captions, rawID), (apps.meeting.captions, id), (apps.listener.captions, id)]
    {
      #expect(captions == expected.map { Caption(speaker: speaker, name: talker, text: $0.0, isFinal: $0.1) })
    }
    #expect(eva.transcript.map(\.text) == expected.map(\.0))
    #expect(eva.transcript.map(\.isFinal) == expected.map(\.1))
    #expect(eva.transcript.allSatisfy { $0.participant == id })
    #expect(apps.call.hasCaptions)
    #expect(apps.call.isTranscribed)
    #expect(apps.meeting.statuses == ["started"])
    #expect(apps.listener.states == [.TRANSCRIPTION_STARTING, .TRANSCRIPTION_STARTED])
    try await room.run { try await apps.stopCaptions() }
    await room.until("all know of the end") {
      apps.meeting.statuses == ["started", "stopped"] && apps.listener.states.last == .TRANSCRIPTION_STOPPED
        && eva.session?.transcription == .off
    }
    #expect(!apps.call.hasCaptions)
    #expect(!apps.call.isTranscribed)
    withExtendedLifetime(bea) {}
  }
}

/// One caption, in no style's words.
private struct Caption: Hashable {
  var speaker: String
  var name: String
  var text: String
  var isFinal: Bool
}

/// An app of each style that shows captions.
@MainActor private final class CaptionApps {
  let call = CallCaptionApp()
  let meeting: MeetingCaptionApp
  let listener = ListenerCaptionApp()

  init(in room: TestRoom) async throws {
    let pass = try room.credential(.meetingSession, for: "Cleo")
    meeting = try MeetingCaptionApp(pass)
    try room.enter(as: "Cleo") { try meeting.start() }
    let dan = try room.credential(.eventListener, for: "Dan")
    room.enter(as: "Dan") { listener.join(dan) }
    let ana = try room.credential(.callAgent, for: "Ana")
    try await room.run { [call] in try await room.enter(as: "Ana") { try await call.join(ana) } }
    await room.until("all are in") {
      self.listener.hasJoined && self.call.isConnected && self.meeting.hasStarted
    }
  }

  func startCaptions() async throws { try await call.startCaptions() }
  func stopCaptions() async throws { try await call.stopCaptions() }
}

/// Azure's captions, started and stopped by this app.
@MainActor private final class CallCaptionApp: NSObject, @preconcurrency CommunicationCaptionsDelegate {
  private(set) var captions: [Caption] = []
  private var client: CallClient?
  private var agent: CallAgent?
  private var joined: Call?
  private var identity: String?
  private var communicationCaptions: CommunicationCaptions?

  var isConnected: Bool { joined?.state == .connected }
  var hasCaptions: Bool { communicationCaptions?.isEnabled == true }
  var isTranscribed: Bool { joined?.feature(Features.transcription).isTranscriptionActive == true }

  func rawID(of name: String) -> String? {
    guard name != "Ana" else { return identity }
    return joined?.remoteParticipants.first { $0.displayName == name }?.identifier.rawId
  }

  func join(_ credential: CallAgentCredential) async throws {
    let (client, options) = (CallClient(), CallAgentOptions())
    options.displayName = "Ana"
    let agent = try await client.createCallAgent(
      userCredential: CommunicationTokenCredential(token: credential.token), options: options)
    (self.client, self.agent, identity) = (client, agent, credential.identity)
    joined = try await agent.join(with: RoomCallLocator(roomId: credential.roomID), joinCallOptions: JoinCallOptions())
  }

  func startCaptions() async throws {
    let captions = try await joined?.feature(Features.captions).getCaptions()
    communicationCaptions = captions as? CommunicationCaptions
    communicationCaptions?.delegate = self
    let options = StartCaptionsOptions()
    options.spokenLanguage = "en-us"
    try await communicationCaptions?.startCaptions(options: options)
  }

  func stopCaptions() async throws { try await communicationCaptions?.stopCaptions() }

  func communicationCaptions(
    _ communicationCaptions: CommunicationCaptions, didReceiveCaptions args: CommunicationCaptionsReceivedEventArgs
  ) {
    captions.append(
      Caption(
        speaker: args.speaker.identifier.rawId, name: args.speaker.displayName, text: args.spokenText,
        isFinal: args.resultType == .final))
  }
}

/// Chime's transcripts, which the back end starts.
@MainActor private final class MeetingCaptionApp: NSObject, @preconcurrency TranscriptEventObserver {
  private(set) var captions: [Caption] = []
  private(set) var statuses: [String] = []
  private let session: DefaultMeetingSession
  var hasStarted: Bool { session.audioVideo.realtimeLocalUnmute() }

  init(_ credential: MeetingCredential) throws {
    let app = try MeetingApp(
      createMeeting: Data(credential.createMeetingJSON.utf8), createAttendee: Data(credential.createAttendeeJSON.utf8))
    session = app.session
  }

  func start() throws {
    session.audioVideo.addRealtimeTranscriptEventObserver?(observer: self)
    try session.audioVideo.start()
  }

  func transcriptEventDidReceive(transcriptEvent: any TranscriptEvent) {
    if let status = transcriptEvent as? TranscriptionStatus { statuses.append("\(status.type)") }
    guard let transcript = transcriptEvent as? Transcript else { return }
    for result in transcript.results {
      guard let best = result.alternatives.first, let speaker = best.items.first?.attendee else { continue }
      captions.append(
        Caption(
          speaker: speaker.attendeeId, name: speaker.externalUserId, text: best.transcript, isFinal: !result.isPartial))
    }
  }
}

/// Chime's transcripts as they come.
@MainActor private final class MeetingTranscriptWatcher: @preconcurrency TranscriptEventObserver {
  private(set) var results: [TranscriptResult] = []
  private(set) var statuses: [TranscriptionStatus] = []

  /// - Returns: the app, which the test keeps.
  func join(_ credential: MeetingCredential) throws -> MeetingApp {
    let app = try MeetingApp(
      createMeeting: Data(credential.createMeetingJSON.utf8), createAttendee: Data(credential.createAttendeeJSON.utf8))
    app.session.audioVideo.addRealtimeTranscriptEventObserver?(observer: self)
    try app.session.audioVideo.start()
    return app
  }

  func transcriptEventDidReceive(transcriptEvent: any TranscriptEvent) {
    if let status = transcriptEvent as? TranscriptionStatus { statuses.append(status) }
    if let transcript = transcriptEvent as? Transcript { results += transcript.results }
  }
}

/// VideoSDK's live text.
@MainActor private final class ListenerCaptionApp: @preconcurrency MeetingEventListener {
  private(set) var captions: [Caption] = []
  private(set) var states: [TranscriptionState] = []
  private(set) var hasJoined = false
  private var meeting: VideoSDKRTC.Meeting?

  func join(_ credential: ListenerCredential) {
    VideoSDK.config(token: credential.token)
    meeting = VideoSDK.initMeeting(
      meetingId: credential.meetingID, participantId: credential.participantID, participantName: "Dan",
      micEnabled: true, webcamEnabled: false)
    meeting?.addEventListener(self)
    meeting?.join()
  }

  func onMeetingJoined() { hasJoined = true }
  func onTranscriptionStateChanged(state: TranscriptionState) { states.append(state) }
  func onTranscriptionText(_ data: TranscriptionText) {
    captions.append(
      Caption(
        speaker: data.participantId, name: data.participantName, text: data.text, isFinal: data.type == "final"))
  }
}
