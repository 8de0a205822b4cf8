// What the vendor has and there is nothing behind here yet. Code that names it is told why when it is compiled.

@available(*, unavailable, message: "nothing turns speech into text")
public protocol TranscriptEventObserver {}
@available(*, unavailable, message: "nothing turns speech into text")
public final class Transcript {}
@available(*, unavailable, message: "nothing turns speech into text")
public final class TranscriptionStatus {}
@available(*, unavailable, message: "rooms have no replicas to be promoted from")
public protocol PrimaryMeetingPromotionObserver {}
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
