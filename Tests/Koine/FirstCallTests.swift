import Dispatch
import Koine
import KoineEmbeddedBackend
import KoineSimulatedNetwork
import Testing

/// Collects the events of a session and the media that it receives.
final class Watcher: VideoSink, AudioSink, Sendable {
  struct Received: Sendable {
    var events: [String] = []
    var stamps: [Stamp] = []
    var frames = 0
    var samples: [Int16] = []
  }

  let seen = Lock(Received())
  var now: Received { seen.withLock { $0 } }

  func render(_ frame: VideoFrame) {
    let stamp = StampReader.read(frame)
    seen.withLock { seen in
      seen.frames += 1
      if let stamp { seen.stamps.append(stamp) }
    }
  }

  func play(_ block: AudioBlock) { seen.withLock { $0.samples += block.samples } }

  /// Follows everything that appears in the session.
  func follow(_ session: Session) {
    session.observe { [weak self, weak session] event in
      guard let self, let session else { return }
      seen.withLock { $0.events.append(Self.words(event)) }
      if case .streamAdded(let stream, let owner) = event, !owner.isLocal {
        if stream.kind.isVideo {
          session.attach(self as any VideoSink, to: stream.id)
        } else {
          session.attach(self as any AudioSink, to: stream.id)
        }
      }
    }
  }

  static func words(_ event: SessionEvent) -> String {
    switch event {
    case .stateChanged(let state): "state \(state)"
    case .participantJoined(let participant): "joined \(participant.name)"
    case .participantLeft(let participant, let reason): "left \(participant.name) \(reason)"
    case .streamAdded(let stream, let owner): "added \(owner.name) \(stream.kind)"
    case .streamRemoved(let stream, let owner): "removed \(owner.name) \(stream.kind)"
    case .streamMuted(let stream, let owner): "\(stream.isMuted ? "muted" : "unmuted") \(owner.name) \(stream.kind)"
    case .attributesChanged(let participant): "attributes \(participant.name)"
    case .messageReceived(let message): "message \(message.topic)"
    case .levelsChanged: "levels"
    case .qualityChanged(let changes): "quality \(changes.values.map { "\($0)" }.sorted().joined(separator: " "))"
    case .dominantSpeakerChanged(let id): "speaker \(id ?? "nobody")"
    case .tileAdded(let tile): "tile \(tile.kind)"
    case .tileChanged: "tile changed"
    case .tileRemoved: "tile removed"
    case .waitingForAdmission: "waiting"
    case .entryRequested(let participant): "\(participant.name) asks"
    case .entryRequestEnded(let participant, let admitted):
      "\(participant.name) asks no more\(admitted.map { $0 ? ": let in" : ": not let in" } ?? "")"
    case .streamPublished(let stream): "published \(stream.kind)"
    case .publishFailed(let stream, let error): "failed \(stream.kind) \(error)"
    case .permissionsChanged(let permissions): "permissions \(permissions.map(\.rawValue).sorted())"
    case .transcriptionChanged(let new): "transcription \(new.state)"
    case .transcribed(let segment): "text \(segment.text)"
    case .transcriptionFailed(let failure): "transcription failed \(failure.code.rawValue)"
    case .failed(let error): "failed \(error)"
    }
  }
}

func virtualWorld(seed: UInt64 = 7, network: String? = nil) throws -> World {
  World(
    backend: EmbeddedBackend(virtual: seed, network: try network.map { try NetworkSpec($0) }),
    delivery: Delivery(queue: DispatchQueue(label: "delivery")))
}

@Suite struct FirstCallTests {
  @Test func twoParticipantsReceiveEachOthersMediaInVirtualTime() async throws {
    let world = try virtualWorld()
    let (ana, ben) = (
      Session(JoinRequest(room: "tea", name: "Ana"), in: world),
      Session(JoinRequest(room: "tea", name: "Ben"), in: world)
    )
    let (anaSees, benSees) = (Watcher(), Watcher())
    anaSees.follow(ana)
    benSees.follow(ben)
    for session in [ana, ben] {
      try session.publish(camera: Devices.camera("stamp:\(session.request.name),320x180@30"))
      try session.publish(microphone: Devices.microphone("tone"))
      session.join { _ in }
    }
    await world.run(for: .seconds(3))
    #expect(ana.state == .connected)
    #expect(ben.state == .connected)
    #expect(ana.participants.map(\.name) == ["Ben"])
    #expect(anaSees.now.stamps.count > 75)
    #expect(Set(anaSees.now.stamps.map(\.name)) == ["Ben"])
    #expect(benSees.now.stamps.map(\.number) == benSees.now.stamps.map(\.number).sorted())
    #expect(benSees.now.samples.count > 48_000)
    #expect(benSees.now.samples.suffix(4_800).contains { $0 > 4_000 })
    let figures = await statistics(of: ben, in: world)
    #expect(figures.compactMap(\.audio).first?.concealed == 0)
    ana.leave {}
    await world.run(for: .seconds(1))
    #expect(benSees.now.events.contains("left Ana left"))
    #expect(ana.state == .ended(.left))
  }

  func statistics(of session: Session, in world: World) async -> [StreamStatistics] {
    await world.run { await session.statistics().streams }
  }

  @Test(.timeLimit(.minutes(5))) func twoParticipantsConnectOverLoopback() async throws {
    let world = World(backend: EmbeddedBackend(), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    let (ana, ben) = (
      Session(JoinRequest(room: "tea", name: "Ana"), in: world),
      Session(JoinRequest(room: "tea", name: "Ben"), in: world)
    )
    let benSees = Watcher()
    benSees.follow(ben)
    let events = ben.events()
    try ana.publish(camera: Devices.camera("stamp:Ana"))
    try await ana.join()
    try await ben.join()
    for await event in events { if case .tileChanged(let tile) = event, tile.width > 0 { break } }
    // The tile receives the first frame before the watcher does.
    while benSees.now.stamps.isEmpty { await Task.yield() }
    #expect(benSees.now.stamps.first?.name == "Ana")
    await ana.leave()
    await ben.leave()
    #expect(ben.state == .ended(.left))
  }
}
