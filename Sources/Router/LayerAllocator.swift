import KoineBase
import KoineSignaling

/// Decides which simulcast layer, and which temporal layers of it, one receiver gets of each of its video streams, so that
/// all streams together fit the bitrate of the receiver's path.
///
/// One for each receiver. `updateEstimate` takes every new bandwidth estimate; `reset` forgets the estimate with the path.
/// `allocate` is called when the estimate, a subscription or a preference has changed, and every 500 ms, because layers
/// come and go. It answers with decisions and changes nothing: `Room` carries them out.
///
/// Every stream gets its smallest choice, then all streams rise in turn, those of higher priority first. A switch up needs
/// 10 % more than the layer takes, and `LayerUpgradeBackoff` delays it after a failed attempt. All rates are in bit/s.
struct LayerAllocator {
  /// One operating point of a stream.
  struct Choice: Equatable {
    var layer: Int
    /// The highest temporal layer that is forwarded; `TemporalFilter.all` for all of them.
    var temporalLayers: Int
    var rate: Double
  }

  /// A simulcast layer as its publisher sends it now.
  struct Layer {
    /// 0 is the smallest.
    var number: Int
    /// Whether packets arrive, or can be expected once the layer is asked for.
    var isAvailable = true
    /// Temporal layers that have been seen; at least 1.
    var temporalLayers = 1
    /// Rows of a frame; nil: not known.
    var height: Int?
    /// The limit that the publisher has announced.
    var maximumBitrate: Int?
    /// What the layer takes now.
    var bitrate: Int?
    /// What the layer took when it was last sent.
    var lastBitrate: Int?
  }

  /// A video stream that the receiver is subscribed to and that is not paused.
  struct Stream {
    let preference: LayerPreference
    /// The layer that is forwarded now; nil while the receiver waits for a key frame.
    let current: Int?
    /// The layer and temporal layer that the last allocation decided on.
    let target: Int
    let temporalTarget: Int
    /// Whether `LayerUpgradeBackoff` allows a higher layer now.
    let mayGoUp: Bool
    /// In order of rising rate: the smallest layer with fewer temporal layers, then each layer whole.
    let choices: [Choice]
    private let layers: [Layer]

    /// - Parameter layers: at least one, from the smallest.
    init(
      _ layers: [Layer], preference: LayerPreference = LayerPreference(), current: Int?, target: Int,
      temporalTarget: Int = TemporalFilter.all, mayGoUp: Bool = true
    ) {
      (self.layers, self.preference) = (layers, preference)
      (self.current, self.target, self.temporalTarget) = (current, target, temporalTarget)
      self.mayGoUp = mayGoUp
      choices = LayerAllocator.choices(layers, preference, current: current, target: target)
    }

    /// The rate of the smallest choice.
    var least: Double { choices.first?.rate ?? 0 }

    fileprivate func isUp(_ choice: Choice) -> Bool {
      (choice.layer, choice.temporalLayers) > (target, temporalTarget)
    }

    /// Whether the path carries the lowest temporal layer of the current layer until the switch to `choice` happens.
    fileprivate func carriesBase(until choice: Choice) -> Bool {
      guard let current, current > choice.layer else { return true }
      let share = LayerAllocator.temporalShares(layers[current].temporalLayers).first ?? 1
      return LayerAllocator.rate(of: layers[current], isForwarded: current == target) * share <= choice.rate * 2
    }
  }

  /// A change to one stream.
  struct Decision: Equatable {
    enum Direction { case up, down, neither }

    var choice: Choice
    /// Whether the lowest temporal layer of the current layer is forwarded until the switch down happens.
    var keepsBase: Bool
    /// Whether the receiver gets a higher layer, or a lower one although the higher one is available. `neither` where
    /// nothing is forwarded yet, where only temporal layers change, or where the target layer has gone.
    var direction: Direction
  }

