import AmazonIVSBroadcast
import Foundation
import Koine
import KoineAVFoundation
import KoineEmbeddedBackend
import Testing

/// The audio manager and the audio strategy configure the machine's audio session.
@Suite struct AudioManagerTests {
  private let world = World(backend: EmbeddedBackend(virtual: 1))
  private var session: AVAudioSession { AVAudioSession.of(world.machine) }
  private var manager: IVSStageAudioManager { World.$current.withValue(world) { .sharedInstance() } }

  private final class Delegate: NSObject, IVSErrorDelegate {
    let codes = Lock<[Int]>([])
    func source(_ source: any IVSErrorSource, didEmitError error: any Error) {
      codes.withLock { $0.append((error as NSError).code) }
    }
  }

  @Test func presetSetsCategoryModeAndOptionsOfTheAudioSession() {
    manager.setPreset(.videoChat)
    #expect(session.category == .playAndRecord)
    #expect(session.mode == .videoChat)
    #expect(session.categoryOptions == [.allowBluetooth, .allowBluetoothA2DP, .defaultToSpeaker, .mixWithOthers])
    #expect(world.machine.audioDirections == [.capture, .playback])
    manager.setPreset(.subscribeOnly)
    #expect(session.category == .playback)
    #expect(session.mode == .moviePlayback)
    #expect(session.categoryOptions == .mixWithOthers)
    #expect(world.machine.audioDirections == .playback)
  }

  @Test func categoryOfTheManagerIsThatOfTheAudioSession() {
    let category = IVSStageAudioManager.Category.ambient
    let options = IVSStageAudioManager.CategoryOptions.mixWithOthers
    manager.setCategory(category, options: options, mode: .spokenAudio)
    #expect(manager.category == .ambient)
    #expect(manager.options == options)
    #expect(manager.mode == .spokenAudio)
    #expect(session.category == .ambient)
    #expect(session.mode == .spokenAudio)
    #expect(session.categoryOptions == .mixWithOthers)
  }

  @Test func modeThatDoesNotGoWithTheCategoryIsReportedToTheDelegate() async {
    let delegate = Delegate()
    manager.errorDelegate = delegate
    manager.setCategory(.ambient, options: [], mode: .voiceChat)
    await world.run(for: .milliseconds(1))
    #expect(delegate.codes.withLock { $0 } == [IVSBroadcastError.invalidAudioSessionStrategy.rawValue])
    #expect(session.category == .soloAmbient)
  }

  @Test func broadcastSessionSetsTheCategoryOfItsStrategy() throws {
    try World.$current.withValue(world) {
      #expect(IVSSession.applicationAudioSessionStrategy == .playAndRecord)
      IVSSession.applicationAudioSessionStrategy = .recordOnly
      let recording = try IVSBroadcastSession(
        configuration: IVSPresets.configurations().standardPortrait(), descriptors: nil, delegate: nil)
      #expect(session.category == .record)
      withExtendedLifetime(recording) {}
    }
  }

  @Test func microphonesAreNotListedWhenTheSDKLeavesTheAudioSessionAlone() throws {
    World.$current.withValue(world) {
      #expect(IVSBroadcastSession.listAvailableDevices().contains { $0.type == .microphone })
      IVSSession.applicationAudioSessionStrategy = .noAction
      #expect(!IVSBroadcastSession.listAvailableDevices().contains { $0.type == .microphone })
      #expect(IVSBroadcastSession.listAvailableDevices().contains { $0.type == .camera })
    }
  }
}
