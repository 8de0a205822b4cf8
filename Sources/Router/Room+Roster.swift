import KoineBase
import KoineSignaling

// What the room knows of its members, and what one member may make it tell the others.

extension Room {
  /// Of what somebody changes more often, the others are told less often.
  static let tellingInterval: Duration = .milliseconds(100)

  /// Pays for what the others are going to be told.
  func spend(bytes: Int, of member: Member, at now: Tick) throws(Failure) {
    guard member.broadcastLimiter.take(bytes: bytes, at: now) else {
      throw Failure(
        .tooMany, "at most \(Int(limits.dataPerSecond)) messages and \(Int(limits.dataBytesPerSecond)) bytes a second")
    }
  }

  // MARK: Attributes

  func take(_ attributes: [String: String], of member: Member, at now: Tick) {
    do throws(Failure) {
      try roster.setAttributes(attributes, of: member.id, limits: limits)
    } catch {
      return outbox.post(.failed(request: nil, error), to: member.client)
    }
    guard !member.grants.isHidden else { return }
    member.owesAttributes = true
    tellAttributes(of: member, at: now)
  }

  /// At once, or later where the others were told a moment ago or the budget is spent: an app and its room never differ
  /// for good because it changed its mind too often.
  private func tellAttributes(of member: Member, at now: Tick) {
    let moment = member.attributesTold.map { $0 + Self.tellingInterval } ?? now
    guard moment <= now else { return tellSoon(at: moment) }
    guard member.broadcastLimiter.take(bytes: Participant.writtenSize(of: member.attributes), at: now) else {
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

  /// The latest of those who changed their attributes, or muted and unmuted, too often.
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
