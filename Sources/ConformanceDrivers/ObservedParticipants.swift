import Koine
import KoineConformanceKit
import KoineUIKit

/// The remote participants that an app knows from its callbacks.
///
/// Each change adds a line to the trace. The line is added last, because an app may act as soon as it is notified.
@MainActor
final class ObservedParticipants {
  private struct Entry {
    var name: String
    var isMicrophoneMuted: Bool?
    var hasPicture = false
    var isSharing = false
    var attributes: [String: String]
    /// Where the camera was drawn, the newest last.
    var views: [VideoView] = []
    var screens: [VideoView] = []
  }

  private let recorder: Recorder
  private var order: [String] = []
  private var people: [String: Entry] = [:]

  init(_ recorder: Recorder) { self.recorder = recorder }

  var seen: [ObservedParticipant] {
    order.compactMap { id in
      people[id].map { person in
        let frame = person.views.last?.lastFrame
        return ObservedParticipant(
          id: id, name: person.name, isMicrophoneMuted: person.isMicrophoneMuted, hasPicture: person.hasPicture,
          pictures: person.views.reduce(0) { $0 + $1.framesRendered }, width: frame?.width ?? 0,
          height: frame?.height ?? 0, isSharing: person.isSharing,
          sharedPictures: person.screens.reduce(0) { $0 + $1.framesRendered }, attributes: person.attributes)
      }
    }
  }

  func view(of id: String) -> VideoView? { people[id]?.views.last }
  func contains(_ id: String) -> Bool { people[id] != nil }

  /// - Parameters:
  ///   - isMuted: nil where the style does not tell.
  ///   - agrees: whether what the app can read agrees; nil where there is nothing to be read.
  func joined(
    _ id: String, name: String, isMuted: Bool?, attributes: [String: String] = [:], agrees: Bool? = nil
  ) {
    if people[id] == nil { order.append(id) }
    let own = attributes.filter { Roster.attributes(of: name)[$0.key] != nil }
    people[id] = Entry(name: name, isMicrophoneMuted: isMuted, attributes: own)
    recorder.record(.joined, of: id, agrees: agrees)
  }

  func left(_ id: String, agrees: Bool? = nil) {
    order.removeAll { $0 == id }
    people[id] = nil
    recorder.record(.left, of: id, agrees: agrees)
  }

  /// Forgets all remote participants, because the app itself has left the room.
  func clear() {
    order = []
    people = [:]
  }

  /// - Parameter view: the view that draws the camera; nil: the same view as before.
  func pictureOn(_ id: String, in view: VideoView?, agrees: Bool? = nil) {
    people[id]?.hasPicture = true
    if let view, people[id]?.views.last !== view { people[id]?.views.append(view) }
    recorder.record(.pictureOn, of: id, agrees: agrees)
  }

  /// Drawn elsewhere from now on.
  func moved(_ id: String, to view: VideoView) { people[id]?.views.append(view) }

  func pictureOff(_ id: String, agrees: Bool? = nil) {
    people[id]?.hasPicture = false
    recorder.record(.pictureOff, of: id, agrees: agrees)
  }

  func shareOn(_ id: String, in view: VideoView, agrees: Bool? = nil) {
    people[id]?.isSharing = true
    people[id]?.screens.append(view)
    recorder.record(.shareOn, of: id, agrees: agrees)
  }

  func shareOff(_ id: String, agrees: Bool? = nil) {
    people[id]?.isSharing = false
    recorder.record(.shareOff, of: id, agrees: agrees)
  }

  func muted(_ id: String, _ isMuted: Bool, agrees: Bool? = nil) {
    guard people[id]?.isMicrophoneMuted != isMuted else { return }
    people[id]?.isMicrophoneMuted = isMuted
    recorder.record(isMuted ? .muted : .unmuted, of: id, agrees: agrees)
  }

  func spoke(_ id: String) { recorder.record(.speaking, of: id) }
}
