import AmazonChimeSDK
import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import KoineSimulatedNetwork

/// An app of this style: observes everything, writes down what it is told, and binds a view to each tile.
final class App: @unchecked Sendable {  // everything mutable is in locks
  struct Callbacks {
    var lines: [String] = []
    var tiles: [Int: VideoTileState] = [:]
    var sources: [RemoteVideoSource] = []
    var messages: [AmazonChimeSDK.DataMessage] = []
    var metrics: [[AnyHashable: Any]] = []
    var volumes: [String: [VolumeLevel]] = [:]
    var active: [[String]] = []
    var scores = 0
    var devices: [[String]] = []
  }
  let told = Lock(Callbacks())
  let name: String
  let session: DefaultMeetingSession
  let audioVideo: any AudioVideoFacade
  /// One to each tile, made when it is added.
  let views = Lock<[Int: Screen]>([:])
  let bindsViews: Bool

  /// - Parameter joinToken: nil: one that says nothing.
  init(_ name: String, room: String = "tea", joinToken: String? = nil, bindsViews: Bool = true) {
    self.name = name
    self.bindsViews = bindsViews
    session = DefaultMeetingSession(
      configuration: App.configuration(name, room: room, joinToken: joinToken),
      logger: ConsoleLogger(name: name, level: .OFF))
    audioVideo = session.audioVideo
    audioVideo.addAudioVideoObserver(observer: self)
    audioVideo.addRealtimeObserver(observer: self)
    audioVideo.addVideoTileObserver(observer: self)
    audioVideo.addMetricsObserver(observer: self)
    audioVideo.addContentShareObserver(observer: self)
    audioVideo.addDeviceChangeObserver(observer: self)
    audioVideo.addRealtimeDataMessageObserver(topic: "chat", observer: self)
    audioVideo.addActiveSpeakerObserver(policy: DefaultActiveSpeakerPolicy(), observer: self)
  }

  /// From the two answers of the app's server.
  static func configuration(
    _ name: String, room: String = "tea", host: String = "host", joinToken: String? = nil
  ) -> MeetingSessionConfiguration {
    MeetingSessionConfiguration(
      createMeetingResponse: CreateMeetingResponse(
        meeting: Meeting(
          externalMeetingId: nil,
          mediaPlacement: MediaPlacement(
            audioFallbackUrl: "fallback", audioHostUrl: host, signalingUrl: "signaling", turnControlUrl: "turn"),
          mediaRegion: "here", meetingId: room)),
      createAttendeeResponse: CreateAttendeeResponse(
        attendee: Attendee(
          attendeeId: name.lowercased(), externalUserId: name, joinToken: joinToken ?? "opaque-\(name)")))
  }

  var lines: [String] { told.withLock { $0.lines } }
  func lines(of prefix: String) -> [String] { lines.filter { $0.hasPrefix(prefix) } }
  func forget() { told.withLock { $0.lines = [] } }
  private func note(_ line: String) { told.withLock { $0.lines.append(line) } }

  /// The one tile of an attendee.
  func tile(of attendeeId: String) -> VideoTileState? {
    told.withLock { $0.tiles.values.first { $0.attendeeId == attendeeId } }
  }
  func view(of attendeeId: String) -> Screen? {
    tile(of: attendeeId).flatMap { tile in views.withLock { $0[tile.tileId] } }
  }
  func source(of attendeeId: String) -> RemoteVideoSource? {
    told.withLock { $0.sources.last { $0.attendeeId == attendeeId } }
  }
}

extension App: AudioVideoObserver {
  func audioSessionDidStartConnecting(reconnecting: Bool) { note("audio connecting\(reconnecting ? " again" : "")") }
  func audioSessionDidStart(reconnecting: Bool) { note("audio started\(reconnecting ? " again" : "")") }
  func audioSessionDidDrop() { note("audio dropped") }
  func audioSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {
    note("audio stopped \(sessionStatus.statusCode)")
  }
  func audioSessionDidCancelReconnect() { note("audio cancelled") }
  func connectionDidRecover() { note("recovered") }
  func connectionDidBecomePoor() { note("poor") }
  func videoSessionDidStartConnecting() { note("video connecting") }
  func videoSessionDidStartWithStatus(sessionStatus: MeetingSessionStatus) {
    note("video started \(sessionStatus.statusCode)")
  }
  func videoSessionDidStopWithStatus(sessionStatus: MeetingSessionStatus) {
    note("video stopped \(sessionStatus.statusCode)")
  }
  func cameraSendAvailabilityDidChange(available: Bool) { if !available { note("camera refused") } }
  func remoteVideoSourcesDidBecomeAvailable(sources: [RemoteVideoSource]) {
    told.withLock { $0.sources += sources }
    note("sources +\(sources.map(\.attendeeId).joined(separator: ","))")
  }
  func remoteVideoSourcesDidBecomeUnavailable(sources: [RemoteVideoSource]) {
    note("sources -\(sources.map(\.attendeeId).joined(separator: ","))")
  }
}

