// Views of layers read from the call agent style, on a stage: the same for every app.
import AmazonIVSBroadcast
import UIKit

extension StageStream {
  func attach(view: StageAgent.Screen) { view.show(source.device as? any IVSImageDevice) }
  func detach(view: StageAgent.Screen) { if view.device === source.device { view.show(nil) } }
}

extension StageAgent {
  /// A view, and the size of what it shows.
  final class Screen: @unchecked Sendable {  // used on the main queue only
    let view: StageStreamView
    var sizeHandler: ((Int32, Int32) -> Void)?, didFail: (() -> Void)?
    private(set) var device: (any IVSImageDevice)?
    init(_ mode: UIView.ContentMode) {
      view = MainActor.assumeIsolated { StageStreamView(frame: .zero) }
      MainActor.assumeIsolated { view.contentMode = mode }
    }
    func show(_ device: (any IVSImageDevice)?) {
      self.device?.setOnFrameCallback(nil)
      self.device = device
      MainActor.assumeIsolated { view.device = device }
      device?.setOnFrameCallback { [weak self] frame in
        self?.sizeHandler?(Int32(frame.size.width), Int32(frame.size.height))
      }
    }
    func clear() { show(nil) }
  }
}
