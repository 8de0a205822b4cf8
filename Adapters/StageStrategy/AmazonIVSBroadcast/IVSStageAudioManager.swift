public import Foundation
import Koine

/// The audio settings of the process. Koine has no audio session: values are kept and readable, and only echo
/// cancellation has an effect. It applies to microphones published after it is set, here or by a preset, unless a
/// microphone sets it itself.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSStageAudioManager.html)
public class IVSStageAudioManager: NSObject, IVSErrorSource, @unchecked Sendable {  // `state` is a lock

  /// Combinations of category, options and mode for common uses.
  ///
  /// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSStageAudioManagerUseCasePreset.html)
  public enum UseCasePreset: Int, Sendable {
    case videoChat = 0
    case subscribeOnly = 1
    case studio = 2
  }

  /// Category of the audio session.
  ///
  /// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSStageAudioManagerCategory.html)
  public enum Category: Int, Sendable { case ambient, playAndRecord, playback, soloAmbient }

  /// Options of the audio session's category.
  ///
  /// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSStageAudioManagerCategoryOptions.html)
  public struct CategoryOptions: OptionSet, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let mixWithOthers = CategoryOptions(rawValue: 1 << 0)
    public static let duckOthers = CategoryOptions(rawValue: 1 << 1)
    public static let interruptSpokenAudioAndMixWithOthers = CategoryOptions(rawValue: 1 << 2)
    public static let allowBluetooth = CategoryOptions(rawValue: 1 << 3)
    public static let allowBluetoothA2DP = CategoryOptions(rawValue: 1 << 4)
    public static let allowAirPlay = CategoryOptions(rawValue: 1 << 5)
    public static let defaultToSpeaker = CategoryOptions(rawValue: 1 << 6)
    public static let overrideMutedMicrophoneInterruption = CategoryOptions(rawValue: 1 << 7)
  }

  /// Mode of the audio session.
  ///
  /// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSStageAudioManagerMode.html)
  public enum Mode: Int, Sendable { case `default`, moviePlayback, spokenAudio, videoChat, voiceChat }

  private struct State {
    weak var errorDelegate: (any IVSErrorDelegate)?
    var category = Category.playAndRecord
    var options: CategoryOptions = []
    var mode = Mode.videoChat
    var preset = UseCasePreset.videoChat
    var cancelsEcho = true
    var isSet = false
  }

  private let state = Lock(State())

  private override init() { super.init() }

  /// One for each machine: apps of tests that run side by side do not change each other's audio.
  public class func sharedInstance() -> IVSStageAudioManager { of(.current) }

  class func of(_ machine: Machine) -> IVSStageAudioManager { machine.sharedObject { IVSStageAudioManager() } }

  public func setPreset(_ preset: UseCasePreset) {
    state.withLock { state in
      state.preset = preset
      state.isSet = true
      state.cancelsEcho = preset == .videoChat
      (state.category, state.mode) =
        switch preset {
        case .videoChat: (.playAndRecord, .videoChat)
        case .subscribeOnly: (.playback, .moviePlayback)
        case .studio: (.playAndRecord, .default)
        }
    }
  }

  /// Kept: there is no audio session on this system.
  public func setCategory(_ category: Category, options: CategoryOptions, mode: Mode) {
    NoEffect.audioSession.log()
    state.withLock { ($0.category, $0.options, $0.mode) = (category, options, mode) }
  }

  public var category: Category { state.withLock { $0.category } }
  public var options: CategoryOptions { state.withLock { $0.options } }
  public var mode: Mode { state.withLock { $0.mode } }

  /// Held weakly; nothing goes wrong here that it could hear of.
  public var errorDelegate: (any IVSErrorDelegate)? {
    get { state.withLock { $0.errorDelegate } }
    set {
      if newValue != nil { NoEffect.audioErrors.log() }
      state.withLock { $0.errorDelegate = newValue }
    }
  }

  public var isEchoCancellationEnabled: Bool {
    get { state.withLock { $0.cancelsEcho } }
    set { state.withLock { ($0.cancelsEcho, $0.isSet) = (newValue, true) } }
  }

  /// A microphone's own switch is off by default: an app that never came here means that one.
  var echoCancellationOfMicrophones: Bool { state.withLock { $0.isSet && $0.cancelsEcho } }
}
