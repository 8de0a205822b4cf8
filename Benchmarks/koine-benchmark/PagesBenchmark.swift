import AmazonChimeSDK
import Dispatch
import Foundation
import Koine
import KoineBase
import KoineEmbeddedBackend

/// A large meeting as an app of the meeting-session style sees it, in real time: 25 videos of 320×180, all shown, then 9 shown
/// and 16 paused, then none shown. The three cases take turns, so that changes of the machine's clock speed affect them alike.
/// The publishers replay clips. The decoders' CPU is the CPU of their threads while they decode. The receiver's whole cost is
/// the CPU of the process less its CPU with all videos paused: forwarding to the receiver, receiving, decoding.
struct PagesBenchmark {
  let seconds: Int
  static let people = 25, page = 9

  func run() throws -> Report {
    let backend = EmbeddedBackend()
    let world = World(backend: backend, delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    let clip = try RecordedClip(camera: Devices.camera("pattern:320x180@30"), bitrate: 200_000, seconds: 8)
    let others = (0..<Self.people).map { ClipPublisher("p\($0)", room: "meeting", clip, backend) }
    let app = World.$current.withValue(world) { PagingApp() }
    try app.start()
    for _ in 0..<2_000 where app.tiles.count < Self.people { Thread.sleep(forTimeInterval: 0.01) }
    guard app.tiles.count == Self.people else {
      throw BenchmarkError("\(app.tiles.count) of \(Self.people) tiles came")
    }
    var measures: [Int: Measure] = [:]
    let rounds = max(seconds / 3, 3)
    for _ in 0..<rounds {
      for shown in [Self.people, Self.page, 0] {
        app.show(shown)
        Thread.sleep(forTimeInterval: 1.5)
        measures[shown, default: Measure()].add(measure(app, Double(max(seconds / rounds, 3))))
      }
    }
    app.stop()
    for person in others { person.leave() }
    guard let all = measures[Self.people], let few = measures[Self.page], let none = measures[0] else {
      throw BenchmarkError("nothing was measured")
    }
    return report(all, few, none, rounds)
  }

  private func report(_ all: Measure, _ few: Measure, _ none: Measure, _ rounds: Int) -> Report {
    let share = Double(Self.page) / Double(Self.people)
    func off(_ value: Double) -> Double { 100 * abs(value / share - 1) }
    let rest = none.perSecond(\.cores)
    let (receiver, receiverOfFew) = (all.perSecond(\.cores) - rest, few.perSecond(\.cores) - rest)
    var rows: [Row] = []
    for (measure, name) in [(all, "\(Self.people)"), (few, "\(Self.page)")] {
      rows += [
        Row("received with \(name) shown", measure.perSecond(\.bytes) * 8 / 1_000, "kbit/s"),
        Row("pictures decoded a second, \(name) shown", measure.perSecond(\.decoded), ""),
        Row("decoders' cores, \(name) shown", measure.perSecond(\.decodeCPU), ""),
        Row("decoder's CPU for a picture, \(name) shown", 1e6 * measure.decodeCPU / measure.decoded, "µs"),
      ]
    }
    rows += [
      Row("received with none shown", none.perSecond(\.bytes) * 8 / 1_000, "kbit/s"),
      Row(
        "share of bytes, beside \(Self.page)/\(Self.people)", off(few.perSecond(\.bytes) / all.perSecond(\.bytes)),
        "% off", aim: 10),
      Row(
        "share of decoders' CPU, beside \(Self.page)/\(Self.people)",
        off(few.perSecond(\.decodeCPU) / all.perSecond(\.decodeCPU)), "% off", aim: 10),
      Row("receiver's cores in all, \(Self.people) shown", receiver, ""),
      Row("receiver's cores in all, \(Self.page) shown", receiverOfFew, ""),
      Row("share of all that, beside \(Self.page)/\(Self.people)", off(receiverOfFew / receiver), "% off"),
    ]
    return Report(
      benchmark:
        "pages: \(Self.people) videos of 320×180@30, \(Self.page) shown and \(Self.people - Self.page) paused, "
        + "\(rounds) rounds", rows: rows)
  }

  /// Bytes, decoded frames and CPU that were counted in `seconds`.
  private struct Measure {
    var seconds = 0.0, bytes = 0.0, decoded = 0.0, decodeCPU = 0.0, cores = 0.0

    mutating func add(_ other: Measure) {
      seconds += other.seconds
      bytes += other.bytes
      decoded += other.decoded
      decodeCPU += other.decodeCPU
      cores += other.cores
    }

    func perSecond(_ value: (Measure) -> Double) -> Double { value(self) / seconds }
  }

  private func measure(_ app: PagingApp, _ seconds: Double) -> Measure {
    let (start, cpu, before) = (ContinuousClock().now, CPU.process, app.received())
    Thread.sleep(forTimeInterval: seconds)
    let (elapsed, used, after) = ((ContinuousClock().now - start).inSeconds, CPU.process - cpu, app.received())
    return Measure(
      seconds: elapsed, bytes: Double(after.bytes - before.bytes), decoded: Double(after.decoded - before.decoded),
      decodeCPU: after.decodeCPU - before.decodeCPU, cores: used)
  }
}

/// Binds a view to each tile that is added.
private final class PagingApp: VideoTileObserver, @unchecked Sendable {  // constant but for locks
  private let session: DefaultMeetingSession
  private let bound = Lock<[Int: View]>([:])

