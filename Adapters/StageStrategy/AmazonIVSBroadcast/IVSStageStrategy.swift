public import Foundation
import Koine

/// The app's decisions for a stage. Asked on the delivery queue (main unless the app chose otherwise), once the stage is
/// connected and again on each `refreshStrategy()`. The stage then makes the necessary changes.
///
/// Answers must not depend on calls to the renderer: they state the desired result, and the stage finds the time for it.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSStageStrategy.html)
public protocol IVSStageStrategy: AnyObject {
  /// Asked for the local participant when `shouldPublishParticipant` said yes. The first device of each kind is published.
  func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo)
    -> [IVSLocalStageStream]
  /// Asked for the local participant, if the token allows publishing.
  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool
  /// Asked for each remote participant, if the token allows subscribing.
  func stage(_ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo) -> IVSStageSubscribeType
  /// Optional. Asked for remote participants that are being subscribed to.
  func stage(_ stage: IVSStage, subscribeConfigurationForParticipant participant: IVSParticipantInfo)
    -> IVSSubscribeConfiguration
}

extension IVSStageStrategy {
  public func stage(_ stage: IVSStage, subscribeConfigurationForParticipant participant: IVSParticipantInfo)
    -> IVSSubscribeConfiguration
  { IVSSubscribeConfiguration() }
}

/// How the stage receives a remote participant.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSSubscribeConfiguration.html)
public class IVSSubscribeConfiguration: NSObject {
  public var jitterBuffer = IVSJitterBufferConfiguration()
  /// The gain that the participant's sound begins with, 0...2.
  public var initialGain: Float = 1 {
    didSet { initialGain = min(max(initialGain, 0), 2) }
  }
}

/// The minimum delay of received media before playback. It has no effect: the engine's jitter buffer adapts its delay.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSJitterBufferConfiguration.html)
public class IVSJitterBufferConfiguration: NSObject {
  public private(set) var minDelay = IVSJitterBufferDelay.default()

  /// - Throws: for a custom delay beyond 0...10 seconds; nothing changes then.
  public func setMinDelay(_ minDelay: IVSJitterBufferDelay) throws {
    guard (0...10).contains(minDelay.seconds) else {
      throw NSError.ivs(.invalidState, "a delay of \(minDelay.seconds) s is none of 0 to 10", source: "IVSStage")
    }
    NoEffect.jitterBuffer.log()
    self.minDelay = minDelay
  }
}

/// A predefined minimum delay of the jitter buffer.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSJitterBufferDelay.html)
public class IVSJitterBufferDelay: NSObject {
  let seconds: TimeInterval

  required init(seconds: TimeInterval) { self.seconds = seconds }

  public class func `default`() -> Self { Self(seconds: 0) }
  public class func low() -> Self { Self(seconds: 0.1) }
  public class func medium() -> Self { Self(seconds: 0.2) }
  public class func high() -> Self { Self(seconds: 0.5) }
  public class func custom(withTimeInterval interval: TimeInterval) -> IVSCustomJitterBufferDelay {
    IVSCustomJitterBufferDelay(seconds: interval)
  }
}

/// A minimum delay of the jitter buffer, in seconds.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSCustomJitterBufferDelay.html)
public class IVSCustomJitterBufferDelay: IVSJitterBufferDelay {
  public var interval: TimeInterval { seconds }
}
