import AmazonChimeSDK
import AmazonIVSBroadcast
import Foundation
import Koine
import KoineTesting
import Testing
import VideoSDKRTC

/// Values read inside a callback stay the same until the next callback of that session: each change has its callback, and
/// each callback comes after its change. (The call agent's test is in Tests/CallAgent.)
@MainActor @Suite struct ReadingTests {
  /// Random actions of the other participants, and of the network. The app comes after some of them.
  private func play(_ seed: UInt64, _ room: TestRoom, join: () async throws -> Void, readings: Readings) async throws {
    var random = SeededRandom(seed: seed)
    var people: [Person] = []
    var made = 0
    func act() async throws {
      guard !people.isEmpty, random.next() % 6 > 0 else {
        made += 1
        return people.append(try await room.join("P\(made)"))
      }
      let person = people[Int(random.next() % UInt64(people.count))]
      switch random.next() % 8 {
      case 0: person.isMuted ? person.unmute() : person.mute()
      case 1: person.turnCameraOff()
      case 2: person.turnCameraOn()
      case 3: person.setAttributes(["mood": "\(random.next() % 4)"])
      case 4:
        person.leave()
        people.removeAll { $0 === person }
      case 5: room.cutNetwork(of: "Ana", for: .milliseconds(Int64(random.next() % 3_000)))
      case 6: try? person.share()  // a second share is refused
      default: person.stopSharing()
      }
    }
    for _ in 0..<3 { try await act() }
    readings.begin()
    try await join()
    for _ in 0..<60 {
      try await act()
      for _ in 0..<10 {
        await room.run(for: .milliseconds(Int64(random.next() % 60)))
        readings.compareNow()
      }
    }
    // Neither of the two is announced by a removal of each stream.
    if seed % 2 == 0 { room.close() } else { room.remove("Ana") }
    await room.run(for: .seconds(2))
    readings.compareNow()
    #expect(readings.callbacks > 30)
    #expect(readings.faults.isEmpty, "\(Array(Set(readings.faults)).sorted().prefix(10).joined(separator: "\n"))")
  }

  @Test(arguments: 1...4) func stageValuesChangeOnlyWithACallback(seed: UInt64) async throws {
    let room = try await TestRoom(clock: .virtual(seed: seed))
    let app = StageReader()
    let token = try room.credential(.stageStrategy, for: "Ana").token
    try await play(seed, room, join: { try room.enter(as: "Ana") { try app.join(token) } }, readings: app.readings)
  }

  @Test(arguments: 1...4) func meetingSessionValuesChangeOnlyWithACallback(seed: UInt64) async throws {
    let room = try await TestRoom(clock: .virtual(seed: seed))
    let pass = try room.credential(.meetingSession, for: "Ana")
    let decoder = JSONDecoder()
    let configuration = MeetingSessionConfiguration(
      createMeetingResponse: try decoder.decode(CreateMeetingResponse.self, from: Data(pass.createMeetingJSON.utf8)),
      createAttendeeResponse: try decoder.decode(CreateAttendeeResponse.self, from: Data(pass.createAttendeeJSON.utf8)))
    let app = room.enter(as: "Ana") { MeetingReader(configuration) }
    try await play(seed, room, join: { try app.start() }, readings: app.readings)
  }

  @Test(arguments: 1...4) func meetingValuesChangeOnlyWithAListenerCallback(seed: UInt64) async throws {
    let room = try await TestRoom(clock: .virtual(seed: seed))
    let credential = try room.credential(.eventListener, for: "Ana")
    let app = room.enter(as: "Ana") {
      VideoSDK.config(token: credential.token)
      return ListenerReader(credential.meetingID, credential.participantID)
    }
    try await play(seed, room, join: { app.meeting.join() }, readings: app.readings)
  }
}

/// The values at the last callback.
@MainActor
private final class Readings {
  private(set) var faults: [String] = []
  private(set) var callbacks = 0
  private var last: [String: String] = [:]
  var read: () -> [String: String] = { [:] }

  func begin() { last = read() }

  /// - Parameter properties: those that the callback announces, or the beginnings of their names.
  func compare(_ callback: String, _ properties: [String]) {
    callbacks += 1
    let now = read()
    for key in Set(now.keys).union(last.keys) where now[key] != last[key] {
      if !properties.contains(where: { key == $0 || key.hasPrefix($0 + " ") }) {
        faults.append("\(key): \(last[key] ?? "–"), then \(now[key] ?? "–") in \(callback)")
      }
    }
    last = now
  }

