import AzureCommunicationCalling
import Koine
import Testing

/// What an app does wrong, and the vendor's number for it.
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

  @Test func aStreamHasOneRendererAndThatOneView() async throws {
    let camera = try await telephone.camera()
    let renderer = try VideoStreamRenderer(localVideoStream: camera)
    #expect(code { _ = try VideoStreamRenderer(localVideoStream: camera) } == .multipleRenderersNotSupported)
    _ = try renderer.createView()
    #expect(code { _ = try renderer.createView(withOptions: nil) } == .multipleViewsNotSupported)
    renderer.dispose()
    #expect(code { _ = try VideoStreamRenderer(localVideoStream: camera) } == nil)
  }

  @Test func whoIsThereIsNotAddedAgainAndNobodyToACallThatIsNotConnected() async throws {
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

  @Test func anIdentityHasOneAgentAndANameItsLength() async throws {
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

  @Test func aFeatureNeedsItsCallAndAPictureACameraThatIsThere() async throws {
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
    let machine = telephone.world.machine
    machine.plugIn(Machine.Device(id: "usb", kind: .camera, name: "USB", source: "stamp:usb,160x90@30"))
    let client = World.$current.withValue(telephone.world) { CallClient() }
    let manager = Lock<DeviceManager?>(nil)
    client.getDeviceManager { made, _ in manager.withLock { $0 = made } }
    await telephone.run(.milliseconds(10))
    let cameras = try #require(manager.withLock { $0?.cameras })
    let usb = try #require(cameras.last)
    machine.unplug("usb")
    let stream = LocalVideoStream(camera: try #require(cameras.first))
    let renderer = try VideoStreamRenderer(localVideoStream: stream)
    let view = try renderer.createView()
    await telephone.run(.milliseconds(200))
    stream.switchSource(camera: usb, completionHandler: note)
    await telephone.run(.milliseconds(200))
    let wanted: [CallingCommunicationErrors] = [.callFeatureExtensionNotFound, .localVideoStreamSwitchSourceFailure]
    #expect(codes.withLock { $0 } == wanted.map(\.rawValue))
    withExtendedLifetime(view) {}
  }

  @Test func whatHasAHandlerMayBeAwaited() async throws {
    let (ana, anaHears) = try await telephone.agent("ana")
    let (ben, _) = try await telephone.agent("ben")
    let group = UUID()
    let call = try await meanwhile { try await ana.startCall(participants: [identity("ben")], options: nil) }
    #expect(call.direction == .outgoing && ana.calls == [call])
    let camera = try await telephone.camera()
    try await meanwhile { try await camera.switchSource(camera: camera.source) }
    try await meanwhile { try await call.hangUp(options: nil) }
    let joined = try await meanwhile { try await ben.join(with: GroupCallLocator(groupId: group)) }
    _ = try await meanwhile {
      try await ana.join(with: GroupCallLocator(groupId: group), joinCallOptions: JoinCallOptions())
    }
    await telephone.run(.milliseconds(500))
    #expect(joined.remoteParticipants.map(\.displayName) == ["Ana"])
    withExtendedLifetime(anaHears) {}
  }

  /// Awaits something while virtual time goes on.
  private func meanwhile<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
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
