/// How large things are: in memory, about, or at most in a written message.
enum Measure {
  case kept, written

  func text(_ text: String) -> Int {
    guard self == .written else { return text.utf8.count }
    // RFC 8259 section 7: a control character takes six bytes.
    return text.utf8.reduce(2) { $0 + ($1 < 0x20 ? 6 : $1 == 0x22 || $1 == 0x5C ? 2 : 1) }
  }

  func text(_ text: String?) -> Int { text.map(self.text) ?? 0 }
  func texts(_ texts: [String]) -> Int { texts.reduce(0) { $0 + text($1) + 8 } }

  func texts(_ texts: [String: String]) -> Int {
    texts.reduce(0) { $0 + text($1.key) + text($1.value) + (self == .kept ? 48 : 2) }
  }

  func tracks(_ tracks: [Track]) -> Int {
    tracks.reduce(0) { $0 + text($1.id.track) + 64 + layers($1.layers.count) }
  }

  /// Of the simulcast layers of a track.
  func layers(_ count: Int) -> Int { count == 0 ? 0 : 16 + count * 96 }

  func offers(_ tracks: [TrackOffer]) -> Int {
    tracks.reduce(0) { sum, track in
      let media = track.media.map { 144 + text($0.mid) + $0.encodings.count * 128 }
      return sum + text(track.id) + 64 + (media ?? 0)
    }
  }

  func references(_ references: [Track.ID]) -> Int {
    references.reduce(0) { $0 + text($1.participant) + text($1.track) + 32 }
  }

  func participant(_ participant: Participant) -> Int {
    128 + text(participant.id) + text(participant.name) + text(participant.externalUserID)
      + texts(participant.attributes)
      + tracks(participant.tracks)
  }

  func description(_ description: PeerDescription) -> Int {
    let names = [
      description.ice.ufrag, description.ice.password, description.fingerprint.algorithm, description.fingerprint.value,
    ]
    return 128 + texts(names)
      + description.candidates.reduce(0) { $0 + texts([$1.host, $1.foundation]) + 104 }
  }

  func data(_ data: ReceivedMessage) -> Int {
    let payload = self == .kept ? data.payload.count : (data.payload.count + 2) / 3 * 4
    return 192 + payload + text(data.sender) + text(data.topic) + text(data.id)
  }
}

extension Participant {
  /// At most, in bytes of JSON.
  public var writtenSize: Int { Measure.written.participant(self) }
  /// Of attributes alone.
  public static func writtenSize(of attributes: [String: String]) -> Int { Measure.written.texts(attributes) }
}

extension RingRequest {
  /// At most, in bytes of JSON.
  public var writtenSize: Int { Measure.written.texts(to + [id, room]) + 192 }
}

extension Track {
  /// The largest size of the track in bytes of JSON, without its participant.
  public var writtenSize: Int { Measure.written.tracks([self]) }
}

extension TrackOffer {
  /// The largest size of the track's announcement to other participants, in bytes of JSON.
  public var announcedSize: Int { Measure.written.text(id) + 64 + Measure.written.layers(layers.count) }
  /// The simulcast layers that the router announces to the other participants; empty where there is only one encoding.
  public var layers: [Track.Layer] {
    guard kind.isVideo, let encodings = media?.encodings, encodings.count > 1 else { return [] }
    return encodings.map {
      Track.Layer(
        maximumBitrate: $0.maximumBitrate, width: $0.maximumWidth, height: $0.maximumHeight,
        maximumFramesPerSecond: $0.maximumFramesPerSecond)
    }
  }
}

extension ReceivedMessage {
  /// At most, in bytes of JSON.
  public var writtenSize: Int { Measure.written.data(self) }
}
