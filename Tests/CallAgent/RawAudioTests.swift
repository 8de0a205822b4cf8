import AzureCommunicationCalling
import Koine
import Testing

/// Audio in buffers of the app: sent in the place of the microphone, received in the place of the loudspeaker.
struct RawAudioTests {
  private struct Pair {
    let telephone: Telephone
    let agents: [CallAgent]
    let hears: [Recorder]
    let ana, ben: Call
    func run(_ duration: Duration) async { await telephone.run(duration) }

    /// What Ben's call receives of Ana.
    func watchAna() throws -> ToneWatcher {
      let watcher = ToneWatcher()
      let track = try #require(ben.session.participants.first?.tracks.first { $0.kind == .microphone })
      ben.session.attach(watcher, to: track.id)
      return watcher
    }
  }

  private func pair(ana change: (JoinCallOptions) -> Void = { _ in }) async throws -> Pair {
    let telephone = try Telephone()
    var agents: [CallAgent] = []
    var hears: [Recorder] = []
    for user in ["ana", "ben"] {
      let (agent, recorder) = try await telephone.agent(user)
      let options = JoinCallOptions()
      if user == "ana" { change(options) }
      agent.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: options) { recorder.take($0, $1) }
      agents.append(agent)
      hears.append(recorder)
    }
    await telephone.run(.milliseconds(800))
    return Pair(
      telephone: telephone, agents: agents, hears: hears, ana: try #require(hears[0].call),
      ben: try #require(hears[1].call))
  }

  private func outgoing(
    _ rate: AudioStreamSampleRate = .hz44100, _ mode: AudioStreamChannelMode = .mono,
    _ duration: AudioStreamBufferDuration = .ms20
  ) -> RawOutgoingAudioStream {
    let options = RawOutgoingAudioStreamOptions()
    options.properties.sampleRate = rate
    options.properties.channelMode = mode
    options.properties.bufferDuration = duration
    return RawOutgoingAudioStream(options: options)
  }

