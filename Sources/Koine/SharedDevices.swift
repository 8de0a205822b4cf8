/// One camera for several consumers: previews before and during a call, and any number of publications.
///
/// The camera runs while it has at least one consumer. Any thread may call any method.
public final class SharedCamera: Sendable {
  private let device: SharedDevice<any VideoSource, VideoFrame>

  /// Creates a camera that several sinks share.
  public init(_ source: any VideoSource, in world: World) {
    device = SharedDevice(
      source, lane: world.backend.scheduler.lane("shared camera"),
      start: { source, lane, deliver in try source.start(on: lane, deliver: deliver) }, stop: { $0.stop() })
  }

  /// The format of the shared source.
  public var format: VideoFormat { device.source.format }
  /// The error that prevents the camera from running although it has consumers; nil: no error.
  public var failure: (any Error)? { device.failure }

  /// The camera as something to publish; any number of times.
  public func makeSource() -> any VideoSource { Tap(of: self) }

  /// Adding twice is once.
  public func addSink(_ sink: any VideoSink) { device.add(sink) { sink.render($0) } }
  /// Nothing comes from deliveries that begin later.
  public func removeSink(_ sink: any VideoSink) { device.remove(sink) }

  /// Switches to another camera, under everything that uses this one.
  public func replace(_ source: any VideoSource) { device.replace(source) }

  private final class Tap: VideoSource, Sendable {
    private let camera: SharedCamera
    init(of camera: SharedCamera) { self.camera = camera }

    var format: VideoFormat { camera.format }

    func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) throws {
      try camera.device.addOrThrow(self) { frame in lane.post { deliver(frame) } }
    }

    func stop() { camera.device.remove(self) }
  }
}

/// One microphone for several consumers: publications, meters, recorders.
public final class SharedMicrophone: Sendable {
  private let device: SharedDevice<any AudioSource, AudioBlock>

  /// Creates a microphone that several sinks share.
  public init(_ source: any AudioSource, in world: World) {
    device = SharedDevice(
      source, lane: world.backend.scheduler.lane("shared microphone"),
      start: { source, lane, deliver in try source.start(on: lane, deliver: deliver) }, stop: { $0.stop() })
  }

  /// Number of channels of the shared source: 1 or 2.
  public var channels: Int { device.source.channels }
  /// The error that prevents the microphone from running although it has consumers; nil: no error.
  public var failure: (any Error)? { device.failure }

  /// The microphone as something to publish; any number of times.
  public func makeSource() -> any AudioSource { Tap(of: self) }

  /// Adding twice is once.
  public func addSink(_ sink: any AudioSink) { device.add(sink) { sink.play($0) } }
  /// Removes a sink. The source stops with its last sink.
  public func removeSink(_ sink: any AudioSink) { device.remove(sink) }

  /// Switches to another microphone of as many channels.
  public func replace(_ source: any AudioSource) { device.replace(source) }

  private final class Tap: AudioSource, Sendable {
    private let microphone: SharedMicrophone
    init(of microphone: SharedMicrophone) { self.microphone = microphone }

    var channels: Int { microphone.channels }
    var usualProcessing: AudioProcessing? { microphone.device.source.usualProcessing }

    func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) throws {
      try microphone.device.addOrThrow(self) { block in lane.post { deliver(block) } }
    }

    func stop() { microphone.device.remove(self) }
  }
}
