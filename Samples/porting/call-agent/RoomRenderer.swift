// What layers that `koine port` writes need for views of videos: the same file for every app.
import Foundation
import Koine
import UIKit

/// Shows one video in one view.
final class RoomRenderer: @unchecked Sendable {
  var handler: ((RoomRenderer) -> Void)?, frameHandler: ((RoomRenderer) -> Void)?
  /// Of the newest frame, in pixels; nought before the first.
  private(set) var size: (width: Int32, height: Int32) = (0, 0)
  private let attach: (any VideoSink) -> Bool, detach: (any VideoSink) -> Void
  private var view: VideoView?
  private lazy var sizes = FrameSizes { [weak self] in self?.received($0) }

  init(video: RoomVideo) throws { (attach, detach) = (video.attach, video.detach) }
  init(track: RoomTrack) throws {
    attach = { view in
      track.attach(view: view)
      return track.isSent
    }
    detach = { track.detach(view: $0) }
  }
  func makeView(_ mode: UIView.ContentMode = .scaleAspectFill) throws -> VideoView {
    let view = UIView.makeOnAnyThread { () -> VideoView in
      let view = VideoView(frame: .zero)
      view.contentMode = mode
      return view
    }
    self.view = view
    if !attach(view) { DispatchQueue.main.async { [self] in handler?(self) } }
    _ = attach(sizes)
    return view
  }
  private func received(_ new: (width: Int32, height: Int32)) {
    let isFirst = size == (0, 0)
    size = new
    if isFirst, view != nil { frameHandler?(self) }
  }
  func dispose() {
    if let view { [view, sizes].forEach(detach) }
    view?.clear()
    view = nil
  }
}

/// Reports the size of frames on the main queue when it changes.
private final class FrameSizes: VideoSink, @unchecked Sendable {  // `last` is guarded by `lock`
  private let lock = NSLock(), handler: ((width: Int32, height: Int32)) -> Void
  private var last: (width: Int32, height: Int32) = (0, 0)
  init(_ handler: @escaping ((width: Int32, height: Int32)) -> Void) { self.handler = handler }
  func render(_ frame: VideoFrame) {
    let size = (width: Int32(clamping: frame.width), height: Int32(clamping: frame.height))
    let isNew = lock.withLock {
      defer { last = size }
      return size != last
    }
    if isNew { DispatchQueue.main.async { [self] in handler(size) } }
  }
}