  /// Between callbacks.
  func compareNow() {
    callbacks -= 1
    compare("none", [])
  }
}

@MainActor
private final class StageReader: NSObject {
  let readings = Readings()
  private var stage: IVSStage?
  private var devices: [IVSLocalStageStream] = []
  private var participants: [IVSParticipantInfo] = []
  private var streams: [IVSStageStream] = []

  func join(_ token: String) throws {
    devices = IVSDeviceDiscovery().listLocalDevices().map { IVSLocalStageStream(device: $0) }
    readings.read = { [weak self] in self?.everything ?? [:] }
    let stage = try IVSStage(token: token, strategy: self)
    stage.addRenderer(self)
    self.stage = stage
    try stage.join()
  }

  private var everything: [String: String] {
    var all: [String: String] = [:]
    for participant in participants {
      let name = "participant \(participant.participantId)"
      all[name + " user"] = participant.userId
      all[name + " attributes"] = "\(participant.attributes.sorted { $0.key < $1.key })"
    }
    for stream in streams { all[key(stream) + " muted"] = "\(stream.isMuted)" }
    return all
  }

  private func key(_ stream: IVSStageStream) -> String { "stream \(stream.device.descriptor().urn)" }
}

extension StageReader: @preconcurrency IVSStageStrategy {
  func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo) -> [IVSLocalStageStream]
  { devices }
  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { true }
  func stage(
    _ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo
  ) -> IVSStageSubscribeType { .audioVideo }
}

extension StageReader: @preconcurrency IVSStageRenderer {
  func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {
    participants.append(participant)
    readings.compare("participantDidJoin", ["participant \(participant.participantId)"])
  }
  func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) {
    participants.removeAll { $0.participantId == participant.participantId }
    readings.compare("participantDidLeave", ["participant \(participant.participantId)"])
  }
  func stage(_ stage: IVSStage, participantMetadataDidUpdate participant: IVSParticipantInfo) {
    readings.compare("participantMetadataDidUpdate", ["participant \(participant.participantId)"])
  }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didAdd new: [IVSStageStream]) {
    streams += new
    readings.compare("didAdd", new.map(key))
  }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didRemove gone: [IVSStageStream]) {
    streams.removeAll { stream in gone.contains { $0 === stream } }
    readings.compare("didRemove", gone.map(key))
  }
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChangeMutedStreams changed: [IVSStageStream]) {
    readings.compare("didChangeMutedStreams", changed.map(key))
  }
  func stage(_ stage: IVSStage, didChange connectionState: IVSStageConnectionState, withError error: (any Error)?) {
    readings.compare("connection", [])
  }
}

private final class MeetingReader: @unchecked Sendable {  // on the main queue only
  let readings: Readings
  private let session: DefaultMeetingSession
  private var tiles: [VideoTileState] = []

  @MainActor init(_ configuration: MeetingSessionConfiguration) {
    readings = Readings()
    session = DefaultMeetingSession(configuration: configuration, logger: ConsoleLogger(name: "app", level: .OFF))
    readings.read = { [weak self] in self?.everything ?? [:] }
  }

  func start() throws {
    session.audioVideo.addVideoTileObserver(observer: self)
    session.audioVideo.addAudioVideoObserver(observer: self)
    try session.audioVideo.start()
    try session.audioVideo.startLocalVideo()
    session.audioVideo.startRemoteVideo()
  }

  private var everything: [String: String] {
    var all: [String: String] = ["device": session.audioVideo.getActiveAudioDevice()?.label ?? "none"]
    for tile in tiles {
      all["tile \(tile.tileId) size"] = "\(tile.videoStreamContentWidth)x\(tile.videoStreamContentHeight)"
      all["tile \(tile.tileId) pause"] = "\(tile.pauseState)"
    }
    return all
  }

  private func compare(_ callback: String, _ properties: [String]) {
    MainActor.assumeIsolated { readings.compare(callback, properties) }
  }
}

