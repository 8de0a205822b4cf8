import Foundation
import Koine
import KoineEmbeddedBackend
import Testing
import VideoSDKRTC
import WebRTC

/// What is done to a camera's frames and a microphone's audio before they are sent.
@Suite struct ProcessingTests {
  private let environment = TestEnvironment()

  /// Records the brightness of the last frame.
  private final class Meter: NSObject, RTCVideoRenderer, @unchecked Sendable {  // the lock guards everything
    private let seen = Lock<(count: Int, luma: Int, width: Int32)>((0, 0, 0))
    var frames: Int { seen.withLock { $0.count } }
    /// 0...255, averaged over the middle row.
    var luma: Int { seen.withLock { $0.luma } }
    var width: Int32 { seen.withLock { $0.width } }
    func setSize(_ size: CGSize) {}
    func renderFrame(_ frame: RTCVideoFrame?) {
      guard let buffer = frame?.buffer.toI420() else { return }
      let row = UnsafeBufferPointer(
        start: buffer.dataY + Int(buffer.strideY * (buffer.height / 2)), count: Int(buffer.width))
      let mean = row.reduce(0) { $0 + Int($1) } / row.count
      seen.withLock { $0 = ($0.count + 1, mean, buffer.width) }
    }
  }

  /// Paints the pixels of the frame's own buffer white.
  private final class Whitener: VideoSDKVideoProcessor {
    func onFrameReceived(frame: RTCVideoFrame) -> RTCVideoFrame? {
      guard let pixels = (frame.buffer as? RTCCVPixelBuffer)?.pixelBuffer else { return nil }
      CVPixelBufferLockBaseAddress(pixels, [])
      for row in 0..<CVPixelBufferGetHeightOfPlane(pixels, 0) {
        guard let base = CVPixelBufferGetBaseAddressOfPlane(pixels, 0) else { return nil }
        memset(base + row * CVPixelBufferGetBytesPerRowOfPlane(pixels, 0), 235, CVPixelBufferGetWidth(pixels))
      }
      CVPixelBufferUnlockBaseAddress(pixels, [])
      return frame
    }
  }

  /// Replaces the frame by a dark one of another size.
  private struct Replacement: VideoSDKVideoProcessor {
    func onFrameReceived(frame: RTCVideoFrame) -> RTCVideoFrame? {
      let buffer = RTCMutableI420Buffer(width: 80, height: 44)
      memset(buffer.mutableDataY, 16, 80 * 44)
      memset(buffer.mutableDataU, 128, 40 * 22)
      memset(buffer.mutableDataV, 128, 40 * 22)
      return RTCVideoFrame(buffer: buffer, rotation: frame.rotation, timeStampNs: frame.timeStampNs)
    }
  }

  private struct Blackout: VideoSDKVideoProcessor {
    func onFrameReceived(frame: RTCVideoFrame) -> RTCVideoFrame? { nil }
  }

  @Test func processorChangesTheFramesThatAreSent() async throws {
    let (ana, _) = environment.meeting("Ana")
    let (ben, told) = environment.meeting("Ben", camera: false)
    ana.join()
    ben.join()
    await environment.run()
    let meter = Meter()
    let track = try #require(told.streams.compactMap { $0.track as? RTCVideoTrack }.last)
    track.add(meter)
    await environment.run()
    let plain = meter.luma
    #expect(plain < 200)
    ana.setVideoProcessor(processor: Whitener())
    await environment.run()
    #expect(meter.luma > 225)
    ana.setVideoProcessor(processor: Replacement())
    await environment.run()
    #expect(meter.luma < 30)
    #expect(meter.width == 80)
    ana.setVideoProcessor(processor: Blackout())
    await environment.run()
    let count = meter.frames
    await environment.run()
    #expect(meter.frames == count)
    ana.setVideoProcessor(processor: nil)
    await environment.run()
    #expect(meter.frames > count + 20)
    #expect((meter.luma - plain).magnitude < 60)
    #expect(meter.width == 160)
    withExtendedLifetime(ben) {}
  }

