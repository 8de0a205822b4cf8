import AzureCommunicationCalling
import Koine
import KoineEmbeddedBackend
import Testing

/// Streams of every kind between two participants, and the callbacks about them.
struct StreamTests {
  private struct Pair {
    let telephone: Telephone
    let agents: [CallAgent]
    let ana, ben: Recorder
    let anaCall, benCall: Call
    func run(_ duration: Duration) async { await telephone.run(duration) }
  }

  private func pair(_ change: (JoinCallOptions) -> Void = { _ in }) async throws -> Pair {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    let (ben, benHears) = try await telephone.agent("ben")
    let options = JoinCallOptions()
    change(options)
    ana.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { anaHears.take($0, $1) }
    ben.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: options) { benHears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    return Pair(
      telephone: telephone, agents: [ana, ben], ana: anaHears, ben: benHears,
      anaCall: try #require(anaHears.call), benCall: try #require(benHears.call))
  }

  @Test func videoStreamReportsItsStatesInOrder() async throws {
    let pair = try await pair()
    let camera = try await pair.telephone.camera()
    let hears = StreamRecorder()
    camera.delegate = hears
    #expect(camera.state == .available)
    #expect(camera.direction == .outgoing)
    #expect(camera.type == .localOutgoing)
    pair.anaCall.startVideo(stream: camera) { _ in }
    await pair.run(.milliseconds(500))
    let remote = try #require(pair.benCall.remoteParticipants.first?.incomingVideoStreams.first as? RemoteVideoStream)
    remote.delegate = hears
    #expect(remote.direction == .incoming)
    #expect(remote.type == .remoteIncoming)
    #expect(remote.sourceType == .video)
    #expect(remote.participantSourceId == "8:acs:ana")
    #expect(remote.state == .available)
    let renderer = try VideoStreamRenderer(remoteVideoStream: remote)
    let view = try renderer.createView()
    await pair.run(.milliseconds(500))
    #expect(remote.state == .started && view.isRendering() && pair.anaCall.outgoingVideoStreams == [camera])
    pair.anaCall.stopVideo(stream: camera) { _ in }
    await pair.run(.milliseconds(500))
    #expect(
      hears.words == [
        "local started", "remote started", "local stopping", "local stopped", "remote stopping", "remote stopped",
        "remote notAvailable",
      ])
    #expect(
      pair.ben.streamStates.withLock { $0 } == [
        "video available", "video started", "video stopping", "video stopped", "video notAvailable",
      ])
    #expect(pair.ana.words.filter { $0.hasPrefix("local") } == ["local +video", "local -video"])
    #expect(pair.ben.words.last == "ana -video")
    #expect(pair.anaCall.localVideoStreams.isEmpty)
  }

  @Test func screenShareIsSentAlongsideTheCamera() async throws {
    let pair = try await pair()
    let camera = try await pair.telephone.camera()
    let format = VideoStreamFormat()
    format.resolution = VideoStreamResolution.p360
    let options = RawOutgoingVideoStreamOptions()
    options.formats = [format]
    let screen = ScreenShareOutgoingVideoStream(videoStreamOptions: options)
    let hears = StreamRecorder()
    screen.delegate = hears
    let early = Lock(0)
    screen.send(frame: frame()) { error in early.withLock { $0 = (error as NSError?)?.code ?? 0 } }
    pair.anaCall.startVideo(stream: camera) { _ in }
    pair.anaCall.startVideo(stream: screen) { error in hears.note("sharing \(error == nil)") }
    await pair.run(.milliseconds(300))
    let streams = try #require(pair.benCall.remoteParticipants.first?.videoStreams)
    #expect(streams.map(\.mediaStreamType) == [.video, .screenSharing])
    let renderer = try VideoStreamRenderer(remoteVideoStream: streams[1])
    let view = try renderer.createView()
    for _ in 0..<10 {
      screen.send(frame: frame()) { error in if let error { hears.note("\(error)") } }
      await pair.run(.milliseconds(100))
    }
    #expect(view.framesRendered > 5)
    #expect(renderer.size.width == 320)
    #expect(hears.words == ["screen started", "format 640x360", "sharing true"])
    #expect(early.withLock { $0 } == 0 || early.withLock { $0 } == 259)
    let second = try await pair.telephone.camera()
    let refusal = Lock(0)
    pair.anaCall.startVideo(stream: second) { error in refusal.withLock { $0 = (error as NSError?)?.code ?? 0 } }
    await pair.run(.milliseconds(100))
    #expect(refusal.withLock { $0 } == CallingCommunicationErrors.invalidVideoStreamCombination.rawValue)
  }

  @Test func virtualVideoStreamIsReceivedAsRawFrames() async throws {
    let pair = try await pair { options in
      options.incomingVideoOptions = IncomingVideoOptions()
      options.incomingVideoOptions?.streamType = .rawIncoming
    }
    let made = VirtualOutgoingVideoStream(videoStreamOptions: RawOutgoingVideoStreamOptions())
    let (outgoing, sends): (RawOutgoingVideoStream, StreamRecorder) = (made, StreamRecorder())
    made.delegate = sends
    pair.anaCall.startVideo(stream: made) { _ in }
    await pair.run(.milliseconds(300))
    let stream = try #require(
      pair.benCall.remoteParticipants.first?.incomingVideoStreams.first as? RawIncomingVideoStream)
    let hears = StreamRecorder()
    stream.delegate = hears
    stream.start()
    for _ in 0..<10 {
      outgoing.send(frame: frame()) { _ in }
      await pair.run(.milliseconds(100))
    }
    #expect(sends.words == ["virtual started", "format 1280x720"])
    #expect(hears.frames.withLock { $0 } > 5)
    let last = try #require(hears.last.withLock { $0 })
    #expect(last.videoStreamId == stream.id)
    let received: RawVideoFrame = last.frame
    #expect(received.type == RawVideoFrameType.buffer)
    let format = received.streamFormat
    #expect(format.width == 320 && format.height == 180)
    #expect(format.pixelFormat == VideoStreamPixelFormat.i420)
    let buffer = try #require((received as? RawVideoFrameBuffer)?.buffer)
    #expect(CVPixelBufferGetPixelFormatType(buffer) == kCVPixelFormatType_420YpCbCr8Planar)
    let strides = [format.stride1, format.stride2, format.stride3]
    #expect(strides == (0..<3).map { Int32(CVPixelBufferGetBytesPerRowOfPlane(buffer, $0)) })
    #expect(format.stride1 >= 320 && format.stride2 >= 160)
    received.dispose()
    #expect((received as? RawVideoFrameBuffer)?.buffer == nil)
    let refusal = Lock(0)
    made.send(frame: received) { error in refusal.withLock { $0 = (error as NSError?)?.code ?? 0 } }
    await pair.run(.milliseconds(10))
    #expect(refusal.withLock { $0 } == CallingCommunicationErrors.invalidBuffer.rawValue, "its pixels are gone")
    #expect(hears.words == ["raw started"])
    #expect(made.timestampInTicks > 0)
    #expect(pair.benCall.remoteParticipants.first?.videoStreams.isEmpty == true)
    stream.stop()
    await pair.run(.milliseconds(100))
    let seen = hears.frames.withLock { $0 }
    made.send(frame: frame()) { _ in }
    await pair.run(.milliseconds(200))
    #expect(hears.frames.withLock { $0 } == seen)
    #expect(hears.words == ["raw started", "raw stopping", "raw stopped"])
  }

  private func frame() -> RawVideoFrameBuffer {
    let frame = RawVideoFrameBuffer()
    var pixels: CVPixelBuffer?
    _ = CVPixelBufferCreate(nil, 320, 180, kCVPixelFormatType_32BGRA, nil, &pixels)
    frame.buffer = pixels
    return frame
  }

  @Test func dtmfToneIsReceivedAsItsTwoFrequencies() async throws {
    let pair = try await pair()
    let heard = AudioWatcher()
    let sound = try #require(pair.benCall.session.participants.first?.tracks.first { $0.kind == .microphone })
    pair.benCall.session.attach(heard, to: sound.id)
    await pair.run(.milliseconds(300))
    #expect(heard.power(at: 770) < heard.power(at: 440) / 50, "before the key there is only the microphone's tone")
    pair.anaCall.sendDtmf(tone: .five) { error in pair.ana.note("key \(error == nil)") }
    await pair.run(.milliseconds(150))
    heard.forget()
    await pair.run(.milliseconds(100))
    #expect(heard.power(at: 770) > 100 * heard.power(at: 697))
    #expect(heard.power(at: 1336) > 100 * heard.power(at: 1209))
    pair.anaCall.mute { _ in }
    pair.anaCall.sendDtmf(tone: .five) { error in pair.ana.note("silent key \(error == nil)") }
    await pair.run(.milliseconds(300))
    #expect(pair.ana.words.contains("key true"))
    #expect(pair.ana.words.contains("silent key false"))
  }

  @Test func mutedIncomingAudioIsSilent() async throws {
    let pair = try await pair { options in
      options.incomingAudioOptions = IncomingAudioOptions()
      options.incomingAudioOptions?.muted = true
    }
    #expect(pair.benCall.isIncomingAudioMuted)
    let heard = AudioWatcher()
    let sound = try #require(pair.benCall.session.participants.first?.tracks.first { $0.kind == .microphone })
    pair.benCall.session.attach(heard, to: sound.id)
    await pair.run(.milliseconds(500))
    heard.forget()
    await pair.run(.milliseconds(300))
    #expect(heard.power(at: 440) < 1)
    pair.benCall.unmuteIncomingAudio { _ in }
    await pair.run(.milliseconds(500))
    #expect(heard.power(at: 440) > 1_000)
    #expect(!pair.benCall.isIncomingAudioMuted)
    pair.benCall.hold { _ in }
    pair.benCall.muteIncomingAudio { _ in }
    pair.benCall.resume { _ in }
    await pair.run(.milliseconds(500))
    heard.forget()
    await pair.run(.milliseconds(300))
    #expect(heard.power(at: 440) < 1, "resuming leaves the loudspeaker muted")
    #expect(pair.ben.words.filter { $0.hasPrefix("loudspeaker") } == ["loudspeaker true", "loudspeaker false"])
  }

  @Test func outgoingVideoConstraintsLimitTheFrameSize() async throws {
    let telephone = try Telephone(camera: "stamp:Cam,1280x720@30")
    let (ana, anaHears) = try await telephone.agent("ana")
    let (ben, benHears) = try await telephone.agent("ben")
    let options = JoinCallOptions()
    options.outgoingVideoOptions = OutgoingVideoOptions()
    options.outgoingVideoOptions?.streams = [try await telephone.camera()]
    options.outgoingVideoOptions?.constraints = OutgoingVideoConstraints()
    options.outgoingVideoOptions?.constraints?.maxWidth = 640
    options.outgoingVideoOptions?.constraints?.maxHeight = 360
    ana.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: options) { anaHears.take($0, $1) }
    ben.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { benHears.take($0, $1) }
    await telephone.run(.seconds(1))
    let stream = try #require(benHears.call?.remoteParticipants.first?.videoStreams.first)
    let renderer = try VideoStreamRenderer(remoteVideoStream: stream)
    let hears = StreamRecorder()
    let delegate: any VideoStreamRendererDelegate = hears
    renderer.delegate = delegate
    let view = try renderer.createView()
    await telephone.run(.seconds(1))
    #expect(view.videoFrameSize() == StreamSize(width: 640, height: 360))
    #expect(renderer.size == view.videoFrameSize())
    #expect(hears.words == ["first frame 640x360"])
  }

  /// The bit rate at which a camera of 640×360 is received, in bit/s.
  private func receivedBitrate(limit: Int32) async throws -> Int {
    let telephone = try Telephone(camera: "pattern:640x360@30")
    let (ana, anaHears) = try await telephone.agent("ana")
    let (ben, benHears) = try await telephone.agent("ben")
    let (options, video) = (JoinCallOptions(), OutgoingVideoOptions())
    video.streams = [try await telephone.camera()]
    let constraints = OutgoingVideoConstraints()
    constraints.maxBitRate = limit
    video.constraints = constraints
    options.outgoingVideoOptions = video
    ana.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: options) { anaHears.take($0, $1) }
    ben.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: nil) { benHears.take($0, $1) }
    await telephone.run(.seconds(1))
    let call = try #require(benHears.call)
    let stream = try #require(call.remoteParticipants.first?.videoStreams.first)
    let renderer = try VideoStreamRenderer(remoteVideoStream: stream)
    let view = try renderer.createView()
    func bytes() async -> Int {
      let statistics = await telephone.world.run { await call.session.statistics() }
      return statistics.streams.filter { $0.stream.kind == .camera }.compactMap(\.incoming).reduce(0) { $0 + $1.bytes }
    }
    await telephone.run(.seconds(4))
    let before = await bytes()
    await telephone.run(.seconds(4))
    withExtendedLifetime((view, ana, ben)) {}
    return (await bytes() - before) * 8 / 4
  }

  @Test func outgoingVideoConstraintsLimitTheBitrate() async throws {
    let free = try await receivedBitrate(limit: 0)
    let limited = try await receivedBitrate(limit: Int32(free / 3))
    #expect((free / 10...free / 2).contains(limited), "\(limited) of \(free) bit/s")
  }

  @Test func switchSourceShowsTheOtherCamera() async throws {
    let world = World(
      backend: EmbeddedBackend(virtual: 11), delivery: Delivery(queue: DispatchQueue(label: "delivery")),
      devices: DefaultDevices(
        camera: "stamp:Front,320x180@15", microphone: "tone", backCamera: "stamp:Back,320x180@15"))
    let client = World.$current.withValue(world) { CallClient() }
    let manager = Lock<DeviceManager?>(nil)
    client.getDeviceManager { made, _ in manager.withLock { $0 = made } }
    await world.run(for: .milliseconds(10))
    let cameras = try #require(manager.withLock { $0 }).cameras
    let back = try #require(cameras.first { $0.cameraFacing == .back })
    let stream = LocalVideoStream(camera: try #require(cameras.first))
    let renderer = try VideoStreamRenderer(localVideoStream: stream)
    let view = try renderer.createView()
    await world.run(for: .milliseconds(200))
    #expect(view.lastFrame.flatMap { StampReader.read($0)?.name } == "Front")
    #expect(stream.source.cameraFacing == .front)
    let done = Lock(false)
    stream.switchSource(camera: back) { error in done.withLock { $0 = error == nil } }
    await world.run(for: .milliseconds(200))
    #expect(done.withLock { $0 })
    #expect(stream.source === back)
    #expect(view.lastFrame.flatMap { StampReader.read($0)?.name } == "Back")
    #expect(renderer.size.width == 320)
  }
}

