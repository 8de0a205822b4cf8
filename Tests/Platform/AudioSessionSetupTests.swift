import Dispatch
import Foundation
import Koine
import KoineAVFoundation
import KoineEmbeddedBackend
import Testing

/// Categories, modes and options of the audio session, and the notifications of their changes.
@Suite struct AudioSessionSetupTests {
  private let world = World(
    backend: EmbeddedBackend(virtual: 1), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
  private var session: AVAudioSession { AVAudioSession.of(world.machine) }

  private func code(_ body: () throws -> Void) -> Int? {
    do {
      try body()
      return nil
    } catch { return (error as NSError).code }
  }

  @Test func valuesAreReadAsTheyWereSet() throws {
    #expect(session.category == .soloAmbient)
    #expect(session.mode == .default)
    #expect(session.categoryOptions == [])
    try session.setCategory(.playAndRecord, mode: .voiceChat, options: [.allowBluetooth, .mixWithOthers])
    #expect(session.category == .playAndRecord)
    #expect(session.mode == .voiceChat)
    #expect(session.categoryOptions == [.allowBluetooth, .mixWithOthers])
    try session.setMode(.videoChat)
    #expect(session.mode == .videoChat)
    #expect(session.categoryOptions == [.allowBluetooth, .mixWithOthers])
    try session.setCategory(.playback)
    #expect(session.mode == .default)
    #expect(session.categoryOptions == [])
    try session.setCategory(.playAndRecord, options: .defaultToSpeaker)
    #expect(session.categoryOptions == .defaultToSpeaker)
    try session.setCategory(.playback, mode: .moviePlayback, policy: .longFormVideo)
    #expect(session.routeSharingPolicy == .longFormVideo)
  }

  @Test func combinationsThatDoNotExistFailAndChangeNothing() throws {
    #expect(code { try session.setCategory(.playback, mode: .voiceChat) } == -50)
    #expect(code { try session.setCategory(.playback, options: .defaultToSpeaker) } == -50)
    #expect(code { try session.setMode(.videoChat) } == -50)
    #expect(code { try session.setCategory(AVAudioSession.Category(rawValue: "none")) } == -50)
    #expect(code { try session.overrideOutputAudioPort(.speaker) } == -50)
    #expect(session.category == .soloAmbient)
  }

  @Test func directionsFollowTheCategoryOnceTheAppUsesTheSession() throws {
    let machine = world.machine
    session.startCallAudio(category: .playAndRecord)
    #expect(machine.audioDirections == nil)
    #expect(session.category == .playAndRecord)
    try session.setMode(.default)
    #expect(machine.audioDirections == [.capture, .playback])
    let expected: [(AVAudioSession.Category, Machine.AudioDirections)] = [
      (.ambient, .playback), (.soloAmbient, .playback), (.playback, .playback), (.record, .capture),
      (.playAndRecord, [.capture, .playback]), (.multiRoute, [.capture, .playback]),
    ]
    for (category, directions) in expected {
      try session.setCategory(category)
      #expect(machine.audioDirections == directions, "\(category.rawValue)")
    }
    try session.setActive(false)
    #expect(machine.audioDirections == [])
  }

  @Test func changedCategoryAndRestartedAudioServiceArePosted() async throws {
    let session = session
    let posted = Lock<[String]>([])
    let names = [
      AVAudioSession.routeChangeNotification, AVAudioSession.mediaServicesWereLostNotification,
      AVAudioSession.mediaServicesWereResetNotification,
    ]
    let tokens = names.map { name in
      NotificationCenter.default.addObserver(forName: name, object: session, queue: nil) { note in
        let reason = (note.userInfo?[AVAudioSessionRouteChangeReasonKey] as? UInt).map { " \($0)" } ?? ""
        posted.withLock { $0.append(note.name.rawValue + reason) }
      }
    }
    defer { for token in tokens { NotificationCenter.default.removeObserver(token) } }
    try session.setCategory(.playback)
    try session.setCategory(.playback)
    world.machine.resetMediaServices()
    await world.run(for: .milliseconds(1))
    #expect(
      posted.withLock { $0 } == [
        "AVAudioSessionRouteChangeNotification 3", "AVAudioSessionMediaServicesWereLostNotification",
        "AVAudioSessionMediaServicesWereResetNotification", "AVAudioSessionRouteChangeNotification 3",
      ])
    #expect(session.category == .soloAmbient)
    #expect(world.machine.audioDirections == [])
  }

  @Test func outputIsOverriddenWithTheBuiltInLoudspeaker() throws {
    try session.setCategory(.playAndRecord)
    let headphones = Machine.Device(
      id: "h", kind: .loudspeaker, name: "Headphones", attachment: .wired, source: "none")
    world.machine.plugIn(headphones)
    #expect(session.currentRoute.outputs.map(\.portType) == [.headphones])
    try session.overrideOutputAudioPort(.speaker)
    #expect(session.currentRoute.outputs.map(\.portType) == [.builtInSpeaker])
    try session.overrideOutputAudioPort(.none)
    #expect(session.currentRoute.outputs.map(\.portType) == [.headphones])
  }

  @Test func preferencesWithoutEffectAreKept() throws {
    try session.setPreferredSampleRate(16_000)
    try session.setPreferredIOBufferDuration(0.005)
    #expect(session.preferredSampleRate == 16_000)
    #expect(session.preferredIOBufferDuration == 0.005)
    #expect(session.sampleRate == 48_000)
    #expect(session.ioBufferDuration == 0.01)
  }
}
