import Koine
import KoineBase
import KoineConformanceKit
import KoineTokens
import KoineUIKit

/// Written against the common layer.
@MainActor
final class NativeDriver: KoineDriver {
  let style = Style.koine.rawValue
  let id: String
  let name: String
  let recorder: Recorder
  let inexpressible: [Ability: String] = [
    .tokenForm: "the common layer takes any text, and an embedded room takes what says nothing for no token"
  ]
  private let world: World
  private var isLeaving = false
  private var own: Session?
  private let sightings: ObservedParticipants
  private var microphone, camera, screen: LocalStream?
  private let ownView = VideoView()
  private(set) var heard: [ObservedMessage] = []
  private(set) var isOver = false
  // Calls.
  private var endpoint: Endpoint?
  /// The incoming call that is ringing, and the call that this participant has begun.
  private var incoming, outgoing: Ring?

  init(_ context: DriverContext) throws {
    name = context.name
    id = name.lowercased()
    world = context.world
    recorder = context.recorder
    sightings = ObservedParticipants(recorder)
    own = try makeSession(room: context.room, credential: Credentials.room(context.credential))
  }

  private func makeSession(room: String, credential: String? = nil) -> Session {
    let session = Session(
      JoinRequest(
        room: room, credential: credential, participantID: id, name: name, attributes: Roster.attributes(of: name)),
      in: world)
    session.observe { [weak self, weak session] event in
      MainActor.assumeIsolated {
        if let session {
          self?.handle(event, of: session)
        } else if let self, self.isLeaving, case .stateChanged(let state) = event {  // it has been released
          self.changed(to: state, agrees: true)
        }
      }
    }
    return session
  }

  var session: Session? { own }
  var isConnected: Bool { own?.state == .connected }
  var others: [ObservedParticipant] { sightings.seen }
  var mirror: VideoView? { ownView }
  func view(of id: String) -> VideoView? { sightings.view(of: id) }

  func join() throws {
    guard let own else { return }
    if microphone == nil { microphone = try own.publish(microphone: Devices.microphone(world.devices.microphone)) }
    try turnCameraOn()
    let answer = recorder.asks("join")
    recorder.calling {
      own.join { outcome in
        MainActor.assumeIsolated { if case .failure(let error) = outcome { answer(error) } else { answer(nil) } }
      }
    }
  }

  func leave() {
    guard let own else { return }
    isLeaving = true
    let answer = recorder.asks("leave")
    recorder.calling { own.leave { MainActor.assumeIsolated { answer(nil) } } }
  }

  func setMicrophoneMuted(_ isMuted: Bool) { recorder.calling { microphone?.setMuted(isMuted) } }

  func setCameraOn(_ isOn: Bool) {
    if isOn {
      try? recorder.calling { try turnCameraOn() }  // it was there when joining; after the end it may throw
    } else {
      recorder.calling { camera?.unpublish() }
      camera = nil
    }
  }

  private func turnCameraOn() throws {
    guard camera == nil, let own else { return }
    let small = VideoLayer(maximumWidth: 320, maximumHeight: 180, maximumBitrate: 150_000)
    let source = try Devices.camera(world.devices.camera)
    let stream = try own.publish(
      camera: source, options: VideoPublishOptions(lowerLayers: source.format.height > 180 ? [small] : []))
    own.attach(ownView, to: stream.id)
    camera = stream
  }

  func setSharing(_ isOn: Bool) {
    if isOn {
      do {
        screen = try recorder.calling {
          try own?.publish(camera: Devices.camera(world.devices.screen), as: .screen)
        }
      } catch {
        recorder.failed(error)
      }
    } else {
      recorder.calling { screen?.unpublish() }
      screen = nil
    }
  }

  func sendMessage(_ text: String, lifetime: Int?) throws {
    try recorder.calling {
      try own?.send(
        DataMessage(topic: "chat", payload: Array(text.utf8), lifetime: lifetime.map { .milliseconds($0) }))
    }
  }

