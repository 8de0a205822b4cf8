// Devices, attendees, ends and errors of layers read from the meeting session style (`koine port --to stage-strategy`): the same for every app.
import AVFoundation
import AmazonIVSBroadcast
import Foundation

extension StageMeeting {
  /// - Throws: `Failure.cameraDenied`, also if the user has not been asked yet.
  func startCamera() throws {
    guard AVCaptureDevice.authorizationStatus(for: .video) == .authorized else { throw Failure.cameraDenied }
    call.setStream(kind: .camera, isOn: true)
  }
  /// - Returns: whether there is a call to mute.
  func setMicrophone(isOn: Bool) -> Bool {
    call.setStream(kind: .microphone, isOn: isOn)
    return hasBegun && !call.isOver
  }
  func setStream(kind: StageStream.Kind, isOn: Bool) { call.setStream(kind: kind, isOn: isOn) }
  /// Changes are reported from the first look on.
  func updateVolume(of id: String) {
    let person = id == call.localParticipant.id ? call.localParticipant : call.participants[id]
    guard let sound = sounds[id], sound.isKnown, let person else { return }
    let volume = Volume(attendee: Attendee(person), level: sound.isMuted ? .muted : .init(level: levels[id] ?? -127))
    if volumes.updateValue(volume.level, forKey: id) != volume.level { report(.volumesChanged([volume])) }
  }
  func switchCamera() { call.switchCamera() }
  /// The camera that is on, or that is turned on next.
  var activeCamera: Camera? { call.activeSide.map(Camera.init) }
  /// - Throws: always. The SDK carries no messages: the app's own server does.
  func send(text: String, topic: String, lifetime: Int32) throws { throw Failure.notConnected }
  /// - Parameter lifetime: in ms; above 0, later attendees get the message, too.
}

extension StageMeeting {
  /// What a meeting reports, about one attendee at a time. A share is an attendee: its id is its owner's and `#content`.
  enum Event {
    case connecting, joined(isAgain: Bool), interrupted, ended(End), pathChanged(Bool)
    case attendeeJoined(Attendee), attendeeLeft(Attendee), attendeeDropped(Attendee), muted(Attendee, Bool)
    case volumesChanged([Volume])
    case speakersChanged([Attendee]), sourceAdded(Source), sourceRemoved(Source)
    case tileAdded(Tile), tileRemoved(Tile), shareStarted, shareEnded(Failure?)
    case captureStarted, captureEnded, captureFailed(Failure)
  }

  /// What the app's server answers: a room, a participant, and the permission to be in it.
  struct Request: Sendable { var room, credential, participantID, name: String }

  struct Attendee: Hashable, Sendable {
    let id, name: String
    init(id: String, name: String) { (self.id, self.name) = (id, name) }
    init(_ person: StagePerson) { self.init(id: person.id, name: person.name) }
    init(contentOf person: StagePerson) {
      self.init(id: person.id + "#content", name: person.name)
    }
  }

  /// An attendee with a changed volume, in the steps of a meeting.
  struct Volume: Sendable {
    enum Level: Int, CaseIterable, CustomStringConvertible, Sendable {
      case muted = -1, notSpeaking, low, medium, high
      var description: String { ["muted", "notSpeaking", "low", "medium", "high"][rawValue + 1] }
      /// - Parameter level: in dBov.
      init(level: Float) { self = level < -55 ? .notSpeaking : level < -40 ? .low : level < -25 ? .medium : .high }
    }
    let attendee: Attendee, level: Level
  }

  /// A video that can be received.
  struct Source: Hashable, Sendable {
    let owner: String, kind: StageStream.Kind
    var attendeeID: String { owner + (kind == .screen ? "#content" : "") }
  }
  /// How a video is received: as the SDK does it.
  struct Preference: Sendable {}

  struct Camera: Sendable { let side: StageCall.Side }

  /// Why a meeting is over, with the numbers of a meeting's statuses.
  enum End: UInt32, Sendable {
    case left = 0, lost = 9, removed = 60, replaced = 61, failed = 62, rejected = 63, full = 64, unreachable = 65
    case ended = 75, unknown = 78, cameraRefused = 206
  }

  enum Failure: Error, Sendable {
    case microphoneDenied, cameraDenied, device, alreadyJoined, tooLarge, tooMany, notConnected, forbidden, screen
  }
}
