import Foundation

/// Controls one participant in a room, with an app of one style.
///
/// A scenario calls these methods in canonical terms, and the driver calls the style's own API. The driver reads the app's
/// state from the style's own objects, callbacks and views, never from the layers below. A new style joins the suite with a
/// driver of its own. Everything happens on the main actor.
@MainActor
public protocol Driver: AnyObject {
  /// The name of the app's style.
  var style: String { get }
  /// The participant's id in the room.
  var id: String { get }
  /// The participant's display name.
  var name: String { get }
  /// Records each notification that the app receives, when the app receives it.
  var recorder: Recorder { get }
  /// Abilities that the style's API cannot express, each with the reason. The suite skips scenarios that need one of them.
  var inexpressible: [Ability: String] { get }

  /// Enters the room with microphone and camera on, and with `Roster.attributes(of:)` where the style has attributes.
  /// - Throws: where the style's call throws, such as for a malformed token.
  func join() throws
  /// Enters the room as an app does that registers its observers after the joining call has returned, as code with `await`
  /// does. The same as `join` where objects of the style have their observers from the beginning.
  /// - Throws: the error that `join` throws.
  func joinObservingLate() throws
  /// Leaves the room.
  func leave()
  /// Mutes or unmutes the local microphone.
  func setMicrophoneMuted(_ isMuted: Bool)
  /// Turns the local camera on or off.
  func setCameraOn(_ isOn: Bool)
  /// Starts or stops sharing a screen. Needs `.share`.
  func setSharing(_ isOn: Bool)
  /// Sends a message to the room. Needs `.messages`.
  /// - Parameter lifetime: how long the room keeps the message for later joiners, in milliseconds; nil: later joiners do not get it.
  /// - Throws: where the style's call throws, such as for a text that is too long.
  func sendMessage(_ text: String, lifetime: Int?) throws
  /// Subscribes to these streams of a remote participant. Needs `.interest`, and `.refusal` for `.nothing`.
  func want(_ interest: Interest, from id: String)
  /// Pauses or resumes the video of a remote participant. Needs `.pausing`.
  func setPicturePaused(_ isPaused: Bool, of id: String)
  /// Limits the height of a participant's camera video, in rows; nil: no limit. Needs `.layers`.
  func want(rows: Int?, of id: String)
  /// Mutes or unmutes the local microphone from another thread than the main one. Returns once the call has returned.
  func muteFromAnotherThread(_ isMuted: Bool) async
  /// Signs in, so that calls can begin and arrive. Needs `.ringing`.
  func signIn()
  /// Begins a call, with microphone and camera. Needs `.ringing`.
  func ring(_ ids: [String])
  /// Answers the call that rings. Needs `.ringing`.
  func answer(_ isAccepted: Bool)
  /// Gives up the own call that rings. Needs `.ringing`.
  func cancel()
  /// The callbacks that report the end of a call, by name, in the order that the style documents. Those of one set come in
  /// any order. The driver notes each with `Recorder.endCallback`. Needs `.endObservers`.
  func endCallbacks(of end: CallEnd) -> [Set<String>]
  /// Whether an observer that is removed inside a callback of the end still receives the remaining ones.
  var endReachesRemovedObservers: Bool { get }
  /// Registers a further observer of the end, before the driver's own where the style has a list of observers. Needs
  /// `.endObservers`.
  /// - Parameter handler: called with the name of each callback of the end.
  /// - Returns: removes that observer.
  func observeEnd(_ handler: @escaping @MainActor (String) -> Void) -> @MainActor () -> Void
  /// The properties that the app can read now from the style's objects, by name. Values of one participant begin with
  /// `participant ID `. The driver calls `Recorder.callback` at the beginning of each callback. Needs `.readings`.
  var readings: [String: String] { get }
  /// Releases all of the style's objects without leaving. The suite does not use the driver afterwards.
  func forget()

  /// Whether the participant is in the room.
  var isConnected: Bool { get }
  /// Whether the call is over, or was refused.
  var isOver: Bool { get }
  /// Whether the app is signed in, so that calls can arrive.
  var isReachable: Bool { get }
  /// An incoming call is ringing at this participant now.
  var isRung: Bool { get }
  /// The remote participants that the app knows now, in the order in which the app learned of them.
  var others: [ObservedParticipant] { get }
  /// Messages from remote participants, in the order in which they arrived.
  var heard: [ObservedMessage] { get }
  /// Largest text of a message, in bytes. Needs `.messages`.
  var largestMessage: Int { get }
}

/// Attributes that the suite's participants have in the room, in addition to their names.
public enum Roster {
  /// The attributes of the participant of this name.
  public static func attributes(of name: String) -> [String: String] { ["seat": "by the window, " + name] }
}

