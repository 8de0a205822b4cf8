import Koine
import KoineConformanceKit
import KoineUIKit

/// Whom an app knows of, as its callbacks told it; every change is a line of the trace.
@MainActor
struct Sightings {
  private struct Sighting {
    var name: String
    var isMicrophoneMuted: Bool?
    var hasPicture = false
    var isSharing = false
    /// Where the camera was drawn, the newest last.
    var views: [VideoView] = []
    var screens: [VideoView] = []
  }

  private let recorder: Recorder
  private var order: [String] = []
  private var people: [String: Sighting] = [:]

  init(_ recorder: Recorder) { self.recorder = recorder }

  var seen: [Seen] {
    order.compactMap { id in
      people[id].map { person in
        let frame = person.views.last?.lastFrame
        return Seen(
          id: id, name: person.name, isMicrophoneMuted: person.isMicrophoneMuted, hasPicture: person.hasPicture,
          pictures: person.views.reduce(0) { $0 + $1.framesRendered }, width: frame?.width ?? 0,
          height: frame?.height ?? 0, isSharing: person.isSharing,
          sharedPictures: person.screens.reduce(0) { $0 + $1.framesRendered })
      }
    }
  }

  func view(of id: String) -> VideoView? { people[id]?.views.last }
  func contains(_ id: String) -> Bool { people[id] != nil }

  /// - Parameters:
  ///   - isMuted: nil where the style does not tell.
  ///   - agrees: whether what the app can read agrees; nil where there is nothing to be read.
  mutating func joined(_ id: String, name: String, isMuted: Bool?, agrees: Bool? = nil) {
    recorder.told(.joined, of: id, agrees: agrees)
    if people[id] == nil { order.append(id) }
    people[id] = Sighting(name: name, isMicrophoneMuted: isMuted)
  }

  mutating func left(_ id: String, agrees: Bool? = nil) {
    recorder.told(.left, of: id, agrees: agrees)
    order.removeAll { $0 == id }
    people[id] = nil
  }

  /// Everybody is gone because the app itself is out.
  mutating func clear() {
    order = []
    people = [:]
  }

  /// - Parameter view: where it is drawn; nil: where it was before.
  mutating func pictureOn(_ id: String, in view: VideoView?, agrees: Bool? = nil) {
    recorder.told(.pictureOn, of: id, agrees: agrees)
    people[id]?.hasPicture = true
    if let view, people[id]?.views.last !== view { people[id]?.views.append(view) }
  }

  /// Drawn elsewhere from now on.
  mutating func moved(_ id: String, to view: VideoView) { people[id]?.views.append(view) }

  mutating func pictureOff(_ id: String, agrees: Bool? = nil) {
    recorder.told(.pictureOff, of: id, agrees: agrees)
    people[id]?.hasPicture = false
  }

  mutating func shareOn(_ id: String, in view: VideoView, agrees: Bool? = nil) {
    recorder.told(.shareOn, of: id, agrees: agrees)
    people[id]?.isSharing = true
    people[id]?.screens.append(view)
  }

  mutating func shareOff(_ id: String, agrees: Bool? = nil) {
    recorder.told(.shareOff, of: id, agrees: agrees)
    people[id]?.isSharing = false
  }

  mutating func muted(_ id: String, _ isMuted: Bool, agrees: Bool? = nil) {
    guard people[id]?.isMicrophoneMuted != isMuted else { return }
    recorder.told(isMuted ? .muted : .unmuted, of: id, agrees: agrees)
    people[id]?.isMicrophoneMuted = isMuted
  }

  func spoke(_ id: String) { recorder.told(.speaking, of: id) }
}
