package import KoineBase
package import KoineRTP

/// How a peer is to behave.
package struct PeerConfiguration: Sendable {
  package enum Role: Sendable {
    /// Full ICE, controlling; begins the DTLS handshake.
    case client
    /// ICE-lite; waits for the handshake.
    case server
  }

  package var ice: ICEAgent.Role
  /// nil: the descriptions decide (`actpass`, RFC 8842 section 5).
  package var dtls: DTLSEndpoint.Role?
  package var certificate: Certificate
  package var extensions = HeaderExtensionMap.koine
  /// Whether the first packets of a stream carry its mid. Only for a remote peer that knows the stream by this mid: others drop packets
  /// with a mid that they do not know, also if they know the source (RFC 9143, section 9.2).
  package var namesStreams = true
  /// In bit/s.
  package var startBitrate = 1_500_000
  package var minimumBitrate = 50_000
  package var maximumBitrate = 20_000_000
  /// Every RTP and RTCP packet before protection and after it has been opened; for traces.
  package var tracesPlaintext: (@Sendable (UnsafeRawBufferPointer) -> Void)?

  package init(ice: ICEAgent.Role, dtls: DTLSEndpoint.Role?, certificate: Certificate) {
    self.ice = ice
    self.dtls = dtls
    self.certificate = certificate
  }

  package init(role: Role, certificate: Certificate) {
    switch role {
    case .client: self.init(ice: .full(controlling: true), dtls: .client, certificate: certificate)
    case .server: self.init(ice: .lite, dtls: .server, certificate: certificate)
    }
  }
}

package enum PeerEvent: Sendable {
  /// Keys stand: media flows both ways.
  case connected
  /// No sign of the other end for as long as consent lasts (RFC 7675), or the handshake failed.
  case failed(String)
  /// The other end has said goodbye. Nothing follows.
  case closed
  case frame(ReceiverID, EncodedFrame)
  case packet(ReceiverID, SharedPacket)
  /// A sender report of the publisher, for a router that forwards its stream.
  case senderReport(ReceiverID, layer: Int, SenderReport)
  case keyFrameRequested(SenderID, layer: Int)
  /// In bit/s and 0...1.
  case estimate(bitrate: Int, loss: Double)
  /// The other end has stopped answering media, or answers again (servers only). The router holds media back accordingly.
  case mediaHold(MediaHold)
}
