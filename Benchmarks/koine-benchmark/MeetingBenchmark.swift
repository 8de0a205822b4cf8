import Dispatch
import Foundation
import Koine
import KoineCodecs
import KoineEmbeddedBackend

/// A meeting in one process, in real time, over loopback sockets: 25 publishers of audio and video, and 40 receivers. Each
/// receiver gets the video of four publishers and the audio of the loudest ones. The media were encoded beforehand and are not
/// decoded: CPU is that of signalling, packets, encryption and sockets at all 66 ends.
struct MeetingBenchmark {
  let seconds: Int
  static let publishers = 25, receivers = 40, tiles = 4

  func run() throws -> Report {
    let backend = EmbeddedBackend()
    let clip = try Clip()
    let publishers = (0..<Self.publishers).map { Publisher($0, clip, backend) }
    let receivers = (0..<Self.receivers).map { Receiver($0, backend) }
    for person in publishers { person.join() }
    for person in receivers { person.join() }
    let wanted = Self.tiles + Self.publishers
    for _ in 0..<2_000 where !receivers.allSatisfy({ $0.figures.streams == wanted }) {
      Thread.sleep(forTimeInterval: 0.01)
    }
    guard receivers.allSatisfy({ $0.figures.streams == wanted }) else { throw BenchmarkError("not everybody came in") }
    Thread.sleep(forTimeInterval: 5)  // keys, estimates and the loudest publishers settle

    let before = (cpu: CPU.process, packets: receivers.reduce(0) { $0 + $1.packets() })
    for person in receivers { person.begin() }
    let start = ContinuousClock().now
    Thread.sleep(forTimeInterval: Double(seconds))
    let cpu = CPU.process - before.cpu
    let elapsed = (ContinuousClock().now - start).inSeconds
    let figures = receivers.map(\.figures)
    let packets = receivers.reduce(0) { $0 + $1.packets() } - before.packets
    let pictures = figures.reduce(0) { $0 + $1.pictures }
    let waits = figures.flatMap(\.waits).sorted()
    guard !waits.isEmpty, packets > 0 else { throw BenchmarkError("nothing arrived") }
    for person in publishers { person.leave() }
    for person in receivers { person.leave() }
    // The aims: nearly all frames arrive, 99 of 100 within 100 ms, and the process takes two cores at most.
    let expected = 30.0 * elapsed * Double(Self.receivers * Self.tiles)
    return Report(
      benchmark:
        "meeting: \(Self.publishers) publishers, \(Self.receivers) receivers of \(Self.tiles) tiles, one process",
      rows: [
        Row("pictures that did not come, of 100", max(100 - 100 * Double(pictures) / expected, 0), "", aim: 1),
        Row(
          "sound that came", Double(figures.reduce(0) { $0 + $1.sounds }) / elapsed / Double(Self.receivers * 50),
          "voices"),
        Row("from capture to arrival, median", waits[waits.count / 2], "ms"),
        Row("from capture to arrival, 99 of 100", waits[waits.count * 99 / 100], "ms", aim: 100),
        Row("packets forwarded a second", Double(packets) / elapsed, ""),
        Row("CPU of the whole process per forwarded packet", cpu / Double(packets) * 1e6, "µs"),
        Row("cores taken, of \(ProcessInfo.processInfo.activeProcessorCount)", cpu / elapsed, "", aim: 2),
      ])
  }
}

/// Video and audio, encoded once for all publishers.
private struct Clip: Sendable {
  static let size = (width: 640, height: 360)
  let pictures: [CodedPicture]
  let sounds: [Bytes]

  init() throws {
    let scheduler = Scheduler.virtual()
    let frames = Lock<[VideoFrame]>([])
    let camera = try Devices.camera("pattern:\(Self.size.width)x\(Self.size.height)@30")
    try camera.start(on: scheduler.lane("clip")) { frame in frames.withLock { $0.append(frame) } }
    scheduler.advance(to: scheduler.now + .seconds(10))
    camera.stop()
    var encoder = try VideoEncoder(
      VideoEncoderSettings(width: Self.size.width, height: Self.size.height, bitrate: 500_000))
    var pictures: [CodedPicture] = []
    for frame in frames.withLock({ $0 }) {
      guard let picture = try encoder.encode(frame) else { continue }
      let copy = Bytes(capacity: picture.data.count)
      copy.append(picture.data.readable)
      pictures.append(CodedPicture(data: copy, isKey: picture.isKey))
    }
    self.pictures = pictures
    sounds = (0..<100).map { number in
      var packet = [UInt8](repeating: UInt8(number), count: 80)
      packet[0] = 0x78  // one frame of 20 ms (RFC 6716, 3.1)
      return Bytes(packet)
    }
  }
}

/// Sends the clip from its beginning; whenever a key frame is wanted, begins anew.
private final class Publisher: LinkReceiver, @unchecked Sendable {  // `link` is set before anything comes
  private struct State {
    var isJoined = false
    var picture = 0
    var sent = 0
    var isOver = false
  }

  private let number: Int
  private let clip: Clip
  private let backend: EmbeddedBackend
  private let lane: Lane
  private let state = Lock(State())
  private var link: (any Link)?
  private var id = ""

  init(_ number: Int, _ clip: Clip, _ backend: EmbeddedBackend) {
    (self.number, self.clip, self.backend) = (number, clip, backend)
    lane = backend.scheduler.lane("publisher \(number)")
  }

