public import Foundation
import Koine

/// The process's audio settings. Kept and readable; there is no audio session on this system that they could change, but
/// for echo cancellation, which microphones taken from now on begin with.
public class IVSStageAudioManager: NSObject, @unchecked Sendable {  // `state` is a lock
  public enum UseCasePreset: Int, Sendable {
    case videoChat = 0
    case subscribeOnly = 1
    case studio = 2
  }

  private struct State {
    var preset = UseCasePreset.videoChat
    var cancelsEcho = true
  }

  private static let shared = IVSStageAudioManager()
  private let state = Lock(State())

  private override init() { super.init() }

  public class func sharedInstance() -> IVSStageAudioManager { shared }

  public func setPreset(_ preset: UseCasePreset) {
    state.withLock { state in
      state.preset = preset
      state.cancelsEcho = preset == .videoChat
    }
  }

  public var isEchoCancellationEnabled: Bool {
    get { state.withLock { $0.cancelsEcho } }
    set { state.withLock { $0.cancelsEcho = newValue } }
  }
}
