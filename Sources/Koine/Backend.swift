/// A way to reach rooms: the plug-in point below the common layer.
///
/// A backend owns sockets, signalling and its peers, and gives a session a `Link`. It also provides the clock: all timers of
/// a session run on the backend's scheduler.
public protocol Backend: AnyObject, Sendable {
  /// The clock of all sessions of the backend.
  var scheduler: Scheduler { get }
  /// The optional features that the backend supports.
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

  /// Data messages between participants.
  public static let dataMessages = BackendCapabilities(rawValue: 1 << 0)
  /// Attributes of participants.
  public static let attributes = BackendCapabilities(rawValue: 1 << 1)
  /// Audio levels and the dominant speaker.
  public static let activeSpeaker = BackendCapabilities(rawValue: 1 << 2)
  /// Calls between registered identities.
  public static let ringing = BackendCapabilities(rawValue: 1 << 3)
  /// A service co-located with the router records rooms, if the server's operator enables recording.
  public static let recording = BackendCapabilities(rawValue: 1 << 4)
}

/// A client's request to join a room: the room, the credential, and the participant as it wants to appear.
public struct JoinRequest: Sendable {
  /// The room to join.
  public var room: String
  /// The vendor's token, passed on as it is; the embedded backend takes none too.
  public var credential: String?
  /// Empty or nil: the room makes one up.
  public var participantID: Participant.ID?
  /// The display name.
  public var name: String
  /// The app's own id of the user; nil: none.
  public var externalUserID: String?
  /// The participant's attributes; at most 64, in all 16 KiB of JSON.
  public var attributes: [String: String]
  /// What the app says about itself, such as its name and version. The room server's operator sees it (`koine rooms show`), participants
  /// do not. At most 1,024 bytes of UTF-8. Empty (the default): nothing.
  public var clientDescription = ""
  /// How long the client tries to reach the room again after it has lost the connection; then the session ends with `.lost`. Less
  /// than 0 counts as 0. Default 60 s.
  public var reconnectTimeout = Duration.seconds(60)

  /// Creates a request.
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
  /// Withdraws a published track.
  func unpublish(_ track: Track.ID)
  /// Mutes or unmutes a published track for all receivers.
  func setMuted(_ muted: Bool, _ track: Track.ID)
  /// Sends one frame of a published track. Frames sent before the media path is connected are dropped.
  func send(_ frame: EncodedFrame, of track: Track.ID)

  /// Subscribes to a remote participant's track.
  func subscribe(to track: Track.ID)
  /// Ends a subscription.
  func unsubscribe(from track: Track.ID)
  /// Requests a key frame of a subscribed track.
  func requestKeyFrame(of track: Track.ID)
  /// The room forwards nothing of a paused track; the subscription stays.
  func setPaused(_ paused: Bool, _ track: Track.ID)
  /// Sets the preferred layer, size and priority of a subscribed track.
  func setPreference(_ preference: LayerPreference, of track: Track.ID)

  /// Sends a data message. It arrives once, also if the link reconnects.
  func send(_ message: DataMessage)
  /// Replaces the local participant's attributes.
  func setAttributes(_ attributes: [String: String])
  /// Mutes a participant's stream for all receivers.
  func mute(_ stream: Track.ID)
  /// Removes a participant from the room.
  func remove(_ participant: Participant.ID)
  /// Admits or denies a participant that waits for admission.
  func answerKnock(of participant: Participant.ID, admitting: Bool)
  /// Ends the room for all participants.
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
  /// Called for each event, in order. Must return at once.
  func linkDidChange(_ event: LinkEvent)
  /// Called for each received frame of a subscribed track. Must return at once.
  func linkDidReceive(_ frame: EncodedFrame, of track: Track.ID)
}

/// What happens on a link, in the order in which it happened in the room.
public enum LinkEvent: Sendable {
  /// The room has admitted the local participant. The credential may have given it another id, name or attributes than the
  /// request. `others` are the participants already in the room, with their streams.
  case joined(as: Participant, others: [Participant])
  /// The room has admitted the local participant again, after it had lost or dropped the participant. All publications and
  /// subscriptions of this link are gone. Ends a `reconnecting`.
  case rejoined(as: Participant, others: [Participant])
  /// Names of services that receive messages without being participants in the room. Comes before `joined`.
  case attendants([String])
  /// The local participant waits until a participant in the room admits it.
  case waiting
  /// A participant waits for admission, and the local participant may decide.
  case knock(Participant)
  /// A participant no longer waits for admission. `admitted` is nil if the wait ended without a decision.
  case knockEnded(Participant.ID, admitted: Bool?)
  /// A remote participant joined.
  case participantJoined(Participant)
  /// A remote participant left.
  case participantLeft(Participant.ID, DepartureReason)
  /// A remote participant published a stream.
  case streamAdded(Track)
  /// A stream was withdrawn. For a local stream: the room does not permit it any more.
  case streamRemoved(Track.ID)
  /// A stream was muted or unmuted. For a local stream: a moderator has muted it.
  case streamMuted(Track.ID, Bool)
  /// The room has accepted a published stream. Comes again when the stream is published again after `rejoined`.
  case published(Track.ID)
  /// The room has refused a published stream. The stream is no longer published on this link.
  case publishFailed(Track.ID, Failure)
  /// A subscribed stream does not come for now, because our path does not even carry its least; or does again.
  case streamStarved(Track.ID, Bool)
  /// The room has ended subscriptions, or has refused them. The link is not subscribed to these streams any more.
  case subscriptionsEnded([Track.ID])
  /// The local participant's permissions in the room that it enters. Comes before `joined` or `rejoined`, from rooms that say so.
  case permissions(Set<ParticipantPermission>)
  /// The local participant's permissions, after the room has changed them.
  case permissionsChanged(Set<ParticipantPermission>)
  /// A remote participant changed its attributes.
  case attributesChanged(Participant.ID, [String: String])
  /// A data message arrived.
  case message(ReceivedMessage)
  /// Audio levels or the dominant speaker changed.
  case speakers(Speakers)
  /// The connection quality of participants, for each participant with a changed quality.
  case quality([Participant.ID: ConnectionQuality])
  /// The media path is connected, for the first time or again. Media sent from now on arrive.
  case mediaConnected
  /// The room or its media path cannot be reached for now. The link carries out requests made in the meantime later.
  case reconnecting
  /// Back, and nothing is missing.
  case reconnected
  /// A receiver needs a key frame of a published stream.
  case keyFrameWanted(Track.ID, layer: Int)
  /// The layers of a published stream that at least one receiver wants; 0 is the smallest. Before this event: all layers.
  case layersWanted(Track.ID, [Int])
  /// What the path carries now, all published streams together, in bit/s; and the fraction of packets being lost.
  case estimate(bitrate: Int, loss: Double)
  /// Something asked for could not be done; the link stands.
  case failed(Failure)
  /// Over. Nothing follows.
  case ended(EndReason)
}
