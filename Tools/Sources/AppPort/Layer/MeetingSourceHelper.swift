/// What layers read from the meeting session style need beside the call of a vendor's style: shares as attendees, tiles with numbers from
/// their first frame on, mutes that are known some time after an attendee has come, and statuses of a meeting's end. Each style adds a file
/// with its devices and ends (`ListenerMeetingMedia.swift`).
///
/// Beside the members that all helpers have, a style adds to its call: `init(_:)` with a request, `meetingEnd`, `hasDropped`,
/// `activeSide`, `isSent(_:by:)`, `firstFrame(of:by:then:)`, `show(_:_:of:)`, `hide(_:_:of:)` and `receive(_:)`; to its failures: `kind`;
/// and to its meeting: `messageLimit`. Of its reports, these are read: `phaseChanged`, `personJoined`, `personLeft`, `streamAdded`,
/// `streamRemoved`, `speakerChanged`, `levelsChanged`, `pathChanged`, `messageReceived` and `failed` of a shared screen.
enum MeetingSourceHelper {
  static func files(for writer: VendorWriter.Type) -> [LayerHelper] {
    [("Meeting", meeting), ("MeetingTiles", tiles), ("MeetingValues", values)].map { name, text in
      LayerHelper(
        fileName: "\(writer.prefix)\(name).swift", typeNames: name == "Meeting" ? [writer.prefix + name] : [],
        source: writer.filled(text))
    }
  }

  private static let meeting = #"""
    // What layers read from the meeting session style need (`koine port --to ‹style›`): the same for every app.
    ‹import AVFoundation Foundation›

    /// A call in which shares are attendees, and videos are tiles with numbers.
    final class ‹RoomMeeting›: @unchecked Sendable {  // used on the main queue only, where the SDK's callbacks arrive
      /// Calls a function on the main queue after so many seconds. A test sets one that waits by its room's time.
      @TaskLocal static var after: @Sendable (Double, @escaping @Sendable () -> Void) -> Void = {
        DispatchQueue.main.asyncAfter(deadline: .now() + $0, execute: $1)
      }
      let call: ‹Session›
      var observer: ((Event) -> Void)?
      var tiles: [Tile] = [], views: [Int: ‹VideoView›] = [:], lastTile = 0
      /// What waits for the first frames of videos.
      var watches: [Source: AnyObject] = [:]
      /// The streams that are reported, by participants.
      var sent: [String: Set<‹Track.Kind›>] = [:]
      /// The videos that the app has chosen; nil: all.
      var chosen: Set<Source>?
      weak var screen: Screen?
      private var known: Set<String> = []
      private(set) var sounds: [String: (isMuted: Bool, isKnown: Bool)] = [:]
      private(set) var levels: [String: Float] = [:]
      var volumes: [String: Volume.Level] = [:]
      var topics: Set<String> = []  ‹with ReceivedMessage›
      /// The messages that are reported, and how often those that the room has kept are still looked for.  ‹with ReceivedMessage›
      var told: Set<String> = [], looks = 0  ‹with ReceivedMessage›
      private(set) var hasBegun = false, hasEntered = false
      private let after = ‹RoomMeeting›.after

      init(_ request: Request) { call = ‹Session›(request) }
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

