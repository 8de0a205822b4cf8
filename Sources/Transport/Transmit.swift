package import KoineBase

/// A datagram that stands in the caller's memory, ready to go.
package struct Transmit: Hashable, Sendable {
  package var count: Int
  package var source: TransportAddress
  package var destination: TransportAddress

  package init(count: Int, source: TransportAddress, destination: TransportAddress) {
    self.count = count
    self.source = source
    self.destination = destination
  }
}

/// What one end tells the other by signalling, before any packet flows.
public struct PeerDescription: Codable, Sendable, Hashable {
  /// The part in the DTLS handshake (RFC 5763): the active end begins it. `actpass` leaves the choice to the answer.
  public enum Setup: String, Codable, Sendable { case active, passive, actpass }

  public var ice: ICECredentials
  public var candidates: [ICECandidate]
  public var fingerprint: Fingerprint
  /// RFC 8445, 2.5: answers checks and makes none of its own.
  public var isLite: Bool
  public var setup: Setup
  /// The payload type under which the peer takes audio that repeats earlier payloads (RFC 2198); nil if it takes none.
  public var redPayloadType: UInt8?

  public init(
    ice: ICECredentials, candidates: [ICECandidate], fingerprint: Fingerprint, isLite: Bool, setup: Setup,
    redPayloadType: UInt8? = nil
  ) {
    self.ice = ice
    self.candidates = candidates
    self.fingerprint = fingerprint
    self.isLite = isLite
    self.setup = setup
    self.redPayloadType = redPayloadType
  }
}
