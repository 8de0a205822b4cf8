import KoineBase
package import KoineRTP

/// How a peer is to behave.
package struct PeerConfiguration: Sendable {
  package enum Role: Sendable {
    /// Full ICE, controlling; begins the DTLS handshake.
    case client
    /// ICE-lite; waits for the handshake.
    case server
  }

  package var role: Role
  package var certificate: Certificate
  package var extensions = HeaderExtensionMap.koine
  /// In bit/s.
  package var startBitrate = 1_500_000
  package var minimumBitrate = 150_000
  package var maximumBitrate = 20_000_000
  /// Every RTP and RTCP packet before protection and after it has been opened; for traces.
  package var tracesPlaintext: (@Sendable (UnsafeRawBufferPointer) -> Void)?

  package init(role: Role, certificate: Certificate) {
    self.role = role
    self.certificate = certificate
  }
}

package enum PeerEvent: Sendable {
  /// Keys stand: media flows both ways.
  case connected
  /// No sign of the other end for as long as consent lasts (RFC 7675), or the handshake failed.
  case failed(String)
  case frame(ReceiverID, EncodedFrame)
  case packet(ReceiverID, SharedPacket)
  /// A sender report of the publisher, for those who pass its stream on.
  case senderReport(ReceiverID, layer: Int, SenderReport)
  case keyFrameRequested(SenderID, layer: Int)
  /// In bit/s and 0...1.
  case estimate(bitrate: Int, loss: Double)
}

/// What a peer counts.
package struct PeerStatistics: Sendable, Hashable {
  package struct Outgoing: Sendable, Hashable {
    package var packets = 0
    package var bytes = 0
    package var frames = 0
    package var retransmitted = 0
    package var nacksReceived = 0
    package var keyFrameRequests = 0
    package var reportedLoss = 0.0
  }

  package struct Incoming: Sendable, Hashable {
    package var packets = 0
    package var bytes = 0
    package var frames = 0
    package var lost = 0
    package var recovered = 0
    package var nacksSent = 0
    package var keyFrameRequests = 0
    /// In milliseconds.
    package var jitter = 0.0
  }

  package var outgoing: [SenderID: Outgoing] = [:]
  package var incoming: [ReceiverID: Incoming] = [:]
  package var roundTrip: Duration?
  package var availableBitrate = 0
  /// Datagrams that were not understood, not opened, or of no stream.
  package var dropped = 0
}
