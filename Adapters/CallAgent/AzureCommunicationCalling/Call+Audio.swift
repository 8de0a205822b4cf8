import Foundation
import Koine

// Which audio a call sends and plays: that of devices, or buffers of the app.

extension Call {
  /// The stream that the call sends, or sent until it was stopped. Before `connected` it is stopped.
  public var activeOutgoingAudioStream: OutgoingAudioStream { current.withLock { $0.activeOutgoingStream } }
  /// The stream that the call plays, or played until it was stopped. Before `connected` it is stopped.
  public var activeIncomingAudioStream: IncomingAudioStream { current.withLock { $0.activeIncomingStream } }

  /// Sends or plays this stream in the place of the active one of its direction, which stops. Before the call is connected, the stream
  /// starts when the call connects. The audio of an outgoing stream has as many channels as the stream that the call began with.
  public func startAudio(stream: CallAudioStream, completionHandler: @escaping ((any Error)?) -> Void) {
    guard state != .disconnected else { return answer(completionHandler, over) }
    let handler = Handler(completionHandler)
    delivery.deliver { [self] in
      guard state != .disconnected else { return handler(over) }
      switch stream {
      case let stream as OutgoingAudioStream: handler(startOutgoing(stream))
      case let stream as IncomingAudioStream:
        startIncoming(stream)
        handler(nil)
      default: handler(CallingCommunicationErrors([]).error("the stream has no direction"))
      }
    }
  }

  /// Stops the stream: nothing is sent, or played, until `startAudio` starts one. Another stream than the active one changes nothing and
  /// is no error.
  public func stopAudio(stream: CallAudioStream, completionHandler: @escaping ((any Error)?) -> Void) {
    guard state != .disconnected else { return answer(completionHandler, over) }
    let handler = Handler(completionHandler)
    delivery.deliver { [self] in
      if stream === activeOutgoingAudioStream {
        try? current.withLock { $0.outgoingAudio }?.use(nil)  // no source is started, so none can fail
        stream.change(to: .stopped)
      } else if stream === activeIncomingAudioStream {
        activeIncomingAudioStream.close()
        session.setLoudspeaker(StoppedLoudspeaker())
        stream.change(to: .stopped)
      }
      handler(nil)
    }
  }

  nonisolated(nonsending) public func startAudio(stream: CallAudioStream) async throws {
    try await completion { startAudio(stream: stream, completionHandler: $0) }
  }

  nonisolated(nonsending) public func stopAudio(stream: CallAudioStream) async throws {
    try await completion { stopAudio(stream: stream, completionHandler: $0) }
  }

  // MARK: Outgoing

  /// Publishes the audio of the active stream. Without a microphone there is none.
  func publishAudio() {
    let (stream, isMuted, isHeld, filters) = current.withLock {
      ($0.activeOutgoingStream, $0.isMuted, $0.isHeld, $0.filters)
    }
    guard let source = try? stream.makeSource(in: session.world) else { return }
    let audio = OutgoingAudio(source)
    var options = AudioPublishOptions()
    options.startsMuted = isMuted || isHeld
    options.processing = stream.isOfDevice ? filters.processing(usual: source.usualProcessing) : nil
    let published = try? session.publish(microphone: audio, options: options)
    current.withLock { ($0.microphone, $0.outgoingAudio) = (published, audio) }
  }

  /// On the delivery queue.
  /// - Returns: the error of a stream that does not start.
  private func startOutgoing(_ stream: OutgoingAudioStream) -> NSError? {
    let old = current.withLock { current in
      defer { current.activeOutgoingStream = stream }
      return current.activeOutgoingStream
    }
    if old !== stream { old.change(to: .stopped) }
    do {
      try useSource(of: stream, insteadOf: old)
    } catch {
      return CallingCommunicationErrors.noAudioPermission.error("\(error)")
    }
    if isUnderWay { stream.change(to: .started) }
    return nil
  }

  /// Sends the audio of another stream from now on.
  private func useSource(of stream: OutgoingAudioStream, insteadOf old: OutgoingAudioStream) throws {
    if current.withLock({ $0.microphone?.isOver ?? true }) {
      publishAudio()
      guard current.withLock({ $0.microphone != nil }) else { throw DeviceError.unknown("microphone", known: []) }
      return
    }
    guard let audio = current.withLock({ $0.outgoingAudio }) else { return }
    let isSame = stream === old || (stream.isOfDevice && old.isOfDevice)
    if isSame, audio.hasSource { return }
    let source = try stream.makeSource(in: session.world)
    try audio.use(source)
    setProcessing(usual: source.usualProcessing)
  }

  /// Applies the app's filters to the active stream.
  /// - Parameter usual: the usual processing of its source.
  func setProcessing(usual: AudioProcessing?) {
    let (microphone, stream, filters) = current.withLock { ($0.microphone, $0.activeOutgoingStream, $0.filters) }
    microphone?.setProcessing(stream.isOfDevice ? filters.processing(usual: usual) : nil)
  }

  // MARK: Incoming

  /// On the delivery queue.
  private func startIncoming(_ stream: IncomingAudioStream) {
    let old = current.withLock { current in
      defer { current.activeIncomingStream = stream }
      return current.activeIncomingStream
    }
    if old !== stream {
      old.close()
      old.change(to: .stopped)
    }
    if isUnderWay, stream.state != .started { connect(stream) }
  }

  private func connect(_ stream: IncomingAudioStream) {
    stream.change(to: .started)
    session.setLoudspeaker(stream.makeLoudspeaker(in: session.world))
  }

  // MARK: On the delivery queue

  /// Connected, perhaps on hold.
  var isUnderWay: Bool { [.connected, .localHold, .remoteHold].contains(state) }

  /// The call is connected for the first time. Without a microphone, the outgoing stream stays stopped.
  func startAudioStreams() {
    if current.withLock({ $0.outgoingAudio?.hasSource == true }) { activeOutgoingAudioStream.change(to: .started) }
    connect(activeIncomingAudioStream)
  }

  /// The call is over.
  func stopAudioStreams() {
    activeOutgoingAudioStream.change(to: .stopped)
    activeIncomingAudioStream.close()
    activeIncomingAudioStream.change(to: .stopped)
  }
}