  struct Allocation: Equatable {
    /// One for each stream, in the given order; nil: nothing changes.
    var decisions: [Decision?]
    /// What all streams take on a path that carries everything.
    var wanted: Double
  }

  /// What an audio stream takes with headers, and each redundant copy of its payloads (RFC 2198).
  private static let audioRate = 48_000.0, copyRate = 31_000.0
  /// Of the estimate; the rest is for retransmissions and control.
  private static let usable = 0.95
  /// Congestion control does not report changes of 2 %.
  private static let unreported = 1.03
  /// A switch up needs so much more than staying.
  private static let margin = 1.1

  /// In bit/s; nil before the first.
  private(set) var estimate: Int?
  /// The last estimate for which `updateEstimate` returned true.
  private var lastUrgent: Int?

  /// - Returns: false where the new estimate, in bit/s, differs by at most 4 % from the last one for which the answer was true: the
  ///   next regular check is soon enough.
  mutating func updateEstimate(_ bitrate: Int) -> Bool {
    estimate = bitrate
    if let lastUrgent, abs(bitrate - lastUrgent) <= lastUrgent / 25 { return false }
    lastUrgent = bitrate
    return true
  }

  /// The receiver has another path, of which nothing is known.
  mutating func reset() { (estimate, lastUrgent) = (nil, nil) }

  // MARK: Bitrates

  static func rate(ofAudioWithCopies copies: Int) -> Double { audioRate + copyRate * Double(copies) }

  /// The bitrate that audio leaves for video; infinite until the first estimate.
  func headroom(besideAudio audio: Double) -> Double {
    (estimate.map(Double.init) ?? .infinity) * Self.usable - audio
  }

  /// The bitrate, up to the protocol's limit, that congestion control should look for: enough to go up to the last choice.
  /// With less, the estimate could stop growing just below it, or be reported just below it.
  static func wantedBitrate(video: Double, audio: Double) -> Int {
    Int(min((video * margin + audio) / usable * unreported, Double(SignalingLimits.bitrate)))
  }

  // MARK: Allocation

  /// - Parameters:
  ///   - streams: those of higher priority first.
  ///   - headroom: for all of them.
  static func allocate(_ streams: [Stream], within headroom: Double) -> Allocation {
    var result = Allocation(decisions: [], wanted: 0)
    var left = headroom
    var next = streams[...]
    while let priority = next.first?.preference.priority {
      let equals = next.prefix { $0.preference.priority == priority }
      next = next.dropFirst(equals.count)
      let taken = share(&left, among: equals)
      for (stream, choice) in zip(equals, taken) {
        result.decisions.append(decision(for: stream, stream.choices[choice]))
      }
      result.wanted += equals.reduce(0) { $0 + ($1.choices.last?.rate ?? 0) }
    }
    return result
  }

  /// - Returns: the choice of each stream, by its place.
  private static func share(_ left: inout Double, among streams: ArraySlice<Stream>) -> [Int] {
    var taken = [Int](repeating: 0, count: streams.count)
    for stream in streams { left -= stream.least }
    for step in 1..<max(streams.map(\.choices.count).max() ?? 1, 1) {
      // A stream that keeps what it has comes before one that rises: none falls so that another may rise to the same step.
      for rises in [false, true] {
        for (index, stream) in streams.enumerated() where taken[index] == step - 1 && step < stream.choices.count {
          let (from, to) = (stream.choices[step - 1], stream.choices[step])
          guard stream.isUp(to) == rises else { continue }
          if rises, to.layer > stream.target, !stream.mayGoUp { continue }
          guard to.rate * (rises ? margin : 1) - from.rate <= left else { continue }
          left -= to.rate - from.rate
          taken[index] = step
        }
      }
    }
    return taken
  }

