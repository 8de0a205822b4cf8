import CrossVendorConventions
import Foundation
import Koine
import WebRTC

/// A participant of the meeting. It is the same object from joining to leaving.
///
/// [Vendor reference](https://docs.videosdk.live/ios/api/sdk-reference/participant-class/properties)
public class Participant: Equatable, @unchecked Sendable {  // everything mutable sits in `state`
  private struct State {
    var streams: [String: MediaStream] = [:]
    /// Enabled streams by the id of their track in the room.
    var enabled: [Track.ID: MediaStream] = [:]
    var listeners = Listeners<any ParticipantEventListener>()
    var enabledSoFar = 0
    var quality = VideoQuality.high
    var mode: Mode
    var pin = ParticipantPinState()
    var figures: [MediaType: [String: Any]] = [:]
  }

  public let id: String
  public let displayName: String
  public let isLocal: Bool
  /// As given to the participant's `initMeeting`; nil: nothing was given. The vendor added it in 2.1.9.
  public var metaData: [String: Any]? {
    metaDataText.flatMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
  }
  private let metaDataText: String?
  private let state: Lock<State>
  /// Set once, before other code gets the participant.
  weak var meeting: Meeting?

  init(_ participant: Koine.Participant, mode: Mode) {
    state = Lock(State(mode: participant.attributes[Convention.mode].flatMap(Mode.init) ?? mode))
    id = participant.id
    displayName = participant.name
    isLocal = participant.isLocal
    metaDataText = participant.attributes[Convention.metaData]
  }

  /// The largest attribute that a room takes, in bytes (Docs/protocol.md).
  private static let largestAttribute = 4_096

  /// - Returns: nil if there is nothing, JSON cannot write it, or no room takes it.
  static func text(_ metaData: [String: Any]) -> String? {
    guard !metaData.isEmpty, JSONSerialization.isValidJSONObject(metaData),
      let data = try? JSONSerialization.data(withJSONObject: metaData, options: .sortedKeys),
      data.count <= largestAttribute
    else { return nil }
    return String(decoding: data, as: UTF8.self)
  }

  /// The streams that are enabled at this moment, by stream id.
  public var streams: [String: MediaStream] { state.withLock { $0.streams } }

  public var videoQuality: VideoQuality { state.withLock { $0.quality } }
  public var pinState: ParticipantPinState { state.withLock { $0.pin } }
  /// Setting the local participant's mode calls `Meeting.changeMode`. Setting a remote participant's mode changes only the value on
  /// this client, until that participant changes its mode.
  public var mode: Mode {
    get { state.withLock { $0.mode } }
    set { if isLocal, let meeting { meeting.changeMode(newValue) } else { _ = update(newValue) } }
  }
  /// Always false: agents belong to the vendor's service.
  public var isAgent: Bool { false }

  public func addEventListener(_ listener: any ParticipantEventListener) {
    state.withLock { $0.listeners.add(listener) }
  }
  public func removeEventListener(_ listener: any ParticipantEventListener) {
    state.withLock { $0.listeners.remove(listener) }
  }

  public func removeAllEventListeners() { state.withLock { $0.listeners.removeAll() } }

  public static func == (a: Participant, b: Participant) -> Bool { a.id == b.id && a.displayName == b.displayName }

  // MARK: Figures

  /// Of the last second `jitter`, `rtt` in ms, `bitrate` in kbit/s; since the stream began `totalPackets` and `packetsLost`;
  /// and `codec`, with pictures `size` besides. Nil while there is no such stream.
  public func getAudioStats() -> [String: Any]? { state.withLock { $0.figures[.state(value: .audio)] } }
  public func getVideoStats() -> [String: Any]? { state.withLock { $0.figures[.state(value: .video)] } }
  public func getShareStats() -> [String: Any]? { state.withLock { $0.figures[.share] } }
  func update(_ figures: [MediaType: [String: Any]]) { state.withLock { $0.figures = figures } }

  // MARK: For the meeting

