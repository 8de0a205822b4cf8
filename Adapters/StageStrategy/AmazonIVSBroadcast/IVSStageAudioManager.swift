public import Foundation
import Koine
import KoineAVFoundation

/// Controls the audio session of the machine: its category, options and mode (`AVAudioSession`), and echo cancellation. A session that was
/// set here is active again after an interruption, unless the app has also used `AVAudioSession` itself. Once an app has
/// set echo cancellation, here or by a preset, microphones without a setting of their own are published with it.
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
    var options = UseCasePreset.videoChat.options
    var mode = Mode.videoChat
    var preset = UseCasePreset.videoChat
    var cancelsEcho = true
    var isSet = false
  }

  private let state = Lock(State())

  private struct WeakMachine { weak var machine: Machine? }
  private let machine: WeakMachine

  private init(_ machine: Machine) {
    self.machine = WeakMachine(machine: machine)
    super.init()
  }

  /// One for each machine: apps of tests that run side by side do not change each other's audio.
  public class func sharedInstance() -> IVSStageAudioManager { of(.current) }

  class func of(_ machine: Machine) -> IVSStageAudioManager { machine.sharedObject { IVSStageAudioManager(machine) } }

  public func setPreset(_ preset: UseCasePreset) {
    state.withLock { state in
      state.preset = preset
      state.isSet = true
      state.cancelsEcho = preset == .videoChat
      state.options = preset.options
      (state.category, state.mode) =
        switch preset {
        case .videoChat: (.playAndRecord, .videoChat)
        case .subscribeOnly: (.playback, .moviePlayback)
        case .studio: (.playAndRecord, .default)
        }
    }
    configureSession()
  }

  /// The delegate gets `invalidAudioSessionStrategy` for options or a mode that do not go with the category. The session then stays as it
  /// is.
  public func setCategory(_ category: Category, options: CategoryOptions, mode: Mode) {
    state.withLock { ($0.category, $0.options, $0.mode) = (category, options, mode) }
    configureSession()
  }

  /// Configures the session by the app's choice, from which on the session decides which directions of audio flow.
  private func configureSession() {
    guard let machine = machine.machine else { return }
    let (category, mode, options) = state.withLock { ($0.category.session, $0.mode.session, $0.options.session) }
    let session = AVAudioSession.of(machine)
    do {
      try session.setCategory(category, mode: mode, options: options)
      session.startCallAudio(category: nil, isKeptActive: true)
    } catch {
      let failure = NSError.ivs(
        .invalidAudioSessionStrategy, error.localizedDescription, source: "IVSStageAudioManager")
      machine.delivery.deliver { [self] in errorDelegate?.source(self, didEmitError: failure) }
    }
  }

  /// Configures the session for a stage that starts.
  func startStageAudio() {
    guard let machine = machine.machine else { return }
    let (category, mode, options) = state.withLock { ($0.category.session, $0.mode.session, $0.options.session) }
    AVAudioSession.of(machine).startCallAudio(category: category, mode: mode, options: options)
  }

  public var category: Category { state.withLock { $0.category } }
  public var options: CategoryOptions { state.withLock { $0.options } }
  public var mode: Mode { state.withLock { $0.mode } }

  /// Held weakly. Called on the delivery queue.
  public var errorDelegate: (any IVSErrorDelegate)? {
    get { state.withLock { $0.errorDelegate } }
    set { state.withLock { $0.errorDelegate = newValue } }
  }

  public var isEchoCancellationEnabled: Bool {
    get { state.withLock { $0.cancelsEcho } }
    set { state.withLock { ($0.cancelsEcho, $0.isSet) = (newValue, true) } }
  }

  /// A microphone's own switch is off by default: an app that never came here means that one.
  var echoCancellationOfMicrophones: Bool { state.withLock { $0.isSet && $0.cancelsEcho } }
}

extension IVSStageAudioManager.UseCasePreset {
  /// The category options that the vendor documents for a preset.
  fileprivate var options: IVSStageAudioManager.CategoryOptions {
    switch self {
    case .videoChat, .studio: [.allowBluetooth, .allowBluetoothA2DP, .defaultToSpeaker, .mixWithOthers]
    case .subscribeOnly: .mixWithOthers
    }
  }
}

extension IVSStageAudioManager.Category {
  fileprivate var session: AVAudioSession.Category {
    switch self {
    case .ambient: .ambient
    case .playAndRecord: .playAndRecord
    case .playback: .playback
    case .soloAmbient: .soloAmbient
    }
  }
}

extension IVSStageAudioManager.Mode {
  fileprivate var session: AVAudioSession.Mode {
    switch self {
    case .default: .default
    case .moviePlayback: .moviePlayback
    case .spokenAudio: .spokenAudio
    case .videoChat: .videoChat
    case .voiceChat: .voiceChat
    }
  }
}

extension IVSStageAudioManager.CategoryOptions {
  fileprivate var session: AVAudioSession.CategoryOptions {
    let pairs: [(Self, AVAudioSession.CategoryOptions)] = [
      (.mixWithOthers, .mixWithOthers), (.duckOthers, .duckOthers),
      (.interruptSpokenAudioAndMixWithOthers, .interruptSpokenAudioAndMixWithOthers),
      (.allowBluetooth, .allowBluetooth),
      (.allowBluetoothA2DP, .allowBluetoothA2DP), (.allowAirPlay, .allowAirPlay),
      (.defaultToSpeaker, .defaultToSpeaker),
      (.overrideMutedMicrophoneInterruption, .overrideMutedMicrophoneInterruption),
    ]
    return pairs.reduce(into: []) { options, pair in if contains(pair.0) { options.formUnion(pair.1) } }
  }
}
