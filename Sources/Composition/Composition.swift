public import Koine

/// Several pictures and sounds, laid out and mixed into one of each.
///
///     let composition = Composition(width: 1280, height: 720, in: world)
///     composition.add(Slot("left", width: 640, height: 720))
///     session.attach(composition.pictureInput("left"), to: camera)
///     session.attach(composition.soundInput("left"), to: microphone)
///     let broadcast = try Broadcast(of: composition, to: output)
///
/// Runs while a broadcast or a preview wants it. Any thread may call any method.
public final class Composition: Sendable {
  struct Layout: Sendable {
    var slots: [Placed] = []
    var sinks: [any VideoSink] = []
  }

  /// A slot, and the change it is in.
  struct Placed: Sendable {
    var slot: Slot
    var transition: Transition?
    let picture: PictureInput
    let sound: SoundInput

    func slot(at now: Tick) -> Slot { transition?.slot(at: now, endingAs: slot) ?? slot }
  }

  struct Transition: Sendable {
    let from: Slot
    let start: Tick
    let duration: Duration

    func slot(at now: Tick, endingAs end: Slot) -> Slot {
      let fraction = (now - start).inSeconds / max(duration.inSeconds, 1e-6)
      return fraction >= 1 ? end : from.on(theWayTo: end, fraction: max(fraction, 0))
    }
  }

  private struct Mixed { weak var sound: SharedMicrophone? }

  /// Frames in the place of the slots, in turn.
  private struct Loop {
    let frames: [VideoFrame]
    let start: Tick
  }

  public let width, height: Int
  public let framesPerSecond: Double
  /// Of the sound: 1 or 2.
  public let channels: Int
  public let background: Color
  public let world: World
  private let layout = Lock(Layout())
  private let mixed = Lock(Mixed())
  private let loop = Lock<Loop?>(nil)
  private let pool = FramePool(limit: 8)

  /// - Parameters:
  ///   - width, height: in pixels, 16...4,096 each; other values are moved there.
  ///   - channels: 1 or 2. Of two, sound in one channel is in the middle.
  public init(
    width: Int, height: Int, framesPerSecond: Double = 30, channels: Int = 1, background: Color = .black,
    in world: World
  ) {
    self.channels = min(max(channels, 1), 2)
    (self.width, self.height) = (min(max(width, 16), 4_096), min(max(height, 16), 4_096))
    self.framesPerSecond = min(max(framesPerSecond, 1), 60)
    self.background = background
    self.world = world
  }

  // MARK: Slots

  /// In the order of adding, as they will be once running transitions are over.
  public var slots: [Slot] { layout.withLock { $0.slots.map(\.slot) } }

  /// As they are drawn right now.
  public var currentSlots: [Slot] {
    let now = world.backend.scheduler.now
    return layout.withLock { $0.slots.map { $0.slot(at: now) } }
  }

  /// - Returns: false if there is one of this name already.
  @discardableResult
  public func add(_ slot: Slot) -> Bool {
    layout.withLock { layout in
      guard !layout.slots.contains(where: { $0.slot.id == slot.id }) else { return false }
      layout.slots.append(Placed(slot: slot, picture: PictureInput(), sound: SoundInput(channels: channels)))
      return true
    }
  }

  @discardableResult
  public func remove(_ id: Slot.ID) -> Bool {
    layout.withLock { layout in
      let count = layout.slots.count
      layout.slots.removeAll { $0.slot.id == id }
      return layout.slots.count < count
    }
  }

  /// Changes a slot, at once or gradually. The sources that feed the slot stay attached.
  /// - Returns: false if there is no slot of this name.
  @discardableResult
  public func change(_ id: Slot.ID, to new: Slot, over duration: Duration = .zero) -> Bool {
    let now = world.backend.scheduler.now
    return layout.withLock { layout in
      guard let index = layout.slots.firstIndex(where: { $0.slot.id == id }), new.id == id else { return false }
      let from = layout.slots[index].slot(at: now)
      layout.slots[index].slot = new
      layout.slots[index].transition =
        duration > .zero ? Transition(from: from, start: now, duration: duration) : nil
      return true
    }
  }

