// Streams as sequences.

extension Session {
  /// The video frames of a stream, local or remote, as they arrive, until the stream ends or the app stops iterating.
  ///
  ///     for await frame in session.frames(of: stream.id) { … frame.bytes(.nv12) … }
  ///
  /// - Parameter capacity: how many wait for a slow reader; the oldest gives way.
  public func frames(of stream: Track.ID, capacity: Int = 1) -> AsyncStream<VideoFrame> {
    AsyncStream(bufferingPolicy: .bufferingNewest(max(capacity, 1))) { continuation in
      let sink = YieldingVideo(continuation)
      attach(sink, to: stream)
      let observation = whenOver(stream) { continuation.finish() }
      continuation.onTermination = { [weak self] _ in
        observation.cancel()
        self?.detach(sink, from: stream)
      }
    }
  }

  /// The audio of one talker as it arrives, until the stream ends or the app stops iterating.
  /// - Parameter capacity: how many blocks of 10 ms wait for a slow reader; the oldest gives way.
  public func sound(of stream: Track.ID, capacity: Int = 50) -> AsyncStream<AudioBlock> {
    AsyncStream(bufferingPolicy: .bufferingNewest(max(capacity, 1))) { continuation in
      let sink = YieldingSound(continuation)
      attach(sink, to: stream)
      let observation = whenOver(stream) { continuation.finish() }
      continuation.onTermination = { [weak self] _ in
        observation.cancel()
        self?.detach(sink, from: stream)
      }
    }
  }

  private func whenOver(_ stream: Track.ID, _ done: @escaping @Sendable () -> Void) -> Observation {
    let observation = observe { [request] event in
      switch event {
      case .streamRemoved(let gone, let owner) where gone.id.track == stream.track:
        if gone.id == stream || (owner.isLocal && request.hadName(stream.participant)) { done() }
      case .stateChanged(.ended): done()
      default: break
      }
    }
    if state.isEnded { done() }
    return observation
  }
}

private final class YieldingVideo: VideoSink, Sendable {
  private let continuation: AsyncStream<VideoFrame>.Continuation
  init(_ continuation: AsyncStream<VideoFrame>.Continuation) { self.continuation = continuation }
  func render(_ frame: VideoFrame) { continuation.yield(frame) }
}

private final class YieldingSound: AudioSink, Sendable {
  private let continuation: AsyncStream<AudioBlock>.Continuation
  init(_ continuation: AsyncStream<AudioBlock>.Continuation) { self.continuation = continuation }
  func play(_ block: AudioBlock) { continuation.yield(block) }
}

extension JoinRequest {
  /// An own stream that was published before the room had given a name goes on being known by the one it had then.
  func hadName(_ participant: Participant.ID) -> Bool { participant == participantID ?? "" }
}
