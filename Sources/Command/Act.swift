import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineSampleSupport
import KoineSimulatedNetwork

/// What the engine can do besides a plain call, each shown by people of the common layer.
enum Act: String, CaseIterable, Sendable {
  case ring, share, messages, layers, vp9, rates, speakers, processing, reconnect, statistics, grants, record, devices,
    raw

  var play: @Sendable (Stage) async throws -> Void {
    switch self {
    case .ring: Acts.ring
    case .share: Acts.share
    case .messages: Acts.messages
    case .layers: Acts.layers
    case .vp9: Acts.vp9
    case .rates: Acts.rates
    case .speakers: Acts.speakers
    case .processing: Acts.processing
    case .reconnect: Acts.reconnect
    case .statistics: Acts.statistics
    case .grants: Acts.grants
    case .record: Acts.record
    case .devices: Acts.devices
    case .raw: Acts.raw
    }
  }

  /// Plays acts, one after another, each in a world of its own with a virtual clock: a minute takes a moment.
  static func play(_ acts: [Act], network: String?, recordingTo folder: String?) async throws {
    MediaFiles.register()
    for act in acts {
      let stage = try Stage(act.rawValue, network: network, folder: folder)
      try await act.play(stage)
    }
  }
}

/// The acts, by what they are about.
enum Acts {}

/// An act's world, and what it says.
struct Stage: Sendable {
  let name: String
  let world: World
  let backend: EmbeddedBackend
  /// Where files go that are to be kept.
  let folder: String?

  init(_ name: String, network: String?, folder: String?) throws {
    (self.name, self.folder) = (name, folder)
    backend = EmbeddedBackend(virtual: 7, network: try network.map { try NetworkSpec($0) })
    world = World(backend: backend, delivery: Delivery(queue: DispatchQueue(label: "act \(name)")))
  }

  func printLine(_ line: String) { KoineSampleSupport.print("\(name): \(line)", to: .standardError) }

  /// An act that does not go as it is said to is a failure of the program.
  func expect(_ holds: Bool, _ what: String) throws {
    guard holds else { throw SampleExit(code: 69, "\(name): \(what)") }
  }

  func run(_ seconds: Double) async { await world.run(for: .milliseconds(Int64(seconds * 1_000))) }

  func enter(_ name: String, credential: String? = nil) async throws -> Session {
    let session = Session(
      JoinRequest(room: "demo", credential: credential, participantID: name, name: name), in: world)
    session.join { _ in }
    let isIn = await world.run(until: { session.state != .connecting && session.state != .idle }, limit: .seconds(20))
    try expect(isIn && session.state == .connected, "\(name) could not enter: \(session.state)")
    return session
  }

  /// A participant's stream of a kind, as another participant's session lists it.
  func stream(_ kind: Track.Kind, of name: String, seenBy session: Session) throws -> Track.ID {
    let streams = session.participants.first { $0.id == name }?.tracks
    guard let stream = streams?.first(where: { $0.kind == kind }) else {
      throw SampleExit(code: 69, "\(self.name): no participant sees \(name)'s \(kind.rawValue)")
    }
    return stream.id
  }

  func figures(_ session: Session) async -> SessionStatistics { await world.run { await session.statistics() } }
}

/// Counts received video frames, and measures the loudness of received audio.
final class Viewer: VideoSink, AudioSink, Sendable {
  private struct Counts {
    var pictures = 0
    var size = ""
    var energy = 0.0
    var samples = 0
  }
  private let seen = Lock(Counts())

  var pictures: Int { seen.withLock { $0.pictures } }
  var size: String { seen.withLock { $0.size } }

  func render(_ frame: VideoFrame) {
    seen.withLock { seen in
      seen.pictures += 1
      seen.size = "\(frame.width)x\(frame.height)"
    }
  }

  func play(_ block: AudioBlock) {
    let energy = block.samples.reduce(0.0) { $0 + Double($1) * Double($1) }
    seen.withLock { seen in
      seen.energy += energy
      seen.samples += block.samples.count
    }
  }

  /// Since it was last asked, in dB of full scale.
  func takeLevel() -> Double {
    seen.withLock { seen in
      defer { (seen.energy, seen.samples) = (0, 0) }
      let mean = seen.energy / Double(max(seen.samples, 1)) / (32_768 * 32_768)
      return 10 * log10(max(mean, 1e-12))
    }
  }
}
