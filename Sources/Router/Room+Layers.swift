import KoineBase
import KoineSignaling
import KoineTransport

// Simulcast: which of a publisher's layers each receiver gets, by what its path carries.

extension Room {
  private static let checkInterval: Duration = .milliseconds(500)
  /// A layer without packets for so long is not being sent.
  private static let silence: Duration = .seconds(1)

  func estimated(_ bitrate: Int, for member: Member, at now: Tick) {
    member.bitrate = bitrate
    for forwarder in member.subscriptions where forwarder.track.layers.count > 1 { chooseLayer(of: forwarder, at: now) }
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
      for track in member.tracks where track.layers.count > 1 && !track.forwarders.isEmpty {
        nextLayerCheck = now + Self.checkInterval
        for forwarder in track.forwarders { chooseLayer(of: forwarder, at: now) }
      }
    }
  }

  private func chooseLayer(of forwarder: Forwarder, at now: Tick) {
    let layer = bestLayer(for: forwarder, at: now)
    guard layer != forwarder.target else { return }
    if forwarder.choose(layer) { requestKeyFrame(of: forwarder.track, layer: layer, at: now) }
  }

  func prefer(_ preferences: [LayerPreference], of member: Member, at now: Tick) {
    for wish in preferences {
      guard let forwarder = member.subscriptions.first(where: { $0.track.reference == wish.reference }) else {
        continue
      }
      forwarder.preference = .init(layer: wish.layer, maxHeight: wish.maxHeight, priority: wish.priority)
    }
    for forwarder in member.subscriptions where forwarder.track.layers.count > 1 { chooseLayer(of: forwarder, at: now) }
  }

  /// The highest layer that is being sent, is wanted, and fits the receiver's share of its path; going up needs some room
  /// to spare. A pinned layer is taken as long as it is sent.
  func bestLayer(for forwarder: Forwarder, at now: Tick) -> Int {
    let track = forwarder.track
    let live = track.layers.indices.filter { layer in
      track.layers[layer].lastPacket.map { now - $0 < Self.silence } ?? false
    }
    let candidates = wanted(live.isEmpty ? Array(track.layers.indices) : live, by: forwarder)
    guard let share = share(of: forwarder) else { return candidates.last ?? 0 }
    let best = candidates.last { layer in
      let needed = track.media.encodings[layer].maxBitrate ?? 0
      return layer > forwarder.target ? needed <= share * 5 / 6 : needed <= share
    }
    return best ?? candidates.first ?? 0
  }

  private func wanted(_ layers: [Int], by forwarder: Forwarder) -> [Int] {
    if let pinned = forwarder.preference.layer { return layers.filter { $0 == pinned }.isEmpty ? layers : [pinned] }
    guard let rows = forwarder.preference.maxHeight else { return layers }
    let encodings = forwarder.track.media.encodings
    // The smallest layer that fills the rows, and those below it for poorer paths.
    let enough = layers.first { (encodings[$0].maxHeight ?? 0) >= rows }
    return enough.map { enough in layers.filter { $0 <= enough } } ?? layers
  }

  /// In bit/s; nil while nothing is known of the path. What pictures of higher priority may take comes off first; those of
  /// the same priority share alike.
  private func share(of forwarder: Forwarder) -> Int? {
    guard let bitrate = forwarder.receiver.bitrate else { return nil }
    var rest = bitrate * 9 / 10
    var equals = 0
    for other in forwarder.receiver.subscriptions where !other.track.codec.isAudio && !other.isPaused {
      if other.preference.priority > forwarder.preference.priority {
        rest -= other.track.media.encodings[other.target].maxBitrate ?? 0
      } else if other.preference.priority == forwarder.preference.priority {
        equals += 1
      }
    }
    return max(rest, 0) / max(equals, 1)
  }
}