/// An ability that some styles' APIs cannot express.
public enum Ability: String, CaseIterable, Codable, Sendable {
  /// Messages to the room.
  case messages
  /// Messages that the room keeps for later joiners.
  case history
  /// A screen beside the camera.
  case share
  /// Subscribing to a participant's audio without the video.
  case interest
  /// Unsubscribing from all streams of a participant.
  case refusal
  /// Limiting the size of a participant's video.
  case layers
  /// Attributes of a participant that other participants can read.
  case attributes
  /// Pausing a participant's video without unsubscribing from it.
  case pausing
  /// Calls between identities.
  case ringing
  /// Joining a room twice from one process.
  case secondDevice
  /// Joining with a token that can expire.
  case tokens
  /// Joining another room than the token is for.
  case tokenRoom
  /// Refusal of a text that is no token.
  case tokenForm
  /// Several observers of the end of a call, which can be removed.
  case endObservers
  /// Properties that can be read between callbacks.
  case readings
}

/// How a call ends for an app.
public enum CallEnd: String, Codable, Sendable {
  /// The app left.
  case left
  /// Another client has joined as this participant.
  case replaced
  /// The connection did not come back in time.
  case connectionLost
}

/// The streams of a remote participant that an app subscribes to.
public enum Interest: String, Codable, Sendable {
  /// Audio and video.
  case everything
  /// Audio only.
  case sound
  /// No stream at all.
  case nothing
}

/// A remote participant, as an app sees it.
public struct ObservedParticipant: Sendable, Hashable {
  /// Id of the participant in the room.
  public var id: String
  /// Display name of the participant.
  public var name: String
  /// Whether the participant's microphone is muted; nil where the style does not report it.
  public var isMicrophoneMuted: Bool?
  /// Whether the participant's camera video is available.
  public var hasPicture: Bool
  /// Number of camera frames of this participant that have been drawn so far, in any view.
  public var pictures: Int
  /// Size of the newest camera frame, in pixels; zero before the first frame.
  public var width, height: Int
  /// Whether the participant shares a screen.
  public var isSharing: Bool
  /// Number of frames of the shared screen that have been drawn so far.
  public var sharedPictures: Int
  /// The participant's attributes among those of `Roster`; empty where the style does not report attributes.
  public var attributes: [String: String]

  /// Creates a participant as an app sees it.
  public init(
    id: String, name: String, isMicrophoneMuted: Bool? = nil, hasPicture: Bool = false, pictures: Int = 0,
    width: Int = 0, height: Int = 0, isSharing: Bool = false, sharedPictures: Int = 0,
    attributes: [String: String] = [:]
  ) {
    self.id = id
    self.name = name
    self.isMicrophoneMuted = isMicrophoneMuted
    self.hasPicture = hasPicture
    self.pictures = pictures
    self.width = width
    self.height = height
    self.isSharing = isSharing
    self.sharedPictures = sharedPictures
    self.attributes = attributes
  }
}

/// A message that a participant has sent.
public struct ObservedMessage: Sendable, Hashable {
  /// Id of the participant that sent the message.
  public var sender: String
  /// The message's text.
  public var text: String

  /// Creates a message.
  public init(sender: String, text: String) {
    self.sender = sender
    self.text = text
  }
}

/// A scenario used an ability that the driver neither implements nor declares inexpressible.
public struct UnsupportedAction: Error, CustomStringConvertible {
  public let description: String
  /// Creates the error for an ability that the style's driver lacks.
  public init(_ ability: Ability, _ style: String) {
    description =
      "the \(style) driver was asked for \(ability.rawValue), which it neither does nor declares inexpressible"
  }
}

extension Driver {
  public func joinObservingLate() throws { try join() }
  public func setSharing(_ isOn: Bool) { recorder.failed(UnsupportedAction(.share, style)) }
  public func sendMessage(_ text: String, lifetime: Int?) throws { throw UnsupportedAction(.messages, style) }
  public func want(_ interest: Interest, from id: String) { recorder.failed(UnsupportedAction(.interest, style)) }
  public func want(rows: Int?, of id: String) { recorder.failed(UnsupportedAction(.layers, style)) }
  public func setPicturePaused(_ isPaused: Bool, of id: String) { recorder.failed(UnsupportedAction(.pausing, style)) }
  public func signIn() { recorder.failed(UnsupportedAction(.ringing, style)) }
  public func ring(_ ids: [String]) { recorder.failed(UnsupportedAction(.ringing, style)) }
  public func answer(_ isAccepted: Bool) { recorder.failed(UnsupportedAction(.ringing, style)) }
  public func cancel() { recorder.failed(UnsupportedAction(.ringing, style)) }
  public func endCallbacks(of end: CallEnd) -> [Set<String>] { [] }
  public var endReachesRemovedObservers: Bool { false }
  public func observeEnd(_ handler: @escaping @MainActor (String) -> Void) -> @MainActor () -> Void {
    recorder.failed(UnsupportedAction(.endObservers, style))
    return {}
  }
  public var readings: [String: String] {
    recorder.failed(UnsupportedAction(.readings, style))
    return [:]
  }
  public var isReachable: Bool { false }
  public var isRung: Bool { false }
  public var heard: [ObservedMessage] { [] }
  public var largestMessage: Int { 2_048 }

  /// For drivers: runs `call` on a thread of its own.
  public func onAnotherThread(_ call: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { done in
      Thread {
        call()
        done.resume()
      }.start()
    }
  }
}
