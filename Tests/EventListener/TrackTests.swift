import Foundation
import Koine
import KoineEmbeddedBackend
import KoineSimulatedNetwork
import Testing
import VideoSDKRTC
import WebRTC

/// Options of tracks, active speakers, and other kinds of ends.
@Suite struct TrackTests {
  private let environment = TestEnvironment()

  /// The environment's world with another camera.
  private func world(camera: String) -> World {
    World(
      backend: environment.world.backend, delivery: environment.world.delivery,
      devices: DefaultDevices(camera: camera, microphone: "silence"))
  }

  /// A renderer of the video track that was reported last.
  private func screen(of told: Recorder) -> Screen {
    let screen = Screen()
    (told.streams.last { $0.track is RTCVideoTrack }?.track as? RTCVideoTrack)?.add(screen)
    return screen
  }

  @Test func encoderConfigurationOfTrackLimitsSentVideo() async throws {
    let world = world(camera: "pattern:1280x720@30")
    let track = try #require(try VideoSDK.createCameraVideoTrack(encoderConfig: .h180p_w320p, facingMode: .front))
    let ana = World.$current.withValue(world) {
      VideoSDK.initMeeting(meetingId: "tea", participantName: "Ana", customCameraVideoStream: track)
    }
    let (ben, told) = environment.meeting("Ben", camera: false)
    ana.join()
    ben.join()
    await environment.run()
    let screen = screen(of: told)
    await environment.run(.seconds(2))
    #expect(screen.sizes == [CGSize(width: 320, height: 180)])
    #expect((50...64).contains(screen.frames))
    withExtendedLifetime((ana, ben)) {}
  }

  @Test(arguments: [(true, true), (true, false), (false, true), (false, false)])
  func lowerQualityNeedsMultiStreamTrack(_ isCustom: Bool, _ isMultiStream: Bool) async throws {
    let world = world(camera: "pattern:640x360@15")
    let track = try VideoSDK.createCameraVideoTrack(encoderConfig: .h360p_w640p, multiStream: isMultiStream)
    let big = World.$current.withValue(world) {
      VideoSDK.initMeeting(
        meetingId: "tea", participantId: "big", participantName: "Big",
        customCameraVideoStream: isCustom ? track : nil, multiStream: isMultiStream)
    }
    let (ana, told) = environment.meeting("Ana", camera: false)
    big.join()
    ana.join()
    await environment.run()
    let screen = screen(of: told)
    await environment.run(.seconds(3))
    ana.participants["big"]?.setQuality(.low)
    await environment.run(.seconds(3))
    #expect(screen.sizes.last?.width == (isMultiStream ? 320 : 640))
    withExtendedLifetime(big) {}
  }

  /// What a camera track is sent in, after some seconds: of each size, the smallest first.
  private func sentLayers(_ track: CustomRTCMediaStream?, camera: String) async throws -> [VideoLayerSendStatistics] {
    let world = world(camera: camera)
    let ana = World.$current.withValue(world) {
      VideoSDK.initMeeting(meetingId: "tea", participantName: "Ana", customCameraVideoStream: track)
    }
    let (ben, _) = environment.meeting("Ben", camera: false)
    ana.join()
    ben.join()
    await environment.run(.seconds(4))
    let session = try #require(ana.session)
    let figures = await world.run { await session.statistics() }
    withExtendedLifetime(ben) {}
    return figures.streams.compactMap(\.sentVideo).first?.layers ?? []
  }

  @Test(arguments: [(BitrateMode.BANDWIDTH_OPTIMIZED, 60_000.0), (.BALANCED, 120_000), (.HIGH_QUALITY, 180_000)])
  func bitrateModeLimitsSentVideo(_ mode: BitrateMode, _ limit: Double) async throws {
    let track = try VideoSDK.createCameraVideoTrack(encoderConfig: .h180p_w320p, bitrateMode: mode)
    let layers = try await sentLayers(track, camera: "pattern:320x180@30")
    let layer = try #require(layers.first)
    #expect(layers.count == 1)
    let bitrate = Double(layer.targetBytes * 8) / Double(layer.encoded) * 30
    #expect((0.8 * limit...1.05 * limit).contains(bitrate), "\(bitrate)")
  }

