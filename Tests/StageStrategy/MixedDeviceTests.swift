import AmazonIVSBroadcast
import Foundation
import Koine
import KoineAVFoundation
import KoineCoreMedia
import KoineCoreVideo
import Testing

/// Mixed image and audio devices.
@Suite struct MixedDeviceTests {
  private let environment = TestEnvironment()

  private var discovery: IVSDeviceDiscovery { World.$current.withValue(environment.world) { IVSDeviceDiscovery() } }

  /// A device with frames of one brightness.
  private func plain(_ brightness: UInt8, width: Int = 64, height: Int = 64) -> any IVSCustomImageSource {
    let source = discovery.createImageSource(withName: "\(brightness)")
    let frame = FramePool().make(width: width, height: height, captured: .zero) { planes in
      for row in 0..<planes.height {
        for column in 0..<planes.width { planes.y[row * planes.lumaStride + column] = brightness }
      }
      for row in 0..<planes.chromaHeight {
        for column in 0..<planes.chromaWidth {
          planes.u[row * planes.chromaStride + column] = 128
          planes.v[row * planes.chromaStride + column] = 128
        }
      }
    }
    source.onSampleBuffer(CMSampleBuffer(imageBuffer: CVPixelBuffer(frame), presentationTimeStamp: .zero))
    return source
  }

  private func brightness(_ frame: VideoFrame?, _ x: Int, _ y: Int) -> Int? {
    frame?.withPlanes { planes in Int(planes.y[y * planes.lumaStride + x]) }
  }

  private func place(_ x: CGFloat, _ y: CGFloat, _ side: CGFloat, z: Int32 = 0)
    -> IVSMixedImageDeviceSourceConfiguration
  {
    let configuration = IVSMixedImageDeviceSourceConfiguration()
    configuration.position = CGPoint(x: x, y: y)
    configuration.size = CGSize(width: side, height: side)
    configuration.zIndex = z
    return configuration
  }

  private func mixed(transparent: Bool = false) -> any IVSMixedImageDevice {
    let configuration = IVSMixedImageDeviceConfiguration()
    configuration.size = CGSize(width: 160, height: 96)
    configuration.isTransparencyEnabled = transparent
    return discovery.createMixedImageDevice(with: configuration)
  }

  private func isNear(_ value: Int?, _ expected: Int) -> Bool { value.map { abs($0 - expected) <= 6 } ?? false }

  @Test func sourcesAreDrawnInOrderOfTheirZIndex() async throws {
    let device = mixed()
    let preview = device.previewView()
    await environment.run(.milliseconds(200))
    #expect(isNear(brightness(preview.lastFrame, 8, 8), 16), "black without a source")
    let above = IVSMixedImageDeviceSource(configuration: place(0, 0, 64, z: 2), device: plain(200))
    let below = IVSMixedImageDeviceSource(configuration: place(32, 0, 64, z: 1), device: plain(80))
    for source in [above, below, above] { device.add(source) }
    #expect(device.sources() == [above, below])
    await environment.run(.milliseconds(500))
    #expect(preview.lastFrame.map { [$0.width, $0.height] } == [160, 96])
    #expect(isNear(brightness(preview.lastFrame, 8, 8), 200))
    #expect(isNear(brightness(preview.lastFrame, 48, 8), 200), "both are there: the higher one is seen")
    #expect(isNear(brightness(preview.lastFrame, 80, 8), 80))
    #expect(isNear(brightness(preview.lastFrame, 140, 8), 16))
    above.transition(to: place(0, 0, 64, z: 0), duration: 0)
    await environment.run(.milliseconds(200))
    #expect(isNear(brightness(preview.lastFrame, 48, 8), 80))
    device.remove(below)
    device.remove(below)
    await environment.run(.milliseconds(200))
    #expect(device.sources() == [above])
    #expect(isNear(brightness(preview.lastFrame, 48, 8), 200))
    #expect(isNear(brightness(preview.lastFrame, 80, 8), 16))
  }

  @Test func transitionMovesASourceGradually() async throws {
    let device = mixed()
    let preview = device.previewView()
    let source = IVSMixedImageDeviceSource(configuration: place(0, 0, 32), device: plain(200))
    device.add(source)
    await environment.run(.milliseconds(300))
    let done = Lock(0)
    source.transition(to: place(128, 0, 32), duration: 1) { done.withLock { $0 += 1 } }
    #expect(source.configuration.position.x == 128)
    await environment.run(.milliseconds(500))
    #expect(done.withLock { $0 } == 0)
    #expect(isNear(brightness(preview.lastFrame, 80, 8), 200), "half-way")
    #expect(isNear(brightness(preview.lastFrame, 8, 8), 16))
    await environment.run(.milliseconds(700))
    #expect(done.withLock { $0 } == 1)
    #expect(isNear(brightness(preview.lastFrame, 144, 8), 200))
  }