      private func receive(_ report: ‹Prefix›Report) {
        switch report {
        case .phaseChanged(.‹SessionState.ended›): end()
        case .phaseChanged(.‹SessionState.connected›): enter()
        case .phaseChanged(.‹SessionState.reconnecting›): self.report(.interrupted)
        case .phaseChanged(let phase): if phase == .‹SessionState.connecting› { self.report(.connecting) }
        case .personJoined(let person): join(person)
        case .personLeft(let person): leave(person)
        case .streamAdded(_, let one), .streamRemoved(_, let one): update(one)
        case .speakerChanged(let id):
          let speaker = id == call.localParticipant.id ? call.localParticipant : id.flatMap { call.participants[$0] }
          self.report(.speakersChanged(speaker.map { [Attendee($0)] } ?? []))
        case .levelsChanged(let new):
          levels.merge(new) { $1 }
          new.keys.forEach(updateVolume)
        case .pathChanged(let isPoor): self.report(.pathChanged(isPoor))  ‹with ConnectionQuality›
        case .failed(let failure): if failure.kind == .screen, !call.isOver { screen?.fail() }
        case .messageReceived(let message):  ‹with ReceivedMessage›
          readMessages()  ‹with ReceivedMessage›
          receive(message)  ‹with ReceivedMessage›
        default: break
        }
      }
      private func enter() {
        report(.joined(isAgain: hasEntered))
        looks = 25  ‹with ReceivedMessage›
        guard !hasEntered else { return }
        hasEntered = true
        topics.sorted().forEach(begin)  ‹with ReceivedMessage›
        join(call.localParticipant)
        update(call.localParticipant)
      }
      private func end() {
        for tile in tiles { remove(tile) }
        (sent, sounds, levels, volumes, known, watches) = ([:], [:], [:], [:], [], [:])
        report(.ended(call.meetingEnd))
      }
      private func join(_ person: ‹Participant›) {
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
          readMessages()  ‹with ReceivedMessage›
          waitToLook()
        }
      }
      private func leave(_ person: ‹Participant›) {
        for kind in sent[person.id] ?? [] { setSent(kind, of: person, isSent: false) }
        (sent[person.id], sounds[person.id], _) = (nil, nil, known.remove(person.id))
        (levels[person.id], volumes[person.id]) = (nil, nil)
        report(call.hasDropped(person) ? .attendeeDropped(Attendee(person)) : .attendeeLeft(Attendee(person)))
      }
      private func update(_ person: ‹Participant›) {
        guard known.contains(person.id) else { return }
        setMuted(!call.isSent(.microphone, by: person), person)
        for kind in [‹Track.Kind›.camera, .screen] {
          setSent(kind, of: person, isSent: call.isSent(kind, by: person))
        }
      }
      /// - Parameter isMuted: nil: the attendee is looked at.
      private func setMuted(_ isMuted: Bool?, _ person: ‹Participant›) {
        guard known.contains(person.id) else { return }
        let old = sounds[person.id] ?? (true, false), new = isMuted ?? old.isMuted
        sounds[person.id] = (new, old.isKnown || isMuted == nil)
        let isNews = isMuted == nil ? new && !old.isKnown : old.isKnown && new != old.isMuted
        if isNews { report(.muted(Attendee(person), new)) }
        if isMuted == nil || new != old.isMuted { updateVolume(of: person.id) }
      }
    }

    """#

  private static let tiles = #"""
    // Tiles and shares of layers read from the meeting session style (`koine port --to ‹style›`): the same for every app.
    ‹import Foundation UIKit›

    extension ‹RoomMeeting› {
      /// Shows a tile's video in the view, and no other video.
      func bind(view: ‹VideoView›, tile id: Int) {
        for (other, bound) in views where bound === view || other == id { unbind(tile: other) }
        guard let tile = tiles.first(where: { $0.id == id }) else { return }
        views[id] = view
        call.show(view, tile.kind, of: tile.owner)
      }
      func unbind(tile id: Int) {
        guard let view = views.removeValue(forKey: id), let tile = tiles.first(where: { $0.id == id }) else { return }
        call.hide(view, tile.kind, of: tile.owner)
      }
      /// Receives these videos. With the first choice, a meeting ceases to receive all others.
      func choose(_ added: [Source: Preference], without removed: [Source]) {
        chosen = (chosen ?? []).union(added.keys).subtracting(removed)
        select()
      }
      func select() {
        guard let chosen else { return }
        let people = call.participants.keys.map { id in
          (id, Set(chosen.filter { $0.owner == id }.map(\.kind)).union([.microphone]))
        }
        call.receive(Dictionary(uniqueKeysWithValues: people))
      }

      /// A camera or a shared screen has come or gone.
      func setSent(_ kind: ‹Track.Kind›, of person: ‹Participant›, isSent: Bool) {
        guard isSent != (sent[person.id]?.contains(kind) == true) else { return }
        let content = Attendee(contentOf: person), source = Source(owner: person.id, kind: kind)
        if isSent {
          sent[person.id, default: []].insert(kind)
          if kind == .screen { report(.attendeeJoined(content)) }
          if !person.isLocal { report(.sourceAdded(source)) }
          if !person.isLocal || kind == .camera {
            watches[source] = call.firstFrame(of: kind, by: person) { [weak self] in self?.add(source, of: person) }
          }
          if person.isLocal, kind == .screen { report(.shareStarted) }
        } else {
          (_, watches[source]) = (sent[person.id]?.remove(kind), nil)
          tiles.filter { $0.owner == person.id && $0.kind == kind }.forEach(remove)
          if !person.isLocal { report(.sourceRemoved(source)) }
          if kind == .screen { report(.attendeeLeft(content)) }
          if person.isLocal, kind == .screen { report(.shareEnded(nil)) }
        }
      }
      /// A video has its tile from its first frame on.
      private func add(_ source: Source, of person: ‹Participant›) {
        guard watches.removeValue(forKey: source) != nil else { return }
        lastTile += 1
        let tile = Tile(id: lastTile, source.kind, of: person)
        tiles.append(tile)
        report(.tileAdded(tile))
      }
      func remove(_ tile: Tile) {
        report(.tileRemoved(tile))
        unbind(tile: tile.id)
        tiles.removeAll { $0 === tile }
      }

      /// A video with its number.
      final class Tile: Equatable, @unchecked Sendable {  // all is constant
        enum Pause: Sendable { case requested, poorPath }
        let id: Int, kind: ‹Track.Kind›, owner: String, isLocal: Bool
        /// The SDK does not say of a single video that it waits.
        var pause: Pause? { nil }
        init(id: Int, _ kind: ‹Track.Kind›, of person: ‹Participant›) {
          (self.id, self.kind, owner, isLocal) = (id, kind, person.id, person.isLocal)
        }
        var isContent: Bool { kind == .screen }
        var attendeeID: String { owner + (isContent ? "#content" : "") }
        static func == (one: Tile, other: Tile) -> Bool { one === other }
      }

      /// A screen that is shared.
      final class Screen: @unchecked Sendable {  // used on the main queue only
        var observer: ((Event) -> Void)?
        private var isOn = false
        private weak var meeting: ‹RoomMeeting›?
        init(call: ‹RoomMeeting›) {
          meeting = call
          call.screen = self
        }
        func start() { set(true) }
        func stop() { set(false) }
        /// The SDK captures the screen when the share begins.
        private func set(_ isOn: Bool) {
          guard isOn != self.isOn else { return }
          self.isOn = isOn
          DispatchQueue.main.async { [weak self] in self?.observer?(isOn ? .captureStarted : .captureEnded) }
        }
        func fail() {
          isOn = false
          observer?(.captureFailed(.screen))
        }
      }
      final class Share { var videoSource: Screen? }
    }

    """#

  private static let values = #"""
    // Devices, attendees, ends and errors of layers read from the meeting session style (`koine port --to ‹style›`): the same for every app.
    ‹import AVFoundation Foundation›

    extension ‹RoomMeeting› {
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
      func setStream(kind: ‹Track.Kind›, isOn: Bool) { call.setStream(kind: kind, isOn: isOn) }
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
      func observe(topic: String) {  ‹with ReceivedMessage›
        topics.insert(topic)  ‹with ReceivedMessage›
        if hasEntered { begin(topic) }  ‹with ReceivedMessage›
      }  ‹with ReceivedMessage›
      func stopObserving(topic: String) {  ‹with ReceivedMessage›
        topics.remove(topic)  ‹with ReceivedMessage›
        call.stopObserving(topic: topic)  ‹with ReceivedMessage›
      }  ‹with ReceivedMessage›
      func begin(_ topic: String) {  ‹with ReceivedMessage›
        call.observe(topic: topic)  ‹with ReceivedMessage›
        call.messages(topic: topic).forEach(receive)  ‹with ReceivedMessage›
      }  ‹with ReceivedMessage›
      /// Those that the room has kept come after the entry, and no callback reports them.  ‹with ReceivedMessage›
      func readMessages() {  ‹with ReceivedMessage›
        guard looks > 0 else { return }  ‹with ReceivedMessage›
        looks -= 1  ‹with ReceivedMessage›
        for topic in topics.sorted() { call.messages(topic: topic).forEach(receive) }  ‹with ReceivedMessage›
      }  ‹with ReceivedMessage›
      /// - Throws: always. The SDK carries no messages: the app's own server does.  ‹without ReceivedMessage›
      func send(text: String, topic: String, lifetime: Int32) throws { throw Failure.notConnected }  ‹without ReceivedMessage›
      func receive(_ message: ‹ReceivedMessage›) {  ‹with ReceivedMessage›
        guard told.insert(message.‹ReceivedMessage.id›).inserted else { return }  ‹with ReceivedMessage›
        if message.‹ReceivedMessage.sender› != call.localParticipant.id { report(.message(message)) }  ‹with ReceivedMessage›
      }  ‹with ReceivedMessage›
      /// - Parameter lifetime: in ms; above 0, later attendees get the message, too.
      func send(text: String, topic: String, lifetime: Int32) throws {  ‹with ReceivedMessage›
        guard text.utf8.count <= Self.messageLimit else { throw Failure.tooLarge }  ‹with ReceivedMessage›
        call.send(text: text, topic: topic, isPersistent: lifetime > 0)  ‹with ReceivedMessage›
      }  ‹with ReceivedMessage›
    }

    extension ‹RoomMeeting› {
      /// What a meeting reports, about one attendee at a time. A share is an attendee: its id is its owner's and `#content`.
      enum Event {
        case connecting, joined(isAgain: Bool), interrupted, ended(End), pathChanged(Bool)
        case attendeeJoined(Attendee), attendeeLeft(Attendee), attendeeDropped(Attendee), muted(Attendee, Bool)
        case volumesChanged([Volume])
        case speakersChanged([Attendee]), sourceAdded(Source), sourceRemoved(Source)
        case tileAdded(Tile), tileRemoved(Tile), shareStarted, shareEnded(Failure?)
        case captureStarted, captureEnded, captureFailed(Failure)
        case message(‹ReceivedMessage›)  ‹with ReceivedMessage›
      }

      /// What the app's server answers: a room, a participant, and the permission to be in it.
      struct Request: Sendable { var room, credential, participantID, name: String }

      struct Attendee: Hashable, Sendable {
        let id, name: String
        init(id: String, name: String) { (self.id, self.name) = (id, name) }
        init(_ person: ‹Participant›) { self.init(id: person.id, name: person.‹Participant.name›) }
        init(contentOf person: ‹Participant›) {
          self.init(id: person.id + "#content", name: person.‹Participant.name›)
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
        let owner: String, kind: ‹Track.Kind›
        var attendeeID: String { owner + (kind == .screen ? "#content" : "") }
      }
      /// How a video is received: as the SDK does it.
      struct Preference: Sendable {}

      struct Camera: Sendable { let side: ‹Machine.Attachment› }

      /// Why a meeting is over, with the numbers of a meeting's statuses.
      enum End: UInt32, Sendable {
        case left = 0, lost = 9, removed = 60, replaced = 61, failed = 62, rejected = 63, full = 64, unreachable = 65
        case ended = 75, unknown = 78, cameraRefused = 206
      }

      enum Failure: Error, Sendable {
        case microphoneDenied, cameraDenied, device, alreadyJoined, tooLarge, tooMany, notConnected, forbidden, screen
      }
    }

    """#
}
