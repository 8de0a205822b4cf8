import KoineBase
import KoineSignaling
import KoineTransport

// Which of a publisher's layers each receiver gets, by what its path carries, and which layers a publisher has to send.

extension Room {
  private static let checkInterval: Duration = .milliseconds(500)
  /// For as long a layer that was asked for may be silent: where there is another one meanwhile, and where not.
  private static let patience = (with: Duration.milliseconds(1_500), without: Duration.milliseconds(700))
  /// In bit/s: what a voice takes with headers, and each copy of its payloads (RFC 2198) beside it.
  private static let voiceRate = 48_000.0, copyRate = 31_000.0
  /// Of the estimate; the rest is for retransmissions and control.
  private static let usable = 0.95
  /// Going up needs so much more than staying.
  private static let room = 1.1

  func estimated(_ bitrate: Int, for member: Member, at now: Tick) {
    if let old = member.bitrate, abs(bitrate - old) <= old / 25 { return }  // the next check will do
    member.bitrate = bitrate
    allocate(to: member, at: now)
  }

  func watchLayers(at now: Tick) {
    if nextLayerCheck == nil { nextLayerCheck = now + Self.checkInterval }
    needsSettling = true
  }

  /// Looks whether layers have come or gone.
  func checkLayers(at now: Tick) {
    guard let due = nextLayerCheck, due <= now else { return }
    nextLayerCheck = nil
    for member in members {
      for track in member.tracks where !track.codec.isAudio {
        if track.layers.count > 1 || !track.forwarders.isEmpty { nextLayerCheck = now + Self.checkInterval }
        track.measure(at: now)
      }
    }
    for member in members where !member.subscriptions.isEmpty { allocate(to: member, at: now) }
    for member in members { for track in member.tracks { tellWanted(of: track, at: now) } }
  }

  func prefer(_ preferences: [TrackPreference], of member: Member, at now: Tick) {
    let forwarders = Dictionary(
      member.subscriptions.map { ($0.track.id, $0) }, uniquingKeysWith: { first, _ in first })
    for wish in preferences {
      guard let forwarder = forwarders[wish.track] else { continue }
      forwarder.preference = wish.preference
      forwarder.receiverWishesKeyFrame(.layer)
      forwarder.caution.forget()
    }
    allocate(to: member, at: now)
  }

  // MARK: What a receiver gets

  /// One thing a receiver may get of a track.
  private struct Choice {
    var layer: Int
    var temporalLayers: Int
    /// In bit/s.
    var rate: Double
  }

  /// Shares the receiver's path among the pictures it gets: each the least there is, then all more in turn, those of
  /// higher priority first.
  func allocate(to member: Member, at now: Tick) {
    var pictures: [Forwarder] = []
    var rest = (member.bitrate.map(Double.init) ?? .infinity) * Self.usable
    var wishes = 0.0
    var voices = 0.0
    for forwarder in member.subscriptions where !forwarder.isPaused {
      if forwarder.track.codec.isAudio {
        voices += Self.voiceRate + Self.copyRate * Double(forwarder.copies)
      } else {
        pictures.append(forwarder)
      }
    }
    rest -= voices
    pictures.sort { $0.preference.priority > $1.preference.priority }  // stable
    wishes += letRest(&pictures, room: rest, isSilent: member.seat.peer.isSilent, at: now)
    var next = pictures[...]
    while let priority = next.first?.preference.priority {
      let equals = next.prefix { $0.preference.priority == priority }
      next = next.dropFirst(equals.count)
      wishes += allocate(&rest, among: equals, at: now)
    }
    // As much as going up to the last choice takes: with less the estimate could stop growing just below it. A number that
    // no path carries is as good as any larger one.
    let wanted = (wishes * Self.room + voices) / Self.usable
    if member.seat.peer.want(Int(min(wanted, Double(SignalingLimits.bitrate))), at: now) { peers.touch(member.seat) }
    for forwarder in pictures where !forwarder.track.layers[forwarder.target].isOn {
      tellWanted(of: forwarder.track, at: now)
    }
    for forwarder in pictures { requestKeyFrame(for: forwarder, at: now) }
  }

  /// - Returns: what they would take on a path that carries all, in bit/s.
  private func allocate(_ rest: inout Double, among pictures: ArraySlice<Forwarder>, at now: Tick) -> Double {
    let choices = pictures.map { self.choices(for: $0, at: now) }
    var taken = [Int](repeating: 0, count: choices.count)
    for list in choices { rest -= list[0].rate }
    for step in 1..<max(choices.map(\.count).max() ?? 1, 1) {
      // Who has so much already comes first: nobody's picture falls so that another's may rise to the same.
      for rises in [false, true] {
        for (index, list) in choices.enumerated() where taken[index] == step - 1 && step < list.count {
          let (from, to) = (list[step - 1], list[step])
          let forwarder = pictures[pictures.startIndex + index]
          guard isUp(to, for: forwarder) == rises else { continue }
          if rises, to.layer > forwarder.target, !forwarder.caution.mayGoUp(at: now) { continue }
          guard to.rate * (rises ? Self.room : 1) - from.rate <= rest else { continue }
          rest -= to.rate - from.rate
          taken[index] = step
        }
      }
    }
    for (index, list) in choices.enumerated() {
      give(list[taken[index]], of: list, to: pictures[pictures.startIndex + index], at: now)
    }
    return choices.reduce(0) { $0 + ($1.last?.rate ?? 0) }
  }

