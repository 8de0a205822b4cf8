public import Foundation
import Koine
public import KoineReplayKit

// The screens of the persons' machines, as ReplayKit captures them.

extension TestRoom {
  /// Starts a broadcast of a person's screen, as the person does in Control Center. The screen shows the person's stamp in 640×360 pixels.
  ///
  ///     let broadcast = room.broadcastScreen(of: "Ana") { SampleHandler() }
  ///     await room.until { bea.seesScreen(of: "Ana") }
  ///     broadcast.finish()
  ///
  /// - Parameters:
  ///   - withMicrophone: whether the person has turned the microphone on.
  ///   - setupInfo: the argument of `broadcastStarted(withSetupInfo:)`.
  ///   - makeHandler: makes the handler of the app's broadcast extension, as in `enter(as:_:)`.
  /// - Returns: the broadcast, which the caller pauses, resumes and finishes. It ends when it is released.
  /// - Throws: the error of `makeHandler`.
  public func broadcastScreen(
    of name: String, withMicrophone: Bool = false, setupInfo: [String: NSObject]? = nil,
    _ makeHandler: () throws -> RPBroadcastSampleHandler
  ) rethrows -> ScreenBroadcast {
    let broadcast = ScreenBroadcast(
      to: try enter(as: name, makeHandler), withMicrophone: withMicrophone, in: world(of: name))
    broadcast.start(setupInfo: setupInfo)
    return broadcast
  }

  /// Decides what a person answers when the app asks to capture the screen (`RPScreenRecorder.startCapture`). Default: yes.
  public func setScreenCapture(allowed: Bool, for name: String) {
    RPScreenRecorder.of(world(of: name)).setAllowed(allowed)
  }
}
