// What the vendor has and there is nothing behind here yet. Code that names it is told why when it is compiled.

@available(*, unavailable, message: "rooms have no replicas to be promoted from")
public protocol PrimaryMeetingPromotionObserver {}
@available(*, unavailable, message: "observers and metrics report the same; Koine collects no events")
public protocol EventAnalyticsObserver {}
@available(*, unavailable, message: "observers and metrics report the same; Koine collects no events")
public protocol EventAnalyticsController {}
@available(*, unavailable, message: "observers and metrics report the same; Koine collects no events")
public protocol EventAnalyticsFacade {}
@available(*, unavailable, message: "Koine collects no events")
public protocol EventReporter {}
@available(*, unavailable, message: "Koine collects no events")
public protocol EventReporterFactory {}
@available(*, unavailable, message: "Koine collects no events")
public final class NoopEventReporterFactory {}
@available(*, unavailable, message: "Koine collects no events")
public final class IngestionConfigurationBuilder {}
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class BackgroundBlurConfiguration {}
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class BackgroundBlurVideoFrameProcessor {}
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class BackgroundReplacementConfiguration {}
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class BackgroundReplacementVideoFrameProcessor {}
@available(*, unavailable, message: "there is no segmentation of pictures")
public final class BackgroundFilterProcessor {}
@available(*, unavailable, message: "ReplayKit belongs to iOS; share a VideoSource of your own")
public final class ReplayKitSource {}
@available(*, unavailable, message: "a source's pictures are sent as often as it gives them")
public final class VideoFrameResender {}
@available(*, unavailable, message: "the facade has one of its own")
public final class DefaultActiveSpeakerDetector {}
@available(*, unavailable, message: "the facade has one of its own")
public final class DefaultVideoTileController {}