extension App: RealtimeObserver {
  func volumeDidChange(volumeUpdates: [VolumeUpdate]) {
    told.withLock { told in
      for update in volumeUpdates {
        told.volumes[update.attendeeInfo.attendeeId, default: []].append(update.volumeLevel)
      }
    }
  }
  func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {
    for update in signalUpdates { note("signal \(update.attendeeInfo.attendeeId) \(update.signalStrength)") }
  }
  private func list(_ word: String, _ attendees: [AttendeeInfo]) {
    for info in attendees.sorted() { note("\(word) \(info.attendeeId) \(info.externalUserId)") }
  }
  func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) { list("join", attendeeInfo) }
  func attendeesDidLeave(attendeeInfo: [AttendeeInfo]) { list("leave", attendeeInfo) }
  func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) { list("drop", attendeeInfo) }
  func attendeesDidMute(attendeeInfo: [AttendeeInfo]) { list("mute", attendeeInfo) }
  func attendeesDidUnmute(attendeeInfo: [AttendeeInfo]) { list("unmute", attendeeInfo) }
}

extension App: VideoTileObserver {
  func videoTileDidAdd(tileState: VideoTileState) {
    told.withLock { $0.tiles[tileState.tileId] = tileState }
    let kind = "\(tileState.isLocalTile ? " local" : "")\(tileState.isContent ? " content" : "")"
    note("tile +\(tileState.attendeeId)\(kind)")
    guard bindsViews else { return }
    let view = Screen()
    views.withLock { $0[tileState.tileId] = view }
    audioVideo.bindVideoView(videoView: view, tileId: tileState.tileId)
  }
  func videoTileDidRemove(tileState: VideoTileState) {
    told.withLock { $0.tiles[tileState.tileId] = nil }
    audioVideo.unbindVideoView(tileId: tileState.tileId)
    note("tile -\(tileState.attendeeId)")
  }
  func videoTileDidPause(tileState: VideoTileState) { note("tile \(tileState.attendeeId) \(tileState.pauseState)") }
  func videoTileDidResume(tileState: VideoTileState) { note("tile \(tileState.attendeeId) \(tileState.pauseState)") }
  func videoTileSizeDidChange(tileState: VideoTileState) {
    note("tile \(tileState.attendeeId) \(tileState.videoStreamContentWidth)x\(tileState.videoStreamContentHeight)")
  }
}

extension App: MetricsObserver, ContentShareObserver, DeviceChangeObserver, DataMessageObserver, ActiveSpeakerObserver {
  func metricsDidReceive(metrics: [AnyHashable: Any]) { told.withLock { $0.metrics.append(metrics) } }
  func contentShareDidStart() { note("share started") }
  func contentShareDidStop(status: ContentShareStatus) { note("share stopped \(status.statusCode)") }
  func audioDeviceDidChange(freshAudioDeviceList: [MediaDevice]) {
    told.withLock { $0.devices.append(freshAudioDeviceList.map(\.label)) }
  }
  func dataMessageDidReceived(dataMessage: AmazonChimeSDK.DataMessage) {
    told.withLock { $0.messages.append(dataMessage) }
    let text = dataMessage.text() ?? "?"
    note("message \(dataMessage.senderAttendeeId) \(text.prefix(40))\(dataMessage.throttled ? " throttled" : "")")
  }
  var observerId: String { name }
  var scoresCallbackIntervalMs: Int { 500 }
  func activeSpeakerDidDetect(attendeeInfo: [AttendeeInfo]) {
    told.withLock { $0.active.append(attendeeInfo.map(\.attendeeId)) }
  }
  func activeSpeakerScoreDidChange(scores: [AttendeeInfo: Double]) { told.withLock { $0.scores += 1 } }
}

/// A view of the app's own, which remembers what it was shown.
final class Screen: VideoRenderView, @unchecked Sendable {
  private let seen = Lock<(frames: Int, last: Koine.VideoFrame?)>((0, nil))
  var frames: Int { seen.withLock { $0.frames } }
  var last: Koine.VideoFrame? { seen.withLock { $0.last } }
  /// Name on the stamp that it shows.
  var name: String? { last.flatMap { StampReader.read($0)?.name } }

  func onVideoFrameReceived(frame: AmazonChimeSDK.VideoFrame) {
    guard let pixels = (frame.buffer as? VideoFramePixelBuffer)?.pixelBuffer.videoFrame() else { return }
    seen.withLock { $0 = ($0.frames + 1, pixels) }
  }
}

/// A world in virtual time, and people in it.
struct TestEnvironment {
  let world: World
  private let natives = Lock<[Session]>([])

