import Foundation

/// A reader of version 1 of the room protocol, frozen: it knows the fields that a program of version 1 needs, and nothing of
/// the module under test. It is never changed; a message that it cannot read breaks programs that are already in use.
enum Version1 {
  struct Failure: Decodable { let code, message: String }
  struct Fingerprint: Decodable { let algorithm, value: String }
  struct Candidate: Decodable {
    let host: String
    let port: UInt16
    let priority: UInt32
    let kind, foundation: String
  }
  enum Setup: String, Decodable { case active, passive }
  struct Description: Decodable {
    let ufrag, password: String
    let candidates: [Candidate]
    let fingerprint: Fingerprint
    let lite: Bool
    let setup: Setup
    let redPayloadType: UInt8?
  }
  struct Encoding: Decodable {
    let rid: String?
    let ssrc: UInt32
    let rtxSSRC: UInt32?
    let maxBitrate, maxHeight: Int?
  }
  struct Media: Decodable {
    let mid, codec: String
    let payloadType: UInt8
    let rtxPayloadType, redPayloadType: UInt8?
    let encodings: [Encoding]
  }
  enum Kind: String, Decodable { case microphone, camera, screen, screenSound }
  struct Track: Decodable {
    let id: String
    let kind: Kind
    let muted: Bool
    let media: Media?
  }
  struct Reference: Decodable { let participant, track: String }
  struct Participant: Decodable {
    let id, name: String
    let externalID: String?
    let attributes: [String: String]
    let tracks: [Track]
    let joinedOrder: UInt64
  }
  struct Received: Decodable {
    let from, topic: String
    let payload: Data
    let id: String
    let order: UInt64
    let ageMilliseconds: Int64
    let isDirected: Bool?
  }
  struct Forwarded: Decodable {
    let reference: Reference
    let media: Media
  }
  enum LeaveReason: String, Decodable { case left, dropped, removed }
  enum RingState: String, Decodable {
    case ringing, accepted, declined, busy, unanswered, unreachable, cancelled, handledElsewhere
  }

  // The payloads of messages that have more than one field.
  struct Join: Decodable {
    let version: Int
    let room, name: String
    let credential, participantID, externalID: String?
    let attributes: [String: String]
    let description: Description
    let returningTo, resumptionKey: String?
  }
  struct Joined: Decodable {
    let version: Int
    let local: Participant
    let description: Description
    let participants: [Participant]
    let history: [Received]
    let hasMoreHistory: Bool?
    let epoch: String
    let attendants: [String]?
  }
  struct Register: Decodable {
    let version: Int
    let identity, name: String
    let credential: String?
  }
  struct Ring: Decodable {
    let id, room: String
    let to: [String]
    let hasVideo: Bool
    let timeoutSeconds: Double
    let isRepeated: Bool
  }
  struct IncomingRing: Decodable {
    let id, room, from, fromName: String
    let to: [String]
    let hasVideo: Bool
  }
  struct RingEnd: Decodable {
    let id: String
    let state: RingState
  }
  struct RingProgress: Decodable {
    let id, identity: String
    let state: RingState
  }
  struct RingAnswer: Decodable {
    let id: String
    let answer: RingState
  }
  struct Identified: Decodable { let id: String }
  struct Publish: Decodable {
    let request: Int
    let tracks: [Track]
  }
  struct Subscribe: Decodable {
    let request: Int
    let tracks: [Reference]
    let paused: Bool?
  }
  struct Subscribed: Decodable {
    let request: Int
    let tracks: [Forwarded]
    let missing: [Reference]
  }
  struct Preference: Decodable {
    let reference: Reference
    let layer, maxHeight: Int?
    let priority: Int
  }
  struct SentData: Decodable {
    let topic: String
    let payload: Data
    let to: [String]?
    let lifetimeSeconds: Double?
    let isPersistent, echo: Bool?
    let id: String
  }
  struct Receipt: Decodable {
    let id: String
    let order: UInt64?
    let failure: Failure?
  }
  struct Speakers: Decodable {
    let levels: [String: Int8]
    let dominant: String?
  }
  struct History: Decodable {
    let messages: [Received]
    let hasMore: Bool
  }
  struct Mute: Decodable {
    let track: String
    let muted: Bool
  }
  struct Muted: Decodable {
    let participant, track: String
    let muted: Bool
  }
  struct Starved: Decodable {
    let participant, track: String
    let paused: Bool
  }
  struct Knock: Decodable {
    let participant: Participant
    let number: Int?
  }
  struct KnockEnd: Decodable {
    let participant: String
    let admitted: Bool?
    let number: Int?
  }
  struct KnockAnswer: Decodable {
    let participant: String
    let admitted: Bool
    let number: Int?
  }
  struct Published: Decodable {
    let participant: String
    let tracks: [Track]
  }
  struct Withdrawn: Decodable {
    let participant: String
    let tracks: [String]
  }
  struct Left: Decodable {
    let participant: String
    let reason: LeaveReason
  }
  struct Failed: Decodable {
    let request: Int?
    let failure: Failure
  }
  struct Quality: Decodable { let participants, sending, receiving: [String: Int] }
  struct Wanted: Decodable {
    let track: String
    let layers: [Int]
  }
  struct Attributes: Decodable {
    let participant: String
    let attributes: [String: String]
  }
  struct Resumable: Decodable {
    let key: String
    let graceSeconds: Double
  }
  struct Resume: Decodable {
    let key: String
    let heard: Int
  }
  struct Heard: Decodable { let heard: Int }
  struct Numbered: Decodable { let number: Int }
  struct MediaRestart: Decodable { let description: Description }
  struct One<Payload: Decodable>: Decodable {
    let value: Payload

