import Koine

// Pausing and resuming what this client receives, for all remote participants at once.

/// The vendor's words for kinds of streams.
enum StreamKind: String, CaseIterable {
  case audio, video, share

  init(_ kind: Track.Kind) {
    switch kind {
    case .microphone: self = .audio
    case .camera: self = .video
    case .screen, .screenSound: self = .share
    }
  }

  /// - Parameter word: a kind; nil and `all` are all kinds.
  /// - Returns: nil for another word.
  static func kinds(_ word: String?) -> Set<StreamKind>? {
    guard let word, word != "all" else { return Set(allCases) }
    return StreamKind(rawValue: word).map { [$0] }
  }
}

extension Meeting {
  /// Stops receiving the remote participants' streams of a kind, also of streams that begin later, until `resumeAllStreams`.
  /// `onPausedAllStreams(kind:)` follows. Local streams and other participants are not affected. Streams stay enabled.
  /// - Parameter kind: `audio`, `video` or `share`; nil or `all`: streams of all kinds.
  public func pauseAllStreams(_ kind: String? = nil) { setPaused(true, kind) }

  /// Receives the remote participants' streams of a kind again, also those that `MediaStream.pause()` has paused.
  /// `onResumedAllStreams(kind:)` follows.
  /// - Parameter kind: `audio`, `video` or `share`; nil or `all`: streams of all kinds.
  public func resumeAllStreams(_ kind: String? = nil) { setPaused(false, kind) }

  private func setPaused(_ isPaused: Bool, _ word: String?) {
    guard let kinds = StreamKind.kinds(word) else { return report(.UNKNOWN_ERROR) }
    guard let session = state.withLock({ $0.hasJoined && !$0.isOver ? $0.session : nil }) else { return }
    session.world.delivery.deliver { [weak self] in self?.setPaused(isPaused, kinds, as: word ?? "all", in: session) }
  }

  // MARK: On the delivery queue

  private func setPaused(_ isPaused: Bool, _ kinds: Set<StreamKind>, as word: String, in session: Session) {
    let isCurrent = state.withLock { state in
      guard !state.isOver, state.session === session else { return false }
      if isPaused { state.pausedKinds.formUnion(kinds) } else { state.pausedKinds.subtract(kinds) }
      return true
    }
    guard isCurrent else { return }
    for stream in session.participants.flatMap(\.tracks) where kinds.contains(StreamKind(stream.kind)) {
      setPaused(isPaused, stream, in: session)
    }
    notifyListeners { isPaused ? $0.onPausedAllStreams(kind: word) : $0.onResumedAllStreams(kind: word) }
  }

  /// A stream of a remote participant has begun.
  func pauseIfWanted(_ stream: Track, in session: Session) {
    if state.withLock({ $0.pausedKinds.contains(StreamKind(stream.kind)) }) { setPaused(true, stream, in: session) }
  }

  private func setPaused(_ isPaused: Bool, _ stream: Track, in session: Session) {
    if isPaused {
      paused.withLock { _ = $0.insert(stream.id) }
      session.pause(stream.id)
    } else {
      paused.withLock { _ = $0.remove(stream.id) }
      session.resume(stream.id)
    }
  }
}
