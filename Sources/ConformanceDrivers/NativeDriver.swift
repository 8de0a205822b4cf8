import Koine
import KoineUIKit

/// Written against the common layer.
@MainActor
final class NativeDriver: Driver {
  let style = Style.native
  let id: Participant.ID
  let name: String
  private let own: Session
  private var sightings = Sightings()
  private var microphone: LocalStream?
  private var camera: LocalStream?
  private let ownView = VideoView()
  private(set) var heard: [String] = []

  init(name: String, room: String, in world: World) {
    self.name = name
    id = name.lowercased()
    own = Session(JoinRequest(room: room, participantID: id, name: name), in: world)
    own.observe { [weak self] event in MainActor.assumeIsolated { self?.handle(event) } }
  }

  var session: Session? { own }
  var isConnected: Bool { own.state == .connected }
  var isOver: Bool { own.state.isEnded }
  var others: [Seen] { sightings.seen }
  var mirror: VideoView? { ownView }

  func join() throws {
    microphone = try own.publish(microphone: Devices.microphone(own.world.devices.microphone))
    try turnCameraOn()
    own.join { _ in }
  }

  func leave() { own.leave {} }
  func setMicrophoneMuted(_ isMuted: Bool) { microphone?.setMuted(isMuted) }

  func setCameraOn(_ isOn: Bool) {
    if isOn {
      try? turnCameraOn()  // it was there when joining
    } else {
      camera?.unpublish()
      camera = nil
    }
  }

  private func turnCameraOn() throws {
    guard camera == nil else { return }
    let stream = try own.publish(camera: Devices.camera(own.world.devices.camera))
    own.attach(ownView, to: stream.id)
    camera = stream
  }

  func say(_ text: String) -> Bool {
    do { try own.send(DataMessage(topic: "chat", payload: Array(text.utf8))) } catch { return false }
    return true
  }

  private func handle(_ event: SessionEvent) {
    switch event {
    case .participantJoined(let other): sightings.add(other.id, Sighting(name: other.name, isMicrophoneMuted: true))
    case .participantLeft(let other, _): sightings.remove(other.id)
    case .streamAdded(let stream, let owner), .streamMuted(let stream, let owner):
      if !owner.isLocal { update(stream, of: owner, isThere: true) }
    case .streamRemoved(let stream, let owner): if !owner.isLocal { update(stream, of: owner, isThere: false) }
    case .levelsChanged(let levels):
      for (id, level) in levels where level > -45 { sightings.change(id) { $0.hasSpoken = true } }
    case .messageReceived(let message): heard.append(String(decoding: message.payload, as: UTF8.self))
    default: break
    }
  }

  private func update(_ stream: Koine.Stream, of owner: Participant, isThere: Bool) {
    switch stream.kind {
    case .microphone: sightings.change(owner.id) { $0.isMicrophoneMuted = !isThere || stream.isMuted }
    case .camera:
      let view = sightings[owner.id]?.view ?? VideoView()
      if isThere { own.attach(view, to: stream.id) }
      sightings.change(owner.id) {
        $0.view = view
        $0.hasPicture = isThere && !stream.isMuted
      }
    case .screen, .screenSound: break
    }
  }
}
