// Views of layers read from the call agent style, in a meeting: the same for every app.
import AmazonChimeSDK
import Foundation
import UIKit

extension MeetingAgent {
  /// A view, and the size of what it shows.
  final class Screen: VideoRenderView, @unchecked Sendable {  // `size` is guarded
    let view: DefaultVideoRenderView
    var sizeHandler: ((Int32, Int32) -> Void)?, didFail: (() -> Void)?
    private let lock = NSLock()
    private var size = (width: 0, height: 0)
    init(_ mode: UIView.ContentMode) {
      view = DefaultVideoRenderView(frame: .zero)
      view.contentMode = mode
    }
    func clear() { view.resetImage() }
    func onVideoFrameReceived(frame: VideoFrame) {
      view.onVideoFrameReceived(frame: frame)
      let new = (width: frame.width, height: frame.height)
      let isNew = lock.withLock {
        defer { size = new }
        return size != new
      }
      if isNew { onMain { [self] in sizeHandler?(Int32(clamping: new.width), Int32(clamping: new.height)) } }
    }
  }
}
