// The vendor's types without an implementation in Koine. Code that uses one does not compile; the error gives the reason.

/// Notified of an attendee's promotion from a replica meeting. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/PrimaryMeetingPromotionObserver.html)
@available(*, unavailable, message: "rooms have no replicas to be promoted from")
public protocol PrimaryMeetingPromotionObserver {}

/// Notified of analytics events of the meeting. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/EventAnalyticsObserver.html)
@available(*, unavailable, message: "observers and metrics report the same; Koine collects no events")
public protocol EventAnalyticsObserver {}

/// Collects analytics events of the meeting. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/EventAnalyticsController.html)
@available(*, unavailable, message: "observers and metrics report the same; Koine collects no events")
public protocol EventAnalyticsController {}

/// Registers observers of analytics events. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/EventAnalyticsFacade.html)
@available(*, unavailable, message: "observers and metrics report the same; Koine collects no events")
public protocol EventAnalyticsFacade {}

/// Reports analytics events to the vendor. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/EventReporter.html)
@available(*, unavailable, message: "Koine collects no events")
public protocol EventReporter {}

/// Creates event reporters. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/EventReporterFactory.html)
@available(*, unavailable, message: "Koine collects no events")
public protocol EventReporterFactory {}

/// Creates no event reporter. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/NoopEventReporterFactory.html)
@available(*, unavailable, message: "Koine collects no events")
public final class NoopEventReporterFactory {}

/// Builds the configuration of event ingestion. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/IngestionConfigurationBuilder.html)
@available(*, unavailable, message: "Koine collects no events")
public final class IngestionConfigurationBuilder {}

/// Settings of the background blur. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/BackgroundBlurConfiguration.html)
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class BackgroundBlurConfiguration {}

/// Blurs the background of video frames. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/BackgroundBlurVideoFrameProcessor.html)
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class BackgroundBlurVideoFrameProcessor {}

/// Settings of the background replacement. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/BackgroundReplacementConfiguration.html)
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class BackgroundReplacementConfiguration {}

/// Replaces the background of video frames. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/BackgroundReplacementVideoFrameProcessor.html)
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class BackgroundReplacementVideoFrameProcessor {}

/// Separates persons from the background of video frames. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/BackgroundFilterProcessor.html)
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class BackgroundFilterProcessor {}

/// Video from ReplayKit for a content share. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/ReplayKitSource.html)
@available(*, unavailable, message: "ReplayKit belongs to iOS; share a VideoSource of your own")
public final class ReplayKitSource {}

/// Repeats the last frame of a capture source that delivers none. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/ReplayKitSource.html)
@available(*, unavailable, message: "a source's pictures are sent as often as it gives them")
public final class VideoFrameResender {}

/// The vendor's detector of active speakers. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/DefaultActiveSpeakerDetector.html)
@available(*, unavailable, message: "the facade has one of its own")
public final class DefaultActiveSpeakerDetector {}

/// The vendor's controller of video tiles. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/DefaultVideoTileController.html)
@available(*, unavailable, message: "the facade has one of its own")
public final class DefaultVideoTileController {}