  @Test(arguments: [(EncodingLayer.MAX_LAYER_2, 2), (.MAX_LAYER_3, 3)])
  func trackIsSentInAsManySizesAsItsLayersPermit(_ maximum: EncodingLayer, _ count: Int) async throws {
    let track = try VideoSDK.createCameraVideoTrack(encoderConfig: .h720p_w1280p, codec: .VP8, maxLayer: maximum)
    let layers = try await sentLayers(track, camera: "pattern:1280x720@15")
    #expect(layers.count == count)
    let single = try VideoSDK.createCameraVideoTrack(encoderConfig: .h720p_w1280p, multiStream: false, codec: .VP8)
    #expect(try await sentLayers(single, camera: "pattern:1280x720@15").count == 1)
  }

  @Test func qualityLimitationAndMediaStatusAreReported() async throws {
    final class ListenerRecorder: MeetingEventListener, ParticipantEventListener, Sendable {
      let heard = Lock<[String]>([])
      let heardOfAna = Lock<[String]>([])
      func onParticipantJoined(_ participant: VideoSDKRTC.Participant) { participant.addEventListener(self) }
      func onMediaStatusChanged(peerId: String, kind: MediaType, newStatus: Bool) {
        heardOfAna.withLock { $0.append("\(peerId) \(kind == .state(value: .audio)) \(newStatus)") }
      }
      func onQualityLimitation(type: QualityLimitationType, state: QualityLimitationState, timestamp: String) {
        heard.withLock { $0.append("\(type) \(state)\(Int(timestamp) ?? 0 > 0 ? "" : "?")") }
      }
      func onQualityLimitation(type: QualityLimitationType, state: QualityLimitationState, timestamp: Int) {
        heard.withLock { $0.append("\(type) \(state) as number") }
      }
      func onMediaStatusChanged(peerId: String, kind: String, newStatus: Bool) {
        heard.withLock { $0.append("\(peerId) \(kind) \(newStatus)") }
      }
    }
    let (ana, _) = environment.meeting("Ana", id: "ana", camera: false)
    let (ben, _) = environment.meeting("Ben", id: "ben", camera: false)
    let ear = ListenerRecorder()
    ben.addEventListener(ear)
    ben.join()
    await environment.run()
    ana.join()
    await environment.run()
    ana.muteMic()
    await environment.run()
    #expect(ear.heard.withLock { $0 } == ["ben audio true", "ana audio true", "ana audio false"])
    #expect(ear.heardOfAna.withLock { $0 } == ["ana true true", "ana true false"])
    #expect(ben.participants["ana"]?.isAgent == false)
    ear.heard.withLock { $0 = [] }
    let backend = try #require(environment.world.backend as? EmbeddedBackend)
    backend.setNetwork(try NetworkSpec("loss=15%"), of: "ben")
    await environment.run(.seconds(10))
    backend.setNetwork(try NetworkSpec("loss=0%"), of: "ben")
    await environment.run(.seconds(20))
    #expect(ear.heard.withLock { $0 }.first == "CONGESTION DETECTED")
    #expect(ear.heard.withLock { $0 }.dropFirst().first == "CONGESTION DETECTED as number")
    #expect(ear.heard.withLock { $0 }.last == "CONGESTION RESOLVED as number")
  }