  func join() {
    lane.post { [self] in
      link = backend.connect(
        JoinRequest(room: "meeting", participantID: "publisher\(number)", name: "publisher \(number)"), receiver: self)
    }
  }

  func leave() {
    state.withLock { $0.isOver = true }
    lane.post { [self] in link?.leave() }
  }

  func linkDidReceive(_ frame: EncodedFrame, of track: Track.ID) {}

  func linkDidChange(_ event: LinkEvent) {
    switch event {
    case .joined(let local, _):
      lane.post { [self] in
        id = local.id
        for kind in [Track.Kind.camera, .microphone] {
          link?.publish(
            Track(id: .init(participant: local.id, track: kind.rawValue), kind: kind),
            options: PublishOptions(codec: kind.isVideo ? .vp8 : .opus, layers: [.init(maximumBitrate: 1_000_000)]))
        }
        let now = backend.scheduler.now + .milliseconds(number)
        sendPicture(at: now)
        sendSound(0, at: now)
      }
    case .keyFrameWanted: state.withLock { $0.picture = 0 }
    default: break
    }
  }

  private func sendPicture(at due: Tick) {
    let next = state.withLock { state -> (picture: Int, sent: Int)? in
      guard !state.isOver else { return nil }
      defer { (state.picture, state.sent) = ((state.picture + 1) % clip.pictures.count, state.sent + 1) }
      return (state.picture, state.sent)
    }
    guard let next else { return }
    let picture = clip.pictures[next.picture]
    link?.send(
      EncodedFrame(
        codec: .vp8, data: picture.data, captured: backend.scheduler.now,
        rtpTimestamp: UInt32(truncatingIfNeeded: next.sent * 3_000), isKey: picture.isKey),
      of: Track.ID(participant: id, track: "camera"))
    let following = due + .microseconds(33_333)
    lane.post(at: following) { [weak self] in self?.sendPicture(at: following) }
  }

  private func sendSound(_ count: Int, at due: Tick) {
    guard !state.withLock({ $0.isOver }) else { return }
    // Five talk, the others' rooms are quiet.
    let talks = number < 5
    link?.send(
      EncodedFrame(
        codec: .opus, data: clip.sounds[count % clip.sounds.count], captured: backend.scheduler.now,
        rtpTimestamp: UInt32(truncatingIfNeeded: count * 960), isKey: true, audioLevel: talks ? -25 : -70,
        voiceActivity: talks), of: Track.ID(participant: id, track: "microphone"))
    let following = due + .milliseconds(20)
    lane.post(at: following) { [weak self] in self?.sendSound(count + 1, at: following) }
  }
}

/// Counts what comes.
private final class Receiver: LinkReceiver, @unchecked Sendable {  // `link` is touched on the lane only
  struct Figures {
    var streams = 0
    var pictures = 0
    var sounds = 0
    /// In milliseconds.
    var waits: [Double] = []
  }

  private let number: Int
  private let backend: EmbeddedBackend
  private let lane: Lane
  private let state = Lock(Figures())
  private var link: (any Link)?

  init(_ number: Int, _ backend: EmbeddedBackend) {
    (self.number, self.backend) = (number, backend)
    lane = backend.scheduler.lane("receiver \(number)")
  }

  var figures: Figures { state.withLock { $0 } }

  func join() {
    lane.post { [self] in
      link = backend.connect(JoinRequest(room: "meeting", name: "receiver \(number)"), receiver: self)
    }
  }

  func leave() { lane.post { [self] in link?.leave() } }

  /// Counting begins anew.
  func begin() { state.withLock { ($0.pictures, $0.sounds, $0.waits) = (0, 0, []) } }

  func packets() -> Int {
    let count = Lock(0)
    let done = DispatchSemaphore(value: 0)
    lane.post { [self] in
      guard let link else {
        done.signal()
        return
      }
      link.statistics { figures in
        let sum = figures.incoming.values.reduce(0) { $0 + $1.packets }
        count.withLock { $0 = sum }
        done.signal()
      }
    }
    done.wait()
    return count.withLock { $0 }
  }

  func linkDidReceive(_ frame: EncodedFrame, of track: Track.ID) {
    let wait = (backend.scheduler.now - frame.captured).inMilliseconds
    state.withLock { state in
      if frame.codec.isAudio {
        state.sounds += 1
      } else {
        state.pictures += 1
        state.waits.append(wait)
      }
    }
  }

  func linkDidChange(_ event: LinkEvent) {
    switch event {
    case .joined(_, let others):
      let streams = others.flatMap(\.tracks)
      lane.post { [self] in for stream in streams { subscribe(stream) } }
    case .streamAdded(let stream): lane.post { [self] in subscribe(stream) }
    default: break
    }
  }

  private func subscribe(_ stream: Track) {
    guard let publisher = Int(stream.id.participant.dropFirst("publisher".count)) else { return }
    let distance =
      (publisher - number * MeetingBenchmark.tiles % MeetingBenchmark.publishers + MeetingBenchmark.publishers)
      % MeetingBenchmark.publishers
    guard stream.kind.isAudio || distance < MeetingBenchmark.tiles else { return }
    state.withLock { $0.streams += 1 }
    link?.subscribe(to: stream.id)
  }
}