  @Test func processorSurvivesCameraToggleAndSwitch() async throws {
    let (ana, told) = environment.meeting("Ana", mic: false)
    ana.setVideoProcessor(processor: Whitener())
    ana.join()
    await environment.run()
    /// The brightness of the local video.
    func luma() async throws -> Int {
      let meter = Meter()
      let track = try #require(told.streams.compactMap { $0.track as? RTCVideoTrack }.last)
      track.add(meter)
      await environment.run()
      return meter.luma
    }
    #expect(try await luma() > 225)
    ana.disableWebcam()
    await environment.run()
    ana.enableWebcam()
    await environment.run()
    #expect(try await luma() > 225)
    ana.switchTo(meetingId: "cake", token: "")
    await environment.run()
    #expect(try await luma() > 225)
  }

  @Test func customTracksAreReadable() throws {
    let camera = try #require(try VideoSDK.createCameraVideoTrack(encoderConfig: .h180p_w320p))
    let microphone = try #require(try VideoSDK.createAudioTrack(noiseConfig: nil))
    let ana = VideoSDK.initMeeting(
      meetingId: "tea", customCameraVideoStream: camera, customAudioTrack: microphone, mode: .CONFERENCE)
    #expect(ana.customVideoMediaStream === camera)
    #expect(ana.customAudioMediaStream === microphone)
    let other = try #require(try VideoSDK.createCameraVideoTrack())
    ana.enableWebcam(customVideoStream: other)
    #expect(ana.customVideoMediaStream === other)
    let plain = VideoSDK.initMeeting(meetingId: "tea")
    #expect(plain.customVideoMediaStream == nil)
    #expect(plain.customAudioMediaStream == nil)
  }

  /// Adds up the energy of what it plays.
  private final class Energy: AudioSink, Sendable {
    private let sum = Lock((energy: 0.0, count: 0))
    func play(_ block: AudioBlock) {
      let energy = block.samples.reduce(0.0) { $0 + Double($1) * Double($1) }
      sum.withLock { $0 = ($0.energy + energy, $0.count + block.samples.count) }
    }
    /// Root mean square since the last read.
    func takeLevel() -> Double {
      sum.withLock { sum in
        defer { sum = (0, 0) }
        return (sum.energy / Double(max(sum.count, 1))).squareRoot()
      }
    }
  }

  @Test func noiseConfigurationRemovesNoiseOfTheMicrophone() async throws {
    let world = World(
      backend: environment.world.backend, delivery: environment.world.delivery,
      devices: DefaultDevices(camera: "pattern:160x90@30", microphone: "fan"))
    func track(_ suppresses: Bool) throws -> CustomRTCMediaStream? {
      try VideoSDK.createAudioTrack(
        noiseConfig: noiseConfig(
          noiseSupression: suppresses, echoCancellation: false, autoGainControl: false, highPassFilter: false))
    }
    let noisy = try track(false)
    let ana = World.$current.withValue(world) {
      VideoSDK.initMeeting(
        meetingId: "tea", participantId: "ana", participantName: "Ana", webcamEnabled: false, customAudioTrack: noisy,
        mode: .CONFERENCE)
    }
    let (ben, told) = environment.meeting("Ben", id: "ben", mic: false, camera: false)
    ana.join()
    ben.join()
    await environment.run()
    let energy = Energy()
    let stream = try #require(ben.session?.participants.first { $0.id == "ana" }?.tracks.first)
    ben.session?.attach(energy as any AudioSink, to: stream.id)
    await environment.run(.seconds(2))
    _ = energy.takeLevel()
    await environment.run(.seconds(2))
    let loud = energy.takeLevel()
    #expect(loud > 50)
    ana.unmuteMic(customAudioStream: try track(true))
    await environment.run(.seconds(4))
    _ = energy.takeLevel()
    await environment.run(.seconds(2))
    let quiet = energy.takeLevel()
    #expect(quiet < loud / 2, "\(quiet) of \(loud)")
    ana.unmuteMic(customAudioStream: try VideoSDK.createCameraVideoTrack())
    await environment.run()
    withExtendedLifetime(told) {}
  }
}