  @Test func deviceOfASourceIsExchanged() async throws {
    let device = mixed()
    let preview = device.previewView()
    let source = IVSMixedImageDeviceSource(configuration: place(0, 0, 64), device: nil)
    device.add(source)
    source.device = plain(200)
    await environment.run(.milliseconds(300))
    #expect(isNear(brightness(preview.lastFrame, 8, 8), 200))
    source.device = plain(90)
    await environment.run(.milliseconds(300))
    #expect(isNear(brightness(preview.lastFrame, 8, 8), 90))
    source.device = nil
    await environment.run(.milliseconds(300))
    #expect(isNear(brightness(preview.lastFrame, 8, 8), 16))
  }

  @Test func sourcesAreTransparentWhereTheDevicePermitsIt() async throws {
    for (transparent, expected) in [(true, 108), (false, 200)] {
      let device = mixed(transparent: transparent)
      let preview = device.previewView()
      let configuration = place(0, 0, 64)
      try configuration.setAlpha(0.5)
      device.add(IVSMixedImageDeviceSource(configuration: configuration, device: plain(200)))
      await environment.run(.milliseconds(300))
      #expect(isNear(brightness(preview.lastFrame, 8, 8), expected), "\(transparent)")
    }
  }

  @Test func aspectAndFillColorDecideHowFramesFill() async throws {
    let device = mixed()
    let preview = device.previewView()
    let configuration = place(0, 0, 64)
    configuration.fillColor = .white
    let source = IVSMixedImageDeviceSource(configuration: configuration, device: plain(90, width: 64, height: 32))
    device.add(source)
    await environment.run(.milliseconds(300))
    #expect(isNear(brightness(preview.lastFrame, 32, 4), 235), "above the frame is the fill colour")
    #expect(isNear(brightness(preview.lastFrame, 32, 32), 90))
    configuration.aspect = .fill
    #expect(source.configuration.aspect == .fit, "a copy")
    source.transition(to: configuration, duration: 0)
    await environment.run(.milliseconds(300))
    #expect(isNear(brightness(preview.lastFrame, 32, 4), 90))
  }

  /// Published in a stage, and received there.
  @Test func mixedDevicesArePublished() async throws {
    let image = mixed()
    image.add(IVSMixedImageDeviceSource(configuration: place(0, 0, 96), device: plain(200)))
    let sound = discovery.createMixedAudioDevice(with: IVSMixedAudioDeviceConfiguration())
    let microphone = try #require(discovery.listLocalDevices().compactMap { $0 as? any IVSMicrophone }.first)
    sound.add(IVSMixedAudioDeviceSource(configuration: IVSMixedAudioDeviceSourceConfiguration(), device: microphone))
    let ana = try environment.app("Ana")
    ana.streams = [IVSLocalStageStream(device: image), IVSLocalStageStream(device: sound)]
    let ben = try environment.app("Ben", streams: 0)
    for app in [ana, ben] { try app.stage.join() }
    await environment.run(.seconds(1))
    let video = try #require(ben.remote("video")?.device as? any IVSImageDevice)
    let preview = video.previewView()
    let heard = StatsRecorder()
    (ben.remote("audio")?.device as? any IVSAudioDevice)?.setStatsCallback { heard.record($0) }
    await environment.run(.seconds(2))
    #expect(preview.lastFrame.map { [$0.width, $0.height] } == [160, 96])
    #expect(isNear(brightness(preview.lastFrame, 16, 16), 200))
    #expect(isNear(brightness(preview.lastFrame, 140, 16), 16))
    #expect((heard.last?.peak ?? -100) > -20)
    ana.stage.leave()
  }

