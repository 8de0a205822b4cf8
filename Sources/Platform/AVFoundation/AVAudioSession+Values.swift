// The values of `AVAudioSession`, with Apple's raw values
// ([Apple's page](https://developer.apple.com/documentation/avfaudio/avaudiosession)).

import Koine

extension AVAudioSession {
  /// What an app needs audio for.
  public struct Category: Sendable, Hashable, RawRepresentable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Playback that other apps' audio may be mixed with. No recording.
    public static let ambient = Category(rawValue: "AVAudioSessionCategoryAmbient")
    /// Playback that silences other apps. No recording. The default.
    public static let soloAmbient = Category(rawValue: "AVAudioSessionCategorySoloAmbient")
    /// Playback that is central to the app. No recording.
    public static let playback = Category(rawValue: "AVAudioSessionCategoryPlayback")
    /// Recording without playback.
    public static let record = Category(rawValue: "AVAudioSessionCategoryRecord")
    /// Recording and playback.
    public static let playAndRecord = Category(rawValue: "AVAudioSessionCategoryPlayAndRecord")
    /// Recording and playback over several routes at once.
    public static let multiRoute = Category(rawValue: "AVAudioSessionCategoryMultiRoute")

    static let all: [Category] = [.ambient, .soloAmbient, .playback, .record, .playAndRecord, .multiRoute]
  }

  /// How the audio of a category is used.
  public struct Mode: Sendable, Hashable, RawRepresentable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let `default` = Mode(rawValue: "AVAudioSessionModeDefault")
    public static let voiceChat = Mode(rawValue: "AVAudioSessionModeVoiceChat")
    public static let videoChat = Mode(rawValue: "AVAudioSessionModeVideoChat")
    public static let gameChat = Mode(rawValue: "AVAudioSessionModeGameChat")
    public static let videoRecording = Mode(rawValue: "AVAudioSessionModeVideoRecording")
    public static let measurement = Mode(rawValue: "AVAudioSessionModeMeasurement")
    public static let moviePlayback = Mode(rawValue: "AVAudioSessionModeMoviePlayback")
    public static let spokenAudio = Mode(rawValue: "AVAudioSessionModeSpokenAudio")
    public static let voicePrompt = Mode(rawValue: "AVAudioSessionModeVoicePrompt")

    static let all: [Mode] = [
      .default, .voiceChat, .videoChat, .gameChat, .videoRecording, .measurement, .moviePlayback, .spokenAudio,
      .voicePrompt,
    ]

    /// Whether Apple permits the mode with a category.
    func goes(with category: Category) -> Bool {
      switch self {
      case .voiceChat, .gameChat: category == .playAndRecord
      case .videoChat, .videoRecording: category == .playAndRecord || category == .record
      case .moviePlayback: category == .playback
      default: true
      }
    }
  }

  /// Options of a category.
  public struct CategoryOptions: OptionSet, Sendable, Hashable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    public static let mixWithOthers = CategoryOptions(rawValue: 0x1)
    public static let duckOthers = CategoryOptions(rawValue: 0x2)
    public static let allowBluetooth = CategoryOptions(rawValue: 0x4)
    /// The newer name of `allowBluetooth`.
    public static let allowBluetoothHFP = CategoryOptions(rawValue: 0x4)
    public static let defaultToSpeaker = CategoryOptions(rawValue: 0x8)
    public static let interruptSpokenAudioAndMixWithOthers = CategoryOptions(rawValue: 0x11)
    public static let allowBluetoothA2DP = CategoryOptions(rawValue: 0x20)
    public static let allowAirPlay = CategoryOptions(rawValue: 0x40)
    public static let overrideMutedMicrophoneInterruption = CategoryOptions(rawValue: 0x80)

    /// The options that Apple permits with a category.
    static func going(with category: Category) -> CategoryOptions {
      switch category {
      case .playAndRecord:
        [
          .mixWithOthers, .duckOthers, .allowBluetooth, .defaultToSpeaker, .interruptSpokenAudioAndMixWithOthers,
          .allowBluetoothA2DP, .allowAirPlay, .overrideMutedMicrophoneInterruption,
        ]
      case .playback, .multiRoute:
        [.mixWithOthers, .duckOthers, .interruptSpokenAudioAndMixWithOthers, .allowBluetoothA2DP, .allowAirPlay]
      case .record: [.allowBluetooth, .overrideMutedMicrophoneInterruption]
      default: [.mixWithOthers, .duckOthers, .interruptSpokenAudioAndMixWithOthers, .allowBluetoothA2DP, .allowAirPlay]
      }
    }
  }

  public enum RouteSharingPolicy: UInt, Sendable { case `default` = 0, longFormAudio, independent, longFormVideo }

  public struct SetActiveOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    /// Other apps of the machine may go on. There are none, so it changes nothing.
    public static let notifyOthersOnDeactivation = SetActiveOptions(rawValue: 1)
  }

  public enum PortOverride: UInt, Sendable {
    case none = 0
    case speaker = 0x7370_6b72  // "spkr"
  }

  /// The effect of the system's call service (CallKit) on the session (not Apple's; for authors of platform modules).
  public enum SystemCalls: Sendable, Hashable {
    /// The service has no call.
    case none
    /// The service has a call, and has not activated the session: no audio flows.
    case waiting
    /// The service has activated the session. From now on the session counts, as after `setActive(true)` of the app.
    case active
    /// The service has deactivated the session.
    case inactive
  }

  /// Why an interruption began.
  public enum InterruptionReason: UInt, Sendable {
    case `default` = 0, appWasSuspended, builtInMicMuted, routeDisconnected = 4
  }
}