  var isPinned: Bool { pinState.cam == true || pinState.share == true }
  func update(_ quality: VideoQuality) { state.withLock { $0.quality = quality } }
  var videoSources: [Track.ID] {
    state.withLock { state in state.enabled.filter { $0.value.kind == .state(value: .video) }.map(\.key) }
  }

  /// - Returns: whether that is new.
  func update(_ mode: Mode) -> Bool {
    state.withLock { state in
      defer { state.mode = mode }
      return state.mode != mode
    }
  }

  func update(_ type: PinType, isOn: Bool) -> Bool {
    state.withLock { state in
      let old = state.pin
      state.pin = ParticipantPinState(
        cam: type == .SHARE ? old.cam : isOn, share: type == .CAM ? old.share : isOn)
      return state.pin != old
    }
  }

  // MARK: On the delivery queue

  /// What the room says of one stream: enabled streams are those that are there and not muted.
  func update(_ stream: Track, isThere: Bool, in session: Session) {
    if isThere && !stream.isMuted { enable(stream, in: session) } else { disable(stream.id) }
    // A muted stream stays paused; one that is gone may come again under the same id.
    if !isThere { meeting?.paused.withLock { _ = $0.remove(stream.id) } }
  }

  private func enable(_ stream: Track, in session: Session) {
    let new = state.withLock { state -> MediaStream? in
      guard state.enabled[stream.id] == nil else { return nil }
      let paused = isLocal ? nil : meeting?.paused
      let new = MediaStream(stream, number: state.enabledSoFar, session: session, paused: paused) {
        [weak meeting = meeting, weak session, isLocal = isLocal] isHeard in
        if isLocal { meeting?.letThrough(isHeard) } else { session?.setGain(isHeard ? 1 : 0, of: stream.id) }
      }
      state.enabledSoFar += 1
      state.enabled[stream.id] = new
      state.streams[new.id] = new
      return new
    }
    guard let new else { return }
    if !isLocal, videoQuality != .high, new.kind == .state(value: .video) {
      session.setPreference(Self.preference(for: videoQuality), for: stream.id)
    }
    if new.kind == .share, stream.kind.isVideo { meeting?.shows(id, true) }
    notifyListeners { $0.onStreamEnabled(new, forParticipant: self) }
    tellStatus(of: new, true)
  }

  private func disable(_ id: Track.ID) {
    let old = state.withLock { state -> MediaStream? in
      guard let old = state.enabled.removeValue(forKey: id) else { return nil }
      state.streams[old.id] = nil
      return old
    }
    guard let old else { return }
    old.track.markEnded()
    if old.kind == .share, old.track is RTCVideoTrack { meeting?.shows(self.id, false) }
    notifyListeners { $0.onStreamDisabled(old, forParticipant: self) }
    tellStatus(of: old, false)
  }

  /// The room is left for another one: no stream is enabled any more. Listeners are notified of each.
  func disableAll() {
    let ids = state.withLock { $0.enabled.keys.sorted { $0.description < $1.description } }
    for id in ids { disable(id) }
  }

  private func tellStatus(of stream: MediaStream, _ isOn: Bool) {
    guard case .state(value: let kind) = stream.kind else { return }  // of microphones and cameras
    meeting?.notifyListeners { $0.onMediaStatusChanged(peerId: id, kind: kind.rawValue, newStatus: isOn) }
    notifyListeners { $0.onMediaStatusChanged(peerId: id, kind: stream.kind, newStatus: isOn) }
  }

  /// The meeting is over: no stream is enabled any more. Listeners are not notified of each stream.
  func close() {
    let old = state.withLock { state in
      defer {
        state.enabled = [:]
        state.streams = [:]
      }
      return state.enabled.values.map(\.track)
    }
    for track in old { track.markEnded() }
  }

  /// A listener removed by another one meanwhile is not called any more.
  private func notifyListeners(_ call: (any ParticipantEventListener) -> Void) {
    for listener in state.withLock({ $0.listeners.all }) where state.withLock({ $0.listeners.contains(listener) }) {
      call(listener)
    }
  }
}
