/// One camera for several consumers: previews before and during a call, and any number of publications.
///
/// It runs while anybody wants its pictures. Any thread may call any method.
public final class SharedCamera: Sendable {
  private let device: SharedDevice<any VideoSource, VideoFrame>

  public init(_ source: any VideoSource, in world: World) {
    device = SharedDevice(
      source, lane: world.backend.scheduler.lane("shared camera"),
      start: { source, lane, deliver in try source.start(on: lane, deliver: deliver) }, stop: { $0.stop() })
  }

  public var format: VideoFormat { device.source.format }
  /// Why it does not run although somebody wants it.
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

  public init(_ source: any AudioSource, in world: World) {
    device = SharedDevice(
      source, lane: world.backend.scheduler.lane("shared microphone"),
      start: { source, lane, deliver in try source.start(on: lane, deliver: deliver) }, stop: { $0.stop() })
  }

  public var channels: Int { device.source.channels }
  /// Why it does not run although somebody wants it.
  public var failure: (any Error)? { device.failure }

  /// The microphone as something to publish; any number of times.
  public func makeSource() -> any AudioSource { Tap(of: self) }

  /// Adding twice is once.
  public func addSink(_ sink: any AudioSink) { device.add(sink) { sink.play($0) } }
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

/// What both have in common: who wants the device's output, and whether it runs.
private final class SharedDevice<Source: Sendable, Output: Sendable>: Sendable {
  typealias Deliver = @Sendable (Output) -> Void

  private struct Consumer {
    let id: ObjectIdentifier
    let deliver: Deliver
  }

  private struct Life {
    var source: Source
    var isRunning = false
    var failure: (any Error)?
  }

  /// Held while the device starts and stops, so that this happens in one order; never while it delivers.
  private let life: Lock<Life>
  private let consumers = Lock<[Consumer]>([])
  private let lane: Lane
  private let startSource: @Sendable (Source, Lane, @escaping Deliver) throws -> Void
  private let stopSource: @Sendable (Source) -> Void

  init(
    _ source: Source, lane: Lane, start: @escaping @Sendable (Source, Lane, @escaping Deliver) throws -> Void,
    stop: @escaping @Sendable (Source) -> Void
  ) {
    life = Lock(Life(source: source))
    (self.lane, startSource, stopSource) = (lane, start, stop)
  }

  deinit {
    let (source, isRunning) = life.withLock { ($0.source, $0.isRunning) }
    if isRunning { stopSource(source) }
  }

  var source: Source { life.withLock { $0.source } }
  var failure: (any Error)? { life.withLock { $0.failure } }

  func add(_ consumer: AnyObject, deliver: @escaping Deliver) {
    life.withLock { life in
      insert(consumer, deliver)
      start(&life)
    }
  }

  /// - Throws: what the device throws; then it is as if nothing had been added.
  func addOrThrow(_ consumer: AnyObject, deliver: @escaping Deliver) throws {
    let failure = life.withLock { life in
      insert(consumer, deliver)
      start(&life)
      if life.failure != nil { erase(consumer) }
      return life.failure
    }
    if let failure { throw failure }
  }

  func remove(_ consumer: AnyObject) {
    life.withLock { life in
      erase(consumer)
      guard consumers.withLock({ $0.isEmpty }), life.isRunning else { return }
      life.isRunning = false
      stopSource(life.source)
    }
  }

  func replace(_ source: Source) {
    life.withLock { life in
      if life.isRunning { stopSource(life.source) }
      life.isRunning = false
      life.source = source
      if !consumers.withLock({ $0.isEmpty }) { start(&life) }
    }
  }

  private func insert(_ consumer: AnyObject, _ deliver: @escaping Deliver) {
    let id = ObjectIdentifier(consumer)
    consumers.withLock { consumers in
      if !consumers.contains(where: { $0.id == id }) { consumers.append(Consumer(id: id, deliver: deliver)) }
    }
  }

  private func erase(_ consumer: AnyObject) {
    let id = ObjectIdentifier(consumer)
    consumers.withLock { $0.removeAll { $0.id == id } }
  }

  private func start(_ life: inout Life) {
    guard !life.isRunning else { return }
    do {
      try startSource(life.source, lane) { [weak self] output in
        guard let self else { return }
        for consumer in consumers.withLock({ $0 }) { consumer.deliver(output) }
      }
      (life.isRunning, life.failure) = (true, nil)
    } catch {
      life.failure = error
    }
  }
}