extension MeetingReader: VideoTileObserver {
  func videoTileDidAdd(tileState: VideoTileState) {
    tiles.append(tileState)
    compare("videoTileDidAdd", ["tile \(tileState.tileId)"])
  }
  func videoTileDidRemove(tileState: VideoTileState) {
    tiles.removeAll { $0 === tileState }
    compare("videoTileDidRemove", ["tile \(tileState.tileId)"])
  }
  func videoTileDidPause(tileState: VideoTileState) {
    compare("videoTileDidPause", ["tile \(tileState.tileId) pause"])
  }
  func videoTileDidResume(tileState: VideoTileState) {
    compare("videoTileDidResume", ["tile \(tileState.tileId) pause"])
  }
  func videoTileSizeDidChange(tileState: VideoTileState) {
    compare("videoTileSizeDidChange", ["tile \(tileState.tileId) size"])
  }
}

extension MeetingReader: AudioVideoObserver {
  func audioSessionDidStartConnecting(reconnecting: Bool) { compare("connecting", []) }
  func audioSessionDidStart(reconnecting: Bool) { compare("started", ["device"]) }
  func audioSessionDidDrop() { compare("dropped", []) }
  func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) { compare("stopped", ["device"]) }
  func audioSessionDidCancelReconnect() { compare("cancelled", []) }
  func connectionDidRecover() { compare("recovered", []) }
  func connectionDidBecomePoor() { compare("poor", []) }
  func videoSessionDidStartConnecting() { compare("video connecting", []) }
  func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) { compare("video started", []) }
  func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) { compare("video stopped", []) }
}

@MainActor
private final class ListenerReader {
  let readings = Readings()
  let meeting: VideoSDKRTC.Meeting

  init(_ room: String, _ participant: String) {
    meeting = VideoSDK.initMeeting(
      meetingId: room, participantId: participant, participantName: "Ana", micEnabled: true, webcamEnabled: true)
    readings.read = { [weak self] in self?.everything ?? [:] }
    meeting.addEventListener(self)
    meeting.localParticipant.addEventListener(self)
  }

  private var everything: [String: String] {
    var all = [
      "participants": meeting.participants.keys.sorted().joined(separator: " "),
      "presenter": meeting.activePresenterId ?? "none", "recording": "\(meeting.recordingState)",
      "live": "\(meeting.liveStreamState)", "hls": "\(meeting.hlsState)",
    ]
    for participant in Array(meeting.participants.values) + [meeting.localParticipant] {
      let name = "participant \(participant.id)"
      all[name + " streams"] = participant.streams.values.map { "\($0.kind)" }.sorted().joined(separator: " ")
      all[name + " name"] = participant.displayName
      all[name + " pin"] = "\(participant.pinState)"
      all[name + " mode"] = "\(participant.mode)"
    }
    return all
  }
}

extension ListenerReader: @preconcurrency MeetingEventListener {
  func onMeetingJoined() { readings.compare("onMeetingJoined", []) }
  func onMeetingLeft() { readings.compare("onMeetingLeft", []) }
  func onMeetingStateChanged(meetingState: MeetingState) {
    // The end takes everything with it.
    let isEnd = meetingState == .CLOSING || meetingState == .CLOSED
    readings.compare("state \(meetingState)", isEnd ? Array(everything.keys) + ["participant"] : [])
  }
  func onParticipantJoined(_ participant: VideoSDKRTC.Participant) {
    participant.addEventListener(self)
    readings.compare("onParticipantJoined", ["participants", "participant \(participant.id)"])
  }
  func onParticipantLeft(_ participant: VideoSDKRTC.Participant) {
    readings.compare("onParticipantLeft", ["participants", "participant \(participant.id)"])
  }
  func onPresenterChanged(activePresenterId: String?) {
    // One event with the callback of the share's stream: both find what both announce.
    let streams = meeting.participants.keys.map { "participant \($0) streams" }
    readings.compare("onPresenterChanged", ["presenter"] + streams)
  }
  func onSpeakerChanged(participantId: String?) { readings.compare("onSpeakerChanged", []) }
  func onSocketError(message: String) { readings.compare("onSocketError", []) }
  func onError(error: VideoSDKError) { readings.compare("onError", []) }
}

extension ListenerReader: @preconcurrency ParticipantEventListener {
  func onStreamEnabled(_ stream: MediaStream, forParticipant participant: VideoSDKRTC.Participant) {
    readings.compare("onStreamEnabled", ["participant \(participant.id) streams"])
  }
  func onStreamDisabled(_ stream: MediaStream, forParticipant participant: VideoSDKRTC.Participant) {
    readings.compare("onStreamDisabled", ["participant \(participant.id) streams"])
  }
}
