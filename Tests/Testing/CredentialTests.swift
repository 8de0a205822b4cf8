import AmazonChimeSDK
import AmazonIVSBroadcast
import AzureCommunicationCommon
import Koine
import KoineTesting
import Testing
import VideoSDKRTC

/// A credential that is no token is refused in a test room, as a vendor's cloud does.
@MainActor @Suite struct CredentialTests {
  private func session(_ credential: String?, in room: TestRoom) async -> Koine.EndReason? {
    let session = Session(
      JoinRequest(room: room.id, credential: credential, participantID: "ana", name: "Ana"), in: room.world(of: "Ana"))
    session.join { _ in }
    await room.until { session.state == .connected || session.state.isEnded }
    if case .ended(let reason) = session.state { return reason }
    return nil
  }

  @Test func invalidTokenIsRefusedWithAHint() async throws {
    let room = try await TestRoom()
    let reason = await session("YOUR_TOKEN", in: room)
    guard case .refused(let error) = reason else {
      Issue.record("not refused, but \(String(describing: reason))")
      return
    }
    #expect(error.code == .unauthorized)
    #expect(error.message.contains("room.credential(.callAgent, for: \"Ana\")"), "\(error)")
  }

  @Test func participantWithoutCredentialOrWithATokenIsAdmitted() async throws {
    for credential in [nil, "", try await TestRoom().credential(.eventListener, for: "Ana").token] {
      #expect(await session(credential, in: try await TestRoom()) == nil)
    }
  }

  @Test func meetingWithAnInvalidJoinTokenIsRejected() async throws {
    let room = try await TestRoom()
    let placement = MediaPlacement(audioFallbackUrl: "a", audioHostUrl: "b", signalingUrl: "c", turnControlUrl: "")
    let configuration = MeetingSessionConfiguration(
      createMeetingResponse: CreateMeetingResponse(
        meeting: AmazonChimeSDK.Meeting(
          externalMeetingId: "m", mediaPlacement: placement, mediaRegion: "here", meetingId: room.id)),
      createAttendeeResponse: CreateAttendeeResponse(
        attendee: Attendee(attendeeId: "ana", externalUserId: "Ana", joinToken: "YOUR_TOKEN")))
    let observer = EndObserver()
    let meeting = room.enter(as: "Ana") {
      DefaultMeetingSession(configuration: configuration, logger: ConsoleLogger(name: "app", level: .OFF))
    }
    meeting.audioVideo.addAudioVideoObserver(observer: observer)
    try meeting.audioVideo.start()
    await room.until("the meeting has stopped") { observer.status != nil }
    #expect(observer.status == .audioAuthenticationRejected)
  }

  /// The other two styles refuse such a text before they reach the room.
  @Test func invalidTokenIsAnErrorOfAgentAndStage() async throws {
    #expect(throws: (any Error).self) { try CommunicationTokenCredential(token: "YOUR_TOKEN") }
    let room = try await TestRoom()
    let strategy = NoStrategy()
    #expect(throws: (any Error).self) {
      try room.enter(as: "Ana") { try IVSStage(token: "YOUR_TOKEN", strategy: strategy) }
    }
  }
}

@MainActor private final class EndObserver {
  private(set) var status: MeetingSessionStatusCode?
}

extension EndObserver: @preconcurrency AudioVideoObserver {
  func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) { status = sessionStatus.statusCode }
  func audioSessionDidStartConnecting(reconnecting: Bool) {}
  func audioSessionDidStart(reconnecting: Bool) {}
  func audioSessionDidDrop() {}
  func audioSessionDidCancelReconnect() {}
  func connectionDidRecover() {}
  func connectionDidBecomePoor() {}
  func videoSessionDidStartConnecting() {}
  func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) {}
  func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {}
}

private final class NoStrategy: IVSStageStrategy {
  func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo) -> [IVSLocalStageStream]
  { [] }
  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { false }
  func stage(
    _ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo
  ) -> IVSStageSubscribeType { .none }
}
