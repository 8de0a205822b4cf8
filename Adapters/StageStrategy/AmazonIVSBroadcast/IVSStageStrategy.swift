public import Foundation
import Koine

/// The app's decisions for a stage. Asked on the delivery queue (main unless the app chose otherwise), once the stage is
/// connected and again on each `refreshStrategy()`. The stage then makes the necessary changes.
///
/// Answers must not depend on calls to the renderer: they state the desired result, and the stage finds the time for it.
///
/// Everything but the desired subscription: adopt `IVSStageStrategy` or `IVSStageStrategyV2`. A stage refuses a strategy that is
/// neither.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSBaseStageStrategy.html)
public protocol IVSBaseStageStrategy: AnyObject {
  /// Asked for the local participant when `shouldPublishParticipant` said yes. The first device of each kind is published.
  func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo)
    -> [IVSLocalStageStream]
  /// Asked for the local participant, if the token allows publishing.
  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool
  /// Optional. Asked for remote participants that are being subscribed to.
  func stage(_ stage: IVSStage, subscribeConfigurationForParticipant participant: IVSParticipantInfo)
    -> IVSSubscribeConfiguration
  /// Optional. Asked for each subscribed video stream with several layers: when the layers or the participant's state change,
  /// and at each refresh.
  /// - Returns: the layer to receive; nil: the stage adapts the layer to the path.
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, preferredLayerFor stream: IVSRemoteStageStream)
    -> IVSRemoteStageStreamLayer?
}

extension IVSBaseStageStrategy {
  public func stage(_ stage: IVSStage, subscribeConfigurationForParticipant participant: IVSParticipantInfo)
    -> IVSSubscribeConfiguration
  { IVSSubscribeConfiguration() }
  public func stage(_ stage: IVSStage, participant: IVSParticipantInfo, preferredLayerFor stream: IVSRemoteStageStream)
    -> IVSRemoteStageStreamLayer?
  { nil }
}

/// A strategy that states the desired subscription as an `IVSStageSubscribeType`.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSStageStrategy.html)
public protocol IVSStageStrategy: IVSBaseStageStrategy {
  /// Asked for each remote participant, if the token allows subscribing.
  func stage(_ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo) -> IVSStageSubscribeType
}

/// A strategy that states the desired subscription as a set of media: video without audio, too.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSStageStrategyV2.html)
public protocol IVSStageStrategyV2: IVSBaseStageStrategy {
  /// Asked for each remote participant, if the token allows subscribing. An empty set subscribes to nothing.
  func stage(_ stage: IVSStage, shouldSubscribeToParticipantTypes participant: IVSParticipantInfo)
    -> IVSStageSubscribeMediaTypes
}

/// The media of a participant to subscribe to. The vendor's pages name the type and not its members, and a stage has no
/// subtitles here.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Enums/IVSStageSubscribeMediaTypes.html)
public struct IVSStageSubscribeMediaTypes: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }

  public static let audio = IVSStageSubscribeMediaTypes(rawValue: 1 << 0)
  public static let video = IVSStageSubscribeMediaTypes(rawValue: 1 << 1)

  init(_ type: IVSStageSubscribeType) {
    switch type {
    case .none: self = []
    case .audioOnly: self = .audio
    case .audioVideo: self = [.audio, .video]
    }
  }
}

extension IVSBaseStageStrategy {
  /// Whether the strategy can say what to subscribe to.
  var isComplete: Bool { self is any IVSStageStrategy || self is any IVSStageStrategyV2 }

  func media(_ stage: IVSStage, of participant: IVSParticipantInfo) -> IVSStageSubscribeMediaTypes {
    if let strategy = self as? any IVSStageStrategyV2 {
      return strategy.stage(stage, shouldSubscribeToParticipantTypes: participant)
    }
    return (self as? any IVSStageStrategy).map {
      IVSStageSubscribeMediaTypes($0.stage(stage, shouldSubscribeToParticipant: participant))
    } ?? []
  }
}

/// How the stage receives a remote participant.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSSubscribeConfiguration.html)
public class IVSSubscribeConfiguration: NSObject {
  public var jitterBuffer = IVSJitterBufferConfiguration()
  /// The layer that the participant's video begins with.
  public var simulcast = IVSSubscribeSimulcastConfiguration()
  /// The gain that the participant's sound begins with, 0...2.
  public var initialGain: Float = 1 {
    didSet { initialGain = min(max(initialGain, 0), 2) }
  }
}

/// The layer that video with several layers begins with, before it follows the path or the strategy's preference. A change takes
/// effect with the next subscription.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSSubscribeSimulcastConfiguration.html)
public class IVSSubscribeSimulcastConfiguration: NSObject {
  public enum InitialLayerPreference: Int, Sendable {
    case lowestQuality = 0
    case highestQuality = 1
  }

  public var initialLayerPreference = InitialLayerPreference.lowestQuality
}

/// How long received audio and video wait at least before they are played. The delay holds only while the local participant does not
/// publish.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSJitterBufferConfiguration.html)
public class IVSJitterBufferConfiguration: NSObject {
  public private(set) var minDelay = IVSJitterBufferDelay.default()

  /// - Throws: for a custom delay beyond 0...10 seconds; nothing changes then.
  public func setMinDelay(_ minDelay: IVSJitterBufferDelay) throws {
    guard (0...10).contains(minDelay.seconds) else {
      throw NSError.ivs(.invalidState, "a delay of \(minDelay.seconds) s is none of 0 to 10", source: "IVSStage")
    }
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
