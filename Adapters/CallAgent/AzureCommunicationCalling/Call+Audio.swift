import Foundation
import Koine

// Which audio a call sends and plays: that of devices, or buffers of the app.

extension Call {
  /// The stream that the call sends, or sent until it was stopped. Before `connected` it is stopped.
  public var activeOutgoingAudioStream: OutgoingAudioStream { current.withLock { $0.activeOutgoingStream } }
  /// The stream that the call plays, or played until it was stopped. Before `connected` it is stopped.
  public var activeIncomingAudioStream: IncomingAudioStream { current.withLock { $0.activeIncomingStream } }

  /// Sends or plays this stream in the place of the active one of its direction, which stops. Before the call is connected it takes
  /// effect when the call connects. The audio of an outgoing stream has as many channels as the stream that the call began with.
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

  /// Publishes the audio of the active stream, if there is any. The microphone starts at once, a stream of the app's when the call connects.
  func publishAudio() {
    let (stream, isMuted, isHeld, filters) = current.withLock {
      ($0.activeOutgoingStream, $0.isMuted, $0.isHeld, $0.filters)
    }
    let source = stream.isOfDevice ? try? stream.makeSource(in: session.world) : nil
    guard let channels = stream.channels ?? source?.channels else { return }  // there is no microphone
    let audio = OutgoingAudio(source, channels: channels)
    var options = AudioPublishOptions()
    options.startsMuted = isMuted || isHeld
    options.processing = stream.isOfDevice ? filters.processing(usual: audio.usualProcessing) : nil
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
    guard isUnderWay, stream.state != .started else { return nil }
    return connect(stream)
  }

  /// On the delivery queue: sends the stream's audio from now on.
  private func connect(_ stream: OutgoingAudioStream) -> NSError? {
    do {
      if current.withLock({ $0.microphone?.isOver ?? true }) { publishAudio() }
      guard let audio = current.withLock({ $0.outgoingAudio }) else {
        throw CallingCommunicationErrors.noAudioPermission.error("there is no microphone")
      }
      if !stream.isOfDevice || !audio.hasSource {
        let source = try stream.makeSource(in: session.world)
        try audio.use(source)
        setProcessing(usual: source.usualProcessing)
      }
      stream.change(to: .started)
      return nil
    } catch {
      return CallingCommunicationErrors.noAudioPermission.error("\(error)")
    }
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
    let stream = activeOutgoingAudioStream
    if !stream.isOfDevice {
      _ = connect(stream)  // audio of the app's own starts
    } else if current.withLock({ $0.outgoingAudio?.hasSource == true }) {
      stream.change(to: .started)
    }
    connect(activeIncomingAudioStream)
  }

  /// The call is over.
  func stopAudioStreams() {
    activeOutgoingAudioStream.change(to: .stopped)
    activeIncomingAudioStream.close()
    activeIncomingAudioStream.change(to: .stopped)
  }
}
