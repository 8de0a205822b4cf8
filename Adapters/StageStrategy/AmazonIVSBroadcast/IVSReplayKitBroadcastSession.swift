public import Foundation
import Koine

/// A broadcast of the screen in a broadcast extension: an `RPBroadcastSampleHandler` hands its samples to the session's three sources. The
/// screen is fitted into the whole video, and both audio sources are mixed. Making a session sets
/// `IVSSession.applicationAudioSessionStrategy` to `noAction`.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSReplayKitBroadcastSession.html)
public class IVSReplayKitBroadcastSession: NSObject, @unchecked Sendable {  // `isOver` is a lock, the rest is constant
  /// For samples of type `video`.
  public let systemImageSource: any IVSCustomImageSource
  /// For samples of type `audioApp`.
  public let systemAudioSource: any IVSCustomAudioSource
  /// For samples of type `audioMic`.
  public let microphoneSource: any IVSCustomAudioSource
  private let session: IVSBroadcastSession
  private let isOver = Lock(false)

  /// - Parameter delegate: held weakly; notified of an `IVSBroadcastSession` that the app has no other use for.
  public convenience init(
    videoConfiguration: IVSVideoConfiguration, audioConfig: IVSAudioConfiguration,
    delegate: (any IVSBroadcastSession.Delegate)?
  ) throws {
    try self.init(
      videoConfiguration: videoConfiguration, audioConfig: audioConfig, reconnectConfig: nil, delegate: delegate)
  }

  /// - Parameters:
  ///   - reconnectConfig: nil: the session does not reconnect.
  ///   - delegate: held weakly; notified of an `IVSBroadcastSession` that the app has no other use for.
  public init(
    videoConfiguration: IVSVideoConfiguration, audioConfig: IVSAudioConfiguration,
    reconnectConfig: IVSAutoReconnectConfiguration?, delegate: (any IVSBroadcastSession.Delegate)?
  ) throws {
    IVSSession.applicationAudioSessionStrategy = .noAction
    let (screen, microphone) = (IVSMixerSlotConfiguration(), IVSMixerSlotConfiguration())
    screen.aspect = .fit
    try microphone.setName("microphone")
    let configuration = IVSBroadcastConfiguration(
      audio: audioConfig, video: videoConfiguration, mixer: IVSMixerConfiguration())
    configuration.mixer.slots = [screen, microphone]
    if let reconnectConfig { configuration.autoReconnect = reconnectConfig }
    session = try IVSBroadcastSession(configuration: configuration, descriptors: nil, delegate: delegate)
    session.runsInBackground = true  // an extension is a process of its own
    systemImageSource = session.createImageSource(withName: "screen")
    systemAudioSource = session.createAudioSource(withName: "app audio")
    microphoneSource = session.createAudioSource(withName: "microphone")
    super.init()
    session.attach(systemImageSource, toSlotWithName: screen.name)
    session.attach(systemAudioSource, toSlotWithName: screen.name)
    session.attach(microphoneSource, toSlotWithName: microphone.name)
  }

  /// - Parameter streamKey: the last part of an RTMP server's URL; a file needs none.
  /// - Throws: as `IVSBroadcastSession.start(with:streamKey:)`; `sessionIsNotReady` after `broadcastFinished()`.
  public func start(with url: URL, streamKey: String) throws {
    guard !isOver.withLock({ $0 }) else {
      throw NSError.ivs(.sessionIsNotReady, "the broadcast is finished", source: "IVSReplayKitBroadcastSession")
    }
    try session.start(with: url, streamKey: streamKey)
  }

  public func stop() { session.stop() }

  /// Stops the broadcast for good. The output is finished once this returns.
  public func broadcastFinished() {
    isOver.withLock { $0 = true }
    session.stop()
    session.world.delivery.deliver { [session] in withExtendedLifetime(session) {} }  // its delegate hears of the end
  }
}
