import KoineBase
import KoineSignaling

// What the room knows of its members, and what one member may make it tell the others.

extension Room {
  /// The shortest interval between two notifications about one participant's changes. More frequent changes are combined.
  static let tellingInterval: Duration = .milliseconds(100)

  /// Takes the bytes of a broadcast message from the member's rate limit.
  func spend(bytes: Int, of member: Member, at now: Tick) throws(Failure) {
    guard member.broadcastLimiter.spend(bytes: bytes, at: now) else {
      throw Failure(
        .tooMany, "at most \(Int(limits.dataPerSecond)) messages and \(Int(limits.dataBytesPerSecond)) bytes a second")
    }
  }

  // MARK: Attributes

  func setAttributes(_ attributes: [String: String], of member: Member, at now: Tick) {
    do throws(Failure) {
      try roster.setAttributes(attributes, of: member.id, limits: limits)
    } catch {
      return outbox.post(.failed(request: nil, error), to: member.client)
    }
    attributesChanged(of: member, at: now)
  }

  /// Notifies the other participants.
  func attributesChanged(of member: Member, at now: Tick) {
    guard !member.grants.isHidden else { return }
    member.owesAttributes = true
    tellAttributes(of: member, at: now)
  }

  /// Notifies the other participants at once, or later if the last notification was a moment ago or the rate limit is reached. So the
  /// room always ends up with the app's latest attributes, even if the app changes them too often.
  private func tellAttributes(of member: Member, at now: Tick) {
    let moment = member.attributesTold.map { $0 + Self.tellingInterval } ?? now
    guard moment <= now else { return tellSoon(at: moment) }
    guard member.broadcastLimiter.spend(bytes: Participant.writtenSize(of: member.attributes), at: now) else {
      return tellSoon(at: now + Self.tellingInterval)
    }
    member.attributesTold = now
    member.owesAttributes = false
    tellOthers(.attributes(participant: member.id, member.attributes), than: member)
  }

  func tellSoon(at due: Tick) {
    nextTelling = nextTelling.sooner(due)
    needsSettling = true
  }

  /// Sends the deferred notifications: the latest attributes and mute states of participants that changed them too often.
  func tellOwed(at now: Tick) {
    guard let due = nextTelling, due <= now else { return }
    nextTelling = nil
    for member in members {
      for track in member.tracks where track.owesMute {
        track.owesMute = false
        tellOthers(.muted(participant: member.id, trackID: track.id.track, muted: track.track.isMuted), than: member)
      }
      if member.owesAttributes { tellAttributes(of: member, at: now) }
    }
  }
}