  @Test func trackSourceStateAndViewRotationOverrideApply() async throws {
    let (ana, told) = environment.meeting("Ana")
    ana.join()
    await environment.run()
    let view = await RTCMTLVideoView()
    let track = try #require(told.streams.compactMap { $0.track as? RTCVideoTrack }.first)
    let sound = try #require(told.streams.compactMap { $0.track as? RTCAudioTrack }.first)
    #expect(track.source.state == .live)
    #expect(sound.source.state == .live)
    track.add(view)
    await environment.run()
    #expect(view.lastFrame?.quarterTurns == 0)
    view.rotationOverride = NSNumber(value: RTCVideoRotation._90.rawValue)
    await environment.run()
    #expect(view.lastFrame?.quarterTurns == 1)
    view.rotationOverride = nil
    await environment.run()
    #expect(view.lastFrame?.quarterTurns == 0)
    ana.leave()
    await environment.run()
    #expect(track.source.state == .ended)
  }

  /// Detects audible audio.
  private final class Level: AudioSink, Sendable {
    private let loudest = Lock<Int16>(0)
    func play(_ block: AudioBlock) {
      let level = block.samples.map { $0.magnitude }.max() ?? 0
      loudest.withLock { $0 = max($0, Int16(clamping: level)) }
    }
    /// Since the last read.
    var isLoud: Bool {
      loudest.withLock { loudest in
        defer { loudest = 0 }
        return loudest > 100
      }
    }
  }

  @Test func disabledAudioTrackIsSilent() async throws {
    let (ear, wire) = (Level(), Level())
    Devices.register(loudspeaker: "track ear") { _ throws(DeviceError) in ear }
    let world = World(
      backend: environment.world.backend, delivery: environment.world.delivery,
      devices: DefaultDevices(camera: "pattern", microphone: "silence", loudspeaker: "track ear"))
    let (ana, told) = environment.meeting("Ana", id: "ana", camera: false)
    let ben = World.$current.withValue(world) {
      VideoSDK.initMeeting(meetingId: "tea", participantId: "ben", participantName: "Ben", webcamEnabled: false)
    }
    let others = Recorder()
    others.meeting = ben
    ben.addEventListener(others)
    ana.join()
    ben.join()
    await environment.run(.seconds(2))
    /// The audio that Ben plays, and the audio that arrives.
    func heard() async -> [Bool] {
      await environment.run()
      _ = (ear.isLoud, wire.isLoud)
      await environment.run()
      return [ear.isLoud, wire.isLoud]
    }
    let stream = try #require(ben.session?.participants.first { $0.id == "ana" }?.tracks.first)
    ben.session?.attach(wire as any AudioSink, to: stream.id)
    #expect(await heard() == [true, true])
    let remote = try #require(others.streams.compactMap { $0.track as? RTCAudioTrack }.last)
    remote.isEnabled = false
    #expect(await heard() == [false, true], "here alone")
    ana.muteMic()
    await environment.run()
    ana.unmuteMic()
    #expect(await heard() == [true, true], "unmuted, it is another track")
    let own = try #require(told.streams.compactMap { $0.track as? RTCAudioTrack }.last { $0.readyState == .live })
    own.isEnabled = false
    #expect(await heard() == [false, false])
    own.isEnabled = true
    #expect(await heard() == [true, true])
  }

