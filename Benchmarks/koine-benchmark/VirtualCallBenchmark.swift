import Glibc
import Koine
import KoineEmbeddedBackend

/// A call of two on a virtual clock, with ready-made frames instead of codecs: everything between the encoders and the
/// decoders, the router included, against the time that the call lasts.
struct VirtualCallBenchmark {
  let callSeconds: Int

  func run() throws -> Report {
    let backend = EmbeddedBackend(virtual: 7)
    let scheduler = backend.scheduler
    let people = ["Ana", "Ben"].map { Person(name: $0, backend: backend) }
    let clock = ContinuousClock()
    let start = clock.now
    for person in people { person.begin() }
    scheduler.advance(to: scheduler.now + .seconds(callSeconds))
    let elapsed = (clock.now - start).inSeconds
    let frames = people.reduce(0) { $0 + $1.received.withLock { $0 } }
    return Report(
      benchmark: "virtual-call: \(callSeconds) s of two people, without codecs",
      rows: [
        Row("frames received", Double(frames), "of about \(callSeconds * 160)"),
        Row("time taken", elapsed, "s"),
        Row("time taken per time of the call", elapsed / Double(callSeconds), "x", aim: 1.0 / 20),
      ])
  }
}

/// Sends 30 pictures of 4 kB and 50 sounds of 100 bytes a second, and receives the other's.
private final class Person: LinkReceiver, @unchecked Sendable {  // one thread: the virtual clock's
  let received = Lock(0)
  private let name: String
  private let backend: EmbeddedBackend
  private let lane: Lane
  private var link: (any Link)?
  private var id = ""
  private var numbers = (picture: 0, sound: 0)

  init(name: String, backend: EmbeddedBackend) {
    self.name = name
    self.backend = backend
    lane = backend.scheduler.lane(name)
  }

  func begin() { link = backend.connect(JoinRequest(room: "r", name: name), receiver: self) }

  func linkDidReceive(_ frame: EncodedFrame, of track: Track.ID) { received.withLock { $0 += 1 } }

  func linkDidChange(_ event: LinkEvent) {
    switch event {
    case .joined(let local, let others):
      let id = local.id
      self.id = id
      for kind in [Track.Kind.camera, .microphone] {
        link?.publish(
          Track(id: .init(participant: id, track: kind.rawValue), kind: kind),
          options: PublishOptions(codec: kind.isVideo ? .vp8 : .opus, layers: [.init(maximumBitrate: 1_000_000)]))
      }
      for other in others { for stream in other.tracks { link?.subscribe(to: stream.id) } }
      tickPictures()
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
