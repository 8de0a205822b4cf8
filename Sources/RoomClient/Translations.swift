import Koine
import KoineSignaling
import KoineTransport

// The room protocol's words in the common layer's, and back.

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

extension Track.Kind {
  init(_ kind: Koine.Stream.Kind) {
    switch kind {
    case .microphone: self = .microphone
    case .camera: self = .camera
    case .screen: self = .screen
    case .screenSound: self = .screenSound
    }
  }
}

extension Koine.Stream {
  init(_ track: Track, of participant: String) {
    let kind: Kind =
      switch track.kind {
      case .microphone: .microphone
      case .camera: .camera
      case .screen: .screen
      case .screenSound: .screenSound
      }
    self.init(id: ID(participant: participant, track: track.id), kind: kind, isMuted: track.muted)
  }
}

extension Koine.Participant {
  init(_ participant: KoineSignaling.Participant) {
    self.init(
      id: participant.id, name: participant.name, externalUserID: participant.externalID,
      attributes: participant.attributes, streams: participant.tracks.map { Stream($0, of: participant.id) })
  }
}

extension ReceivedMessage {
  init(_ data: ReceivedData, isHistory: Bool) {
    self.init(
      sender: data.from, topic: data.topic, payload: data.payload, order: data.order,
      age: .milliseconds(data.ageMilliseconds), isHistory: isHistory)
  }
}

extension DepartureReason {
  init(_ reason: LeaveReason) {
    switch reason {
    case .left: self = .left
    case .dropped: self = .dropped
    case .removed: self = .removed
    }
  }
}

extension Koine.EndReason {
  init(_ reason: KoineSignaling.EndReason) {
    switch reason {
    case .left: self = .left
    case .duplicate: self = .duplicate
    case .removed: self = .removed
    case .expired: self = .expired
    case .closed: self = .roomClosed
    default: self = .lost
    }
  }
}

extension SessionError {
  init(_ failure: Failure) {
    let code: Code =
      switch failure.code {
      case .unauthorized: .invalidCredential
      case .forbidden: .notPermitted
      case .roomFull: .roomFull
      case .denied: .denied
      case .tooLarge: .tooLarge
      case .tooMany: .tooMany
      default: Code(rawValue: failure.code.rawValue)
      }
    self.init(code, failure.message)
  }
}

extension PathQuality {
  init(_ report: PathReport) {
    func quality(_ step: Int) -> SignalQuality { SignalQuality(rawValue: min(max(step, 0), 2)) ?? .high }
    self.init(sending: quality(report.sending), receiving: quality(report.receiving))
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
