// The vendor's types without an implementation in Koine. Code that uses one does not compile; the error gives the reason.

/// Notified of an attendee's promotion from a replica meeting. Unavailable in Koine.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/PrimaryMeetingPromotionObserver.html)
@available(*, unavailable, message: "rooms have no replicas to be promoted from")
public protocol PrimaryMeetingPromotionObserver {}

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
