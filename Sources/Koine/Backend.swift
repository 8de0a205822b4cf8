/// A way to reach rooms: the plug-in point below the common layer.
///
/// A backend owns sockets, signalling and its peers, and gives a session a `Link`. It also hands in the clock: whatever
/// the session does in time, it does on the backend's scheduler.
public protocol Backend: AnyObject, Sendable {
  var scheduler: Scheduler { get }
  var capabilities: BackendCapabilities { get }
  /// Begins to reach the room. Returns at once; how it goes is told to `receiver`, never from inside this call.
  func connect(_ request: JoinRequest, receiver: any LinkReceiver) -> any Link
  /// Begins to sign an identity in. Returns at once, as `connect` does.
  func register(_ request: EndpointRequest, receiver: any EndpointReceiver) -> any EndpointLink
}

/// What a backend can do beyond letting people see and hear each other.
public struct BackendCapabilities: OptionSet, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  public static let dataMessages = BackendCapabilities(rawValue: 1 << 0)
  public static let attributes = BackendCapabilities(rawValue: 1 << 1)
  public static let activeSpeaker = BackendCapabilities(rawValue: 1 << 2)
  public static let ringing = BackendCapabilities(rawValue: 1 << 3)
  /// Rooms are recorded beside the router, where whoever runs it lets that be done.
  public static let recording = BackendCapabilities(rawValue: 1 << 4)
}

/// What somebody says of themselves on entering a room.
public struct JoinRequest: Sendable {
  public var room: String
  /// The vendor's token, passed on as it is; the embedded backend takes none too.
  public var credential: String?
  /// Empty or nil: the room makes one up.
  public var participantID: Participant.ID?
  public var name: String
  public var externalUserID: String?
  public var attributes: [String: String]

  public init(
    room: String, credential: String? = nil, participantID: Participant.ID? = nil, name: String,
    externalUserID: String? = nil, attributes: [String: String] = [:]
  ) {
    self.room = room
    self.credential = credential
    self.participantID = participantID
    self.name = name
    self.externalUserID = externalUserID
    self.attributes = attributes
  }
}

/// One participant's connection to one room. All calls return at once, from any thread.
public protocol Link: AnyObject, Sendable {
  /// Publishes a track of the local participant. Called after `joined`, again after `rejoined`.
  func publish(_ track: Track, options: PublishOptions)
  func unpublish(_ track: Track.ID)
  func setMuted(_ muted: Bool, _ track: Track.ID)
  /// Sends one frame of a published track. Frames sent before the media path is connected are dropped.
  func send(_ frame: EncodedFrame, of track: Track.ID)

  func subscribe(to track: Track.ID)
  func unsubscribe(from track: Track.ID)
  func requestKeyFrame(of track: Track.ID)
  /// The room forwards nothing of a paused track; the subscription stays.
  func setPaused(_ paused: Bool, _ track: Track.ID)
  func setPreference(_ preference: LayerPreference, of track: Track.ID)

  func send(_ message: DataMessage)
  func setAttributes(_ attributes: [String: String])
  /// Mutes somebody's stream, for everybody.
  func mute(_ stream: Track.ID)
  /// Puts somebody out of the room.
  func remove(_ participant: Participant.ID)
  /// Lets somebody in who waits, or does not.
  func answerKnock(of participant: Participant.ID, admitting: Bool)
  /// Ends the room for everybody.
  func closeRoom()
  /// Takes another credential in the place of the one that let us in; of use on coming back, too.
  func renew(credential: String)
  /// Statistics of both directions, taken where the packets are.
  func statistics(_ completion: @escaping @Sendable (MediaStatistics<Track.ID, Track.ID>) -> Void)
  /// Says goodbye and closes. `ended` follows, and nothing after it.
  func leave()
}

/// Hears of a link. Called on the backend's network loop: must return at once.
public protocol LinkReceiver: AnyObject, Sendable {
  func linkDidChange(_ event: LinkEvent)
  func linkDidReceive(_ frame: EncodedFrame, of track: Track.ID)
}

/// What happens on a link, in the order in which it happened in the room.
public enum LinkEvent: Sendable {
  /// Let in, as the room knows us: the credential may have given another id, name or attributes than were asked for. With
  /// everybody who is there already, and their streams.
  case joined(as: Participant, others: [Participant])
  /// Let in again after the room had forgotten us, or had given us up: everything published and subscribed on this link is
  /// gone. Ends a `reconnecting`.
  case rejoined(as: Participant, others: [Participant])
  /// Names that may be written to although nobody of that name is in the room; comes before `joined`.
  case attendants([String])
  /// Somebody in the room has to let us in.
  case waiting
  /// Somebody waits to be let in by us.
  case knock(Participant)
  /// `admitted` is nil where nobody decided.
  case knockEnded(Participant.ID, admitted: Bool?)
  case participantJoined(Participant)
  case participantLeft(Participant.ID, DepartureReason)
  case streamAdded(Track)
  case streamRemoved(Track.ID)
  /// Own ones too: somebody who may has muted it.
  case streamMuted(Track.ID, Bool)
  /// The room has taken what was published; comes again when it is published anew after `rejoined`.
  case published(Track.ID)
  /// The room has not taken it: on this link it is published no longer.
  case publishFailed(Track.ID, Failure)
  /// A subscribed stream does not come for now, because our path does not even carry its least; or does again.
  case streamStarved(Track.ID, Bool)
  case attributesChanged(Participant.ID, [String: String])
  case message(ReceivedMessage)
  case speakers(Speakers)
  /// Of those whose path has become better or worse.
  case quality([Participant.ID: ConnectionQuality])
  /// The media path stands, for the first time or again: what is sent from now on arrives.
  case mediaConnected
  /// The room or its media cannot be reached for now; whatever is asked for meanwhile is done later.
  case reconnecting
  /// Back, and nothing is missing.
  case reconnected
  /// A receiver needs a key frame of a published stream.
  case keyFrameWanted(Track.ID, layer: Int)
  /// Which layers of a published stream anybody wants, 0 the smallest; until this is told, all.
  case layersWanted(Track.ID, [Int])
  /// What the path carries now, all published streams together, in bit/s; and the fraction of packets being lost.
  case estimate(bitrate: Int, loss: Double)
  /// Something asked for could not be done; the link stands.
  case failed(Failure)
  /// Over. Nothing follows.
  case ended(EndReason)
}
