import KoineBase
import KoineJSONCodec
import KoineSignaling

/// What a client says that describes its media by SDP (RFC 8829), as browsers do. Everything else it says in the messages
/// of `ClientMessage`.
enum BrowserMessage: Sendable {
  case join(Join, BrowserOffer)
  case offer(BrowserOffer)
  case other(ClientMessage)

  /// - Throws: `SignalingError`, for any bytes that are not a message.
  init(json: UnsafeRawBufferPointer) throws(SignalingError) {
    let head: Head
    do {
      head = try JSONCodec.decode(
        Head.self, from: json, limits: .clientMessage)
    } catch {
      throw .malformed("\(error)")
    }
    switch head.type {
    case "join":
      guard let offer = head.offer else { throw .malformed("a join without an offer") }
      self = .join(try head.join(), try offer.checked())
    case "offer":
      guard let offer = head.offer else { throw .malformed("no offer") }
      self = .offer(try offer.checked())
    default: self = .other(try ClientMessage(json: json))
    }
  }

  private struct Head: Decodable {
    var type: String
    var version: Int?
    var room, name, credential, participantID, externalID, returningTo, resumptionKey, unreachable: String?
    var seen: UInt64?
    var isMoved: Bool?
    var attributes: [String: String]?
    var offer: BrowserOffer?

    func join() throws(SignalingError) -> Join {
      guard let version else { throw .malformed("“version” is missing") }
      guard version == SignalingVersion.current else { throw .unknownVersion(version) }
      guard let room, let name else { throw .malformed("“room” or “name” is missing") }
      let attributes = attributes ?? [:]
      let names = [participantID, externalID, returningTo, resumptionKey, unreachable].compactMap(\.self)
      for text in [room, name] + names + attributes.keys {
        guard text.utf8.count <= SignalingLimits.name else {
          throw .tooLarge(field: "name", limit: SignalingLimits.name)
        }
      }
      guard (credential?.utf8.count ?? 0) <= SignalingLimits.credential else {
        throw .tooLarge(field: "credential", limit: SignalingLimits.credential)
      }
      guard attributes.count <= SignalingLimits.attributes,
        attributes.values.allSatisfy({ $0.utf8.count <= SignalingLimits.attributeValue })
      else { throw .tooLarge(field: "attributes", limit: SignalingLimits.attributes) }
      var join = Join(
        room: room, credential: credential, participantID: participantID, name: name, externalID: externalID,
        attributes: attributes, description: .ofNobody, returningTo: returningTo,
        resumptionKey: resumptionKey)
      join.seen = seen ?? 0
      join.isMoved = isMoved ?? false
      join.unreachable = unreachable.flatMap { SignalingLimits.isPlace($0) ? $0 : nil }
      return join
    }
  }
}

/// An offer, and what its media are for.
struct BrowserOffer: Decodable, Sendable {
  /// A track that a medium carries to the server.
  struct Sent: Decodable, Sendable {
    var mid: String
    var id: String
    var kind: Track.Kind
    var muted: Bool?
  }

  /// A track that a medium shall carry to the browser.
  struct Wanted: Decodable, Sendable {
    var mid: String
    var participant: String
    var track: String
    /// Whether the subscription starts paused and begins with `resume`, for clients that cannot distinguish packets before the
    /// answer is set.
    var paused: Bool?

    var reference: Track.ID { Track.ID(participant: participant, track: track) }
  }

  /// Chosen by the browser; the answer repeats it.
  var number: Int
  var sdp: String
  var send: [Sent]?
  var receive: [Wanted]?

  fileprivate func checked() throws(SignalingError) -> BrowserOffer {
    guard (send?.count ?? 0) <= SignalingLimits.tracks, (receive?.count ?? 0) <= SignalingLimits.references else {
      throw .tooLarge(field: "offer", limit: SignalingLimits.references)
    }
    let names =
      (send ?? []).flatMap { [$0.mid, $0.id] } + (receive ?? []).flatMap { [$0.mid, $0.participant, $0.track] }
    guard names.allSatisfy({ $0.utf8.count <= SignalingLimits.name }) else {
      throw .tooLarge(field: "offer", limit: SignalingLimits.name)
    }
    return self
  }
}

/// The server's part of an exchange of descriptions. Its text grows with the client's offer, so a connection's thread writes it
/// (`EncodedMessage`), and not the network loop.
struct BrowserAnswer: Codable, Sendable {
  var type = "answer"
  let number: Int
  let sdp: String
}

/// The nodes of a cluster, for a page that waits in the lobby. A page in a room gets the nodes by `Joined`.
struct BrowserNodes: Codable, Sendable {
  var type = "nodes"
  let places: [String]
  let pingSeconds, silenceSeconds: Int
}

extension PeerDescription {
  /// Stands in a join until its offer has been read.
  fileprivate static let ofNobody = PeerDescription(
    ice: ICECredentials(ufrag: "", password: ""), fingerprint: Fingerprint(value: ""), isLite: false, setup: .active)
}
