/// Does something to pictures: blurs a background, writes a name, measures.
public protocol VideoEffect: AnyObject, Sendable {
  /// One picture at a time, in order, on an engine lane.
  /// - Returns: the picture to go on with; nil leaves this one out.
  func process(_ frame: VideoFrame) -> VideoFrame?
}

/// Does something to sound, 10 ms at a time.
public protocol AudioEffect: AnyObject, Sendable {
  /// One block at a time, in order, on an engine lane; must be done well within 10 ms. The number of channels stays.
  func process(_ block: inout AudioBlock)
}

/// Effects on pictures, one after another; exchanged while they run.
///
///     let chain = VideoChain([blur, caption])
///     try session.publish(camera: chain.applied(to: camera))
///     chain.effects = [caption]
///
/// A chain belongs to one source or sink: its effects may remember the picture before.
public final class VideoChain: Sendable {
  /// Counters of a chain.
  public struct Statistics: Sendable, Hashable {
    /// Frames that went through the chain.
    public var processed = 0
    /// Left out by an effect.
    public var leftOut = 0
    /// Left out because the chain was still busy with one before: only where it is applied to a source.
    public var missed = 0
  }

  private let list: Lock<[any VideoEffect]>
  private let counts = Lock(Statistics())

  /// Creates a chain with these effects, in their order.
  public init(_ effects: [any VideoEffect] = []) { list = Lock(effects) }

  /// From the next picture on.
  public var effects: [any VideoEffect] {
    get { list.withLock { $0 } }
    set {
      let old = list.withLock { list in
        defer { list = newValue }
        return list
      }
      withExtendedLifetime(old) {}  // let go of outside the lock
    }
  }

  /// The counters so far.
  public var statistics: Statistics { counts.withLock { $0 } }

  /// Applies the effects to a frame; nil if an effect dropped it.
  public func process(_ frame: VideoFrame) -> VideoFrame? {
    var current: VideoFrame? = frame
    for effect in effects {
      guard let picture = current else { break }
      current = effect.process(picture)
    }
    let isLeftOut = current == nil
    counts.withLock { counts in
      counts.processed += 1
      if isLeftOut { counts.leftOut += 1 }
    }
    return current
  }

  /// Returns a source that applies the effects to the frames of `source`. The effects run on a lane of their own. Slow effects
  /// skip frames and continue with the newest frame, and do not delay other work.
  public func applied(to source: any VideoSource) -> any VideoSource { ProcessedSource(source, self) }

  /// Returns a sink that applies the effects and passes the frames to `sink`. The effects run on the lane that calls `render`.
  /// Attach and detach the returned sink instead of `sink`.
  public func applied(before sink: any VideoSink) -> any VideoSink { ProcessedSink(sink, self) }

  fileprivate func missedOne() { counts.withLock { $0.missed += 1 } }
}

/// Effects on sound, one after another; exchanged while they run.
public final class AudioChain: Sendable {
  private let list: Lock<[any AudioEffect]>

  /// Creates a chain with these effects, in their order.
  public init(_ effects: [any AudioEffect] = []) { list = Lock(effects) }

  /// From the next block on.
  public var effects: [any AudioEffect] {
    get { list.withLock { $0 } }
    set {
      let old = list.withLock { list in
        defer { list = newValue }
        return list
      }
      withExtendedLifetime(old) {}
    }
  }

  /// Applies the effects to a block, in place.
  public func process(_ block: inout AudioBlock) {
    let (channels, count) = (block.channels, block.samples.count)
    for effect in effects {
      effect.process(&block)
      precondition(block.channels == channels && block.samples.count == count, "an effect keeps the block's size")
    }
  }

  /// The source with the effects done, on its own lane. What the engine itself takes out of sound comes after them.
  public func applied(to source: any AudioSource) -> any AudioSource { ProcessedMicrophone(source, self) }

  /// A sink that plays sound with the effects done.
  public func applied(before sink: any AudioSink) -> any AudioSink { ProcessedLoudspeaker(sink, self) }
}

private final class ProcessedSource: VideoSource, Sendable {
  private struct Slot {
    var waiting: VideoFrame?
    var isBusy = false
    var run = 0
    /// One for all runs: effects are never asked for two pictures at once.
    var effects: Lane?
  }
  private let source: any VideoSource
  private let chain: VideoChain
  private let slot = Lock(Slot())

  init(_ source: any VideoSource, _ chain: VideoChain) { (self.source, self.chain) = (source, chain) }

  var format: VideoFormat { source.format }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) throws {
    let (effects, run) = slot.withLock { slot in
      slot.run += 1
      slot.waiting = nil
      slot.isBusy = false
      let effects = slot.effects ?? lane.scheduler.lane("effects")
      slot.effects = effects
      return (effects, slot.run)
    }
    try source.start(on: lane) { [weak self] frame in
      guard let self else { return }
      let begins = slot.withLock { slot in
        guard slot.run == run else { return false }
        if slot.waiting != nil { chain.missedOne() }
        slot.waiting = frame
        defer { slot.isBusy = true }
        return !slot.isBusy
      }
      if begins { effects.post { [weak self] in self?.work(run, effects, lane, deliver) } }
    }
  }

  func stop() {
    slot.withLock { slot in
      slot.run += 1
      slot.waiting = nil
    }
    source.stop()
  }

  /// On the effects' lane, one picture for each job.
  private func work(_ run: Int, _ effects: Lane, _ lane: Lane, _ deliver: @escaping @Sendable (VideoFrame) -> Void) {
    let next = slot.withLock { slot -> VideoFrame? in
      guard slot.run == run else { return nil }
      defer { slot.waiting = nil }
      if slot.waiting == nil { slot.isBusy = false }
      return slot.waiting
    }
    guard let next else { return }
    let processed = chain.process(next)
    if let processed {
      lane.post { [weak self] in if self?.slot.withLock({ $0.run }) == run { deliver(processed) } }
    }
    effects.post { [weak self] in self?.work(run, effects, lane, deliver) }
  }
}

private final class ProcessedSink: VideoSink, Sendable {
  private let sink: any VideoSink
  private let chain: VideoChain
  init(_ sink: any VideoSink, _ chain: VideoChain) { (self.sink, self.chain) = (sink, chain) }
  func render(_ frame: VideoFrame) { if let frame = chain.process(frame) { sink.render(frame) } }
}

private final class ProcessedMicrophone: AudioSource, Sendable {
  private let source: any AudioSource
  private let chain: AudioChain
  init(_ source: any AudioSource, _ chain: AudioChain) { (self.source, self.chain) = (source, chain) }

  var channels: Int { source.channels }
  var usualProcessing: AudioProcessing? { source.usualProcessing }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) throws {
    try source.start(on: lane) { [chain] block in
      var block = block
      chain.process(&block)
      deliver(block)
    }
  }

  func stop() { source.stop() }
}

private final class ProcessedLoudspeaker: IntermittentSink, Sendable {
  private let sink: any AudioSink
  private let chain: AudioChain
  init(_ sink: any AudioSink, _ chain: AudioChain) { (self.sink, self.chain) = (sink, chain) }

  var playoutDelay: Duration { sink.playoutDelay }
  var isListening: Bool { (sink as? any IntermittentSink)?.isListening ?? true }

  func play(_ block: AudioBlock) {
    var block = block
    chain.process(&block)
    sink.play(block)
  }
}
