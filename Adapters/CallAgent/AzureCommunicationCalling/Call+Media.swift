import CrossVendorConventions
import Foundation
import Koine

// Pictures, microphone, loudspeaker, keypad and hold.

extension Call {
  // MARK: Pictures

  /// Sends a camera's pictures, or a screen's. The handler is called once they are on their way.
  public func startVideo(stream: OutgoingVideoStream, completionHandler: @escaping ((any Error)?) -> Void) {
    startVideo(stream, isGated: false, completionHandler)
  }

  /// - Parameter isGated: it belongs to the call's beginning, and is told with that.
  func startVideo(
    _ stream: OutgoingVideoStream, isGated: Bool, _ completionHandler: @escaping ((any Error)?) -> Void
  ) {
    let (isSending, isOther) = current.withLock { current in
      (
        current.videos.contains { $0.stream === stream },
        current.videos.contains { $0.stream.sourceType == stream.sourceType }
      )
    }
    if isSending { return answer(completionHandler) }
    if isOther {
      return answer(
        completionHandler,
        CallingCommunicationErrors.invalidVideoStreamCombination.error("such a stream is sent already"))
    }
    func refuse(_ failure: any Error) {
      delivery.deliver { [self] in reportCameraFailure() }
      answer(completionHandler, cameraError("\(failure)"))
    }
    // In a call the camera is tried at once, perhaps again; before it, an earlier failure is all that is known.
    let isInCall = !isGated && session.state == .connected
    if !isInCall, let failure = stream.failure { return refuse(failure) }
    do throws(Failure) {
      let published = try session.publish(
        camera: stream.makeSource(in: session.world), as: stream.kind, options: publishOptions(of: stream))
      if !isInCall, let failure = stream.failure {
        published.unpublish()
        return refuse(failure)
      }
      let handler = Handler(completionHandler)
      let track = published.id.track
      current.withLock { current in
        current.videos.append((stream, published))
        if isInCall { current.startingVideos[track] = handler }
      }
      delivery.deliver { [self] in
        guard isInCall else {
          stream.change(to: .started)
          if isGated { gate.pass { [weak self] in self?.started(stream) } } else { started(stream) }
          return handler(nil)
        }
        // Called on another thread, this method may have stored the handler after the event that should call it.
        if published.isOver || state == .disconnected {
          videoStarted(track, over)
        } else if session.localParticipant.tracks.contains(where: { $0.id.track == track }) {
          videoStarted(track, nil)
        }
      }
    } catch {
      return answer(completionHandler, NSError(error))
    }
  }

  /// On the delivery queue: an own video has started, or could not, or was refused by the room.
  func videoStarted(_ stream: Track, _ error: Failure?) {
    videoStarted(stream.id.track, error.map { cameraError($0.message) })
  }

  private func videoStarted(_ track: String, _ error: NSError?) {
    let (handler, stream) = current.withLock { current in
      let stream = current.videos.first { $0.published.id.track == track }?.stream
      if error != nil { current.videos.removeAll { $0.published.id.track == track } }
      return (current.startingVideos.removeValue(forKey: track), stream)
    }
    if let error {
      if let handler { return handler(error) }
      if let stream { withdraw(stream) }
    } else if let handler {
      if let stream {  // else it was stopped while it started
        stream.change(to: .started)
        started(stream)
      }
      handler(nil)
    }
  }

  private func withdraw(_ stream: OutgoingVideoStream) {
    let wasTold = outgoingVideoStreams.contains { $0 === stream }
    stopped(stream)
    if wasTold { notifyDelegate(removed: stream as? LocalVideoStream) }
  }

  /// The error of a camera that fails to start. The vendor has one code for all reasons.
  private func cameraError(_ text: String) -> NSError { CallingCommunicationErrors.noVideoPermission.error(text) }

  /// On the delivery queue.
  private func started(_ stream: OutgoingVideoStream) {
    let isSent = current.withLock { current in
      guard current.videos.contains(where: { $0.stream === stream }) else { return false }  // stopped meanwhile
      current.outgoingVideoStreams.append(stream)
      return true
    }
    if isSent { notifyDelegate(added: stream as? LocalVideoStream) }
  }

  private func publishOptions(of stream: OutgoingVideoStream) -> VideoPublishOptions {
    var options = VideoPublishOptions(lowerLayers: stream.sourceType == .video ? [.small] : [])
    options.startsMuted = current.withLock { $0.isHeld }
    guard let constraints = current.withLock({ $0.constraints }) else { return options }
    if constraints.maxWidth > 0 { options.maximumWidth = Int(constraints.maxWidth) }
    if constraints.maxHeight > 0 { options.maximumHeight = Int(constraints.maxHeight) }
    if constraints.maxFrameRate > 0 { options.maximumFramesPerSecond = Double(constraints.maxFrameRate) }
    if constraints.maxBitRate > 0 { options.maximumBitrate = Int(constraints.maxBitRate) }
    options.lowerLayers.removeAll { options.maximumWidth <= $0.maximumWidth }
    return options
  }