  /// A buffer of a tone, written as the vendor's page does it.
  private func buffer(
    _ frequency: Double, of stream: RawOutgoingAudioStream, units: Int = 1, from start: Int = 0
  ) throws -> RawAudioBuffer {
    let properties = stream.properties
    let (rate, channels) = (properties.sampleRate.valueInHz, properties.channelMode.channelCount)
    let count = AVAudioFrameCount(Int(rate) * properties.bufferDuration.value / 1_000 * units)
    let format = try #require(
      AVAudioFormat(
        commonFormat: .pcmFormatInt16, sampleRate: rate, channels: channels,
        interleaved: properties.channelMode == .stereo))
    let pcm = try #require(AVAudioPCMBuffer(pcmFormat: format, frameCapacity: count))
    pcm.frameLength = count
    let samples = try #require(pcm.mutableAudioBufferList.pointee.mBuffers.mData).assumingMemoryBound(to: Int16.self)
    for index in 0..<Int(count * channels) {
      let time = Double(start + index / Int(channels)) / rate
      samples[index] = Int16(8_000 * sin(2 * .pi * frequency * time))
    }
    let raw = RawAudioBuffer()
    raw.buffer = pcm
    return raw
  }

  private func send(_ frequency: Double, on stream: RawOutgoingAudioStream, in pair: Pair, buffers: Int) async throws {
    let unit = Int(stream.properties.sampleRate.valueInHz) * stream.properties.bufferDuration.value / 1_000
    for number in 0..<buffers {
      stream.send(buffer: try buffer(frequency, of: stream, from: number * unit)) { error in
        if let error { pair.hears[0].note("\(error)") }
      }
      await pair.run(.milliseconds(stream.properties.bufferDuration.value))
    }
  }

  private func code(_ stream: RawOutgoingAudioStream, _ buffer: RawAudioBuffer, in telephone: Telephone) async -> Int {
    let code = Lock<Int?>(nil)
    stream.send(buffer: buffer) { error in code.withLock { $0 = (error as NSError?)?.code ?? 0 } }
    // Before a stream has been in a call, the handler is called on the main queue.
    for _ in 0..<200 where code.withLock({ $0 == nil }) {
      await telephone.run(.milliseconds(1))
      await MainActor.run {}
    }
    return code.withLock { $0 } ?? -1
  }

  @Test func buffersInCallOptionsAreSentInsteadOfTheMicrophone() async throws {
    let stream = outgoing()
    let told = AudioStreamRecorder()
    stream.delegate = told
    let pair = try await pair { options in
      options.outgoingAudioOptions = OutgoingAudioOptions()
      options.outgoingAudioOptions?.stream = stream
    }
    #expect(pair.ana.activeOutgoingAudioStream === stream)
    #expect(stream.state == .started)
    #expect(stream.type == .virtualOutgoing)
    #expect(stream.direction == .outgoing)
    let heard = try pair.watchAna()
    try await send(1_000, on: stream, in: pair, buffers: 50)
    #expect(heard.power(at: 1_000) > 1_000)
    #expect(heard.power(at: 440) < heard.power(at: 1_000) / 1_000, "the microphone's tone is not sent")
    pair.ana.hangUp(options: nil) { _ in }
    await pair.run(.milliseconds(500))
    #expect(told.words == ["outgoing started", "outgoing stopped"])
    #expect(!pair.hears[0].words.contains { $0.hasPrefix("Error") })
  }

  @Test(arguments: AudioStreamSampleRate.allCases)
  func eachSampleRateKeepsThePitch(_ rate: AudioStreamSampleRate) async throws {
    let stream = outgoing(rate, .stereo, .ms10)
    let pair = try await pair()
    pair.ana.startAudio(stream: stream) { error in pair.hears[0].note("audio \(error == nil)") }
    await pair.run(.milliseconds(100))
    #expect(pair.hears[0].words.last == "audio true")
    #expect(stream.expectedBufferSizeInBytes == Int64(rate.valueInHz) / 100 * 4)
    let heard = try pair.watchAna()
    try await send(1_000, on: stream, in: pair, buffers: 60)
    #expect(heard.power(at: 1_000) > 1_000)
    #expect(heard.power(at: 1_050) < heard.power(at: 1_000) / 100)
  }

  @Test func bufferDurationsAreGivenInMillisecondsAndSeconds() {
    #expect(AudioStreamBufferDuration.ms10.value == 10)
    #expect(AudioStreamBufferDuration.ms20.timeInterval == 0.02)
    let stream = outgoing(.hz22050, .mono, .ms10)
    #expect(stream.properties.bufferDuration == .ms10)
    #expect(stream.expectedBufferSizeInBytes == 440)
  }

  @Test func stoppedStreamSendsSilenceUntilTheMicrophoneStarts() async throws {
    let pair = try await pair()
    let stream = outgoing()
    let microphone = pair.ana.activeOutgoingAudioStream
    #expect(microphone.type == .localOutgoing)
    #expect(microphone.state == .started)
    let told = AudioStreamRecorder()
    (microphone as? LocalOutgoingAudioStream)?.delegate = told
    stream.events.onStateChanged = { args in told.note("closure \(args.stream.state)") }
    pair.ana.startAudio(stream: stream) { _ in }
    await pair.run(.milliseconds(200))
    #expect(microphone.state == .stopped)
    let heard = try pair.watchAna()
    await pair.run(.milliseconds(300))
    #expect(heard.power(at: 440) < 1)
    pair.ana.stopAudio(stream: stream) { _ in }
    await pair.run(.milliseconds(300))
    #expect(stream.state == .stopped)
    #expect(heard.power(at: 440) < 1)
    let again = LocalOutgoingAudioStream()
    again.delegate = told
    pair.ana.startAudio(stream: again) { _ in }
    await pair.run(.milliseconds(300))
    heard.forget()
    await pair.run(.milliseconds(300))
    #expect(heard.power(at: 440) > 1_000)
    #expect(pair.ana.activeOutgoingAudioStream === again)
    #expect(told.words == ["microphone stopped", "closure started", "closure stopped", "microphone started"])
    #expect(pair.hears[1].words.allSatisfy { !$0.contains("ana muted") }, "the publication stays")
  }

  @Test func microphoneReplacesARawStreamThatIsStarted() async throws {
    let pair = try await pair()
    let stream = outgoing()
    let microphone = pair.ana.activeOutgoingAudioStream
    pair.ana.startAudio(stream: stream) { _ in }
    await pair.run(.milliseconds(200))
    let heard = try pair.watchAna()
    pair.ana.startAudio(stream: microphone) { _ in }
    await pair.run(.milliseconds(300))
    #expect(heard.power(at: 440) > 1_000)
    #expect(stream.state == .stopped)
    #expect(microphone.state == .started)
    pair.ana.mute { error in pair.hears[0].note("mute \(error == nil)") }
    await pair.run(.milliseconds(100))
    #expect(pair.hears[0].words.last == "mute true")
  }

  @Test func streamStartedBeforeTheCallConnectsStartsWithIt() async throws {
    let telephone = try Telephone()
    let (agent, hears) = try await telephone.agent("ana")
    let (raw, microphone) = (outgoing(), LocalOutgoingAudioStream())
    let options = JoinCallOptions()
    options.outgoingAudioOptions = OutgoingAudioOptions()
    options.outgoingAudioOptions?.stream = raw
    agent.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: options) { call, _ in
      hears.take(call, nil)
      call?.startAudio(stream: microphone) { error in hears.note("audio \(error == nil)") }
    }
    await telephone.run(.milliseconds(20))
    #expect(hears.words.contains("audio true"))
    #expect(microphone.state == .stopped)
    await telephone.run(.milliseconds(500))
    #expect(microphone.state == .started)
    #expect(raw.state == .stopped)
  }

  @Test func buffersOfWrongFormatSizeOrTimeAreRefused() async throws {
    let pair = try await pair()
    let stream = outgoing()
    let failed = CallingCommunicationErrors.failedToSendRawAudioBuffer.rawValue
    let invalid = CallingCommunicationErrors.invalidBuffer.rawValue
    #expect(await code(stream, try buffer(440, of: stream), in: pair.telephone) == failed, "not started")
    pair.ana.startAudio(stream: stream) { _ in }
    await pair.run(.milliseconds(100))
    #expect(await code(stream, RawAudioBuffer(), in: pair.telephone) == invalid, "empty")
    #expect(await code(stream, try buffer(440, of: outgoing(.hz48000)), in: pair.telephone) == invalid, "rate")
    #expect(
      await code(stream, try buffer(440, of: outgoing(.hz44100, .stereo)), in: pair.telephone) == invalid, "channels")
    let half = outgoing(.hz44100, .mono, .ms10)
    #expect(await code(stream, try buffer(440, of: half), in: pair.telephone) == invalid, "10 ms where 20 are the unit")
    #expect(await code(stream, try buffer(440, of: stream, units: 6), in: pair.telephone) == invalid, "120 ms")
    #expect(await code(stream, try buffer(440, of: stream, units: 5), in: pair.telephone) == 0)
    let codes = Lock<[Int]>([])
    for _ in 0..<6 {
      stream.send(buffer: try buffer(440, of: stream, units: 5)) { error in
        codes.withLock { $0.append((error as NSError?)?.code ?? 0) }
      }
    }
    await pair.run(.milliseconds(50))
    #expect(codes.withLock { $0.last } == failed, "more than the call can send")
    let used = try buffer(440, of: stream)
    used.dispose()
    #expect(used.buffer == nil)
  }

  @Test func rawOutgoingStreamCannotBeMuted() async throws {
    let pair = try await pair()
    pair.ana.startAudio(stream: outgoing()) { _ in }
    await pair.run(.milliseconds(100))
    let code = Lock(0)
    pair.ana.muteOutgoingAudio { error in code.withLock { $0 = (error as NSError?)?.code ?? 0 } }
    await pair.run(.milliseconds(100))
    #expect(code.withLock { $0 } == CallingCommunicationErrors.cannotMuteVirtualAudioStream.rawValue)
    #expect(!pair.ana.isOutgoingAudioMuted)
  }

  @Test func rawStreamNeedsNoMicrophonePermission() async throws {
    let telephone = try Telephone()
    telephone.world.machine.setPermission(.denied, .microphone)
    let (agent, hears) = try await telephone.agent("ana")
    let options = JoinCallOptions()
    options.outgoingAudioOptions = OutgoingAudioOptions()
    options.outgoingAudioOptions?.stream = outgoing()
    agent.join(with: RoomCallLocator(roomId: "tea"), joinCallOptions: options) { hears.take($0, $1) }
    await telephone.run(.milliseconds(500))
    #expect(hears.call?.state == .connected)
    #expect(options.outgoingAudioOptions?.stream?.state == .started)
  }

  @Test func mixedAudioIsReceivedInBuffersOf20Milliseconds() async throws {
    let options = RawIncomingAudioStreamOptions()
    options.properties.sampleRate = .hz16000
    options.properties.channelMode = .stereo
    let stream = RawIncomingAudioStream(options: options)
    let told = AudioStreamRecorder()
    stream.delegate = told
    let pair = try await pair { join in
      join.incomingAudioOptions = IncomingAudioOptions()
      join.incomingAudioOptions?.stream = stream
    }
    #expect(pair.ana.activeIncomingAudioStream === stream)
    #expect(stream.state == .started)
    #expect(stream.direction == .incoming)
    await pair.run(.milliseconds(500))
    told.forget()
    await pair.run(.seconds(1))
    #expect((49...51).contains(told.buffers))
    #expect(told.formats == ["320 16000.0 2 true pcm16Bit stereo"])
    #expect(told.power(at: 440, rate: 16_000) > 1_000)
    #expect(told.power(at: 880, rate: 16_000) < told.power(at: 440, rate: 16_000) / 100)
    #expect(told.times.allSatisfy { $0 > 0 })
    #expect(zip(told.times, told.times.dropFirst()).allSatisfy { $1 - $0 == 20_000 })
    pair.ana.stopAudio(stream: stream) { _ in }
    await pair.run(.milliseconds(50))
    told.forget()
    await pair.run(.milliseconds(300))
    #expect(told.buffers == 0)
    #expect(told.words == ["incoming started", "incoming stopped"])
  }

  @Test func silentBuffersComeWhileNobodySpeaks() async throws {
    let stream = RawIncomingAudioStream(options: RawIncomingAudioStreamOptions())
    let told = AudioStreamRecorder()
    let pair = try await pair()
    pair.ben.hangUp(options: nil) { _ in }
    await pair.run(.milliseconds(500))
    stream.events.onMixedAudioBufferReceived = { told.take($0) }
    pair.ana.startAudio(stream: stream) { _ in }
    await pair.run(.seconds(1))
    #expect((47...51).contains(told.buffers))
    #expect(told.formats == ["960 48000.0 1 false pcm16Bit mono"])
    #expect(told.power(at: 440, rate: 48_000) == 0)
  }

  @Test func loudspeakerIsSilentWhileTheRawStreamPlays() async throws {
    let heard = ToneWatcher()
    Devices.register(loudspeaker: "raw-audio-test") { _ throws(DeviceError) in heard }
    let pair = try await pair()
    pair.telephone.world.machine.plugIn(
      Machine.Device(id: "s", kind: .loudspeaker, name: "S", source: "raw-audio-test"))
    let device = try #require(pair.ana.activeIncomingAudioStream as? RemoteIncomingAudioStream)
    let told = AudioStreamRecorder()
    device.delegate = told
    pair.ben.stopAudio(stream: pair.ben.activeIncomingAudioStream) { _ in }
    await pair.run(.milliseconds(500))
    #expect(heard.power(at: 440) > 1_000)
    let raw = RawIncomingAudioStream(options: RawIncomingAudioStreamOptions())
    pair.ana.startAudio(stream: raw) { _ in }
    await pair.run(.milliseconds(100))
    heard.forget()
    await pair.run(.milliseconds(300))
    #expect(heard.power(at: 440) == 0)
    pair.ana.startAudio(stream: device) { _ in }
    await pair.run(.milliseconds(300))
    #expect(heard.power(at: 440) > 1_000)
    #expect(told.words == ["loudspeaker stopped", "loudspeaker started"])
    #expect(raw.state == .stopped)
  }

  @Test func streamsOfEndedCallCannotStart() async throws {
    let pair = try await pair()
    let stream = outgoing()
    pair.ana.hangUp(options: nil) { _ in }
    await pair.run(.milliseconds(500))
    #expect(pair.ana.activeOutgoingAudioStream.state == .stopped)
    #expect(pair.ana.activeIncomingAudioStream.state == .stopped)
    pair.ana.startAudio(stream: stream) { error in pair.hears[0].note("failed \(error != nil)") }
    await pair.run(.milliseconds(100))
    #expect(pair.hears[0].words.last == "failed true")
    #expect(stream.state == .stopped)
  }

  // MARK: Filters

  /// How much of a steady noise Ben receives of Ana's microphone, in dB.
  private func noise(in pair: Pair, _ heard: ToneWatcher) async -> Double {
    await pair.run(.seconds(3))
    heard.forget()
    await pair.run(.seconds(1))
    return heard.level
  }

  private func withFan(_ change: (JoinCallOptions) -> Void = { _ in }) async throws -> (Pair, ToneWatcher) {
    let pair = try await pair(ana: change)
    pair.telephone.world.machine.plugIn(Machine.Device(id: "fan", kind: .microphone, name: "Fan", source: "fan"))
    return (pair, try pair.watchAna())
  }

  @Test func noiseSuppressionModeChangesTheNoiseThatIsSent() async throws {
    let (pair, heard) = try await withFan()
    let untouched = await noise(in: pair, heard)
    let filters = pair.ana.liveOutgoingAudioFilters
    #expect(filters === pair.ana.liveOutgoingAudioFilters)
    #expect(filters.noiseSuppressionMode == .high)
    #expect(filters.acousticEchoCancellationEnabled)
    #expect(!filters.musicModeEnabled)
    filters.noiseSuppressionMode = .high
    let high = await noise(in: pair, heard)
    #expect(high < untouched - 8)
    filters.musicModeEnabled = true
    filters.acousticEchoCancellationEnabled = false
    let music = await noise(in: pair, heard)
    #expect(abs(music - untouched) < 1, "music mode leaves noise as it is")
    filters.musicModeEnabled = false
    filters.noiseSuppressionMode = .low
    let low = await noise(in: pair, heard)
    filters.noiseSuppressionMode = .off
    let off = await noise(in: pair, heard)
    #expect(high < low)
    #expect(low < off)
  }

  @Test func filtersInCallOptionsApplyFromTheBeginning() async throws {
    func options(_ mode: NoiseSuppressionMode) -> (JoinCallOptions) -> Void {
      { join in
        let filters = OutgoingAudioFilters()
        filters.noiseSuppressionMode = mode
        filters.digitalAutomaticGainControlEnabled = false
        join.outgoingAudioOptions = OutgoingAudioOptions()
        join.outgoingAudioOptions?.filters = filters
      }
    }
    let (noisy, first) = try await withFan(options(.off))
    let (quiet, second) = try await withFan(options(.high))
    #expect(quiet.ana.liveOutgoingAudioFilters.noiseSuppressionMode == .high)
    #expect(noisy.ana.liveOutgoingAudioFilters.noiseSuppressionMode == .off)
    #expect(await noise(in: quiet, second) < noise(in: noisy, first) - 8)
  }

  @Test func musicModeInCallOptionsLeavesTheNoise() async throws {
    let (pair, heard) = try await withFan { join in
      let filters = OutgoingAudioFilters()
      filters.musicModeEnabled = true
      filters.acousticEchoCancellationEnabled = false
      join.outgoingAudioOptions = OutgoingAudioOptions()
      join.outgoingAudioOptions?.filters = filters
    }
    let (other, untouched) = try await withFan()
    let (music, plain) = (await noise(in: pair, heard), await noise(in: other, untouched))
    #expect(abs(music - plain) < 1)
    #expect(pair.ana.liveOutgoingAudioFilters.musicModeEnabled)
    #expect(!pair.ana.liveOutgoingAudioFilters.acousticEchoCancellationEnabled)
  }

  @Test func echoIsCancelledUnlessMusicModeTurnsItOff() async throws {
    let pair = try await pair()
    func processing() async -> AudioProcessingStatistics? {
      await pair.run(.milliseconds(200))
      let result = Lock<SessionStatistics?>(nil)
      pair.ana.session.statistics { figures in result.withLock { $0 = figures } }
      await pair.run(.milliseconds(100))
      return result.withLock { $0?.streams.first { $0.stream.kind == .microphone }?.processing }
    }
    #expect(await processing() == nil, "a tone is not processed")
    let filters = pair.ana.liveOutgoingAudioFilters
    filters.acousticEchoCancellationEnabled = false
    #expect(await processing() != nil, "counts in music mode only")
    filters.musicModeEnabled = true
    #expect(await processing() == nil)
    filters.acousticEchoCancellationEnabled = true
    #expect(await processing() != nil)
  }
}

