import KoineBase
import KoineSignaling

// What the room knows of its members, and what one member may make it tell the others.

extension Room {
  /// Of what somebody changes more often, the others are told less often.
  static let tellingInterval: Duration = .milliseconds(100)

  /// Pays for what the others are going to be told.
  func spend(bytes: Int, of member: Member, at now: Tick) throws(Failure) {
    guard member.spread.take(bytes: bytes, at: now) else {
      throw Failure(
        .tooMany, "at most \(Int(limits.dataPerSecond)) messages and \(Int(limits.dataBytesPerSecond)) bytes a second")
    }
  }

  /// After its names, attributes or tracks have changed.
  func weigh(_ member: Member) {
    let size = member.participant.writtenSize
    rosterBytes += size - member.rosterBytes
    member.rosterBytes = size
  }

  // MARK: Attributes

  /// Replaces its attributes, but for those that its credential gave it.
  func take(_ attributes: [String: String], of member: Member, at now: Tick) {
    do throws(Failure) {
      member.attributes = try check(attributes, of: member)
      weigh(member)
    } catch {
      return outbox.post(.failed(request: nil, error), to: member.connection)
    }
    guard !member.grants.isHidden else { return }
    member.owesAttributes = true
    tellAttributes(of: member, at: now)
  }

  private func check(_ attributes: [String: String], of member: Member) throws(Failure) -> [String: String] {
    let given = member.grants.attributes ?? [:]
    if let key = attributes.keys.sorted().first(where: { key in given[key].map { $0 != attributes[key] } ?? false }) {
      throw Failure(.forbidden, "“\(key)” is what the token says")
    }
    let merged = attributes.merging(given) { _, given in given }
    let size = Participant.writtenSize(of: merged)
    guard size <= limits.attributeBytes else {
      throw Failure(.tooLarge, "at most \(limits.attributeBytes) bytes of attributes")
    }
    guard rosterBytes - Participant.writtenSize(of: member.attributes) + size <= limits.rosterBytes else {
      throw Failure(.tooLarge, "the room holds \(limits.rosterBytes) bytes of names and attributes")
    }
    return merged
  }

  /// At once, or later where the others were told a moment ago or the budget is spent: an app and its room never differ
  /// for good because it changed its mind too often.
  private func tellAttributes(of member: Member, at now: Tick) {
    let moment = member.attributesTold.map { $0 + Self.tellingInterval } ?? now
    guard moment <= now else { return tellSoon(at: moment) }
    guard member.spread.take(bytes: Participant.writtenSize(of: member.attributes), at: now) else {
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
