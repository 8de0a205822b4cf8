import AzureCommunicationCalling
import Koine
import Testing

struct CallTests {
  @Test func acceptedCallConnectsCallerAndCallee() async throws {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    let (ben, benHears) = try await telephone.agent("ben")
    let start = telephone.world.backend.scheduler.now
    ana.startCall(participants: [identity("ben")], options: StartCallOptions()) { anaHears.take($0, $1) }
    await telephone.run(.milliseconds(60))
    benHears.incoming?.accept(options: AcceptCallOptions()) { benHears.take($0, $1) }
    let connected = await telephone.world.run(
      until: { anaHears.call?.state == .connected && benHears.call?.state == .connected }, limit: .seconds(1))
    #expect(connected)
    #expect(telephone.world.backend.scheduler.now - start < .milliseconds(150))
    await telephone.run(.seconds(1))
    #expect(anaHears.states == ["connecting", "ringing", "connected"])
    #expect(benHears.states == ["connecting", "connected"])
    #expect(anaHears.words.prefix(2) == ["call", "calls +outgoing"])
    #expect(benHears.words.contains("calls +incoming"))
    #expect(benHears.words.contains("rings Ana"))
    #expect(anaHears.words.contains("+ben connecting 0"))
    #expect(anaHears.words.contains("ben connected"))
    #expect(benHears.words.contains("+ana connected 0"))
    #expect(anaHears.call?.totalParticipantCount == 2)
    #expect(ana.calls.count == 1)
    #expect(ben.calls.count == 1)
  }