  @Test func customRendererReceivesFrameBuffers() async throws {
    final class Glass: NSObject, RTCVideoRenderer, @unchecked Sendable {
      let seen = Lock<(sizes: [CGSize], frames: [RTCVideoFrame])>(([], []))
      func setSize(_ size: CGSize) { seen.withLock { $0.sizes.append(size) } }
      func renderFrame(_ frame: RTCVideoFrame?) { if let frame { seen.withLock { $0.frames.append(frame) } } }
    }
    let (ana, told) = environment.meeting("Ana")
    ana.join()
    await environment.run()
    let track = try #require(told.streams.compactMap { $0.track as? RTCVideoTrack }.first)
    let glass = Glass()
    track.add(glass)
    await environment.run()
    let (sizes, frames) = glass.seen.withLock { $0 }
    #expect(sizes == [CGSize(width: 160, height: 90)])
    #expect(frames.count >= 28)
    let (first, last) = (try #require(frames.first), try #require(frames.last))
    #expect(first.width == 160)
    #expect(first.height == 90)
    #expect(first.rotation == ._0)
    #expect(last.timeStampNs - first.timeStampNs > 900_000_000)
    #expect(first.buffer is RTCI420Buffer)
    let buffer = first.buffer.toI420()
    #expect(buffer.width == 160)
    #expect(buffer.chromaHeight == 45)
    #expect(buffer.strideY >= 160)
    #expect(buffer.strideU >= 80)
    let row = UnsafeBufferPointer(start: buffer.dataY, count: 160)
    #expect(Set(row).count > 1, "a pattern is no plain picture")
    track.remove(glass)
  }

  private final class VideoSizeListener: RTCVideoViewDelegate {
    var sizes: [CGSize] = []
    func videoView(_ videoView: any RTCVideoRenderer, didChangeVideoSize size: CGSize) { sizes.append(size) }
  }

  @MainActor @Test func videoViewAndRendererOfTheAppReceiveSizeAndFrames() async throws {
    let (ana, told) = environment.meeting("Ana")
    ana.join()
    await environment.run()
    let (view, listener) = (RTCMTLVideoView(), VideoSizeListener())
    let screen = Screen()
    view.delegate = listener
    let track = try #require(told.streams.compactMap { $0.track as? RTCVideoTrack }.first)
    for renderer in [view, screen] as [any RTCVideoRenderer] { track.add(renderer) }
    await environment.run()
    await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } }
    #expect(view.delegate === listener)
    #expect(listener.sizes == [CGSize(width: 160, height: 90)])
    #expect(screen.sizes == listener.sizes)
    #expect((25...31).contains(screen.frames))
    #expect(view.framesRendered == screen.frames)
  }

  @Test func activeSpeakerIsReported() async {
    final class ListenerRecorder: MeetingEventListener, Sendable {
      let heard = Lock<[String]>([])
      func onSpeakerChanged(participantId: String?) { heard.withLock { $0.append(participantId ?? "-") } }
    }
    let (ana, _) = environment.meeting("Ana", id: "ana", camera: false)
    let (ben, _) = environment.meeting("Ben", id: "ben", mic: false, camera: false)
    let ear = ListenerRecorder()
    ben.addEventListener(ear)
    ben.join()
    ana.join()
    await environment.run(.seconds(3))
    #expect(ear.heard.withLock { $0 } == ["ana"])
    ana.muteMic()
    await environment.run(.seconds(5))
    #expect(ear.heard.withLock { $0 } == ["ana", "-"], "who has fallen silent leads no longer")
    ana.unmuteMic()
    await environment.run(.seconds(2))
    #expect(ear.heard.withLock { $0 } == ["ana", "-", "ana"])
  }

  @Test func livestreamIsWrittenByRegisteredOutput() async {
    final class Writer: BroadcastOutput, Sendable {
      static let taken = Lock(0)
      static let closed = Lock(false)
      func receive(_ frame: EncodedFrame) { Self.taken.withLock { $0 += 1 } }
      func close() throws { Self.closed.withLock { $0 = true } }
    }
    final class ListenerRecorder: MeetingEventListener, Sendable {
      let heard = Lock<[String]>([])
      func onLivestreamStarted() { heard.withLock { $0.append("started") } }
      func onLivestreamStopped() { heard.withLock { $0.append("stopped") } }
      func onLivestreamStateChanged(state: LiveStreamState) { heard.withLock { $0.append(state.rawValue) } }
    }
    let environment = Lock<URL?>(nil)
    BroadcastOutputs.register("trial:") { url in
      environment.withLock { $0 = url }
      return Writer()
    }
    let (ana, told) = self.environment.meeting("Ana")
    let (ben, others) = self.environment.meeting("Ben")
    let ear = ListenerRecorder()
    ben.addEventListener(ear)
    ana.join()
    ben.join()
    await self.environment.run()
    ana.startLivestream(outputs: [LivestreamOutput(url: "trial://server/live", streamKey: "key")])
    await self.environment.run(.seconds(2))
    #expect(environment.withLock { $0?.absoluteString } == "trial://server/live/key")
    #expect(Writer.taken.withLock { $0 } > 100)
    #expect(ben.liveStreamState == .LIVESTREAM_STARTED)
    let begun = [LiveStreamState.LIVESTREAM_STARTING, .LIVESTREAM_STARTED].map(\.rawValue) + ["livestream started"]
    #expect(told.told.suffix(3) == begun[...])
    others.forget()
    ana.leave()  // its work goes on
    await self.environment.run()
    #expect(!Writer.closed.withLock { $0 })
    #expect(ben.liveStreamState == .LIVESTREAM_STARTED)
    ben.stopLivestream()
    await self.environment.run()
    #expect(Writer.closed.withLock { $0 })
    #expect(ben.liveStreamState == .LIVESTREAM_STOPPED)
    let ended = [LiveStreamState.LIVESTREAM_STOPPING, .LIVESTREAM_STOPPED].map(\.rawValue) + ["livestream stopped"]
    #expect(others.told.suffix(3) == ended[...])
    let heard = ear.heard.withLock { $0.filter { $0 != "LIVESTREAM_STARTING" } }
    #expect(heard == ["LIVESTREAM_STARTED", "started", "LIVESTREAM_STOPPING", "LIVESTREAM_STOPPED", "stopped"])
  }

  @Test func networkGapIsReportedAsReconnecting() async throws {
    let (ana, told) = environment.meeting("Ana", id: "ana")
    ana.join()
    await environment.run()
    told.forget()
    (environment.world.backend as? EmbeddedBackend)?.cutNetwork(of: "ana", for: .seconds(20))
    await environment.run(.seconds(60))
    #expect(
      told.told.filter { $0.hasSuffix("CONNECTING") || $0.hasSuffix("CONNECTED") } == ["RECONNECTING", "CONNECTED"])
  }

  @Test func lostConnectionIsReportedAsSocketErrorBeforeTheEnd() async throws {
    let (ana, told) = environment.meeting("Ana", id: "ana")
    ana.join()
    await environment.run()
    told.forget()
    (environment.world.backend as? EmbeddedBackend)?.cutNetwork(of: "ana", for: .seconds(600))
    await environment.run(.seconds(150))
    let ends = told.told.filter { !$0.hasPrefix("Ana ") }
    #expect(ends == ["RECONNECTING", "socket error", "CLOSED", "out"])
  }

  @Test func joinOverDeadNetworkClosesWithAnError() async throws {
    let world = World(
      backend: EmbeddedBackend(virtual: 3, network: try NetworkSpec("loss=100%")), delivery: environment.world.delivery,
      devices: DefaultDevices(camera: "pattern:160x90@30", microphone: "tone"))
    let ana = World.$current.withValue(world) { VideoSDK.initMeeting(meetingId: "tea", participantName: "Ana") }
    let told = Recorder()
    told.meeting = ana
    ana.addEventListener(told)
    ana.join()
    await world.run(for: .seconds(120))
    #expect(told.told.last == "CLOSED")
    #expect(!told.told.contains("out"))
    #expect(told.told.contains("socket error") || told.told.contains { $0.hasPrefix("error") })
  }

  @Test func removeAllEventListenersStopsCallbacks() async {
    let (ana, told) = environment.meeting("Ana")
    ana.join()
    await environment.run()
    told.forget()
    ana.localParticipant.removeAllEventListeners()
    ana.disableWebcam()
    ana.removeAllEventListeners()
    await environment.run()
    ana.leave()
    await environment.run()
    #expect(told.told.isEmpty)
  }

  @Test func cameraPositionToggles() {
    var side = CameraPosition.front
    side.toggle()
    #expect(side == .back)
    #expect(side.rawValue == 1)
    side.toggle()
    #expect(side == .front)
    #expect(side.rawValue == 2)
  }
}