  /// In decibels, relative to the microphone alone.
  @Test func audioOfSourcesIsMixedWithTheirGain() async throws {
    let microphone = try #require(discovery.listLocalDevices().compactMap { $0 as? any IVSMicrophone }.first)
    let (alone, both) = (StatsRecorder(), StatsRecorder())
    microphone.setStatsCallback { alone.record($0) }
    let configuration = IVSMixedAudioDeviceConfiguration()
    try configuration.setChannels(1)
    let device = discovery.createMixedAudioDevice(with: configuration)
    device.setStatsCallback { both.record($0) }
    await environment.run(.seconds(1))
    #expect((both.last?.rms ?? 0) <= -90, "silent without a source")
    let gain = IVSMixedAudioDeviceSourceConfiguration()
    let source = IVSMixedAudioDeviceSource(configuration: gain, device: microphone)
    device.add(source)
    device.add(source)
    #expect(device.sources() == [source])
    let done = Lock(false)
    for (factor, decibels) in [(Float(1), Float(0)), (0.5, -6), (2, 6)] {
      try gain.setGain(factor)
      source.transition(to: gain, duration: 0.2) { done.withLock { $0 = true } }
      #expect(source.configuration.gain == factor)
      await environment.run(.seconds(1))
      let difference = (both.last?.rms ?? -100) - (alone.last?.rms ?? 0)
      #expect(abs(difference - decibels) < 0.7, "\(factor): \(difference)")
    }
    #expect(done.withLock { $0 })
    source.device = nil
    await environment.run(.seconds(1))
    #expect((both.last?.rms ?? 0) <= -90, "silent without a device")
    source.device = microphone
    await environment.run(.seconds(1))
    #expect((both.last?.rms ?? -100) > -20)
    device.setGain(0)
    await environment.run(.seconds(1))
    #expect((both.last?.rms ?? 0) <= -90)
    device.setGain(1)
    device.remove(source)
    await environment.run(.seconds(1))
    #expect((both.last?.rms ?? 0) <= -90)
    #expect(device.sources().isEmpty)
  }

  /// In decibels of full scale. The tone is on the left channel alone. One channel has the average of both, which is 6 dB less.
  @Test func audioIsMixedToTheChannelsOfTheConfiguration() async throws {
    let format = try #require(AVAudioFormat(standardFormatWithSampleRate: 48_000, channels: 2))
    let buffer = try #require(AVAudioPCMBuffer(pcmFormat: format, frameCapacity: 4_800))
    buffer.frameLength = 4_800
    let samples = try #require(buffer.floatChannelData)
    for index in 0..<4_800 { samples[0][index] = Float(sin(2 * Double.pi * 500 * Double(index) / 48_000)) * 0.5 }
    for (channels, expected) in [(2, Float(-6)), (1, -12)] {
      let configuration = IVSMixedAudioDeviceConfiguration()
      try configuration.setChannels(channels)
      #expect(configuration.channels == channels)
      let device = discovery.createMixedAudioDevice(with: configuration)
      let music = discovery.createAudioSource(withName: "music")
      device.add(IVSMixedAudioDeviceSource(configuration: IVSMixedAudioDeviceSourceConfiguration(), device: music))
      let heard = StatsRecorder()
      device.setStatsCallback { heard.record($0) }
      for _ in 0..<10 {
        music.onPCMBuffer(buffer, at: AVAudioTime(sampleTime: 0, atRate: 48_000))
        await environment.run(.milliseconds(100))
      }
      let peak = try #require(heard.last?.peak)
      #expect(abs(peak - expected) < 1, "\(channels): \(peak)")
    }
  }

  @Test func configurationsHaveTheVendorsDefaultsAndRanges() throws {
    let image = IVSMixedImageDeviceConfiguration()
    #expect(image.size == CGSize(width: 720, height: 1280))
    #expect(!image.isTransparencyEnabled)
    #expect(image.targetFramerate == 30)
    try image.setTargetFramerate(60)
    #expect(throws: NSError.self) { try image.setTargetFramerate(61) }
    #expect(image.targetFramerate == 60)
    let source = IVSMixedImageDeviceSourceConfiguration()
    #expect(source.aspect == .fit)
    #expect(source.position == .zero)
    #expect(source.size == CGSize(width: 720, height: 1280))
    #expect(source.zIndex == 0)
    #expect(source.fillColor == nil)
    #expect(source.alpha == 1)
    #expect(throws: NSError.self) { try source.setAlpha(1.1) }
    #expect(source.alpha == 1)
    let audio = IVSMixedAudioDeviceConfiguration()
    #expect(audio.channels == 2)
    #expect(throws: NSError.self) { try audio.setChannels(3) }
    #expect(audio.channels == 2)
    let gain = IVSMixedAudioDeviceSourceConfiguration()
    #expect(gain.gain == 1)
    #expect(throws: NSError.self) { try gain.setGain(2.1) }
    #expect(gain.gain == 1)
  }
}