private final class StreamRecorder: NSObject, LocalVideoStreamDelegate, RemoteVideoStreamDelegate,
  ScreenShareOutgoingVideoStreamDelegate, RawIncomingVideoStreamDelegate, VirtualOutgoingVideoStreamDelegate,
  VideoStreamRendererDelegate, @unchecked Sendable
{
  private let heard = Lock<[String]>([])
  let last = Lock<RawVideoFrameReceivedEventArgs?>(nil)
  let frames = Lock(0)
  var words: [String] { heard.withLock { $0 } }
  func note(_ word: String) { heard.withLock { $0.append(word) } }

  func localVideoStream(_ stream: LocalVideoStream, didChangeState args: VideoStreamStateChangedEventArgs) {
    note("local \(stream.state)")
  }
  func remoteVideoStream(_ stream: RemoteVideoStream, didChangeState args: VideoStreamStateChangedEventArgs) {
    note("remote \(stream.state)")
  }
  func screenShareOutgoingVideoStream(
    _ stream: ScreenShareOutgoingVideoStream, didChangeState args: VideoStreamStateChangedEventArgs
  ) { note("screen \(stream.state)") }
  func screenShareOutgoingVideoStream(
    _ stream: ScreenShareOutgoingVideoStream, didChangeFormat args: VideoStreamFormatChangedEventArgs
  ) { note("format \(args.format.width)x\(args.format.height)") }
  func rawIncomingVideoStream(
    _ stream: RawIncomingVideoStream, didChangeState args: VideoStreamStateChangedEventArgs
  ) { note("raw \(stream.state)") }
  func rawIncomingVideoStream(
    _ stream: RawIncomingVideoStream, didReceiveRawVideoFrame args: RawVideoFrameReceivedEventArgs
  ) {
    last.withLock { $0 = args }
    if (args.frame as? RawVideoFrameBuffer)?.buffer?.width == 320 { frames.withLock { $0 += 1 } }
  }
  func virtualOutgoingVideoStream(
    _ stream: VirtualOutgoingVideoStream, didChangeState args: VideoStreamStateChangedEventArgs
  ) { note("virtual \(stream.state)") }
  func virtualOutgoingVideoStream(
    _ stream: VirtualOutgoingVideoStream, didChangeFormat args: VideoStreamFormatChangedEventArgs
  ) { note("format \(args.format.width)x\(args.format.height)") }
  func videoStreamRenderer(didFailToStart renderer: VideoStreamRenderer) { note("renderer failed") }
  func videoStreamRenderer(didRenderFirstFrame renderer: VideoStreamRenderer) {
    note("first frame \(renderer.size.width)x\(renderer.size.height)")
  }
}

/// Measures the power of a tone in the received audio.
private final class AudioWatcher: AudioSink, Sendable {
  private let samples = Lock<[Double]>([])

  func play(_ block: AudioBlock) {
    samples.withLock { samples in
      for index in stride(from: 0, to: block.samples.count, by: block.channels) {
        samples.append(Double(block.samples[index]))
      }
    }
  }

  func forget() { samples.withLock { $0 = [] } }

  /// After Goertzel, per sample.
  func power(at frequency: Double) -> Double {
    let samples = samples.withLock { $0 }
    let factor = 2 * cos(2 * .pi * frequency / Double(AudioBlock.sampleRate))
    var (one, two) = (0.0, 0.0)
    for sample in samples { (one, two) = (sample + factor * one - two, one) }
    return samples.isEmpty ? 0 : (one * one + two * two - factor * one * two) / Double(samples.count * samples.count)
  }
}
