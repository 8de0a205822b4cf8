import AmazonChimeSDK
import Dispatch
import Foundation
import Koine
import KoineBase
import KoineEmbeddedBackend

/// A large meeting as an app of the meeting-session style sees it, in real time: 25 videos of 320×180, all shown, then 9 shown
/// and 16 paused, then none. The others replay clips. What the receiver's end costs is what the process takes beyond what it
/// takes with all paused: forwarding to it, receiving, decoding.
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
    var measures: [Int: [Measure]] = [:]
    let rounds = 3
    for _ in 0..<rounds {  // in turns, so that all see the same machine
      for shown in [Self.people, Self.page, 0] {
        app.show(shown)
        Thread.sleep(forTimeInterval: 2)
        measures[shown, default: []].append(measure(app, Double(max(seconds / rounds, 3))))
      }
    }
    app.stop()
    for person in others { person.leave() }
    func middle(_ shown: Int, _ value: (Measure) -> Double) -> Double { median((measures[shown] ?? []).map(value)) }
    let (all, few, none) = (
      middle(Self.people, \.cores), middle(Self.page, \.cores), middle(0, \.cores)
    )
    let share = Double(Self.page) / Double(Self.people)
    let bytes = middle(Self.page, \.bytes) / middle(Self.people, \.bytes)
    let cpu = (few - none) / (all - none)
    return Report(
      benchmark: "pages: \(Self.people) videos of 320×180@30, \(Self.page) shown and \(Self.people - Self.page) paused",
      rows: [
        Row("received with \(Self.people) shown", middle(Self.people, \.bytes) * 8 / 1_000, "kbit/s"),
        Row("received with \(Self.page) shown", middle(Self.page, \.bytes) * 8 / 1_000, "kbit/s"),
        Row("received with none shown", middle(0, \.bytes) * 8 / 1_000, "kbit/s"),
        Row("pictures decoded a second, \(Self.people) shown", middle(Self.people, \.decoded), ""),
        Row("pictures decoded a second, \(Self.page) shown", middle(Self.page, \.decoded), ""),
        Row("receiver's cores with \(Self.people) shown", all - none, ""),
        Row("receiver's cores with \(Self.page) shown", few - none, ""),
        Row("share of bytes, beside \(Self.page)/\(Self.people)", 100 * abs(bytes / share - 1), "% off", aim: 10),
        Row("share of CPU, beside \(Self.page)/\(Self.people)", 100 * abs(cpu / share - 1), "% off", aim: 10),
      ])
  }

  private struct Measure {
    /// Per second.
    let bytes, decoded, cores: Double
  }

  private func measure(_ app: PagingApp, _ seconds: Double) -> Measure {
    let (start, cpu, before) = (ContinuousClock().now, CPU.process, app.received())
    Thread.sleep(forTimeInterval: seconds)
    let (elapsed, after) = ((ContinuousClock().now - start).inSeconds, app.received())
    return Measure(
      bytes: Double(after.bytes - before.bytes) / elapsed, decoded: Double(after.decoded - before.decoded) / elapsed,
      cores: (CPU.process - cpu) / elapsed)
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

  func received() -> (bytes: Int, decoded: Int) {
    let (result, done) = (Lock((bytes: 0, decoded: 0)), DispatchSemaphore(value: 0))
    session.session?.statistics { figures in
      result.withLock { result in
        for stream in figures.streams {
          result.bytes += stream.incoming?.bytes ?? 0
          result.decoded += stream.video?.decoded ?? 0
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
