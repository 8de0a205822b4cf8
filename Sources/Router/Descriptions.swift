import KoineBase
package import KoineSignaling
package import KoineTransport

// What signalling says of peers and streams, and what the transport makes of it: two sets of types, because neither room
// leans on the other.

extension PeerDescription {
  package init(_ description: Description) {
    self.init(
      ice: ICECredentials(ufrag: description.ufrag, password: description.password),
      candidates: description.candidates.compactMap { ICECandidate($0) },
      fingerprint: Fingerprint(algorithm: description.fingerprint.algorithm, value: description.fingerprint.value),
      isLite: description.lite, setup: description.setup == .passive ? .passive : .active,
      redPayloadType: description.redPayloadType.flatMap { $0 < 128 && !(64...95).contains($0) ? $0 : nil })
  }
}

extension ICECandidate {
  /// nil for kinds that are not known here; there may be others that work.
  package init?(_ candidate: Description.Candidate) {
    guard let kind = Kind(rawValue: candidate.kind) else { return nil }
    self.init(
      host: candidate.host, port: candidate.port, kind: kind, priority: candidate.priority,
      foundation: candidate.foundation)
  }
}

extension Description {
  package init(_ description: PeerDescription) {
    self.init(
      ufrag: description.ice.ufrag, password: description.ice.password,
      candidates: description.candidates.map {
        Candidate(
          host: $0.host, port: $0.port, priority: $0.priority, kind: $0.kind.rawValue, foundation: $0.foundation)
      },
      fingerprint: Fingerprint(algorithm: description.fingerprint.algorithm, value: description.fingerprint.value),
      lite: description.isLite, setup: description.setup == .passive ? .passive : .active,
      redPayloadType: description.redPayloadType)
  }
}

extension StreamParameters {
  /// nil for a codec that is not known here.
  package init?(_ media: Media) {
    guard let codec = Codec(rawValue: media.codec) else { return nil }
    self.init(
      mid: media.mid, codec: codec, payloadType: media.payloadType, rtxPayloadType: media.rtxPayloadType,
      redPayloadType: media.redPayloadType,
      encodings: media.encodings.map { Encoding(rid: $0.rid, ssrc: $0.ssrc, rtxSSRC: $0.rtxSSRC) })
  }
}

extension Media {
  package init(_ parameters: StreamParameters) {
    self.init(
      mid: parameters.mid, codec: parameters.codec.rawValue, payloadType: parameters.payloadType,
      rtxPayloadType: parameters.rtxPayloadType, redPayloadType: parameters.redPayloadType,
      encodings: parameters.encodings.map { Encoding(rid: $0.rid, ssrc: $0.ssrc, rtxSSRC: $0.rtxSSRC) })
  }
}
