import AzureCommunicationCalling
import Koine
import Testing

/// Misuse by an app, and the vendor's error code for it.
struct ErrorTests {
  private let telephone: Telephone

  init() throws { telephone = try Telephone() }

  private func code(_ body: () throws -> Void) -> CallingCommunicationErrors? {
    do {
      try body()
      return nil
    } catch {
      return CallingCommunicationErrors(rawValue: (error as NSError).code)
    }
  }

  @Test func secondRendererOrViewOfStreamIsRefused() async throws {
    let camera = try await telephone.camera()
    let renderer = try VideoStreamRenderer(localVideoStream: camera)
    #expect(code { _ = try VideoStreamRenderer(localVideoStream: camera) } == .multipleRenderersNotSupported)
    _ = try renderer.createView()
    #expect(code { _ = try renderer.createView(withOptions: nil) } == .multipleViewsNotSupported)
    renderer.dispose()
    #expect(code { _ = try VideoStreamRenderer(localVideoStream: camera) } == nil)
  }

  @Test func addingPresentParticipantOrAddingToUnconnectedCallThrows() async throws {
    let (ana, anaHears) = try await telephone.agent("ana")
    let (_, benHears) = try await telephone.agent("ben")
    ana.startCall(participants: [identity("ben")], options: nil) { anaHears.take($0, $1) }
    await telephone.run(.milliseconds(200))
    let call = try #require(anaHears.call)
    #expect(code { try call.add(participant: identity("eva")) } == .participantAddedToUnconnectedCall)
    benHears.incoming?.accept(options: AcceptCallOptions()) { benHears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    #expect(code { try call.add(participant: identity("ben")) } == .participantAlreadyAddedToCall)
  }

  @Test func secondAgentForIdentityOrTooLongDisplayNameIsRefused() async throws {
    let (ana, _) = try await telephone.agent("ana")
    let client = World.$current.withValue(telephone.world) { CallClient(options: CallClientOptions()) }
    let codes = Lock<[CallingCommunicationErrors]>([])
    let options = CallAgentOptions()
    options.displayName = String(repeating: "n", count: 257)
    for (user, options) in [("ana", nil), ("ben", options)] {
      let credential = try CommunicationTokenCredential(token: accessToken(for: user))
      client.createCallAgent(userCredential: credential, options: options) { agent, error in
        let code = CallingCommunicationErrors(rawValue: (error as NSError?)?.code ?? 0)
        codes.withLock { $0.append(agent == nil ? code : []) }
      }
    }
    await telephone.run(.milliseconds(100))
    #expect(
      codes.withLock { Set($0.map(\.rawValue)) } == [
        CallingCommunicationErrors.noMultipleConnectionsWithSameIdentity.rawValue,
        CallingCommunicationErrors.displayNameLengthLongerThanSupported.rawValue,
      ])
    #expect(!ana.calls.contains { _ in true })
  }

  @Test func featureOfEndedCallAndSwitchToUnpluggedCameraAreErrors() async throws {
    let (ana, _) = try await telephone.agent("ana")
    let codes = Lock<[Int]>([])
    let note = { @Sendable (error: (any Error)?) in codes.withLock { $0.append((error as NSError?)?.code ?? 0) } }
    let feature = try await { [telephone] () async throws -> RaiseHandCallFeature in
      let made = Lock<Call?>(nil)
      ana.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { call, _ in made.withLock { $0 = call } }
      await telephone.run(.milliseconds(500))
      let call = try #require(made.withLock { $0 })
      call.hangUp(options: nil) { _ in }
      await telephone.run(.milliseconds(500))
      return call.feature(Features.raisedHands)
    }()
    await telephone.run(.milliseconds(100))
    feature.raiseHand(completionHandler: note)
    let (front, usb) = try await pluggedAndUnpluggedCameras()
    let stream = LocalVideoStream(camera: front)
    let renderer = try VideoStreamRenderer(localVideoStream: stream)
    let view = try renderer.createView()
    await telephone.run(.milliseconds(200))
    stream.switchSource(camera: usb, completionHandler: note)
    await telephone.run(.milliseconds(200))
    let wanted: [CallingCommunicationErrors] = [.callFeatureExtensionNotFound, .localVideoStreamSwitchSourceFailure]
    #expect(codes.withLock { $0 } == wanted.map(\.rawValue))
    withExtendedLifetime(view) {}
  }