/// Measures tones in 48 kHz audio.
private final class ToneWatcher: AudioSink, Sendable {
  private let samples = Lock<[Double]>([])

  func play(_ block: AudioBlock) {
    samples.withLock { samples in
      for index in stride(from: 0, to: block.samples.count, by: block.channels) {
        samples.append(Double(block.samples[index]))
      }
    }
  }

  func forget() { samples.withLock { $0 = [] } }
  func power(at frequency: Double) -> Double { samples.withLock { $0 }.power(at: frequency, rate: 48_000) }
  /// In dB, relative to one.
  var level: Double {
    let samples = samples.withLock { $0 }
    return 10 * log10(samples.reduce(0) { $0 + $1 * $1 } / Double(max(samples.count, 1)))
  }
}

extension [Double] {
  /// After Goertzel, per sample.
  fileprivate func power(at frequency: Double, rate: Double) -> Double {
    let factor = 2 * cos(2 * .pi * frequency / rate)
    var (one, two) = (0.0, 0.0)
    for sample in self { (one, two) = (sample + factor * one - two, one) }
    return isEmpty ? 0 : (one * one + two * two - factor * one * two) / Double(count * count)
  }
}

private final class AudioStreamRecorder: NSObject, RawOutgoingAudioStreamDelegate, RawIncomingAudioStreamDelegate,
  LocalOutgoingAudioStreamDelegate, RemoteIncomingAudioStreamDelegate, @unchecked Sendable
{
  private struct Received {
    var words: [String] = []
    var samples: [Double] = []
    var times: [Int64] = []
    var formats: Set<String> = []
  }
  private let received = Lock(Received())
  var words: [String] { received.withLock { $0.words } }
  var buffers: Int { received.withLock { $0.times.count } }
  var times: [Int64] { received.withLock { $0.times } }
  var formats: Set<String> { received.withLock { $0.formats } }
  func note(_ word: String) { received.withLock { $0.words.append(word) } }
  func power(at frequency: Double, rate: Double) -> Double {
    received.withLock { $0.samples }.power(at: frequency, rate: rate)
  }
  /// Of received buffers; words stay.
  func forget() { received.withLock { ($0.samples, $0.times) = ([], []) } }

  func take(_ args: IncomingMixedAudioEventArgs) {
    guard let pcm = args.audioBuffer.buffer as? AVAudioPCMBuffer, let data = pcm.int16ChannelData else { return }
    let (format, properties) = (pcm.format, args.streamProperties)
    received.withLock { received in
      received.formats.insert(
        "\(pcm.frameLength) \(format.sampleRate) \(format.channelCount) \(format.isInterleaved) \(properties.format) "
          + "\(properties.channelMode)")
      for index in 0..<Int(pcm.frameLength) { received.samples.append(Double(data[0][index * pcm.stride])) }
      received.times.append(args.audioBuffer.timestampInTicks)
    }
  }

  func rawOutgoingAudioStream(
    _ stream: RawOutgoingAudioStream, didChangeState args: AudioStreamStateChangedEventArgs
  ) { note("outgoing \(stream.state)") }
  func rawIncomingAudioStream(
    _ stream: RawIncomingAudioStream, didChangeState args: AudioStreamStateChangedEventArgs
  ) { note("incoming \(stream.state)") }
  func rawIncomingAudioStream(
    _ stream: RawIncomingAudioStream, didReceiveMixedAudioBuffer args: IncomingMixedAudioEventArgs
  ) { take(args) }
  func localAudioStream(_ stream: LocalOutgoingAudioStream, didChangeState args: AudioStreamStateChangedEventArgs) {
    note("microphone \(stream.state)")
  }
  func remoteAudioStream(_ stream: RemoteIncomingAudioStream, didChangeState args: AudioStreamStateChangedEventArgs) {
    note("loudspeaker \(stream.state)")
  }
}