  private func isUp(_ choice: Choice, for forwarder: Forwarder) -> Bool {
    (choice.layer, choice.temporalLayers) > (forwarder.target, forwarder.temporalTarget)
  }

  private func give(_ choice: Choice, of list: [Choice], to forwarder: Forwarder, at now: Tick) {
    guard choice.layer != forwarder.target || choice.temporalLayers != forwarder.temporalTarget else { return }
    if forwarder.current != nil {
      if choice.layer > forwarder.target { forwarder.caution.goesUp(at: now) }
      // Else the layer it had is not to be had any more.
      if choice.layer < forwarder.target, list.contains(where: { $0.layer == forwarder.target }) {
        forwarder.caution.comesDown(at: now)
      }
    }
    _ = forwarder.choose(
      choice.layer, temporalLayers: choice.temporalLayers, keepsBase: carriesBase(of: forwarder, instead: choice))
  }

  /// Whether what it has now could go on in its lowest temporal layer where there is room for `choice`.
  private func carriesBase(of forwarder: Forwarder, instead choice: Choice) -> Bool {
    guard let current = forwarder.current, current > choice.layer else { return true }
    let share = Self.temporalShares(forwarder.track.layers[current].temporalLayers).first ?? 1
    return rate(of: current, for: forwarder) * share <= choice.rate * 2
  }

  /// In bit/s.
  func least(of forwarder: Forwarder, at now: Tick) -> Double { choices(for: forwarder, at: now).first?.rate ?? 0 }

  /// What there is for it, from the least: the smallest layer with fewer pictures, then each layer whole.
  private func choices(for forwarder: Forwarder, at now: Tick) -> [Choice] {
    let layers = wanted(available(for: forwarder, at: now), by: forwarder)
    var result: [Choice] = []
    for (index, layer) in layers.enumerated() {
      let rate = rate(of: layer, for: forwarder)
      if index == 0 {
        let shares = Self.temporalShares(forwarder.track.layers[layer].temporalLayers)
        for (temporal, share) in shares.enumerated() {
          result.append(Choice(layer: layer, temporalLayers: temporal, rate: rate * share))
        }
      }
      // Somebody may send a small layer that takes more than the next one: then it is of no use.
      while let last = result.last, last.rate > rate, result.count > 1 { result.removeLast() }
      result.append(Choice(layer: layer, temporalLayers: TemporalFilter.all, rate: rate))
    }
    return result
  }

  /// What the lower temporal layers take of the whole, as our encoders share it out.
  private static func temporalShares(_ layers: Int) -> [Double] {
    switch layers {
    case 2: [0.6]
    case 3...: [0.4, 0.6]
    default: []
    }
  }

  /// In bit/s. The limit that its publisher has announced; of the layer that is forwarded, what it takes. Without a limit, as
  /// in SDP: what it takes, or took when it was last sent, or an estimate where it was never sent.
  private func rate(of layer: Int, for forwarder: Forwarder) -> Double {
    let track = forwarder.track
    let allowed = track.media.encodings[layer].maxBitrate.map(Double.init)
    let measured = track.layers[layer].bitrate.map { Double($0) * Self.room }
    guard let allowed else {
      return measured ?? track.layers[layer].lastBitrate.map { Double($0) * Self.room }
        ?? Self.usualRate(ofLayer: layer)
    }
    return layer == forwarder.current && layer == forwarder.target ? min(measured ?? allowed, allowed) : allowed
  }

  /// In bit/s, of a layer about which nothing is known: each has four times the pixels of the one before.
  private static func usualRate(ofLayer layer: Int) -> Double { 100_000 * Double(1 << (2 * min(layer, 4))) }

  /// The layers that are being sent, or would be if they were asked for.
  private func available(for forwarder: Forwarder, at now: Tick) -> [Int] {
    let track = forwarder.track
    let patience = forwarder.current == nil ? Self.patience.without : Self.patience.with
    let layers = track.layers.indices.filter { track.layers[$0].isAvailable(at: now, patience: patience) }
    return layers.isEmpty ? Array(track.layers.indices) : layers
  }

  private func wanted(_ layers: [Int], by forwarder: Forwarder) -> [Int] {
    if let pinned = forwarder.preference.layer { return layers.filter { $0 == pinned }.isEmpty ? layers : [pinned] }
    guard let rows = forwarder.preference.maximumHeight else { return layers }
    // The smallest layer that fills the rows, and those below it for poorer paths.
    let enough = layers.first { forwarder.track.height(of: $0) ?? 0 >= rows }
    return enough.map { enough in layers.filter { $0 <= enough } } ?? layers
  }

  // MARK: What a publisher sends

  /// Tells the publisher which layers anybody wants, when that changes: at once when more are wanted, after a while when
  /// fewer are.
  func tellWanted(of track: PublishedTrack, at now: Tick) {
    guard track.layers.count > 1, !track.track.isMuted else { return }
    var hasChanged = false
    for layer in track.layers.indices {
      let isWanted = track.forwarders.contains { $0.wants(layer) }
      let changes = isWanted ? track.layers[layer].turnOn(at: now) : track.layers[layer].nobodyWants(at: now)
      hasChanged = hasChanged || changes
    }
    guard hasChanged else { return }
    outbox.post(
      .wanted(trackID: track.id.track, layers: track.layers.indices.filter { track.layers[$0].isOn }),
      to: track.owner.connection)
  }
}