  init() {
    let attendee = CreateAttendeeResponse(
      attendee: Attendee(attendeeId: "viewer", externalUserId: "Viewer", joinToken: "opaque"))
    let meeting = CreateMeetingResponse(
      meeting: Meeting(
        externalMeetingId: nil,
        mediaPlacement: MediaPlacement(
          audioFallbackUrl: "fallback", audioHostUrl: "host", signalingUrl: "signaling", turnControlUrl: "turn"),
        mediaRegion: "here", meetingId: "meeting"))
    session = DefaultMeetingSession(
      configuration: MeetingSessionConfiguration(createMeetingResponse: meeting, createAttendeeResponse: attendee),
      logger: ConsoleLogger(name: "pages", level: .OFF))
    session.audioVideo.addVideoTileObserver(observer: self)
  }

  var tiles: [Int] { bound.withLock { $0.keys.sorted() } }

  func start() throws {
    try session.audioVideo.start()
    session.audioVideo.startRemoteVideo()
  }

  func stop() { session.audioVideo.stop() }

  func show(_ count: Int) {
    for (index, tile) in tiles.enumerated() {
      if index < count {
        session.audioVideo.resumeRemoteVideoTile(tileId: tile)
      } else {
        session.audioVideo.pauseRemoteVideoTile(tileId: tile)
      }
    }
  }

  func received() -> (bytes: Int, decoded: Int, decodeCPU: Double) {
    let (result, done) = (Lock((bytes: 0, decoded: 0, decodeCPU: 0.0)), DispatchSemaphore(value: 0))
    session.session?.statistics { figures in
      result.withLock { result in
        for stream in figures.streams {
          result.bytes += stream.incoming?.bytes ?? 0
          result.decoded += stream.video?.decoded ?? 0
          result.decodeCPU += stream.video?.decodeCPU ?? 0
        }
      }
      done.signal()
    }
    done.wait()
    return result.withLock { $0 }
  }

  func videoTileDidAdd(tileState: VideoTileState) {
    guard !tileState.isLocalTile else { return }
    let view = View()
    bound.withLock { $0[tileState.tileId] = view }
    session.audioVideo.bindVideoView(videoView: view, tileId: tileState.tileId)
  }
  func videoTileDidRemove(tileState: VideoTileState) {}
  func videoTileDidPause(tileState: VideoTileState) {}
  func videoTileDidResume(tileState: VideoTileState) {}
  func videoTileSizeDidChange(tileState: VideoTileState) {}

  private final class View: VideoRenderView {
    func onVideoFrameReceived(frame: AmazonChimeSDK.VideoFrame) {}
  }
}
