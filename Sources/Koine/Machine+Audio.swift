// The audio of the machine beyond its devices: the directions that the app's audio session allows, the volume, and the system's audio
// service.

extension Machine {
  /// Directions of audio.
  public struct AudioDirections: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    /// Creates a set from its raw value.
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Microphones give audio.
    public static let capture = AudioDirections(rawValue: 1)
    /// The loudspeaker plays audio.
    public static let playback = AudioDirections(rawValue: 2)
  }

  /// The directions that the app's audio session allows. Nil (the default): the app has not used its audio session, and devices,
  /// permissions and interruptions alone decide.
  public var audioDirections: AudioDirections? { state.withLock { $0.audioDirections } }

  /// Lets audio flow in these directions only. For authors of platform modules, such as the one with `AVAudioSession`; nil allows both.
  public func setAudioDirections(_ directions: AudioDirections?) {
    adjust { state in
      defer { state.audioDirections = directions }
      return state.audioDirections != directions
    }
  }

  /// The volume of the loudspeaker: 0 (silent) to 1 (the default).
  public var outputVolume: Float { state.withLock { $0.outputVolume } }

  /// Changes the volume of the loudspeaker, as the volume keys of a phone do. From the next 10 ms on.
  /// - Parameter volume: 0 to 1; other values are moved to the nearest of these.
  public func setOutputVolume(_ volume: Float) {
    let volume = volume.isNaN ? 0 : min(max(volume, 0), 1)
    changeAside { state in
      defer { state.outputVolume = volume }
      return state.outputVolume == volume ? [] : [.outputChanged]
    }
  }

  /// Whether the loudspeaker is muted: it plays nothing, whatever its volume. False by default.
  public var isOutputMuted: Bool { state.withLock { $0.isOutputMuted } }

  /// Moves the mute switch of the loudspeaker, as the mute key of a keyboard does. From the next 10 ms on. The volume stays.
  public func setOutputMuted(_ isMuted: Bool) {
    changeAside { state in
      defer { state.isOutputMuted = isMuted }
      return state.isOutputMuted == isMuted ? [] : [.outputChanged]
    }
  }

  /// The volume at which the loudspeaker plays at present.
  var effectiveVolume: Float { state.withLock { $0.isOutputMuted ? 0 : $0.outputVolume } }

  /// Hands over the audio that the app plays, at full volume, before it reaches the loudspeaker, until the observation is cancelled. For
  /// authors of platform modules, such as the one that records an app's audio.
  /// - Parameter handler: called on engine lanes with 10 ms of audio; the first argument differs for each of several loudspeakers that
  ///   play at the same time.
  public func tapPlayback(_ handler: @escaping @Sendable (ObjectIdentifier, AudioBlock) -> Void) -> Observation {
    let number = state.withLock { state in
      state.nextObserver += 1
      state.playbackTaps.append((state.nextObserver, handler))
      return state.nextObserver
    }
    return Observation { [weak self] in
      let removed = self?.state.withLock { state in
        defer { state.playbackTaps.removeAll { $0.number == number } }
        return state.playbackTaps
      }
      withExtendedLifetime(removed) {}  // handlers are let go of outside the lock
    }
  }

  var playbackTaps: [(number: Int, handler: @Sendable (ObjectIdentifier, AudioBlock) -> Void)] {
    state.withLock { $0.playbackTaps }
  }

  /// Restarts the audio service of the system: observers are notified that it was lost, then that it works again.
  public func resetMediaServices() { change { _ in [.mediaServicesLost, .mediaServicesReset] } }
}
