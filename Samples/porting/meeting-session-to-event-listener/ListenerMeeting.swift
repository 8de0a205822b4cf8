// What layers read from the meeting session style need (`koine port --to event-listener`): the same for every app.
import AVFoundation
import Foundation
import VideoSDKRTC
import WebRTC

/// A call in which shares are attendees, and videos are tiles with numbers.
final class ListenerMeeting: @unchecked Sendable {  // used on the main queue only, where the SDK's callbacks arrive
  /// Calls a function on the main queue after so many seconds. A test sets one that waits by its room's time.
  @TaskLocal static var after: @Sendable (Double, @escaping @Sendable () -> Void) -> Void = {
    DispatchQueue.main.asyncAfter(deadline: .now() + $0, execute: $1)
  }
  let call: ListenerCall
  var observer: ((Event) -> Void)?
  var tiles: [Tile] = [], views: [Int: RTCMTLVideoView] = [:], lastTile = 0
  /// What waits for the first frames of videos.
  var watches: [Source: AnyObject] = [:]
  /// The streams that are reported, by participants.
  var sent: [String: Set<ListenerKind>] = [:]
  /// The videos that the app has chosen; nil: all.
  var chosen: Set<Source>?
  weak var screen: Screen?
  private var known: Set<String> = []
  private(set) var sounds: [String: (isMuted: Bool, isKnown: Bool)] = [:]
  private(set) var levels: [String: Float] = [:]
  var volumes: [String: Volume.Level] = [:]
  var topics: Set<String> = []
  /// The messages that are reported, and how often those that the room has kept are still looked for.
  var told: Set<String> = [], looks = 0
  private(set) var hasBegun = false, hasEntered = false
  private let after = ListenerMeeting.after

  init(_ request: Request) { call = ListenerCall(request) }
  var localParticipant: Attendee { Attendee(call.localParticipant) }
  /// - Throws: `Failure.microphoneDenied`, also if the user has not been asked yet.
  func start() throws {
    guard AVCaptureDevice.authorizationStatus(for: .audio) == .authorized else { throw Failure.microphoneDenied }
    call.handler = { [weak self] report, _ in self?.receive(report) }
    hasBegun = true
    call.join()
    waitToLook()
  }
  func leave() { call.leave() }
  func report(_ event: Event) { observer?(event) }

  private func receive(_ report: ListenerReport) {
    switch report {
    case .phaseChanged(.CLOSED): end()
    case .phaseChanged(.CONNECTED): enter()
    case .phaseChanged(.RECONNECTING): self.report(.interrupted)
    case .phaseChanged(let phase): if phase == .CONNECTING { self.report(.connecting) }
    case .personJoined(let person): join(person)
    case .personLeft(let person): leave(person)
    case .streamAdded(_, let one), .streamRemoved(_, let one): update(one)
    case .speakerChanged(let id):
      let speaker = id == call.localParticipant.id ? call.localParticipant : id.flatMap { call.participants[$0] }
      self.report(.speakersChanged(speaker.map { [Attendee($0)] } ?? []))
    case .levelsChanged(let new):
      levels.merge(new) { $1 }
      new.keys.forEach(updateVolume)
    case .pathChanged(let isPoor): self.report(.pathChanged(isPoor))
    case .failed(let failure): if failure.kind == .screen, !call.isOver { screen?.fail() }
    case .messageReceived(let message):
      readMessages()
      receive(message)
    default: break
    }
  }
  private func enter() {
    report(.joined(isAgain: hasEntered))
    looks = 25
    guard !hasEntered else { return }
    hasEntered = true
    topics.sorted().forEach(begin)
    join(call.localParticipant)
    update(call.localParticipant)
  }
  private func end() {
    for tile in tiles { remove(tile) }
    (sent, sounds, levels, volumes, known, watches) = ([:], [:], [:], [:], [], [:])
    report(.ended(call.meetingEnd))
  }
  private func join(_ person: VideoSDKRTC.Participant) {
    known.insert(person.id)
    report(.attendeeJoined(Attendee(person)))
    select()
  }
  /// A meeting looks at its attendees five times a second. An attendee counts as not muted until then; after that, each change is
  /// reported.
  private func waitToLook() {
    after(0.2) { [weak self] in
      guard let self, !call.isOver else { return }
      for person in [call.localParticipant] + call.participants.values { setMuted(nil, person) }
      readMessages()
      waitToLook()
    }
  }
  private func leave(_ person: VideoSDKRTC.Participant) {
    for kind in sent[person.id] ?? [] { setSent(kind, of: person, isSent: false) }
    (sent[person.id], sounds[person.id], _) = (nil, nil, known.remove(person.id))
    (levels[person.id], volumes[person.id]) = (nil, nil)
    report(call.hasDropped(person) ? .attendeeDropped(Attendee(person)) : .attendeeLeft(Attendee(person)))
  }
  private func update(_ person: VideoSDKRTC.Participant) {
    guard known.contains(person.id) else { return }
    setMuted(!call.isSent(.microphone, by: person), person)
    for kind in [ListenerKind.camera, .screen] {
      setSent(kind, of: person, isSent: call.isSent(kind, by: person))
    }
  }
  /// - Parameter isMuted: nil: the attendee is looked at.
  private func setMuted(_ isMuted: Bool?, _ person: VideoSDKRTC.Participant) {
    guard known.contains(person.id) else { return }
    let old = sounds[person.id] ?? (true, false), new = isMuted ?? old.isMuted
    sounds[person.id] = (new, old.isKnown || isMuted == nil)
    let isNews = isMuted == nil ? new && !old.isKnown : old.isKnown && new != old.isMuted
    if isNews { report(.muted(Attendee(person), new)) }
    if isMuted == nil || new != old.isMuted { updateVolume(of: person.id) }
  }
}
