import Foundation
import Koine
import KoineTesting

/// A call layer of the same app, written by hand over the common layer: what a team would write to port a reference app to `Koine`.
@MainActor
final class NativeLayer: CallLayer {
  /// The behaviour of the app that is ported.
  struct Behaviour {
    var startsWithCamera = false
    /// Whether the app shows a phase between the user's tap on Leave and the end of the call.
    var showsLeaving = false
    /// Whether the app shows a notice once the connection is back.
    var noticesReturn = false
    /// Whether the app shows its devices only once it is in the call.
    var showsDevicesOnceInCall = false
    var chat = ChatFormat.topic("chat")
    /// The cases that the app shows for the ends of calls.
    var caseOf: @MainActor (EndReason) -> String = { "\($0)" }
  }

  let behaviour: Behaviour
  let mistake: Mistake?
  private let context: PortingContext
  private let world: World
  private let tiles = TileList()
  private var session: Session?
  private var microphone, camera, share: LocalStream?
  private(set) var shown = CallFacts(phase: "idle", isMicrophoneOn: false)
  /// Keeps objects alive that a mistake forgets to release.
  private var leak: AnyObject?
  private var polling: Task<Void, Never>?

  init(in context: PortingContext, _ behaviour: Behaviour, mistake: Mistake? = nil) {
    self.context = context
    self.behaviour = behaviour
    self.mistake = mistake
    world = context.room.world(of: context.name)
    context.chat = behaviour.chat
    context.watch(tiles, "TileList")
  }

  deinit { polling?.cancel() }

  var view: UIView { tiles.view }
  var facts: CallFacts {
    guard behaviour.showsDevicesOnceInCall, shown.phase == "joining" else { return shown }
    var facts = shown
    (facts.isMicrophoneOn, facts.isCameraOn) = (false, false)
    return facts
  }

  // MARK: The user's actions

  func join() {
    guard session == nil else { return }
    let session = Session(
      JoinRequest(room: context.room.id, participantID: context.participantID, name: context.name), in: world)
    self.session = session
    shown = CallFacts(phase: "joining", isMicrophoneOn: true)
    microphone = try? session.publish(microphone: world.machine.makeMicrophone())
    session.observe { [weak self] event in MainActor.assumeIsolated { self?.handle(event) } }
    if behaviour.startsWithCamera { setCameraOn(true) }
    session.join { _ in }
    if mistake == .layerKept { leak = self }
    if mistake == .timerLeft { poll() }
  }

  func leave() {
    if behaviour.showsLeaving { shown.phase = "leaving" }
    let session = session
    if mistake == .leaveNotAwaited { end(.left) }
    if mistake != .leaveForgotten { session?.leave {} }
  }

  func setMicrophoneOn(_ isOn: Bool) {
    if mistake != .muteOnlyShown { microphone?.setMuted(mistake == .muteInverted ? isOn : !isOn) }
    shown.isMicrophoneOn = mistake == .muteNotShown ? true : isOn
  }

  func setCameraOn(_ isOn: Bool) {
    guard isOn else {
      if let camera { tiles.remove(camera.id) }
      camera?.unpublish()
      camera = nil
      shown.isCameraOn = false
      return
    }
    guard camera == nil, let session else { return }
    guard let source = try? world.machine.makeCamera(), let stream = try? session.publish(camera: source) else {
      return
    }
    camera = stream
    shown.isCameraOn = true
    session.attach(tiles.add(stream.id), to: stream.id)
  }

  func switchCamera() { preconditionFailure("only scenarios of the reference apps do it") }

  func setSharing(_ isOn: Bool) {
    if isOn, share == nil, let source = try? Devices.camera(world.devices.screen) {
      share = try? session?.publish(camera: source, as: .screen)
    } else if !isOn, mistake != .shareNotStopped {
      share?.unpublish()
      share = nil
    }
    shown.isSharing = isOn
  }

  func send(_ text: String) {
    let message = DataMessage(topic: behaviour.chat.topic, payload: behaviour.chat.encode(text))
    guard (try? session?.send(message)) != nil else { return }
    if mistake == .messageSentTwice { try? session?.send(message) }
    shown.messages.append(CallFacts.Message(from: "You", text: text))
  }

  // MARK: What the session reports

