import Foundation
import Koine

// Camera, microphone and hold.

extension Call {
  /// What tells the others that one has put the call on hold.
  static let holdAttribute = "koine.hold"

  // MARK: Camera

  /// Sends a camera's pictures. The handler is called once they are on their way.
  public func startVideo(stream: LocalVideoStream, completionHandler: @escaping ((any Error)?) -> Void) {
    let (isSending, isOther) = current.withLock { ($0.video?.stream === stream, $0.video != nil) }
    if isSending { return answer(completionHandler) }
    if isOther {
      return answer(
        completionHandler, CallingCommunicationErrors.invalidVideoStreamCombination.error("a camera is sent already"))
    }
    do throws(SessionError) {
      let small = VideoLayer(maximumWidth: 320, maximumHeight: 180, maximumBitrate: 150_000, maximumFramesPerSecond: 15)
      let published = try session.publish(
        camera: stream.camera.makeSource(), options: VideoPublishOptions(lowerLayers: [small]))
      if let failure = stream.camera.failure {
        published.unpublish()
        return answer(completionHandler, CallingCommunicationErrors.noVideoPermission.error("\(failure)"))
      }
      current.withLock { $0.video = (stream, published) }
    } catch {
      return answer(completionHandler, NSError(error))
    }
    let handler = Handler(completionHandler)
    delivery.deliver { [self] in
      stream.isSending = true
      current.withLock { $0.localVideoStreams = [stream] }
      delegate?.call(self, didUpdateLocalVideoStreams: LocalVideoStreamsUpdatedEventArgs(added: [stream]))
      handler(nil)
    }
  }

  nonisolated(nonsending) public func startVideo(stream: LocalVideoStream) async throws {
    try await completion { startVideo(stream: stream, completionHandler: $0) }
  }

  /// Another instance than the one that is sent, even of the same camera, changes nothing and is no error.
  public func stopVideo(stream: LocalVideoStream, completionHandler: @escaping ((any Error)?) -> Void) {
    let published = current.withLock { current -> LocalStream? in
      guard current.video?.stream === stream else { return nil }
      defer { current.video = nil }
      return current.video?.published
    }
    guard let published else { return answer(completionHandler) }
    published.unpublish()
    let handler = Handler(completionHandler)
    delivery.deliver { [self] in
      stream.isSending = false
      current.withLock { $0.localVideoStreams = [] }
      delegate?.call(self, didUpdateLocalVideoStreams: LocalVideoStreamsUpdatedEventArgs(removed: [stream]))
      handler(nil)
    }
  }

  nonisolated(nonsending) public func stopVideo(stream: LocalVideoStream) async throws {
    try await completion { stopVideo(stream: stream, completionHandler: $0) }
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

  private func setMuted(_ isMuted: Bool, _ completionHandler: @escaping ((any Error)?) -> Void) {
    let (microphone, isHeld, hasChanged) = current.withLock { current in
      defer { current.isMuted = isMuted }
      return (current.microphone, current.isHeld, current.isMuted != isMuted)
    }
    guard hasChanged else { return answer(completionHandler) }
    if !isHeld { microphone?.setMuted(isMuted) }
    let handler = Handler(completionHandler)
    delivery.deliver { [self] in
      delegate?.call(self, didChangeMuteState: PropertyChangedEventArgs())
      delegate?.call(self, didUpdateOutgoingAudioState: PropertyChangedEventArgs())
      handler(nil)
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
    let (microphone, video, isMuted, hasChanged) = current.withLock { current in
      defer { current.isHeld = isHeld }
      return (current.microphone, current.video?.published, current.isMuted, current.isHeld != isHeld)
    }
    guard hasChanged else { return answer(completionHandler) }
    microphone?.setMuted(isHeld || isMuted)
    video?.setMuted(isHeld)
    for participant in session.participants {
      for stream in participant.streams { if isHeld { session.pause(stream.id) } else { session.resume(stream.id) } }
    }
    var attributes = session.localParticipant.attributes
    attributes[Self.holdAttribute] = isHeld ? "1" : nil
    session.setAttributes(attributes)
    let handler = Handler(completionHandler)
    delivery.deliver { [self] in
      changeHold()
      handler(nil)
    }
  }

  /// On the delivery queue: somebody has, or has no longer, put the call on hold.
  func held(_ participant: Participant) {
    guard !participant.isLocal, let remote = remote(participant.id) else { return }
    remote.change(to: participant.attributes[Self.holdAttribute] == nil ? .connected : .hold)
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
