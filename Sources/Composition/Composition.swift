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

  public let width, height: Int
  public let framesPerSecond: Double
  public let background: Color
  public let world: World
  private let layout = Lock(Layout())
  private let pool = FramePool(limit: 8)

  /// - Parameters: width, height: in pixels, 16...4,096 each; other values are moved there.
  public init(
    width: Int, height: Int, framesPerSecond: Double = 30, background: Color = .black, in world: World
  ) {
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
      layout.slots.append(Placed(slot: slot, picture: PictureInput(), sound: SoundInput()))
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

  /// Changes a slot, at once or gradually; whoever feeds it goes on doing so.
  /// - Returns: false if there is none of this name.
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

  /// Where a slot's pictures go in; the newest is shown. Nil if there is no such slot.
  public func pictureInput(_ id: Slot.ID) -> (any PictureInlet)? { placed(id)?.picture }
  /// Where a slot's sound goes in, one source at a time.
  public func soundInput(_ id: Slot.ID) -> (any SoundInlet)? { placed(id)?.sound }

  private func placed(_ id: Slot.ID) -> Placed? { layout.withLock { $0.slots.first { $0.slot.id == id } } }

  // MARK: What comes out

  /// The composed picture as a camera; its pictures may also be published in a room.
  public func makeVideoSource() -> any VideoSource { ComposedPictures(self) }
  /// The mixed sound as a microphone, mono.
  public func makeAudioSource() -> any AudioSource { MixedSound(self) }

  func compose(at now: Tick) -> VideoFrame {
    let placed = layout.withLock { $0.slots }
    let drawn = placed.map { (slot: $0.slot(at: now), frame: $0.picture.latest) }
    let ordered = drawn.enumerated().sorted {
      ($0.element.slot.zIndex, $0.offset) < ($1.element.slot.zIndex, $1.offset)
    }
    return pool.make(width: width, height: height, captured: now) { planes in
      let painter = Painter(planes, pool: pool)
      painter.clear(background)
      for entry in ordered { painter.draw(entry.element.slot, entry.element.frame) }
    }
  }

  func mix(into block: inout AudioBlock, at now: Tick) {
    var sums = [Int32](repeating: 0, count: AudioBlock.length)
    for placed in layout.withLock({ $0.slots }) {
      placed.sound.add(to: &sums, gain: placed.slot(at: now).gain)
    }
    for index in sums.indices { block.samples[index] = Int16(clamping: sums[index]) }
    block.captured = now - SoundInput.wait  // when it came: pictures do not wait
  }
}