  private func connectedPair(
    _ telephone: Telephone
  ) async throws -> (ana: CallAgent, anaHears: Recorder, ben: CallAgent, benHears: Recorder) {
    let (ana, anaHears) = try await telephone.agent("ana")
    let (ben, benHears) = try await telephone.agent("ben")
    ana.startCall(participants: [identity("ben")], options: nil) { anaHears.take($0, $1) }
    await telephone.run(.milliseconds(200))
    benHears.incoming?.accept(options: AcceptCallOptions()) { benHears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    try #require(anaHears.call?.state == .connected && benHears.call?.state == .connected)
    return (ana, anaHears, ben, benHears)
  }

  @Test func hangUpEndsTheCallForBothParticipants() async throws {
    let telephone = try Telephone()
    let (ana, anaHears, ben, benHears) = try await connectedPair(telephone)
    benHears.call?.hangUp(options: nil) { error in benHears.note("hung up \(error == nil)") }
    await telephone.run(.seconds(1))
    for hears in [anaHears, benHears] {
      #expect(hears.states.suffix(3) == ["connected", "disconnecting", "disconnected"])
      #expect(hears.call?.callEndReason.code == 0)
      #expect(hears.words.last?.hasPrefix("calls -") == true)
      #expect(hears.words.last?.hasSuffix("disconnected") == true)
    }
    #expect(benHears.words.contains("hung up true"))
    #expect(ana.calls.isEmpty)
    #expect(ben.calls.isEmpty)
    let words = anaHears.words
    await telephone.run(.seconds(2))
    #expect(anaHears.words == words, "silence after the end")
  }

  @Test func declinedCallEndsWithCode603() async throws {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    let (_, benHears) = try await telephone.agent("ben")
    ana.startCall(participants: [identity("ben")], options: nil) { anaHears.take($0, $1) }
    await telephone.run(.milliseconds(200))
    benHears.incoming?.reject { error in benHears.note("rejected \(error == nil)") }
    await telephone.run(.seconds(1))
    #expect(anaHears.states == ["connecting", "ringing", "disconnecting", "disconnected"])
    #expect(anaHears.call?.callEndReason.code == 603)
    #expect(benHears.words == ["rings Ana", "rejected true", "didEnd 487"])
  }

  @Test func callCancelledWhileRingingEndsWithCode487() async throws {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    let (_, benHears) = try await telephone.agent("ben")
    ana.startCall(participants: [identity("ben")], options: nil) { anaHears.take($0, $1) }
    await telephone.run(.milliseconds(200))
    anaHears.call?.hangUp(options: HangUpOptions()) { _ in }
    await telephone.run(.seconds(1))
    #expect(anaHears.call?.callEndReason.code == 487)
    #expect(benHears.words == ["rings Ana", "didEnd 487"])
    benHears.incoming?.accept(options: AcceptCallOptions()) { benHears.take($0, $1) }
    await telephone.run(.milliseconds(200))
    #expect(benHears.words.last == "no call 4096")
  }

  @Test func callToAbsentUserEndsWith480AndUnansweredCallWith408() async throws {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    ana.startCall(participants: [identity("zoe")], options: nil) { anaHears.take($0, $1) }
    await telephone.run(.seconds(1))
    #expect(anaHears.states == ["connecting", "disconnecting", "disconnected"])
    #expect(anaHears.call?.callEndReason.code == 480)
    let (_, benHears) = try await telephone.agent("ben")
    ana.startCall(participants: [identity("ben")], options: nil) { anaHears.take($0, $1) }
    await telephone.run(.seconds(90))
    #expect(anaHears.call?.callEndReason.code == 408)
    #expect(benHears.words.last == "didEnd 487")
    #expect(benHears.incoming?.callEndReason?.subcode == 10_004)
  }

  @Test func remoteParticipantReceivesVideoAndMuteState() async throws {
    let telephone = try Telephone()
    let (_, anaHears, _, benHears) = try await connectedPair(telephone)
    let camera = try await telephone.camera()
    let preview = try VideoStreamRenderer(localVideoStream: camera)
    let previewView = try preview.createView(withOptions: CreateViewOptions(scalingMode: .fit))
    anaHears.call?.startVideo(stream: camera) { error in anaHears.note("video \(error == nil)") }
    await telephone.run(.seconds(1))
    #expect(anaHears.words.contains("video true"))
    #expect(camera.isSending)
    let stream = try #require(benHears.call?.remoteParticipants.first?.videoStreams.first)
    let renderer = try VideoStreamRenderer(remoteVideoStream: stream)
    renderer.delegate = benHears
    let view = try renderer.createView(withOptions: CreateViewOptions(scalingMode: .fit))
    await telephone.run(.seconds(1))
    #expect(view.framesRendered > 10)
    #expect(view.isRendering())
    #expect(previewView.framesRendered > 20)
    #expect(view.lastFrame.flatMap { StampReader.read($0)?.name } == "Cam")
    #expect(benHears.words.contains("first frame 320x180"))
    #expect(stream.isAvailable)
    #expect(throws: (any Error).self) { try VideoStreamRenderer(remoteVideoStream: stream) }
    #expect(throws: (any Error).self) { try renderer.createView() }

    anaHears.call?.mute { _ in }
    await telephone.run(.milliseconds(300))
    #expect(anaHears.words.contains("muted true"))
    #expect(benHears.words.last == "ana muted")
    anaHears.call?.unmute { _ in }
    await telephone.run(.milliseconds(300))
    #expect(benHears.words.last == "ana unmuted")

    let other = try await telephone.camera()
    anaHears.call?.stopVideo(stream: other) { error in anaHears.note("stopped other \(error == nil)") }
    await telephone.run(.milliseconds(300))
    #expect(anaHears.words.contains("stopped other true"))
    #expect(camera.isSending)
    anaHears.call?.stopVideo(stream: camera) { _ in }
    await telephone.run(.milliseconds(300))
    #expect(benHears.words.last == "ana -video")
    #expect(!stream.isAvailable)
    #expect(!camera.isSending)
    renderer.dispose()
    renderer.dispose()
    let again = try VideoStreamRenderer(remoteVideoStream: stream)
    again.delegate = benHears
    #expect(!benHears.words.contains("renderer failed"))
    _ = try again.createView()
    await telephone.run(.milliseconds(10))
    #expect(benHears.words.last == "renderer failed", "the video is not sent any more")
    again.dispose()
    let seen = previewView.framesRendered
    await telephone.run(.milliseconds(500))
    #expect(previewView.framesRendered > seen, "the preview outlives the sending")
  }

  @Test func holdIsReportedToRemoteParticipant() async throws {
    let telephone = try Telephone()
    let (_, anaHears, _, benHears) = try await connectedPair(telephone)
    anaHears.call?.hold { _ in }
    await telephone.run(.milliseconds(300))
    #expect(anaHears.call?.state == .localHold)
    #expect(benHears.call?.state == .remoteHold)
    #expect(benHears.words.contains("ana hold"))
    #expect(benHears.words.contains("ana muted"))
    anaHears.call?.resume { _ in }
    await telephone.run(.milliseconds(300))
    #expect(anaHears.call?.state == .connected)
    #expect(benHears.call?.state == .connected)
  }

  @Test func groupCallConnectsWithoutRinging() async throws {
    let telephone = try Telephone()
    let group = GroupCallLocator(groupId: UUID())
    var people: [(CallAgent, Recorder)] = []
    for user in ["ana", "ben", "eva"] {
      let (agent, recorder) = try await telephone.agent(user)
      agent.join(with: group, joinCallOptions: JoinCallOptions()) { recorder.take($0, $1) }
      people.append((agent, recorder))
    }
    await telephone.run(.seconds(1))
    for (_, recorder) in people {
      #expect(recorder.states == ["connecting", "connected"])
      #expect(recorder.call?.remoteParticipants.count == 2)
    }
    people[0].1.call?.hangUp(options: nil) { _ in }
    await telephone.run(.seconds(1))
    #expect(people[1].1.call?.state == .connected && people[1].1.call?.remoteParticipants.count == 1)
    let everyone = HangUpOptions()
    everyone.forEveryone = true
    people[1].1.call?.hangUp(options: everyone) { _ in }
    await telephone.run(.seconds(1))
    #expect(people[2].1.call?.state == .disconnected && people[2].1.call?.callEndReason.code == 0)
  }

  @Test func participantIsAddedToAndRemovedFromCall() async throws {
    let telephone = try Telephone()
    let (_, anaHears, _, benHears) = try await connectedPair(telephone)
    let (_, evaHears) = try await telephone.agent("eva")
    let eva = try #require(try anaHears.call?.add(participant: identity("eva")))
    #expect(throws: (any Error).self) { try anaHears.call?.add(participant: identity("eva")) }
    await telephone.run(.milliseconds(300))
    evaHears.incoming?.accept(options: AcceptCallOptions()) { evaHears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    #expect(eva.state == .connected)
    #expect(benHears.call?.remoteParticipants.count == 2)
    anaHears.call?.remove(participant: eva) { _ in }
    await telephone.run(.milliseconds(500))
    #expect(evaHears.call?.state == .disconnected)
    #expect(evaHears.call?.callEndReason.subcode == 5300)
    #expect(benHears.call?.state == .connected)
    #expect(anaHears.call?.remoteParticipants.count == 1)
  }

  @Test func secondAgentForIdentityAndMalformedTokenAreRefused() async throws {
    let telephone = try Telephone()
    let (ana, _) = try await telephone.agent("ana")
    await #expect(throws: (any Error).self) { try await telephone.agent("ana") }
    ana.dispose()
    await telephone.run(.milliseconds(200))
    _ = try await telephone.agent("ana")
    #expect(throws: (any Error).self) { try CommunicationTokenCredential(token: "<USER ACCESS TOKEN>") }
    #expect(throws: (any Error).self) { try CommunicationTokenCredential(token: "a.!!.c") }
    #expect(throws: Never.self) { try CommunicationTokenCredential(token: accessToken(for: "old", expiresIn: -60)) }
  }

  @Test func nativeParticipantAppearsInRoomCall() async throws {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    ana.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { anaHears.take($0, $1) }
    let ben = Session(JoinRequest(room: "tea", participantID: "ben", name: "Ben"), in: telephone.world)
    try ben.publish(camera: Devices.camera("stamp:Ben,320x180@15"))
    ben.join { _ in }
    await telephone.run(.seconds(1))
    let remote = try #require(anaHears.call?.remoteParticipants.first)
    #expect(
      remote.displayName == "Ben" && remote.identifier is CommunicationUserIdentifier && remote.videoStreams.count == 1)
    #expect(ben.participants.map(\.id) == ["8:acs:ana"])
  }
}