  nonisolated(nonsending) public func startVideo(stream: OutgoingVideoStream) async throws {
    try await completion { startVideo(stream: stream, completionHandler: $0) }
  }

  /// Another instance than the one that is sent, even of the same camera, changes nothing and is no error.
  public func stopVideo(stream: OutgoingVideoStream, completionHandler: @escaping ((any Error)?) -> Void) {
    let published = current.withLock { current -> LocalStream? in
      guard let index = current.videos.firstIndex(where: { $0.stream === stream }) else { return nil }
      return current.videos.remove(at: index).published
    }
    guard let published else { return answer(completionHandler) }
    published.unpublish()
    let handler = Handler(completionHandler)
    delivery.deliver { [self] in
      current.withLock { $0.startingVideos.removeValue(forKey: published.id.track) }?(nil)
      withdraw(stream)
      handler(nil)
    }
  }

  nonisolated(nonsending) public func stopVideo(stream: OutgoingVideoStream) async throws {
    try await completion { stopVideo(stream: stream, completionHandler: $0) }
  }

  private func stopped(_ stream: OutgoingVideoStream) {
    stream.change(to: .stopping)
    current.withLock { $0.outgoingVideoStreams.removeAll { $0 === stream } }
    stream.change(to: .stopped)
  }

  /// On the delivery queue: the call is over.
  func silence() {
    var starting: [Handler<(any Error)?>] = []
    let streams = current.withLock { current in
      (current.videos, current.microphone, current.outgoingAudio) = ([], nil, nil)
      starting = Array(current.startingVideos.values)
      current.startingVideos = [:]
      return current.outgoingVideoStreams
    }
    for handler in starting { handler(over) }
    for stream in streams { stopped(stream) }
    stopAudioStreams()
  }

  // MARK: Microphone

  public func mute(completionHandler: @escaping ((any Error)?) -> Void) { setMuted(true, completionHandler) }
  public func unmute(completionHandler: @escaping ((any Error)?) -> Void) { setMuted(false, completionHandler) }
  public func muteOutgoingAudio(completionHandler: @escaping ((any Error)?) -> Void) {
    setMuted(true, completionHandler)
  }
  public func unmuteOutgoingAudio(completionHandler: @escaping ((any Error)?) -> Void) {
    setMuted(false, completionHandler)
  }

  nonisolated(nonsending) public func mute() async throws { try await completion { mute(completionHandler: $0) } }
  nonisolated(nonsending) public func unmute() async throws { try await completion { unmute(completionHandler: $0) } }
  nonisolated(nonsending) public func muteOutgoingAudio() async throws {
    try await completion { mute(completionHandler: $0) }
  }
  nonisolated(nonsending) public func unmuteOutgoingAudio() async throws {
    try await completion { unmute(completionHandler: $0) }
  }

  func setMuted(_ isMuted: Bool, _ completionHandler: @escaping ((any Error)?) -> Void) {
    guard state != .disconnected else { return answer(completionHandler, over) }
    let stream = activeOutgoingAudioStream
    guard !isMuted || stream.isOfDevice || stream.state == .stopped else {
      return answer(
        completionHandler,
        CallingCommunicationErrors.cannotMuteVirtualAudioStream.error("the audio is the app's own: stop sending it"))
    }
    let (microphone, isHeld, hasChanged) = current.withLock { current in
      defer { current.isMuted = isMuted }
      return (current.microphone, current.isHeld, current.isMuted != isMuted)
    }
    guard hasChanged else { return answer(completionHandler) }
    if !isHeld { microphone?.setMuted(isMuted) }
    let handler = Handler(completionHandler)
    delivery.deliver { [self] in
      callKit?.muted(self)
      tellMicrophone()
      handler(nil)
    }
  }

  /// Presses a key: the others hear its two tones for a fifth of a second, beside the microphone.
  public func sendDtmf(tone: DtmfTone, completionHandler: @escaping ((any Error)?) -> Void) {
    let (audio, isSilent, state) = current.withLock { ($0.outgoingAudio, $0.isMuted || $0.isHeld, $0.state) }
    let problem: String? =
      if state != .connected {
        "the call is not connected"
      } else if isSilent {
        "the microphone is muted: no participant would hear it"
      } else if let audio, audio.hasSource {
        audio.press(tone) ? nil : "\(tone) has no sound"
      } else {
        "there is no microphone to play it into"
      }
    answer(completionHandler, problem.map { CallingCommunicationErrors.signalingOperationFailed.error($0) })
  }

