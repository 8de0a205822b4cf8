import Koine
import KoineTransport

extension Codec {
  /// Between Koine's programs the numbers are fixed.
  var payloadType: UInt8 {
    switch self {
    case .opus: 111
    case .vp8: 96
    case .vp9: 98
    }
  }
}

extension LinkStatistics.Outgoing {
  init(_ figures: PeerStatistics.Outgoing) {
    self.init()
    packets = figures.packets
    bytes = figures.bytes
    frames = figures.frames
    retransmitted = figures.retransmitted
    keyFrames = figures.keyFrames
    keyFramesRequested = figures.keyFrameRequests
    nacks = figures.nacksReceived
    reportedLoss = figures.reportedLoss
    reportedLost = figures.reportedLost
    reportedJitter = figures.reportedJitter
    roundTripTime = figures.roundTrip?.inMilliseconds
  }
}

extension LinkStatistics.Incoming {
  init(_ figures: PeerStatistics.Incoming) {
    self.init()
    packets = figures.packets
    bytes = figures.bytes
    frames = figures.frames
    lost = figures.lost
    recovered = figures.recovered
    nacks = figures.nacksSent
    keyFrames = figures.keyFrames
    keyFramesRequested = figures.keyFrameRequests
    jitter = figures.jitter
  }
}