  private func handle(_ event: SessionEvent) {
    switch event {
    case .stateChanged(let state): stateChanged(state)
    case .participantJoined(let one): people.append(CallFacts.Person(name: one.name, isMuted: true))
    case .participantLeft(let one, _):
      if mistake != .stalePerson { people.removeAll { $0.name == one.name } }
      speakerChanged()
    case .streamAdded(let track, let owner), .streamMuted(let track, let owner):
      if !owner.isLocal { update(track, of: owner, isThere: true) }
    case .streamRemoved(let track, let owner):
      if !owner.isLocal { update(track, of: owner, isThere: false) }
    case .messageReceived(let message): received(message)
    case .dominantSpeakerChanged: speakerChanged()
    default: break
    }
  }

  private var people: [CallFacts.Person] {
    get { shown.people }
    set { shown.people = newValue }
  }

  private func stateChanged(_ state: SessionState) {
    switch state {
    case .idle, .connecting: break
    case .connected:
      if shown.phase == "reconnecting", behaviour.noticesReturn { shown.end = "reconnected" }
      shown.phase = "inCall"
    case .reconnecting:
      if mistake != .reconnectingNotShown { shown.phase = "reconnecting" }
    case .ended(let reason): end(reason)
    }
  }

  private func end(_ reason: EndReason) {
    let caseOf = mistake == .endReasonWrong ? "lost" : behaviour.caseOf(reason)
    shown = CallFacts(phase: "ended", end: mistake == .errorSwallowed ? nil : caseOf)
    tiles.removeAll()
    if mistake == .cameraNotReleased { keepCameraRunning() }
    if mistake == .lateChange { changeLate() }
    (session, microphone, camera, share) = (nil, nil, nil, nil)
  }

  private func update(_ track: Track, of owner: Participant, isThere: Bool) {
    let isOn = isThere && !track.isMuted
    let name = mistake == .wrongPerson ? people.first?.name : owner.name
    guard let index = people.firstIndex(where: { $0.name == name }) else { return }
    switch track.kind {
    case .microphone:
      people[index].isMuted = !isOn
    case .camera: people[index].hasVideo = isOn
    case .screen: people[index].isSharing = isOn
    case .screenSound: return
    }
    guard track.kind.isVideo else { return }
    if isOn {
      let view = tiles.add(track.id)
      if mistake != .videoNotShown { session?.attach(view, to: track.id) }
    } else {
      tiles.remove(track.id)
    }
  }

  private func received(_ message: ReceivedMessage) {
    guard message.topic == behaviour.chat.topic, let text = behaviour.chat.decode(message.payload) else { return }
    let name = session?.participants.first { $0.id == message.sender }?.name ?? message.sender
    let shownMessage = CallFacts.Message(from: name, text: text)
    switch mistake {
    case .messageTwice: shown.messages += [shownMessage, shownMessage]
    case .messagesReversed: shown.messages.insert(shownMessage, at: 0)
    default: shown.messages.append(shownMessage)
    }
  }

  private func speakerChanged() {
    shown.activeSpeaker = session?.participants.first { $0.id == session?.dominantSpeaker }?.name
  }

  // MARK: Mistakes that need code of their own

  private func keepCameraRunning() {
    guard let source = try? world.machine.makeCamera() else { return }
    try? source.start(on: world.backend.scheduler.lane("camera")) { _ in }
    leak = source
  }

  private func changeLate() {
    Task { @MainActor [weak self, clock = context.clock] in
      try? await clock.sleep(for: .seconds(4))
      self?.shown.phase = "idle"
    }
  }

  private func poll() {
    polling = Task { @MainActor [clock = context.clock] in
      while !Task.isCancelled { try? await clock.sleep(for: .seconds(1)) }
    }
  }
}

/// The video views of a call, one for each stream, in a column.
@MainActor
final class TileList {
  let view = UIView(frame: CGRect(x: 0, y: 0, width: 640, height: 1_080))
  private var tiles: [(id: Track.ID, view: VideoView)] = []

  func add(_ id: Track.ID) -> VideoView {
    if let known = tiles.first(where: { $0.id == id }) { return known.view }
    let tile = VideoView(frame: .zero)
    view.addSubview(tile)
    tiles.append((id, tile))
    layOut()
    return tile
  }

  func remove(_ id: Track.ID) {
    for tile in tiles where tile.id == id { tile.view.removeFromSuperview() }
    tiles.removeAll { $0.id == id }
    layOut()
  }

  func removeAll() { for tile in tiles { remove(tile.id) } }

  private func layOut() {
    for (index, tile) in tiles.enumerated() {
      let (row, column) = index.quotientAndRemainder(dividingBy: 2)
      tile.view.frame = CGRect(x: 320 * column, y: 180 * row, width: 320, height: 180)
    }
  }
}
