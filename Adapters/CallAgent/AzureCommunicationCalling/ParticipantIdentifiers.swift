import AzureCommunicationCommon
import Foundation
import Koine
import KoineTokens

/// Identifiers of a call's participants. A participant of another style, or a native one, may have any id: here it gets an
/// identifier of the form `8:acs:RESOURCE_USER`, the same for all observers and each time it comes, because apps treat
/// all `UnknownIdentifier`s as one participant.
enum ParticipantIdentifiers {
  /// Names no resource of the vendor's.
  private static let resource = "0a4434be-a1ad-8528-a383-7f0970bf17af"
  private static let prefix = "8:acs:\(resource)_"

  static func identifier(of id: Koine.Participant.ID) -> any CommunicationIdentifier {
    createCommunicationIdentifier(fromRawId: rawId(of: id))
  }

  /// The id itself where it has one of the vendor's forms. One that claims to be of this resource gets another one, so that
  /// a participant cannot choose the identifier of another one.
  static func rawId(of id: Koine.Participant.ID) -> String {
    let isForeign = createCommunicationIdentifier(fromRawId: id) is UnknownIdentifier || id.hasPrefix(prefix)
    guard isForeign else { return id }
    var bytes = Array(SHA256Digest.of(id.utf8).prefix(16))
    bytes[6] = bytes[6] & 0x0F | 0x80  // a UUID of version 8 (RFC 9562 section 5.8)
    bytes[8] = bytes[8] & 0x3F | 0x80
    let user = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    return prefix + user.uuidString.lowercased()
  }
}

extension Session {
  /// Participant ids in the room for an app's identifiers; an unknown identifier stands for itself.
  func participants(_ identifiers: [any CommunicationIdentifier]) -> [Koine.Participant.ID] {
    let known = Dictionary(([localParticipant] + participants).map { (ParticipantIdentifiers.rawId(of: $0.id), $0.id) })
    {
      first, _ in first
    }
    return identifiers.map { known[$0.rawId] ?? $0.rawId }
  }
}
