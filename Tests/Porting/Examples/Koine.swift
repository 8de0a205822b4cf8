import Foundation
import Koine
import KoineUIKit

/// What Docs/porting.md shows in the words of the common layer.
@MainActor
final class KoineExample {
  let view = UIView(frame: CGRect(x: 0, y: 0, width: 320, height: 180))
  private(set) var people: [String] = []
  private(set) var muted: Set<String> = []
  private(set) var speaker: String?
  private(set) var texts: [String] = []
  private let world: World
  private var session: Session!
  private var microphone, camera, screen: LocalStream?
  private var views: [Track.ID: VideoView] = [:]
  private var recording: (any RoomRecording)?

  init(in world: World) { self.world = world }

  // example: join
  func enter(_ room: String, as name: String, with credential: String?) async throws {
    session = Session(JoinRequest(room: room, credential: credential, name: name), in: world)
    session.observe { event in MainActor.assumeIsolated { self.handle(event) } }
    microphone = try session.publish(microphone: Devices.microphone(world.devices.microphone))
    try await session.join()
  }

  func goAway() async {
    await session.leave()
  }
  // end

  private func handle(_ event: SessionEvent) {
    count(event)
    watchMutes(event)
    watchSpeaker(event)
    show(event)
    receive(event)
  }

  // example: people
  func count(_ event: SessionEvent) {
    switch event {
    case .participantJoined(let person): people.append(person.name)
    case .participantLeft(let person, _): people.removeAll { $0 == person.name }
    default: break
    }
  }
  // end

  // example: mute
  func setMuted(_ isMuted: Bool) {
    microphone?.setMuted(isMuted)
  }

  func watchMutes(_ event: SessionEvent) {
    switch event {
    case .streamAdded(let stream, let owner), .streamMuted(let stream, let owner):
      guard stream.kind == .microphone else { return }
      if stream.isMuted { muted.insert(owner.name) } else { muted.remove(owner.name) }
    default: break
    }
  }
  // end

  // example: speaker
  func watchSpeaker(_ event: SessionEvent) {
    guard case .dominantSpeakerChanged(let id) = event else { return }
    speaker = session.participants.first { $0.id == id }?.name
  }
  // end

  // example: camera
  func setCameraOn(_ isOn: Bool) throws {
    camera?.unpublish()
    camera = isOn ? try session.publish(camera: Devices.camera(world.devices.camera)) : nil
  }
  // end

  // example: quality
  func publishSmall() throws {
    let options = VideoPublishOptions(maximumBitrate: 300_000, maximumFramesPerSecond: 15, maximumHeight: 180)
    camera = try session.publish(camera: Devices.camera(world.devices.camera), options: options)
  }

  func wantLess(of person: Participant) {
    for stream in person.tracks where stream.kind == .camera {
      session.setPreference(LayerPreference(maximumHeight: 180), for: stream.id)
    }
  }
  // end

  // example: render
  func show(_ event: SessionEvent) {
    switch event {
    case .streamAdded(let stream, let owner) where stream.kind == .camera && !owner.isLocal:
      let picture = VideoView(frame: view.bounds)
      views[stream.id] = picture
      view.addSubview(picture)
      session.attach(picture, to: stream.id)
    case .streamRemoved(let stream, _):
      views.removeValue(forKey: stream.id)?.removeFromSuperview()
    default: break
    }
  }
  // end

  // example: share
  func setSharing(_ isOn: Bool) throws {
    screen?.unpublish()
    screen = isOn ? try session.publish(camera: Devices.camera(world.devices.screen), as: .screen) : nil
  }

  func isShare(_ stream: Track) -> Bool { stream.kind == .screen }
  // end

  // example: chat
  func say(_ text: String) throws {
    try session.send(DataMessage(topic: "chat", payload: Array(text.utf8)))
  }

  func receive(_ event: SessionEvent) {
    guard case .messageReceived(let message) = event, message.topic == "chat" else { return }
    texts.append(String(decoding: message.payload, as: UTF8.self))
  }
  // end

  // example: record
  func startRecording(to file: URL) async throws {
    let request = RecordingRequest(room: session.request.room, credential: session.request.credential)
    recording = try await RoomRecorders.record(request, to: file, in: world)
  }

  func stopRecording() async throws {
    try await recording?.stop()
  }
  // end
}