  private func pluggedAndUnpluggedCameras() async throws -> (VideoDeviceInfo, VideoDeviceInfo) {
    let machine = telephone.world.machine
    machine.plugIn(Machine.Device(id: "usb", kind: .camera, name: "USB", source: "stamp:usb,160x90@30"))
    let client = World.$current.withValue(telephone.world) { CallClient() }
    let manager = Lock<DeviceManager?>(nil)
    client.getDeviceManager { made, _ in manager.withLock { $0 = made } }
    await telephone.run(.milliseconds(10))
    let cameras = try #require(manager.withLock { $0?.cameras })
    machine.unplug("usb")
    return (try #require(cameras.first), try #require(cameras.last))
  }

  // MARK: Common misuse

  /// Error codes that completion handlers receive; nil without an error.
  private func codes(
    _ ask: (@escaping @Sendable ((any Error)?) -> Void) -> Void
  ) async -> [Int?] {
    let codes = Lock<[Int?]>([])
    ask { error in codes.withLock { $0.append((error as NSError?)?.code) } }
    await telephone.run(.seconds(2))
    return codes.withLock { $0 }
  }

  @Test(arguments: ["", "<USER ACCESS TOKEN>", "a.b", "a.!!.c", "e30.e30.x", "e30.eyJleHAiOiJzb29uIn0.x"])
  func malformedTokenIsRefusedByCredential(_ token: String) {
    let error = #expect(throws: (any Error).self) { try CommunicationTokenCredential(token: token) }
    #expect((error as NSError?)?.domain.hasPrefix("AzureCommunicationCommon") == true)
  }

  @Test func expiredTokenIsAcceptedByCredentialAndRefusedByAgent() async throws {
    let late = try CommunicationTokenCredential(token: accessToken(for: "ana", expiresIn: -60))
    let client = World.$current.withValue(telephone.world) { CallClient() }
    let invalid = CallingCommunicationErrors.invalidTokenProvider.rawValue
    let first = await codes { note in client.createCallAgent(userCredential: late) { note($0 == nil ? $1 : nil) } }
    #expect(first == [invalid])
    _ = try await telephone.agent("ana")  // the identity was not taken
  }

  @Test func callToOwnIdentityOrWithoutParticipantsIsRefused() async throws {
    let (ana, anaHears) = try await telephone.agent("ana")
    let (_, benHears) = try await telephone.agent("ben")
    let invalid = CallingCommunicationErrors.invalidParticipantAddedToCall
    for callees in [["ana"], ["ben", "ana"]] {
      let told = await codes { note in
        ana.startCall(participants: callees.map(identity), options: nil) { note($0 == nil ? $1 : nil) }
      }
      #expect(told == [invalid.rawValue])
    }
    let told = await codes { note in ana.startCall(participants: [], options: nil) { note($0 == nil ? $1 : nil) } }
    #expect(told == [0])
    #expect(ana.calls.isEmpty)
    #expect(benHears.words.isEmpty)
    ana.startCall(participants: [identity("ben")], options: nil) { anaHears.take($0, $1) }
    await telephone.run(.milliseconds(200))
    benHears.incoming?.accept(options: AcceptCallOptions()) { benHears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    let call = try #require(anaHears.call)
    #expect(code { try call.add(participant: identity("ana")) } == invalid)
    #expect(code { try call.add(participant: CommunicationUserIdentifier("")) } == invalid)
    #expect(call.remoteParticipants.count == 1)
  }

  @Test func callToUnknownUserEndsWith480WithoutError() async throws {
    let (ana, anaHears) = try await telephone.agent("ana")
    ana.startCall(participants: [identity("nobody")], options: nil) { anaHears.take($0, $1) }
    await telephone.run(.seconds(1))
    #expect(anaHears.words.first == "call")
    #expect(anaHears.call?.state == .disconnected)
    #expect(ana.calls.isEmpty)
    #expect(anaHears.call?.callEndReason.code == 480)
  }

  @Test func videoFromUnpluggedCameraIsRefused() async throws {
    let (ana, anaHears) = try await telephone.agent("ana")
    let (_, usb) = try await pluggedAndUnpluggedCameras()
    ana.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { anaHears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    let call = try #require(anaHears.call)
    let gone = LocalVideoStream(camera: usb)
    let told = await codes { note in call.startVideo(stream: gone, completionHandler: note) }
    #expect(told == [CallingCommunicationErrors.noVideoPermission.rawValue])
    #expect(!gone.isSending)
    #expect(call.localVideoStreams.isEmpty)
    #expect(call.state == .connected)
  }

  @Test func endedCallDisposedAgentAndDisposedRendererRefuseUse() async throws {
    let (ana, anaHears) = try await telephone.agent("ana")
    ana.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { anaHears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    let call = try #require(anaHears.call)
    ana.dispose()
    await telephone.run(.milliseconds(500))
    #expect(call.state == .disconnected)
    let camera = try await telephone.camera()
    let told = await codes { note in
      call.mute(completionHandler: note)
      call.startVideo(stream: camera, completionHandler: note)
      call.hold(completionHandler: note)
      ana.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { note($0 == nil ? $1 : nil) }
      ana.startCall(participants: [identity("ben")], options: nil) { note($0 == nil ? $1 : nil) }
    }
    #expect(told.count == 5)
    #expect(told.allSatisfy { $0 != nil })
    #expect(code { try call.add(participant: identity("ben")) } == .participantAddedToUnconnectedCall)
    let renderer = try VideoStreamRenderer(localVideoStream: camera)
    renderer.dispose()
    #expect(code { _ = try renderer.createView() } == [])
    renderer.dispose()
  }

  @Test func completionHandlerMethodsCanBeAwaited() async throws {
    let (ana, anaHears) = try await telephone.agent("ana")
    let (ben, _) = try await telephone.agent("ben")
    let group = UUID()
    let call = try await advancingTime { try await ana.startCall(participants: [identity("ben")], options: nil) }
    #expect(call.direction == .outgoing && ana.calls == [call])
    let cameras = await telephone.cameras()
    try #require(cameras.count == 2)
    let camera = LocalVideoStream(camera: cameras[0])
    try await advancingTime { try await camera.switchSource(camera: cameras[1]) }
    #expect(camera.source === cameras[1])
    try await advancingTime { try await call.hangUp(options: nil) }
    let joined = try await advancingTime { try await ben.join(with: GroupCallLocator(groupId: group)) }
    _ = try await advancingTime {
      try await ana.join(with: GroupCallLocator(groupId: group), joinCallOptions: JoinCallOptions())
    }
    await telephone.run(.milliseconds(500))
    #expect(joined.remoteParticipants.map(\.displayName) == ["Ana"])

    let (eva, evaHears) = try await telephone.agent("eva")
    eva.join(with: GroupCallLocator(groupId: group)) { evaHears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    #expect(Set(try #require(evaHears.call).remoteParticipants.map(\.displayName)) == ["Ana", "ben"])
    #expect(joined.remoteParticipants.count == 2)
    withExtendedLifetime(anaHears) {}
  }

  /// Awaits an operation while virtual time advances.
  private func advancingTime<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws
    -> Value
  {
    let result = Lock<Result<Value, any Error>?>(nil)
    Task {
      do {
        let value = try await body()
        result.withLock { $0 = .success(value) }
      } catch { result.withLock { $0 = .failure(error) } }
    }
    while result.withLock({ $0 == nil }) {
      await telephone.run(.milliseconds(10))
      await Task.yield()
    }
    return try #require(result.withLock { $0 }).get()
  }
}
