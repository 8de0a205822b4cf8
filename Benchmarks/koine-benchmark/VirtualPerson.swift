import Koine
import KoineEmbeddedBackend

/// A participant on a virtual clock, without codecs: sends 30 pictures of 4 kB and 50 sounds of 100 bytes a second, and receives those of
/// the others.
final class VirtualPerson: LinkReceiver, @unchecked Sendable {  // one thread: the virtual clock's
  let received = Lock(0)
  private let name: String
  private let room: String
  /// Sends no pictures.
  private let isVoiceOnly: Bool
  private let backend: EmbeddedBackend
  private let lane: Lane
  private var link: (any Link)?
  private var id = ""
  private var numbers = (picture: 0, sound: 0)

  init(name: String, room: String, isVoiceOnly: Bool = false, backend: EmbeddedBackend) {
    (self.name, self.room, self.isVoiceOnly) = (name, room, isVoiceOnly)
    self.backend = backend
    lane = backend.scheduler.lane(name)
  }

  func begin() { link = backend.connect(JoinRequest(room: room, name: name), receiver: self) }

  func linkDidReceive(_ frame: EncodedFrame, of track: Track.ID) { received.withLock { $0 += 1 } }

  func linkDidChange(_ event: LinkEvent) {
    switch event {
    case .joined(let local, let others):
      let id = local.id
      self.id = id
      for kind in isVoiceOnly ? [Track.Kind.microphone] : [.camera, .microphone] {
        link?.publish(
          Track(id: .init(participant: id, track: kind.rawValue), kind: kind),
          options: PublishOptions(codec: kind.isVideo ? .vp8 : .opus, layers: [.init(maximumBitrate: 1_000_000)]))
      }
      for other in others { for stream in other.tracks { link?.subscribe(to: stream.id) } }
      if !isVoiceOnly { tickPictures() }
      tickSound()
    case .streamAdded(let stream): link?.subscribe(to: stream.id)
    default: break
    }
  }

  private func tickPictures() {
    let now = backend.scheduler.now
    let isKey = numbers.picture % 150 == 0
    let data = Bytes(capacity: 4_000)
    data.count = 4_000
    data.writable[0] = isKey ? 0x10 : 0x11
    link?.send(
      EncodedFrame(
        codec: .vp8, data: data, captured: now, rtpTimestamp: UInt32(truncatingIfNeeded: numbers.picture * 3_000),
        isKey: isKey), of: Track.ID(participant: id, track: "camera"))
    numbers.picture += 1
    lane.post(at: now + .microseconds(33_333)) { [weak self] in self?.tickPictures() }
  }

  private func tickSound() {
    let now = backend.scheduler.now
    let data = Bytes(capacity: 100)
    data.count = 100
    data.writable[0] = 0x78  // a packet of 20 ms
    link?.send(
      EncodedFrame(
        codec: .opus, data: data, captured: now, rtpTimestamp: UInt32(truncatingIfNeeded: numbers.sound * 960),
        isKey: true, audioLevel: -30, voiceActivity: true), of: Track.ID(participant: id, track: "microphone"))
    numbers.sound += 1
    lane.post(at: now + .milliseconds(20)) { [weak self] in self?.tickSound() }
  }
}
