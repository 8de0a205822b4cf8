import Koine
import KoineUIKit

/// The invented style: one object with one mouth and one ear. An app says a `Word`, hears `Notice`s, and may look at
/// the `scene` whenever it likes, which already is as the notice says.
@MainActor
public final class Salon {
  public enum Word {
    case enter, leave
    case speak(Bool), film(Bool), present(Bool)
    /// - Parameter keptFor: how long later joiners still get the message; nil: they do not.
    case say(String, keptFor: Duration?)
    case listen(to: String, sound: Bool, picture: Bool)
    case rest(String, Bool)
    case look(at: String, rows: Int?)
  }

  public enum Notice {
    case entered, lost, found
    case over(String)
    case arrived(String), departed(String), voice(String)
    case silence(String, Bool), picture(String, Bool), screen(String, Bool)
    case words(from: String, String)
  }

  @MainActor public struct Guest {
    public let id, name: String
    public let attributes: [String: String]
    public var isSilent = true
    /// Where the camera and the screen are drawn; both stay when they go dark.
    public let picture = VideoView(), screen = VideoView()
    public var hasPicture = false, hasScreen = false
  }

  @MainActor public struct Scene {
    public var isEntered = false, isOver = false
    public var guests: [Guest] = []
    public func guest(_ id: String) -> Guest? { guests.first { $0.id == id } }
  }

  public private(set) var scene = Scene()
  public var ear: (Notice) -> Void = { _ in }
  private let session: Session
  /// Mutes from any thread.
  public private(set) var microphone: LocalStream?
  private var camera, screen: LocalStream?

  public init(_ name: String, room: String, attributes: [String: String] = [:], in world: World) {
    session = Session(
      JoinRequest(room: room, participantID: name.lowercased(), name: name, attributes: attributes), in: world)
    session.observe { [weak self] event in MainActor.assumeIsolated { self?.handle(event) } }
  }

  /// - Throws: what the room has against it, if that is known at once.
  public func say(_ word: Word) throws {
    let devices = session.world.devices
    switch word {
    case .enter:
      guard session.state == .idle else { return }
      microphone = try session.publish(microphone: Devices.microphone(devices.microphone))
      try say(.film(true))
      session.join { _ in }
    case .leave: session.leave { _ = self }  // lives until its end has been told
    case .speak(let isOn): microphone?.setMuted(!isOn)
    case .film(true):
      guard camera == nil else { return }
      let source = try Devices.camera(devices.camera)
      let small = VideoLayer(maximumWidth: 320, maximumHeight: 180, maximumBitrate: 150_000)
      camera = try session.publish(
        camera: source, options: VideoPublishOptions(lowerLayers: source.format.height > 180 ? [small] : []))
    case .film(false): (camera, _) = (nil, camera?.unpublish())
    case .present(true): screen = try session.publish(camera: Devices.camera(devices.screen), as: .screen)
    case .present(false): (screen, _) = (nil, screen?.unpublish())
    case .say(let text, let lifetime):
      try session.send(DataMessage(topic: "salon", payload: Array(text.utf8), lifetime: lifetime))
    case .listen(let id, let sound, let picture):
      for stream in streams(of: id) {
        if stream.kind.isAudio ? sound : picture {
          session.subscribe(to: stream.id)
        } else {
          session.unsubscribe(from: stream.id)
        }
      }
    case .rest(let id, let isResting):
      for stream in streams(of: id) where stream.kind == .camera {
        isResting ? session.pause(stream.id) : session.resume(stream.id)
      }
    case .look(let id, let rows):
      for stream in streams(of: id) where stream.kind == .camera {
        session.setPreference(ReceivePreference(maximumHeight: rows), for: stream.id)
      }
    }
  }

  private func streams(of id: String) -> [Koine.Stream] {
    session.participants.first { $0.id == id }?.streams ?? []
  }

  private func change(_ id: String, _ notice: Notice, _ change: (inout Guest) -> Void) {
    guard let index = scene.guests.firstIndex(where: { $0.id == id }) else { return }
    change(&scene.guests[index])
    ear(notice)
  }

  private func handle(_ event: SessionEvent) {
    switch event {
    case .stateChanged(.connected):
      let isBack = scene.isEntered
      scene.isEntered = true
      ear(isBack ? .found : .entered)
    case .stateChanged(.reconnecting): ear(.lost)
    case .stateChanged(.ended(let reason)):
      scene = Scene(isOver: true)
      ear(.over("\(reason)"))
    case .participantJoined(let other):
      scene.guests.append(Guest(id: other.id, name: other.name, attributes: other.attributes))
      ear(.arrived(other.id))
    case .participantLeft(let other, _):
      scene.guests.removeAll { $0.id == other.id }
      ear(.departed(other.id))
    case .streamAdded(let stream, let owner), .streamMuted(let stream, let owner):
      if !owner.isLocal { changed(stream, of: owner.id, isOn: !stream.isMuted) }
    case .streamRemoved(let stream, let owner): if !owner.isLocal { changed(stream, of: owner.id, isOn: false) }
    case .levelsChanged(let levels):
      for id in levels.filter({ $0.value > -45 && scene.guest($0.key) != nil }).keys.sorted() { ear(.voice(id)) }
    case .messageReceived(let message):
      ear(.words(from: message.sender, String(decoding: message.payload, as: UTF8.self)))
    default: break
    }
  }

  private func changed(_ stream: Koine.Stream, of id: String, isOn: Bool) {
    guard let guest = scene.guest(id) else { return }
    switch stream.kind {
    case .microphone where guest.isSilent == isOn: change(id, .silence(id, !isOn)) { $0.isSilent = !isOn }
    case .camera where guest.hasPicture != isOn:
      if isOn { session.attach(guest.picture, to: stream.id) }
      change(id, .picture(id, isOn)) { $0.hasPicture = isOn }
    case .screen where guest.hasScreen != isOn:
      if isOn { session.attach(guest.screen, to: stream.id) }
      change(id, .screen(id, isOn)) { $0.hasScreen = isOn }
    default: break
    }
  }
}