/// What an app and its SDKs have asked of the audio session.
struct AudioSessionSetup {
  struct Invalid: Error { let reason: String }

  private(set) var category = AVAudioSession.Category.soloAmbient
  private(set) var mode = AVAudioSession.Mode.default
  private(set) var policy = AVAudioSession.RouteSharingPolicy.default
  private(set) var options: AVAudioSession.CategoryOptions = []
  private var isActive = false
  /// The session was active when an interruption began that lasts.
  private var wasActive = false
  /// An SDK keeps the session active: it becomes active again at the end of an interruption. Until the app uses the session itself.
  var isKeptActive = false
  /// The app has configured or activated the session: the session decides which directions of audio flow.
  var isUsedByApp = false
  /// Calls of the system's call service take the audio until the service activates the session.
  private var awaitsSystem = false
  var preferredSampleRate = 0.0
  var preferredIOBufferDuration = 0.0

  /// Nil while the app has not used the session.
  var directions: Machine.AudioDirections? {
    if awaitsSystem { return [] }
    guard isUsedByApp else { return nil }
    guard isActive else { return [] }
    switch category {
    case .record: return .capture
    case .playAndRecord, .multiRoute: return [.capture, .playback]
    default: return .playback
    }
  }

  mutating func set(
    _ category: AVAudioSession.Category, _ mode: AVAudioSession.Mode, _ policy: AVAudioSession.RouteSharingPolicy,
    _ options: AVAudioSession.CategoryOptions
  ) throws(Invalid) {
    guard AVAudioSession.Category.all.contains(category) else {
      throw Invalid(reason: "no category \(category.rawValue)")
    }
    guard AVAudioSession.Mode.all.contains(mode), mode.goes(with: category) else {
      throw Invalid(reason: "\(mode.rawValue) does not go with \(category.rawValue)")
    }
    guard options.isSubset(of: .going(with: category)) else {
      throw Invalid(reason: "options \(options.rawValue) do not go with \(category.rawValue)")
    }
    (self.category, self.mode, self.policy, self.options) = (category, mode, policy, options)
  }

  mutating func setActive(_ isActive: Bool) { (self.isActive, wasActive) = (isActive, false) }

  mutating func interrupt() { (isActive, wasActive) = (false, isActive || wasActive) }

  mutating func endInterruption() { setActive(isActive || wasActive && isKeptActive) }

  mutating func setSystemCalls(_ calls: AVAudioSession.SystemCalls) {
    awaitsSystem = calls == .waiting
    switch calls {
    case .none, .waiting: break
    case .active: (isUsedByApp, isActive) = (true, true)
    case .inactive: isActive = false
    }
  }

  /// The system's audio service has started again.
  mutating func reset() {
    let isUsedByApp = isUsedByApp
    self = AudioSessionSetup()
    self.isUsedByApp = isUsedByApp
  }
}
