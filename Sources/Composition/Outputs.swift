import Koine

/// A composition's pictures, at its own pace.
final class ComposedPictures: VideoSource, Sendable {
  private let composition: Composition
  private let run = Lock(0)

  init(_ composition: Composition) { self.composition = composition }

  var format: VideoFormat {
    VideoFormat(
      width: composition.width, height: composition.height, framesPerSecond: composition.framesPerSecond)
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) {
    let number = run.withLock { run in
      run += 1
      return run
    }
    let start = lane.scheduler.now
    lane.post { [weak self] in self?.tick(0, number, start, lane, deliver) }
  }

  func stop() { run.withLock { $0 += 1 } }

  private func tick(
    _ count: Int, _ number: Int, _ start: Tick, _ lane: Lane, _ deliver: @escaping @Sendable (VideoFrame) -> Void
  ) {
    guard run.withLock({ $0 }) == number else { return }
    let interval = Duration.nanoseconds(Int64(1e9 / composition.framesPerSecond))
    deliver(composition.compose(at: start + interval * count))
    let late = Int((lane.scheduler.now - start).nanoseconds / interval.nanoseconds)
    let next = max(count, late) + 1  // what a busy machine could not draw in time is left out
    lane.post(at: start + interval * next) { [weak self] in self?.tick(next, number, start, lane, deliver) }
  }
}

/// A composition's sound: a block each 10 ms, silence where nothing is to be heard.
final class MixedSound: AudioSource, @unchecked Sendable {  // `block` is touched on the lane only
  var channels: Int { composition.channels }
  private let composition: Composition
  private let run = Lock(0)
  private var block: AudioBlock

  init(_ composition: Composition) {
    self.composition = composition
    block = AudioBlock(channels: composition.channels, captured: .zero)
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    let number = run.withLock { run in
      run += 1
      return run
    }
    let start = lane.scheduler.now
    lane.post { [weak self] in self?.tick(start, number, lane, deliver) }
  }

  func stop() { run.withLock { $0 += 1 } }

  private func tick(_ due: Tick, _ number: Int, _ lane: Lane, _ deliver: @escaping @Sendable (AudioBlock) -> Void) {
    guard run.withLock({ $0 }) == number else { return }
    composition.mix(into: &block, at: due)
    deliver(block)
    let now = lane.scheduler.now
    let next = due + AudioBlock.duration
    let following = now - next > .milliseconds(200) ? now : next  // after a standstill the clock goes on from now
    lane.post(at: following) { [weak self] in self?.tick(following, number, lane, deliver) }
  }
}