    private struct Name: CodingKey {
      let stringValue: String
      let intValue: Int? = nil
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }

    /// The one field beside `type`.
    init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: Name.self)
      let names = fields.allKeys.filter { $0.stringValue != "type" }
      guard names.count == 1 else { throw Unreadable.fields(names.map(\.stringValue)) }
      value = try fields.decode(Payload.self, forKey: names[0])
    }
  }

  enum Unreadable: Error {
    case type(String)
    case fields([String])
  }

  private struct Head: Decodable { let type: String }

  /// - Throws: where a client of version 1 could not read the message.
  static func readServerMessage(_ json: Data) throws {
    let decoder = JSONDecoder()
    func read<Payload: Decodable>(_ type: Payload.Type) throws { _ = try decoder.decode(type, from: json) }
    let type = try decoder.decode(Head.self, from: json).type
    switch type {
    case "joined": try read(Joined.self)
    case "refused": try read(One<Failure>.self)
    case "registered": try read(One<String>.self)
    case "incomingRing": try read(IncomingRing.self)
    case "ringEnded": try read(RingEnd.self)
    case "ringProgress": try read(RingProgress.self)
    case "waiting": break
    case "knock": try read(Knock.self)
    case "knockEnded": try read(KnockEnd.self)
    case "participantJoined": try read(One<Participant>.self)
    case "participantLeft": try read(Left.self)
    case "accepted": try read(One<Int>.self)
    case "published": try read(Published.self)
    case "withdrawn": try read(Withdrawn.self)
    case "muted": try read(Muted.self)
    case "subscribed": try read(Subscribed.self)
    case "unsubscribed": try read(One<[Reference]>.self)
    case "data": try read(Received.self)
    case "dataReceipt": try read(Receipt.self)
    case "attributes": try read(Attributes.self)
    case "speakers": try read(Speakers.self)
    case "starved": try read(Starved.self)
    case "quality": try read(Quality.self)
    case "wanted": try read(Wanted.self)
    case "failed": try read(Failed.self)
    case "ended": try read(One<String>.self)
    case "pong": try read(Numbered.self)
    case "resumable": try read(Resumable.self)
    case "resumed", "heard": try read(Heard.self)
    case "mediaRestarted": try read(MediaRestart.self)
    case "history": try read(History.self)
    case "attendants": try read(One<[String]>.self)
    default: throw Unreadable.type(type)
    }
  }

  /// - Throws: where a server of version 1 could not read the message.
  static func readClientMessage(_ json: Data) throws {
    let decoder = JSONDecoder()
    func read<Payload: Decodable>(_ type: Payload.Type) throws { _ = try decoder.decode(type, from: json) }
    let type = try decoder.decode(Head.self, from: json).type
    switch type {
    case "join": try read(Join.self)
    case "register": try read(Register.self)
    case "ring": try read(Ring.self)
    case "cancelRing": try read(Identified.self)
    case "answerRing": try read(RingAnswer.self)
    case "publish": try read(Publish.self)
    case "unpublish": try read(One<[String]>.self)
    case "mute": try read(Mute.self)
    case "subscribe": try read(Subscribe.self)
    case "unsubscribe", "pause", "resume": try read(One<[Reference]>.self)
    case "prefer": try read(One<[Preference]>.self)
    case "data": try read(SentData.self)
    case "attributes": try read(One<[String: String]>.self)
    case "leave", "close", "bye": break
    case "muteOther": try read(One<Reference>.self)
    case "remove": try read(One<String>.self)
    case "answerKnock": try read(KnockAnswer.self)
    case "renew": try read(One<String>.self)
    case "ping": try read(Numbered.self)
    case "resumeConversation": try read(Resume.self)
    case "heard": try read(Heard.self)
    case "restartMedia": try read(MediaRestart.self)
    default: throw Unreadable.type(type)
    }
  }
}