  init(network: String? = nil, camera: String = "stamp:self,160x90@30", microphone: String = "tone") {
    world = World(
      backend: EmbeddedBackend(virtual: 3, network: network.flatMap { try? NetworkSpec($0) }),
      delivery: Delivery(queue: DispatchQueue(label: "delivery")),
      devices: DefaultDevices(camera: camera, microphone: microphone, screen: "pattern:320x180@10"))
  }

  func app(_ name: String, room: String = "tea", joinToken: String? = nil, bindsViews: Bool = true) -> App {
    World.$current.withValue(world) { App(name, room: room, joinToken: joinToken, bindsViews: bindsViews) }
  }

  /// Two apps that have started and receive all videos.
  func pair() throws -> (App, App) {
    let pair = (app("Ana"), app("Ben"))
    for app in [pair.0, pair.1] {
      try app.audioVideo.start()
      app.audioVideo.startRemoteVideo()
    }
    return pair
  }

  /// The machine's own: 320×180 at 10 pictures a second.
  func screen() -> InAppScreenCaptureSource {
    World.$current.withValue(world) { InAppScreenCaptureSource(logger: ConsoleLogger(name: "screen", level: .OFF)) }
  }

  /// A participant of the common layer with camera and microphone, which stays.
  func native(_ name: String, sound: String = "tone") throws -> Session {
    let session = Session(JoinRequest(room: "tea", participantID: name.lowercased(), name: name), in: world)
    try session.publish(camera: Devices.camera("stamp:\(name),160x90@30"))
    try session.publish(microphone: Devices.microphone(sound))
    session.join { _ in }
    natives.withLock { $0.append(session) }
    return session
  }

  func run(_ duration: Duration = .seconds(1)) async { await world.run(for: duration) }
}

/// A camera of the app's own: stamps with a name, in pixel buffers that the app fills itself.
final class Painter: AmazonChimeSDK.VideoSource, @unchecked Sendable {
  var videoContentHint = VideoContentHint.motion
  private let sinks = Lock<[any AmazonChimeSDK.VideoSink]>([])
  private let source: any Koine.VideoSource
  let format: OSType
  let drawn = Lock(0)

  init(_ name: String, in world: World, format: OSType = kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange) throws {
    source = try Devices.camera("stamp:\(name),160x90@30")
    self.format = format
    try source.start(on: world.backend.scheduler.lane("painter")) { [weak self] in self?.paint($0) }
  }

  var sinkCount: Int { sinks.withLock { $0.count } }
  func addVideoSink(sink: any AmazonChimeSDK.VideoSink) { sinks.withLock { $0.append(sink) } }
  func removeVideoSink(sink: any AmazonChimeSDK.VideoSink) { sinks.withLock { $0.removeAll { $0 === sink } } }

  private func paint(_ picture: Koine.VideoFrame) {
    var made: CVPixelBuffer?
    guard CVPixelBufferCreate(nil, picture.width, picture.height, format, nil, &made) == kCVReturnSuccess,
      let buffer = made
    else { return }
    CVPixelBufferLockBaseAddress(buffer, [])
    if format == kCVPixelFormatType_32BGRA {
      let pixels = picture.pixels(.bgra)
      copy(pixels, 4 * picture.width, to: CVPixelBufferGetBaseAddress(buffer), CVPixelBufferGetBytesPerRow(buffer))
    } else {
      let i420 = picture.i420()
      let (size, chroma) = (picture.width * picture.height, picture.width / 2 * picture.height / 2)
      copy(
        Array(i420[..<size]), picture.width, to: CVPixelBufferGetBaseAddressOfPlane(buffer, 0),
        CVPixelBufferGetBytesPerRowOfPlane(buffer, 0))
      let pairs = (0..<chroma).flatMap { [i420[size + $0], i420[size + chroma + $0]] }
      copy(
        pairs, picture.width, to: CVPixelBufferGetBaseAddressOfPlane(buffer, 1),
        CVPixelBufferGetBytesPerRowOfPlane(buffer, 1))
    }
    CVPixelBufferUnlockBaseAddress(buffer, [])
    drawn.withLock { $0 += 1 }
    let frame = AmazonChimeSDK.VideoFrame(
      timestampNs: picture.captured.nanoseconds, rotation: .rotation0,
      buffer: VideoFramePixelBuffer(pixelBuffer: buffer))
    for sink in sinks.withLock({ $0 }) { sink.onVideoFrameReceived(frame: frame) }
  }

  private func copy(_ bytes: [UInt8], _ row: Int, to base: UnsafeMutableRawPointer?, _ stride: Int) {
    guard let base else { return }
    bytes.withUnsafeBytes { bytes in
      for (index, start) in Swift.stride(from: 0, to: bytes.count, by: row).enumerated() {
        (base + index * stride).copyMemory(from: bytes.baseAddress! + start, byteCount: row)
      }
    }
  }
}
