import Koine

// Screen sharing.

extension Meeting {
  /// Shows the machine's screen: what the world's devices name as such (`KOINE_SCREEN`).
  nonisolated(nonsending) public func enableScreenShare() async { startScreen() }
  nonisolated(nonsending) public func disableScreenShare() async {
    state.withLock { state in
      defer { state.screen = nil }
      return state.screen
    }?.unpublish()
  }

  /// Id of the participant that shares its screen, the latest if there are several; nil if no screen is shared.
  public var activePresenterId: String? { state.withLock { $0.presenters.last } }

  private func startScreen() {
    guard state.withLock({ $0.screen?.isOver != false }) else { return }
    start { session in
      try session.publish(
        camera: try Devices.camera(session.world.devices.screen), as: .screen,
        options: VideoPublishOptions(maximumBitrate: 1_500_000, maximumFramesPerSecond: 15))
    } keep: { state, stream in
      guard state.screen?.isOver != false else { return false }
      state.screen = stream
      return true
    } failure: { _ in
      .ERROR_GET_DISPLAY_MEDIA
    }
  }

  /// On the delivery queue.
  func shows(_ id: String, _ isShowing: Bool) {
    let (before, now) = state.withLock { state in
      let before = state.presenters.last
      state.presenters.removeAll { $0 == id }
      if isShowing { state.presenters.append(id) }
      return (before, state.presenters.last)
    }
    if before != now { notifyListeners { $0.onPresenterChanged(activePresenterId: now) } }
  }
}
