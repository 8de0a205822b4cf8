import Koine
import KoineConformanceKit
import Salon

/// Says the suite's words in the style's.
@MainActor
final class SalonDriver: Driver {
  let style = "salon"
  let id, name: String
  let recorder: Recorder
  let inexpressible: [Ability: String] = [
    .ringing: "a salon has a door and no bell", .tokens: "nobody is asked for papers", .readings: "left out here",
    .tokenForm: "nobody is asked for papers", .tokenRoom: "nobody is asked for papers", .endObservers: "one ear",
  ]
  private var salon: Salon?
  private(set) var heard: [ObservedMessage] = []
  var largestMessage: Int { 65_536 }

  init(_ name: String, room: String, in world: World, recorder: Recorder) {
    (self.name, id, self.recorder) = (name, name.lowercased(), recorder)
    salon = Salon(name, room: room, attributes: Roster.attributes(of: name), in: world)
    salon?.ear = { [weak self] in self?.hear($0) }
  }

  private func say(_ word: Salon.Word) throws { try recorder.calling { try salon?.say(word) } }
  func join() throws { try say(.enter) }
  func leave() { try? say(.leave) }
  func setMicrophoneMuted(_ isMuted: Bool) { try? say(.speak(!isMuted)) }
  func setCameraOn(_ isOn: Bool) { try? say(.film(isOn)) }
  func setSharing(_ isOn: Bool) { try? say(.present(isOn)) }
  func sendMessage(_ text: String, lifetime: Int?) throws {
    try say(.say(text, keptFor: lifetime.map { .milliseconds($0) }))
  }
  func want(_ interest: Interest, from id: String) {
    try? say(.listen(to: id, sound: interest != .nothing, picture: interest == .everything))
  }
  func want(rows: Int?, of id: String) { try? say(.look(at: id, rows: rows)) }
  func setPicturePaused(_ isPaused: Bool, of id: String) { try? say(.rest(id, isPaused)) }
  func muteFromAnotherThread(_ isMuted: Bool) async {
    let microphone = salon?.microphone
    await onAnotherThread { microphone?.setMuted(isMuted) }
  }
  func forget() { salon = nil }

  var isConnected: Bool { salon?.scene.isEntered ?? false }
  var isOver: Bool { salon?.scene.isOver ?? false }
  var others: [ObservedParticipant] {
    (salon?.scene.guests ?? []).map { guest in
      ObservedParticipant(
        id: guest.id, name: guest.name, isMicrophoneMuted: guest.isSilent, hasPicture: guest.hasPicture,
        pictures: guest.picture.framesRendered, width: guest.picture.lastFrame?.width ?? 0,
        height: guest.picture.lastFrame?.height ?? 0, isSharing: guest.hasScreen,
        sharedPictures: guest.screen.framesRendered, attributes: guest.attributes)
    }
  }

  private func hear(_ notice: Salon.Notice) {
    let scene = salon?.scene
    switch notice {
    case .entered: recorder.record(.connected, agrees: scene?.isEntered)
    case .lost: recorder.record(.reconnecting)
    case .found: recorder.record(.reconnected)
    case .over(let reason): recorder.record(.ended, of: nil, reason, agrees: scene?.isOver)
    case .arrived(let id): recorder.record(.joined, of: id, agrees: scene?.guest(id) != nil)
    case .departed(let id): recorder.record(.left, of: id, agrees: scene?.guest(id) == nil)
    case .voice(let id): recorder.record(.speaking, of: id)
    case .silence(let id, let isSilent):
      recorder.record(isSilent ? .muted : .unmuted, of: id, agrees: scene?.guest(id)?.isSilent == isSilent)
    case .picture(let id, let isOn):
      recorder.record(isOn ? .pictureOn : .pictureOff, of: id, agrees: scene?.guest(id)?.hasPicture == isOn)
    case .screen(let id, let isOn):
      recorder.record(isOn ? .shareOn : .shareOff, of: id, agrees: scene?.guest(id)?.hasScreen == isOn)
    case .words(let sender, let text):
      heard.append(ObservedMessage(sender: sender, text: text))
      recorder.record(.message, of: sender, text)
    }
  }
}