  /// Where a slot's pictures go in; the newest is shown for which it is time. Nil if there is no such slot.
  public func pictureInput(_ id: Slot.ID) -> (any PictureInlet)? { placed(id)?.picture }
  /// Where a slot's sound goes in, one source at a time.
  public func soundInput(_ id: Slot.ID) -> (any SoundInlet)? { placed(id)?.sound }

  private func placed(_ id: Slot.ID) -> Placed? { layout.withLock { $0.slots.first { $0.slot.id == id } } }

  /// Shows these frames instead of the slots from now on, one after another and again from the first. Each is fitted into the whole
  /// area. The audio of the slots goes on.
  /// - Parameter frames: empty: the slots are shown again.
  public func showLoop(of frames: [VideoFrame]) {
    let now = world.backend.scheduler.now
    loop.withLock { $0 = frames.isEmpty ? nil : Loop(frames: frames, start: now) }
  }

  // MARK: What comes out

  /// The composed picture as a camera; its pictures may also be published in a room.
  public func makeVideoSource() -> any VideoSource { ComposedPictures(self) }
  /// The mixed sound as a microphone; any number of them hear the same.
  public func makeAudioSource() -> any AudioSource {
    mixed.withLock { mixed in
      let sound = mixed.sound ?? SharedMicrophone(MixedSound(self), in: world)
      mixed.sound = sound
      return sound.makeSource()
    }
  }

  /// Pictures are composed as of so long ago: those that were under way for longer than their sound are still in time.
  static let pictureReserve = Duration.milliseconds(60)
  /// What sound can hold pictures up by.
  private static let longestWait = Duration.milliseconds(500)

  /// Each slot shows the frame that was captured at the same time as the audio that is mixed with it. Each source's audio is
  /// buffered for a different time on its way here, and the frames are delayed to match.
  func compose(at now: Tick) -> VideoFrame {
    if let loop = loop.withLock({ $0 }) { return compose(loop, at: now) }
    let placed = layout.withLock { $0.slots }
    let moment = now - Self.pictureReserve
    let delays = soundDelays(of: placed)
    // Half an interval early is as good as half an interval late.
    let slack = Duration.nanoseconds(Int64(0.5e9 / framesPerSecond))
    let drawn = placed.map { placed in
      let delay = delays[placed.picture.source ?? placed.slot.id] ?? .zero
      return (slot: placed.slot(at: now), frame: placed.picture.picture(takenBy: moment + slack - delay))
    }
    let ordered = drawn.enumerated().sorted {
      ($0.element.slot.zIndex, $0.offset) < ($1.element.slot.zIndex, $1.offset)
    }
    return pool.make(width: width, height: height, captured: moment) { planes in
      let painter = Painter(planes, pool: pool)
      painter.clear(background)
      for entry in ordered { painter.draw(entry.element.slot, entry.element.frame) }
    }
  }

  private func compose(_ loop: Loop, at now: Tick) -> VideoFrame {
    let number = Int((max(now - loop.start, .zero).inSeconds * framesPerSecond).rounded())
    let frame = loop.frames[number % loop.frames.count]
    return pool.make(width: width, height: height, captured: now - Self.pictureReserve) { planes in
      let painter = Painter(planes, pool: pool)
      painter.clear(background)
      painter.draw(Slot("loop", width: Double(width), height: Double(height)), frame)
    }
  }

  /// By source: how much later than it was taken sound is said to be of.
  private func soundDelays(of placed: [Placed]) -> [String: Duration] {
    let delays = placed.compactMap { placed in
      placed.sound.age.map { (placed.sound.source ?? placed.slot.id, $0 - SoundInput.wait) }
    }
    return Dictionary(delays) { max($0, $1) }
      .mapValues { min(max($0, .zero - Self.pictureReserve), Self.longestWait) }
  }

  func mix(into block: inout AudioBlock, at now: Tick) {
    var sums = [Int32](repeating: 0, count: AudioBlock.length * channels)
    for placed in layout.withLock({ $0.slots }) {
      placed.sound.add(to: &sums, gain: placed.slot(at: now).gain, at: now)
    }
    for index in sums.indices { block.samples[index] = Int16(clamping: sums[index]) }
    block.captured = now - SoundInput.wait  // when what needed no time on its way was taken
  }
}
