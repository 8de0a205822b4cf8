public import Foundation
import Koine
public import KoineCoreMedia

/// Superclass of a broadcast extension's handler: what it tells the app that broadcasts.
open class RPBroadcastHandler: NSObject {
  private struct State {
    weak var broadcast: ScreenBroadcast?
    /// Given before the broadcast has started, as by an initializer.
    var earlyError: (any Error)?
  }

  private let state = Lock(State())

  public override init() { super.init() }

  /// Hands information about the broadcast to the app: `ScreenBroadcast.serviceInfo`.
  open func updateServiceInfo(_ serviceInfo: [String: any NSCoding & NSObjectProtocol]) {
    state.withLock { $0.broadcast }?.setServiceInfo(serviceInfo)
  }

  /// Hands the address of the broadcast to the app: `ScreenBroadcast.broadcastURL`.
  open func updateBroadcast(_ broadcastURL: URL) { state.withLock { $0.broadcast }?.setURL(broadcastURL) }

  /// - Returns: an error that the handler gave before.
  func follow(_ broadcast: ScreenBroadcast) -> (any Error)? {
    state.withLock { state in
      state.broadcast = broadcast
      return state.earlyError
    }
  }

  fileprivate func fail(_ error: any Error) {
    let broadcast = state.withLock { state in
      if state.broadcast == nil { state.earlyError = error }
      return state.broadcast
    }
    broadcast?.fail(error)
  }
}

/// Handles the samples of a broadcast of the screen, in the place of a broadcast extension. An app overrides its methods, which are called one
/// at a time: `processSampleBuffer` on a thread of the engine, the others on the delivery queue. `ScreenBroadcast`, and `broadcastScreen` of a
/// test room, start a broadcast.
open class RPBroadcastSampleHandler: RPBroadcastHandler {
  /// The user has started the broadcast. Samples follow.
  open func broadcastStarted(withSetupInfo setupInfo: [String: NSObject]?) {}
  /// The user has paused the broadcast. No samples come until `broadcastResumed`.
  open func broadcastPaused() {}
  /// The user has resumed the broadcast.
  open func broadcastResumed() {}
  /// The user has finished the broadcast. No samples follow.
  open func broadcastFinished() {}
  /// A frame of the screen, or 10 ms of audio of the app or of the microphone. Where the app plays nothing, its audio is silence.
  open func processSampleBuffer(_ sampleBuffer: CMSampleBuffer, with sampleBufferType: RPSampleBufferType) {}
  /// Ends the broadcast because of an error of the handler: `ScreenBroadcast.error`. No samples follow.
  open func finishBroadcastWithError(_ error: any Error) { fail(error) }
}