  nonisolated(nonsending) public func sendDtmf(tone: DtmfTone) async throws {
    try await completion { sendDtmf(tone: tone, completionHandler: $0) }
  }

  // MARK: Loudspeaker

  /// Stops playback of all remote audio until `unmuteIncomingAudio`. Meanwhile the room does not send audio to this client.
  public func muteIncomingAudio(completionHandler: @escaping ((any Error)?) -> Void) {
    setDeaf(true, completionHandler)
  }
  public func unmuteIncomingAudio(completionHandler: @escaping ((any Error)?) -> Void) {
    setDeaf(false, completionHandler)
  }
  nonisolated(nonsending) public func muteIncomingAudio() async throws {
    try await completion { setDeaf(true, $0) }
  }
  nonisolated(nonsending) public func unmuteIncomingAudio() async throws {
    try await completion { setDeaf(false, $0) }
  }

  var over: NSError { CallingCommunicationErrors([]).error("the call is over") }

  private func setDeaf(_ isDeaf: Bool, _ completionHandler: @escaping ((any Error)?) -> Void) {
    guard state != .disconnected else { return answer(completionHandler, over) }
    let hasChanged = current.withLock { current in
      defer { current.isDeaf = isDeaf }
      return current.isDeaf != isDeaf
    }
    guard hasChanged else { return answer(completionHandler) }
    receive()
    let handler = Handler(completionHandler)
    delivery.deliver { [self] in
      tellLoudspeaker()
      handler(nil)
    }
  }

  /// Lets the room send what hold and loudspeaker leave to be seen and heard, and nothing else.
  private func receive() {
    for participant in session.participants { for stream in participant.tracks { receive(stream, again: true) } }
  }

  /// - Parameter again: it may be paused now; a new stream never is.
  func receive(_ stream: Track, again: Bool = false) {
    let (isHeld, isDeaf) = current.withLock { ($0.isHeld, $0.isDeaf) }
    if isHeld || (isDeaf && stream.kind.isAudio) {
      session.pause(stream.id)
    } else if again {
      session.resume(stream.id)
    }
  }

  // MARK: Hold

  /// Sends and plays nothing until `resume`; the others see it.
  public func hold(completionHandler: @escaping ((any Error)?) -> Void) { setHeld(true, completionHandler) }
  public func resume(completionHandler: @escaping ((any Error)?) -> Void) { setHeld(false, completionHandler) }
  nonisolated(nonsending) public func hold() async throws { try await completion { hold(completionHandler: $0) } }
  nonisolated(nonsending) public func resume() async throws { try await completion { resume(completionHandler: $0) } }

  private func setHeld(_ isHeld: Bool, _ completionHandler: @escaping ((any Error)?) -> Void) {
    guard [.connected, .localHold, .remoteHold].contains(state) else {
      return answer(completionHandler, CallingCommunicationErrors([]).error("the call is not connected"))
    }
    let (microphone, videos, isMuted, hasChanged) = current.withLock { current in
      defer { current.isHeld = isHeld }
      return (current.microphone, current.videos, current.isMuted, current.isHeld != isHeld)
    }
    guard hasChanged else { return answer(completionHandler) }
    microphone?.setMuted(isHeld || isMuted)
    for video in videos { video.published.setMuted(isHeld) }
    receive()
    setAttribute(Convention.hold, to: isHeld ? "1" : nil)
    let handler = Handler(completionHandler)
    delivery.deliver { [self] in
      callKit?.held(self, isHeld)
      changeHold()
      handler(nil)
    }
  }

  /// Sets an attribute of the local participant in the room; nil removes it.
  func setAttribute(_ name: String, to value: String?) {
    let attributes = current.withLock { current in
      current.attributes[name] = value
      return current.attributes
    }
    session.setAttributes(attributes)
  }

  /// On the delivery queue: a remote participant has put the call on hold or resumed it, or has got another role.
  func attributesChanged(of participant: Participant) {
    guard !participant.isLocal, let remote = remote(participant.id) else { return }
    remote.setRole(CallParticipantRole(attribute: participant.attributes[Convention.role]))
    remote.change(to: participant.attributes[Convention.hold] == nil ? .connected : .hold)
    changeHold()
  }

  private func changeHold() {
    guard [.connected, .localHold, .remoteHold].contains(state) else { return }
    let (isHeld, isOneToOne) = current.withLock { ($0.isHeld, $0.isOneToOne) }
    if isHeld {
      change(to: .localHold)
    } else {
      change(to: isOneToOne && remoteParticipants.contains { $0.state == .hold } ? .remoteHold : .connected)
    }
  }
}
