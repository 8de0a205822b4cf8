import KoineBase
import KoineSignaling

// Carries out what `StarvationDetector` decides.

extension Room {
  /// Pauses a receiver's video streams that do not fit the bitrate of its path, and resumes them once they fit again.
  /// - Parameters:
  ///   - forwarders: by falling priority; those that starve are taken out.
  ///   - headroom: in bit/s, for all of them.
  ///   - isSilent: the receiver sends no feedback.
  /// - Returns: what the starved streams need in order to go on, in bit/s.
  func pauseStarved(_ forwarders: inout [Forwarder], headroom: Double, isSilent: Bool, at now: Tick) -> Double {
    var streams = forwarders.map { forwarder in
      StarvationDetector.Stream(
        detector: forwarder.starvation,
        least: forwarder.track.track.isMuted ? 0 : stream(of: forwarder, at: now).least)
    }
    let decision = StarvationDetector.review(&streams, headroom: headroom, isSilent: isSilent, at: now)
    for (forwarder, stream) in zip(forwarders, streams) { forwarder.starvation = stream.detector }
    for index in decision.resumed { tellStarved(forwarders[index]) }
    if let index = decision.paused {
      forwarders[index].stop()
      cancelIdleRequests(of: forwarders[index].track)
      tellStarved(forwarders[index])
    }
    let starved = forwarders.filter(\.starvation.isStarved)
    forwarders.removeAll(where: \.starvation.isStarved)
    return starved.reduce(0) { $0 + $1.starvation.need(stream(of: $1, at: now).least) }
  }

  /// The receiver has paused the stream itself.
  func endStarvation(of forwarder: Forwarder) {
    if forwarder.starvation.reset() { tellStarved(forwarder) }
  }

  private func tellStarved(_ forwarder: Forwarder) {
    outbox.post(
      .starved(forwarder.track.id, forwarder.starvation.isStarved), to: forwarder.receiver.client)
  }
}
