public import Foundation
package import Koine

/// State of a track.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/api/peerconnection/RTCMediaStreamTrack.h)
public enum RTCMediaStreamTrackState: Int, Sendable { case live, ended }

/// Audio or video of one participant. Only the SDK creates tracks.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/api/peerconnection/RTCMediaStreamTrack.h)
public class RTCMediaStreamTrack: NSObject, @unchecked Sendable {  // `mutable` is a lock, the rest is constant
  public let kind: String
  public let trackId: String
  private let mutable = Lock((isEnabled: true, readyState: RTCMediaStreamTrackState.live))

  init(kind: String, trackId: String) {
    self.kind = kind
    self.trackId = trackId
  }

  /// A disabled video track hands no pictures to its renderers, a disabled audio track is not heard: another's not here,
  /// one's own nowhere.
  public var isEnabled: Bool {
    get { mutable.withLock { $0.isEnabled } }
    set {
      mutable.withLock { $0.isEnabled = newValue }
      if readyState == .live { enabledChanged(newValue) }
    }
  }

  func enabledChanged(_ isEnabled: Bool) {}

  public var readyState: RTCMediaStreamTrackState { mutable.withLock { $0.readyState } }

  /// The SDK has ended the stream; renderers may still be removed.
  package func markEnded() { mutable.withLock { $0.readyState = .ended } }
}

/// State of a track's source.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/api/peerconnection/RTCMediaSource.h)
public enum RTCSourceState: Int, Sendable { case initializing, live, ended, muted }

/// The source of a track.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/api/peerconnection/RTCMediaSource.h)
public class RTCMediaSource: NSObject, @unchecked Sendable {  // constant; the track guards itself
  private weak let track: RTCMediaStreamTrack?

  init(of track: RTCMediaStreamTrack) { self.track = track }

  public var state: RTCSourceState { track?.readyState == .live ? .live : .ended }
}

/// The source of an audio track.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/api/peerconnection/RTCAudioSource.h)
public final class RTCAudioSource: RTCMediaSource, @unchecked Sendable {}

/// The source of a video track.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/api/peerconnection/RTCVideoSource.h)
public final class RTCVideoSource: RTCMediaSource, @unchecked Sendable {}

/// A participant's audio. It plays even if the app does not hold the track.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/api/peerconnection/RTCAudioTrack.h)
public final class RTCAudioTrack: RTCMediaStreamTrack, @unchecked Sendable {
  private let setAudible: @Sendable (Bool) -> Void

  /// - Parameter setAudible: called with whether the audio is enabled, on each change.
  package init(trackId: String, setAudible: @escaping @Sendable (Bool) -> Void) {
    self.setAudible = setAudible
    super.init(kind: "audio", trackId: trackId)
  }

  override func enabledChanged(_ isEnabled: Bool) { setAudible(isEnabled) }

  /// Ends the track and enables the stream's audio again. If the stream is muted and unmuted, it gets a new, enabled track.
  package override func markEnded() {
    super.markEnded()
    if !isEnabled { setAudible(true) }
  }

  public var source: RTCAudioSource { RTCAudioSource(of: self) }
}

/// A participant's video. A track can have several renderers, and a renderer several tracks.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/api/peerconnection/RTCVideoTrack.h)
public final class RTCVideoTrack: RTCMediaStreamTrack, @unchecked Sendable {
  private let attach: @Sendable (any VideoSink) -> Void
  private let detach: @Sendable (any VideoSink) -> Void
  private let renderers = Lock<[ObjectIdentifier: RendererSink]>([:])

  package init(
    trackId: String, attach: @escaping @Sendable (any VideoSink) -> Void,
    detach: @escaping @Sendable (any VideoSink) -> Void
  ) {
    self.attach = attach
    self.detach = detach
    super.init(kind: "video", trackId: trackId)
  }

  deinit { detachAll() }

  public var source: RTCVideoSource { RTCVideoSource(of: self) }

  package override func markEnded() {
    super.markEnded()
    detachAll()
  }

  /// The stream may outlive this track: when it is muted and unmuted again, it gets a new track.
  private func detachAll() {
    let sinks = renderers.withLock { renderers in
      defer { renderers = [:] }
      return Array(renderers.values)
    }
    for sink in sinks {
      sink.close()
      detach(sink)
    }
  }

  /// From any thread. A renderer that is attached already stays attached once; an ended track shows nothing any more.
  public func add(_ renderer: any RTCVideoRenderer) {
    guard readyState == .live else { return }
    let sink = renderers.withLock { renderers -> RendererSink? in
      guard renderers[ObjectIdentifier(renderer)] == nil else { return nil }
      let sink = RendererSink(renderer, of: self)
      renderers[ObjectIdentifier(renderer)] = sink
      return sink
    }
    if let sink { attach(sink) }
  }

  /// From any thread. Harmless when the renderer is not attached, or the stream has ended.
  public func remove(_ renderer: any RTCVideoRenderer) {
    let sink = renderers.withLock { $0.removeValue(forKey: ObjectIdentifier(renderer)) }
    guard let sink else { return }
    sink.close()
    detach(sink)
  }
}

/// Hands a track's frames to one renderer, announcing each new size first. Called on one engine lane at a time.
private final class RendererSink: VideoSink, @unchecked Sendable {  // `target` is a lock
  private struct Target {
    var renderer: (any RTCVideoRenderer)?
    var width = 0
    var height = 0
  }
  private let target: Lock<Target>
  private weak let track: RTCVideoTrack?

  init(_ renderer: any RTCVideoRenderer, of track: RTCVideoTrack) {
    target = Lock(Target(renderer: renderer))
    self.track = track
  }

  func close() { target.withLock { $0.renderer = nil } }

  func render(_ frame: VideoFrame) {
    guard track?.isEnabled == true else { return }
    let (renderer, isNewSize) = target.withLock { target in
      let isNew = target.width != frame.width || target.height != frame.height
      (target.width, target.height) = (frame.width, frame.height)
      return (target.renderer, isNew)
    }
    guard let renderer else { return }
    if isNewSize { renderer.setSize(CGSize(width: frame.width, height: frame.height)) }
    renderer.renderFrame(RTCVideoFrame(frame))
  }
}
