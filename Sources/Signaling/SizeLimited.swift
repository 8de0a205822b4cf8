/// A value of the room's model that has limits where it is read from a message (`SignalingLimits`).
protocol SizeLimited {
  /// - Parameter field: the value's name in its message, for the error.
  func checkSize(_ field: String) throws(SignalingError)
}

extension SizeLimited {
  /// The value itself, within its limits.
  func sized() throws(SignalingError) -> Self {
    try checkSize("message")
    return self
  }
}

private func check(_ texts: String?..., limit: Int = SignalingLimits.name, of field: String) throws(SignalingError) {
  for text in texts where (text?.utf8.count ?? 0) > limit { throw .tooLarge(field: field, limit: limit) }
}

private func checkCount(_ count: Int, limit: Int, _ field: String) throws(SignalingError) {
  guard count <= limit else { throw .tooLarge(field: field, limit: limit) }
}

func checkSize(of tracks: [Track], _ field: String) throws(SignalingError) {
  try checkCount(tracks.count, limit: SignalingLimits.tracks, field)
  for track in tracks { try check(track.id.track, of: field) }
}

extension Track.ID: SizeLimited {
  func checkSize(_ field: String) throws(SignalingError) { try check(participant, track, of: field) }
}

extension TrackPreference: SizeLimited {
  func checkSize(_ field: String) throws(SignalingError) { try track.checkSize(field) }
}

extension Participant: SizeLimited {
  func checkSize(_ field: String) throws(SignalingError) {
    try check(id, name, externalUserID, of: field)
    try checkCount(attributes.count, limit: SignalingLimits.attributes, "attributes")
    for (name, value) in attributes {
      try check(name, of: "attributes")
      try check(value, limit: SignalingLimits.attributeValue, of: "attributes")
    }
    try KoineSignaling.checkSize(of: tracks, "tracks")
  }
}

extension DataMessage: SizeLimited {
  func checkSize(_ field: String) throws(SignalingError) {
    try check(topic, limit: SignalingLimits.topic, of: "topic")
    try checkCount(payload.count, limit: SignalingLimits.payload, "payload")
    let recipients = recipients ?? []
    try checkCount(recipients.count, limit: SignalingLimits.recipients, "to")
    for id in recipients { try check(id, of: "to") }
  }
}

extension ReceivedMessage: SizeLimited {
  func checkSize(_ field: String) throws(SignalingError) {
    try check(sender, id, of: field)
    try check(topic, limit: SignalingLimits.topic, of: "topic")
    try checkCount(payload.count, limit: SignalingLimits.payload, "payload")
  }
}

extension Ring: SizeLimited {
  func checkSize(_ field: String) throws(SignalingError) {
    try check(id, room, caller, callerName, of: field)
    try checkCount(callees.count, limit: SignalingLimits.recipients, "to")
    for identity in callees { try check(identity, of: "to") }
  }
}

extension Speakers: SizeLimited {
  func checkSize(_ field: String) throws(SignalingError) {
    guard levels.values.allSatisfy({ (-127...0).contains($0) }) else { throw .malformed("a level beyond -127...0") }
  }
}

extension PeerDescription: SizeLimited {
  func checkSize(_ field: String) throws(SignalingError) {
    try check(ice.ufrag, ice.password, fingerprint.algorithm, fingerprint.value, of: field)
    try checkCount(candidates.count, limit: SignalingLimits.candidates, "candidates")
    for candidate in candidates { try check(candidate.host, candidate.foundation, of: "candidates") }
    // RFC 5761, section 4: RTCP has the types between.
    if let type = redPayloadType, type > 127 || (64...95).contains(type) {
      throw .malformed("no payload type: \(type)")
    }
  }
}

extension StreamParameters: SizeLimited {
  func checkSize(_ field: String) throws(SignalingError) {
    try check(mid, of: field)
    try checkCount(encodings.count, limit: SignalingLimits.encodings, "encodings")
    guard !encodings.isEmpty else { throw .malformed("media without encodings") }
    for encoding in encodings {
      try check(encoding.rid, of: "encodings")
      for (number, limit) in [
        (encoding.maximumBitrate, SignalingLimits.bitrate), (encoding.maximumHeight, SignalingLimits.rows),
        (encoding.maximumWidth, SignalingLimits.rows),
      ] {
        guard number ?? 0 >= 0 else { throw .malformed("a limit is negative") }
        guard number ?? 0 <= limit else { throw .tooLarge(field: "encodings", limit: limit) }
      }
      let rate = encoding.maximumFramesPerSecond ?? 0
      guard rate >= 0 else { throw .malformed("a limit is negative") }
      guard rate <= SignalingLimits.frameRate else {
        throw .tooLarge(field: "encodings", limit: Int(SignalingLimits.frameRate))
      }
    }
  }
}