  private static func decision(for stream: Stream, _ choice: Choice) -> Decision? {
    guard choice.layer != stream.target || choice.temporalLayers != stream.temporalTarget else { return nil }
    var direction = Decision.Direction.neither
    if stream.current != nil, choice.layer > stream.target { direction = .up }
    if stream.current != nil, choice.layer < stream.target,
      stream.choices.contains(where: { $0.layer == stream.target })
    {
      direction = .down
    }
    return Decision(choice: choice, keepsBase: stream.carriesBase(until: choice), direction: direction)
  }

  // MARK: Choices

  private static func choices(
    _ layers: [Layer], _ preference: LayerPreference, current: Int?, target: Int
  ) -> [Choice] {
    let available = layers.filter(\.isAvailable)
    var result: [Choice] = []
    for (index, layer) in wanted(available.isEmpty ? layers : available, preference).enumerated() {
      let rate = rate(of: layer, isForwarded: layer.number == current && layer.number == target)
      if index == 0 {
        for (temporal, share) in temporalShares(layer.temporalLayers).enumerated() {
          result.append(Choice(layer: layer.number, temporalLayers: temporal, rate: rate * share))
        }
      }
      // A publisher may send a small layer that takes more than the next one: such a layer is of no use.
      while let last = result.last, last.rate > rate, result.count > 1 { result.removeLast() }
      result.append(Choice(layer: layer.number, temporalLayers: TemporalFilter.all, rate: rate))
    }
    return result
  }

  private static func wanted(_ layers: [Layer], _ preference: LayerPreference) -> [Layer] {
    if let pinned = preference.layer {
      let its = layers.filter { $0.number == pinned }
      return its.isEmpty ? layers : its
    }
    guard let rows = preference.maximumHeight else { return layers }
    // The smallest layer that fills the rows, and those below it for poorer paths.
    let enough = layers.first { $0.height ?? 0 >= rows }
    return enough.map { enough in layers.filter { $0.number <= enough.number } } ?? layers
  }

  /// What the lower temporal layers take of the whole, as our encoders share it out.
  private static func temporalShares(_ layers: Int) -> [Double] {
    switch layers {
    case 2: [0.6]
    case 3...: [0.4, 0.6]
    default: []
    }
  }

  /// The limit that the publisher has announced; of the layer that is forwarded, what it takes. Without a limit, as in SDP:
  /// what the layer takes, or took when it was last sent, or an estimate where it was never sent.
  private static func rate(of layer: Layer, isForwarded: Bool) -> Double {
    let measured = layer.bitrate.map { Double($0) * margin }
    guard let allowed = layer.maximumBitrate.map(Double.init) else {
      return measured ?? layer.lastBitrate.map { Double($0) * margin } ?? usualRate(ofLayer: layer.number)
    }
    return isForwarded ? min(measured ?? allowed, allowed) : allowed
  }

  /// Of a layer about which nothing is known: each has four times the pixels of the one before.
  private static func usualRate(ofLayer layer: Int) -> Double { 100_000 * Double(1 << (2 * min(layer, 4))) }
}

/// Delays the next switch to a higher layer after one that failed: a receiver that had to come down within 10 s of going up
/// waits 4 s, then 8, 16 and at most 30 s.
struct LayerUpgradeBackoff {
  private static let soon = Duration.seconds(10)
  private static let first = Duration.seconds(4)
  private static let longest = Duration.seconds(30)
  private var wentUp: Tick?
  private var pause = first
  private var until: Tick?

  func mayGoUp(at now: Tick) -> Bool { until.map { $0 <= now } ?? true }

  mutating func wentUp(at now: Tick) { wentUp = now }

  /// The path does not carry the higher layer.
  mutating func cameDown(at now: Tick) {
    if let wentUp, now - wentUp < Self.soon {
      until = now + pause
      pause = min(pause * 2, Self.longest)
    } else {
      pause = Self.first
    }
    wentUp = nil
  }

  /// The receiver's preference has changed: earlier attempts say nothing about the next one.
  mutating func reset() { self = LayerUpgradeBackoff() }
}