  func want(_ interest: Interest, from id: String) {
    for stream in own?.participants.first(where: { $0.id == id })?.tracks ?? [] {
      let isWanted = interest == .everything || interest == .sound && stream.kind.isAudio
      recorder.calling { isWanted ? own?.subscribe(to: stream.id) : own?.unsubscribe(from: stream.id) }
    }
  }

  func want(rows: Int?, of id: String) {
    for stream in own?.participants.first(where: { $0.id == id })?.tracks ?? [] where stream.kind == .camera {
      recorder.calling { own?.setPreference(LayerPreference(maximumHeight: rows), for: stream.id) }
    }
  }

  func muteFromAnotherThread(_ isMuted: Bool) async {
    let microphone = microphone
    await onAnotherThread { microphone?.setMuted(isMuted) }
  }

  var largestMessage: Int { 65_536 }

  func setPicturePaused(_ isPaused: Bool, of id: String) {
    guard let own,
      let stream = own.participants.first(where: { $0.id == id })?.tracks.first(where: { $0.kind == .camera })
    else { return }
    recorder.calling { isPaused ? own.pause(stream.id) : own.resume(stream.id) }
  }

  func endCallbacks(of end: CallEnd) -> [Set<String>] { [["ended"]] }

  func observeEnd(_ handler: @escaping @MainActor (String) -> Void) -> @MainActor () -> Void {
    let observation = own?.observe { event in
      if case .stateChanged(.ended) = event { MainActor.assumeIsolated { handler("ended") } }
    }
    return { observation?.cancel() }
  }

  var readings: [String: String] {
    guard let own else { return [:] }
    var all = [
      "state": "\(own.state)", "dominant speaker": own.dominantSpeaker ?? "none", "tiles": "\(own.tiles)",
      "participants": own.participants.map(\.id).sorted().joined(separator: " "),
    ]
    for participant in own.participants {
      all["participant \(participant.id) name"] = participant.name
      all["participant \(participant.id) attributes"] = "\(participant.attributes.sorted { $0.key < $1.key })"
      for stream in participant.tracks {
        all["participant \(participant.id) stream \(stream.id)"] = stream.isMuted ? "muted" : "on"
      }
    }
    return all
  }

  func forget() {
    own = nil
    endpoint = nil
    microphone = nil
    camera = nil
    screen = nil
  }

  // MARK: What the session tells

  private func handle(_ event: SessionEvent, of session: Session) {
    recorder.callback("\(event)".prefix { $0 != "(" }.description, changes: Self.changes(of: event))
    switch event {
    case .stateChanged(let state): changed(to: state, agrees: session.state == state)
    case .participantJoined(let other):
      let agrees = session.participants.contains { $0.id == other.id }
      sightings.joined(other.id, name: other.name, isMuted: true, attributes: other.attributes, agrees: agrees)
    case .participantLeft(let other, _):
      sightings.left(other.id, agrees: !session.participants.contains { $0.id == other.id })
    case .streamAdded(let stream, let owner), .streamMuted(let stream, let owner):
      guard !owner.isLocal else { return }
      let known = session.participants.first { $0.id == owner.id }?.tracks.first { $0.id == stream.id }
      update(stream, of: owner, in: session, agrees: known?.isMuted == stream.isMuted)
    case .streamRemoved(let stream, let owner):
      guard !owner.isLocal else { return }
      let isKnown = session.participants.first { $0.id == owner.id }?.tracks.contains { $0.id == stream.id } ?? false
      withdraw(stream, of: owner, agrees: !isKnown)
    case .levelsChanged(let levels):
      for (id, level) in levels.sorted(by: { $0.key < $1.key }) where level > -45 && sightings.contains(id) {
        sightings.spoke(id)
      }
    case .messageReceived(let message):
      let text = String(decoding: message.payload, as: UTF8.self)
      recorder.record(.message, of: message.sender, text)
      heard.append(ObservedMessage(sender: message.sender, text: text))
    default: break
    }
  }

