public import Foundation
public import Koine
public import KoineUIKit

/// Notified when a renderer shows its first frame or fails to start. Name of version 1; version 2 has
/// `VideoStreamRendererDelegate`.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsvideostreamrendererdelegate)
public protocol RendererDelegate: NSObjectProtocol {
  func videoStreamRenderer(didRenderFirstFrame renderer: VideoStreamRenderer)
  func videoStreamRenderer(didFailToStart renderer: VideoStreamRenderer)
}
public typealias VideoStreamRendererDelegate = RendererDelegate

extension RendererDelegate {
  public func videoStreamRenderer(didRenderFirstFrame renderer: VideoStreamRenderer) {}
}

/// Options of a renderer's view: its scaling mode.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscreateviewoptions)
public final class CreateViewOptions: NSObject {
  public var scalingMode: ScalingMode
  public init(scalingMode: ScalingMode) { self.scalingMode = scalingMode }
}

/// Creates the view of a stream. A stream has one renderer at a time, and a renderer has one view.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsvideostreamrenderer)
public final class VideoStreamRenderer: NSObject, @unchecked Sendable {  // everything mutable sits in `state`
  private struct State {
    weak var delegate: (any RendererDelegate)?
    var view: RendererView?
    var size = StreamSize()
    var isDisposed = false
  }

  private enum Source {
    case local(LocalVideoStream)
    case remote(RemoteVideoStream)
  }

  private let source: Source
  private let state = Lock(State())

  /// - Throws: `multipleRenderersNotSupported` while another renderer of the same stream lives.
  public init(localVideoStream: LocalVideoStream) throws {
    source = .local(localVideoStream)
    super.init()
    try takePlace()
  }

  /// - Throws: as above.
  public init(remoteVideoStream: RemoteVideoStream) throws {
    source = .remote(remoteVideoStream)
    super.init()
    try takePlace()
  }

  deinit { dispose() }

  private func takePlace() throws {
    guard !place.claim() else { return }
    state.withLock { $0.isDisposed = true }  // another renderer holds the place: it is not given back
    throw CallingCommunicationErrors.multipleRenderersNotSupported.error("the stream has a renderer already")
  }

  private var place: RenderingPlace {
    switch source {
    case .local(let stream): stream.rendering
    case .remote(let stream): stream.rendering
    }
  }

  private var delivery: Delivery {
    switch source {
    case .local(let stream): stream.world.delivery
    case .remote(let stream): stream.delivery
    }
  }

  /// Of the newest frame; zero before the first.
  public var size: StreamSize { state.withLock { $0.size } }

  public weak var delegate: (any RendererDelegate)? {
    get { state.withLock { $0.delegate } }
    set { state.withLock { $0.delegate = newValue } }
  }

  public func createView() throws -> RendererView { try createView(withOptions: nil) }

  /// - Throws: `multipleViewsNotSupported` the second time.
  public func createView(withOptions options: CreateViewOptions?) throws -> RendererView {
    let scalingMode = options?.scalingMode ?? .crop
    let view = UIView.makeOnAnyThread {
      RendererView(scalingMode: scalingMode) { [weak self] in self?.rendered($0) }
    }
    let refusal = state.withLock { state -> NSError? in
      if state.isDisposed { return CallingCommunicationErrors([]).error("the renderer is disposed") }
      if state.view != nil {
        return CallingCommunicationErrors.multipleViewsNotSupported.error("the renderer has a view already")
      }
      state.view = view
      return nil
    }
    if let refusal { throw refusal }
    switch source {
    case .local(let stream):
      stream.camera.addSink(view)
      if stream.camera.failure != nil { failed() }
    case .remote(let stream):
      guard let session = stream.session, stream.isAvailable else {
        failed()
        break
      }
      session.attach(view, to: stream.source)
      delivery.deliver { stream.rendererStarted() }
    }
    return view
  }

  /// Takes the picture away. Calling it again changes nothing.
  public func dispose() {
    let view = state.withLock { state -> RendererView?? in
      guard !state.isDisposed else { return nil }
      state.isDisposed = true
      defer { state.view = nil }
      return .some(state.view)
    }
    guard let view else { return }
    if let view {
      view.stop()
      switch source {
      case .local(let stream): stream.camera.removeSink(view)
      case .remote(let stream): stream.session?.detach(view, from: stream.source)
      }
    }
    place.give()
  }

  private func failed() {
    delivery.deliver { [weak self] in
      if let self { delegate?.videoStreamRenderer(didFailToStart: self) }
    }
  }

  private func rendered(_ frame: VideoFrame) {
    let isFirst = state.withLock { state in
      defer { state.size = StreamSize(width: Int32(clamping: frame.width), height: Int32(clamping: frame.height)) }
      return state.size == StreamSize() && !state.isDisposed
    }
    guard isFirst else { return }
    delivery.deliver { [weak self] in
      guard let self, !state.withLock({ $0.isDisposed }) else { return }
      delegate?.videoStreamRenderer(didRenderFirstFrame: self)
    }
  }
}

/// A view that shows one stream. It has no size of its own: the app sets its frame.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsvideostreamrendererview)
@preconcurrency @MainActor
public final class RendererView: VideoView {
  private struct Settings {
    var scalingMode: ScalingMode
    var isStopped = false
  }
  nonisolated private let settings: Lock<Settings>
  nonisolated private let rendered: @Sendable (VideoFrame) -> Void

  init(scalingMode: ScalingMode, rendered: @escaping @Sendable (VideoFrame) -> Void) {
    settings = Lock(Settings(scalingMode: scalingMode))
    self.rendered = rendered
    super.init(frame: .zero)
  }

  public required init?(coder: NSCoder) { nil }

  nonisolated public func update(scalingMode: ScalingMode) { settings.withLock { $0.scalingMode = scalingMode } }
  nonisolated public func isRendering() -> Bool { !settings.withLock { $0.isStopped } && lastFrame != nil }

  nonisolated public func videoFrameSize() -> StreamSize {
    lastFrame.map { StreamSize(width: Int32(clamping: $0.width), height: Int32(clamping: $0.height)) } ?? StreamSize()
  }

  /// Shows nothing more; its renderer may be disposed of besides.
  nonisolated public func dispose() { stop() }

  nonisolated func stop() {
    settings.withLock { $0.isStopped = true }
    clear()
  }

  nonisolated public override func render(_ frame: VideoFrame) {
    guard !settings.withLock({ $0.isStopped }) else { return }
    super.render(frame)
    rendered(frame)
  }

  /// Follows the scaling mode. A value set here has no effect, as with the vendor's view, which draws into a view of its own.
  public override var contentMode: UIView.ContentMode {
    get { settings.withLock { $0.scalingMode } == .fit ? .scaleAspectFit : .scaleAspectFill }
    set {}
  }

  public override func draw(into canvas: inout Canvas, area: CGRect) {
    if let frame = lastFrame { canvas.draw(frame, in: area, mode: contentMode) }
  }
}
