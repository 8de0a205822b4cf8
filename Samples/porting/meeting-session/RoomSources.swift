// Received videos and the shared screen of layers read from the meeting session style: the same file for every app.
import Koine

/// A video that can be received. A share is an attendee's: the id is its owner's and `#content`.
struct RoomSource: Hashable, Sendable {
  let stream: Track.ID, attendeeID: String
  init(_ track: Track) {
    (stream, attendeeID) = (track.id, track.id.participant + (track.kind == .screen ? "#content" : ""))
  }
}

extension RoomMeeting {
  func setPaused(_ isPaused: Bool, tile id: Int) {
    guard let stream = tiles.values.first(where: { $0.id == id })?.stream else { return }
    if isPaused { session?.pause(stream) } else { session?.resume(stream) }
  }
  /// Receives these videos with their preferences. With the first choice, a meeting ceases to receive all others.
  func choose(_ added: [RoomSource: LayerPreference], without removed: [RoomSource]) {
    guard let session else { return }
    let (new, old) = (Set(added.keys.map(\.stream)), chosen)
    chosen = (old ?? []).union(new).subtracting(removed.map(\.stream))
    for (source, preference) in added {
      session.setPreference(preference, for: source.stream)
      session.subscribe(to: source.stream)
    }
    let others = old == nil ? session.participants.flatMap(\.tracks).filter(\.kind.isVideo).map(\.id) : []
    for stream in Set(others + removed.map(\.stream)).subtracting(new) { session.unsubscribe(from: stream) }
  }
  /// The source of a video that has come.
  func source(_ track: Track) -> RoomSource {
    if let chosen, !chosen.contains(track.id) { session?.unsubscribe(from: track.id) }
    return RoomSource(track)
  }
}

/// A screen that is shared.
final class RoomScreen: @unchecked Sendable {  // used on the main queue only
  var observer: ((MeetingEvent) -> Void)?
  private var isOn = false, call: RoomCall
  init(call: RoomCall) { self.call = call }
  func start() { set(true, .captureStarted) }
  func stop() { set(false, .captureEnded) }
  private func set(_ isOn: Bool, _ event: MeetingEvent) {
    guard isOn != self.isOn, let world = call.session?.world else { return }
    let hasFailed = isOn && (try? Devices.camera(world.devices.screen)) == nil
    self.isOn = isOn && !hasFailed
    world.delivery.deliver { self.observer?(hasFailed ? .captureFailed(Failure(.screen, "")) : event) }
  }
}
final class RoomShare { var videoSource: RoomScreen? }
extension Failure.Code {
  static func ~= (code: Self, error: any Error) -> Bool { (error as? Failure)?.code == code }
}
