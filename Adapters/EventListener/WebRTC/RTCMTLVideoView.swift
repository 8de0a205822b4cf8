public import Foundation
import Koine
public import KoineUIKit

/// A view that shows the video of its tracks. Without a display the app reads the shown frame with `snapshot()` or
/// `writePNG(to:)`.
///
/// [Vendor reference](https://webrtc.googlesource.com/src/+/main/sdk/objc/components/renderer/metal/RTCMTLVideoView.h)
@preconcurrency @MainActor
public final class RTCMTLVideoView: VideoView, RTCVideoRenderer {
  private struct Settings {
    var isEnabled = true
    weak var delegate: (any RTCVideoViewDelegate)?
    var rotation: NSNumber?
  }
  nonisolated private let settings = Lock(Settings())

  public override init(frame: CGRect) { super.init(frame: frame) }
  public convenience init() { self.init(frame: .zero) }
  public required init?(coder: NSCoder) { nil }

  public var videoContentMode: UIView.ContentMode {
    get { contentMode }
    set { contentMode = newValue }
  }

  /// A disabled view keeps its last picture.
  nonisolated public var isEnabled: Bool {
    get { settings.withLock { $0.isEnabled } }
    set { settings.withLock { $0.isEnabled = newValue } }
  }

  /// An `NSNumber` with the raw value of an `RTCVideoRotation`. The view shows all frames with this rotation instead of their own.
  /// Nil: each frame keeps its own rotation.
  nonisolated public var rotationOverride: NSValue? {
    get { settings.withLock { $0.rotation } }
    set { settings.withLock { $0.rotation = newValue as? NSNumber } }
  }

  nonisolated public var delegate: (any RTCVideoViewDelegate)? {
    get { settings.withLock { $0.delegate } }
    set { settings.withLock { $0.delegate = newValue } }
  }

  /// Tells the delegate, on the main queue.
  nonisolated public func setSize(_ size: CGSize) {
    guard delegate != nil else { return }
    DispatchQueue.main.async { [weak self] in
      if let self { delegate?.videoView(self, didChangeVideoSize: size) }
    }
  }

  nonisolated public func renderFrame(_ frame: RTCVideoFrame?) {
    guard isEnabled else { return }
    guard let frame else { return clear() }
    let turn = settings.withLock { $0.rotation }.flatMap { RTCVideoRotation(rawValue: $0.intValue) }
    guard let picture = frame.engineFrame else { return }
    render(turn.map { picture.with(quarterTurns: UInt8($0.rawValue / 90)) } ?? picture)
  }
}