  /// The properties of `readings` that an event announces.
  private static func changes(of event: SessionEvent) -> [String] {
    switch event {
    case .stateChanged: ["state"]
    case .participantJoined(let other), .participantLeft(let other, _): ["participants", "participant \(other.id)"]
    case .streamAdded(let stream, let owner), .streamRemoved(let stream, let owner),
      .streamMuted(let stream, let owner):
      ["participant \(owner.id) stream \(stream.id)"]
    case .attributesChanged(let other): ["participant \(other.id) attributes"]
    case .dominantSpeakerChanged: ["dominant speaker"]
    case .tileAdded, .tileChanged, .tileRemoved: ["tiles"]
    default: []
    }
  }

  private func changed(to state: SessionState, agrees: Bool) {
    switch state {
    case .connected: recorder.record(hasReconnected ? .reconnected : .connected, agrees: agrees)
    case .reconnecting: recorder.record(.reconnecting, agrees: agrees)
    case .ended(let reason):
      isOver = true
      sightings.clear()
      recorder.endCallback("ended")
      recorder.record(.ended, of: nil, "\(reason)", agrees: agrees)
    case .idle, .connecting: break
    }
  }

  private var hasReconnected: Bool { recorder.entries.contains { $0.callback == .connected } }

  private func update(_ stream: Track, of owner: Koine.Participant, in session: Session, agrees: Bool) {
    switch stream.kind {
    case .microphone: sightings.muted(owner.id, stream.isMuted, agrees: agrees)
    case .camera:
      if stream.isMuted { return sightings.pictureOff(owner.id, agrees: agrees) }
      let view = sightings.view(of: owner.id) ?? VideoView()
      session.attach(view, to: stream.id)
      sightings.pictureOn(owner.id, in: view, agrees: agrees)
    case .screen:
      let view = VideoView()
      session.attach(view, to: stream.id)
      sightings.shareOn(owner.id, in: view, agrees: agrees)
    case .screenSound: break
    }
  }

  private func withdraw(_ stream: Track, of owner: Koine.Participant, agrees: Bool) {
    switch stream.kind {
    case .microphone: sightings.muted(owner.id, true, agrees: agrees)
    case .camera: if !stream.isMuted { sightings.pictureOff(owner.id, agrees: agrees) }
    case .screen: sightings.shareOff(owner.id, agrees: agrees)
    case .screenSound: break
    }
  }
}

// MARK: Calls

extension NativeDriver {
  var isReachable: Bool { endpoint?.state == .registered }
  var isRung: Bool { incoming != nil }

  func signIn() {
    let endpoint = Endpoint(identity: id, name: name, in: world)
    self.endpoint = endpoint
    endpoint.observe { [weak self] event in MainActor.assumeIsolated { self?.handle(event) } }
    let answer = recorder.asks("sign in")
    recorder.calling {
      endpoint.register { outcome in
        MainActor.assumeIsolated { if case .failure(let error) = outcome { answer(error) } else { answer(nil) } }
      }
    }
  }

  func ring(_ ids: [String]) { recorder.calling { outgoing = endpoint?.invite(ids, hasVideo: true) } }

  func answer(_ isAccepted: Bool) {
    guard let call = incoming else { return }
    incoming = nil
    let isBusy = own?.state == .connected
    recorder.calling { endpoint?.reply(isAccepted ? isBusy ? .busy : .accept : .decline, to: call.id) }
    if isAccepted, !isBusy { enter(call.room) }
  }

  func cancel() { if let outgoing { recorder.calling { endpoint?.cancel(outgoing.id) } } }

  private func enter(_ room: String) {
    own = makeSession(room: room)
    do { try join() } catch { recorder.failed(error) }
  }

  private func handle(_ event: EndpointEvent) {
    switch event {
    case .invited(let invitation):
      incoming = invitation
      recorder.record(.rung, of: invitation.caller)
    case .answered(let invitation, _, let answer):
      if invitation.id == incoming?.id {
        incoming = nil
        return recorder.record(.ringingEnded, of: invitation.caller, answer.rawValue)
      }
      guard invitation.id == outgoing?.id else { return }
      if answer == .accepted, own?.state == .idle {
        enter(invitation.room)
      } else if invitation.callees.allSatisfy({ invitation.answers[$0]?.isOver ?? false }),
        !invitation.answers.values.contains(.accepted)
      {
        isOver = true
      }
    case .stateChanged, .failed: break
    }
  }
}
