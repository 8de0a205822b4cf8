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

  /// The highest layer that is being sent and fits the receiver's share of its path; going up needs some room to spare.
  func bestLayer(for forwarder: Forwarder, at now: Tick) -> Int {
    let track = forwarder.track
    let live = track.layers.indices.filter { layer in
      track.layers[layer].lastPacket.map { now - $0 < Self.silence } ?? false
    }
    let candidates = live.isEmpty ? Array(track.layers.indices) : live
    guard let bitrate = forwarder.receiver.bitrate else { return candidates.last ?? 0 }
    let pictures = forwarder.receiver.subscriptions.count { !$0.track.codec.isAudio && !$0.isPaused }
    let share = bitrate * 9 / 10 / max(pictures, 1)
    let best = candidates.last { layer in
      let needed = track.media.encodings[layer].maxBitrate ?? 0
      return layer > forwarder.target ? needed <= share * 5 / 6 : needed <= share
    }
    return best ?? candidates.first ?? 0
  }
}
