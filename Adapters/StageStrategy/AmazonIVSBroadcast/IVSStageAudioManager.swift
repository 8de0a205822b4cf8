public import Foundation
import Koine

/// The process's audio settings. Kept and readable; there is no audio session on this system that they could change, but
/// for echo cancellation: once an app sets it here, or by a preset, microphones that were not told otherwise are published
/// with it from then on.
public class IVSStageAudioManager: NSObject, @unchecked Sendable {  // `state` is a lock
  public enum UseCasePreset: Int, Sendable {
    case videoChat = 0
    case subscribeOnly = 1
    case studio = 2
  }

  private struct State {
    var preset = UseCasePreset.videoChat
    var cancelsEcho = true
    var isSet = false
  }

  private static let shared = IVSStageAudioManager()
  private let state = Lock(State())

  private override init() { super.init() }

  public class func sharedInstance() -> IVSStageAudioManager { shared }

  public func setPreset(_ preset: UseCasePreset) {
    state.withLock { state in
      state.preset = preset
      state.isSet = true
      state.cancelsEcho = preset == .videoChat
    }
  }

  public var isEchoCancellationEnabled: Bool {
    get { state.withLock { $0.cancelsEcho } }
    set { state.withLock { ($0.cancelsEcho, $0.isSet) = (newValue, true) } }
  }

  /// A microphone's own switch is off by default: an app that never came here means that one.
  var echoCancellationOfMicrophones: Bool { state.withLock { $0.isSet && $0.cancelsEcho } }
}
