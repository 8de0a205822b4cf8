import Foundation

/// Controls one participant in a room, with an app of one style.
///
/// A scenario calls these methods in canonical terms, and the driver calls the style's own API. The driver reads the app's
/// state from the style's own objects, callbacks and views, never from the layers below. A new style joins the suite with a
/// driver of its own. Everything happens on the main actor.
@MainActor
public protocol Driver: AnyObject {
  var style: String { get }
  /// The participant's id in the room.
  var id: String { get }
  var name: String { get }
  /// Records each notification that the app receives, when the app receives it.
  var recorder: Recorder { get }
  /// Abilities that the style's API cannot express, each with the reason. The suite skips scenarios that need one of them.
  var inexpressible: [Ability: String] { get }

  /// Enters the room with microphone and camera on, and with `Roster.attributes(of:)` where the style has attributes.
  /// Throws where the style says at once that it cannot be.
  func join() throws
  /// Enters the room as an app does that registers its observers after the joining call has returned, as code with `await`
  /// does. The same as `join` where objects of the style have their observers from the beginning.
  func joinObservingLate() throws
  func leave()
  func setMicrophoneMuted(_ isMuted: Bool)
  func setCameraOn(_ isOn: Bool)
  /// Needs `.share`.
  func setSharing(_ isOn: Bool)
  /// Needs `.messages`. Throws where the style says at once that it cannot be.
  /// - Parameter lifetime: how long the room keeps the message for later joiners, in milliseconds; nil: later joiners do not get it.
  func say(_ text: String, lifetime: Int?) throws
  /// Needs `.interest`, and `.refusal` for nothing.
  func want(_ interest: Interest, from id: String)
  /// Needs `.pausing`.
  func setPicturePaused(_ isPaused: Bool, of id: String)
  /// Limits the height of a participant's camera video, in rows; nil: no limit. Needs `.layers`.
  func want(rows: Int?, of id: String)
  /// `setMicrophoneMuted`, said on another thread than the main one; returns once that is done.
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
  /// Lets go of every object of the style's, without a word. The driver is not asked anything afterwards.
  func forget()

  var isConnected: Bool { get }
  /// Over, after having been in the room or not.
  var isOver: Bool { get }
  /// Signed in.
  var isReachable: Bool { get }
  /// An incoming call is ringing at this participant now.
  var isRung: Bool { get }
  /// The remote participants that the app knows now, in the order in which the app learned of them.
  var others: [Seen] { get }
  /// Messages from remote participants, in the order in which they arrived.
  var heard: [Heard] { get }
  /// How many bytes of text one message takes. Needs `.messages`.
  var largestMessage: Int { get }
}

/// Attributes that the suite's participants have in the room, in addition to their names.
public enum Roster {
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
  /// To be in the room with words of the app's own.
  case attributes
  /// Pausing a participant's video without unsubscribing from it.
  case pausing
  /// Calls between identities.
  case ringing
  /// To be in a room twice, from one process.
  case secondDevice
  /// To be let in by a token that may be out of date.
  case tokens
  /// To be let in by a token that is good for one room, while asking for another.
  case tokenRoom
  /// To be refused because the token is none.
  case tokenForm
  /// To observe the end with more than one observer, and to remove one of them.
  case endObservers
  /// To read properties between callbacks.
  case readings
}

/// How a call ends for an app.
public enum CallEnd: String, Codable, Sendable {
  /// The app left.
  case left
  /// The same participant has joined from elsewhere.
  case replaced
  /// The connection did not come back in time.
  case connectionLost
}

/// The streams of a remote participant that an app subscribes to.
public enum Interest: String, Codable, Sendable {
  case everything, sound, nothing
}

/// A remote participant, as an app sees it.
public struct Seen: Sendable, Hashable {
  public var id: String
  public var name: String
  /// Nil where the style does not tell.
  public var isMicrophoneMuted: Bool?
  public var hasPicture: Bool
  /// Number of camera frames of this participant that have been drawn so far, in any view.
  public var pictures: Int
  /// Size of the newest camera frame, in pixels; zero before the first frame.
  public var width, height: Int
  public var isSharing: Bool
  /// Pictures drawn of the screen that is shared, so far.
  public var sharedPictures: Int
  /// Those of `Roster`; empty where the style does not tell.
  public var attributes: [String: String]

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
public struct Heard: Sendable, Hashable {
  public var sender: String
  public var text: String

  public init(sender: String, text: String) {
    self.sender = sender
    self.text = text
  }
}

/// A deed was asked of a style that has no words for it, although it did not say so.
public struct Speechless: Error, CustomStringConvertible {
  public let description: String
  public init(_ ability: Ability, _ style: String) {
    description =
      "the \(style) driver was asked for \(ability.rawValue), which it neither does nor declares inexpressible"
  }
}

extension Driver {
  public func joinObservingLate() throws { try join() }
  public func setSharing(_ isOn: Bool) { recorder.failed(Speechless(.share, style)) }
  public func say(_ text: String, lifetime: Int?) throws { throw Speechless(.messages, style) }
  public func want(_ interest: Interest, from id: String) { recorder.failed(Speechless(.interest, style)) }
  public func want(rows: Int?, of id: String) { recorder.failed(Speechless(.layers, style)) }
  public func setPicturePaused(_ isPaused: Bool, of id: String) { recorder.failed(Speechless(.pausing, style)) }
  public func signIn() { recorder.failed(Speechless(.ringing, style)) }
  public func ring(_ ids: [String]) { recorder.failed(Speechless(.ringing, style)) }
  public func answer(_ isAccepted: Bool) { recorder.failed(Speechless(.ringing, style)) }
  public func cancel() { recorder.failed(Speechless(.ringing, style)) }
  public func endCallbacks(of end: CallEnd) -> [Set<String>] { [] }
  public var endReachesRemovedObservers: Bool { false }
  public func observeEnd(_ handler: @escaping @MainActor (String) -> Void) -> @MainActor () -> Void {
    recorder.failed(Speechless(.endObservers, style))
    return {}
  }
  public var readings: [String: String] {
    recorder.failed(Speechless(.readings, style))
    return [:]
  }
  public var isReachable: Bool { false }
  public var isRung: Bool { false }
  public var heard: [Heard] { [] }
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
