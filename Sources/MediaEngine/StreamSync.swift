package import KoineBase

/// Keeps a participant's picture and sound together: acts when sound is more than 40 ms early or 80 ms late, by holding
/// back whichever is ahead, at most 80 ms a step and one step a second. Both wait at least the same minimum delay.
package final class StreamSync: Sendable {
  fileprivate struct State {
    var sound: Duration?
    var picture: Duration?
    var soundHold = Duration.zero
    var pictureHold = Duration.zero
    var nextStep: Tick?
    var minimumDelay = Duration.zero
  }

  private let state = Lock(State())
  private static let early = Duration.milliseconds(-40)
  private static let late = Duration.milliseconds(80)
  private static let step = Duration.milliseconds(80)

  /// The largest minimum delay.
  package static let minimumDelayLimit = Duration.seconds(10)

  package init() {}

  /// How long audio and video wait at least after the quickest possible arrival, 0...10 s; 0 by default. Other values are clamped.
  package var minimumDelay: Duration {
    get { state.withLock { $0.minimumDelay } }
    set { state.withLock { $0.minimumDelay = min(max(newValue, .zero), Self.minimumDelayLimit) } }
  }

  /// What audio's play-out needs to know, read at once: how much longer than it needs it should wait, and the minimum delay.
  package var soundTiming: (hold: Duration, minimum: Duration) { state.withLock { ($0.soundHold, $0.minimumDelay) } }

  /// How long after its capture sound is being played.
  package func soundPlayed(after delay: Duration, at now: Tick) {
    state.withLock { state in
      state.sound = state.sound.map { ($0 * 7 + delay) / 8 } ?? delay
      state.balance(at: now, early: Self.early, late: Self.late, step: Self.step)
    }
  }

  /// How long after its capture a picture is being shown.
  package func pictureShown(after delay: Duration, at now: Tick) {
    state.withLock { state in
      state.picture = state.picture.map { ($0 * 7 + delay) / 8 } ?? delay
      state.balance(at: now, early: Self.early, late: Self.late, step: Self.step)
    }
  }

  /// How much longer than they need each should wait.
  package var soundHold: Duration { state.withLock { $0.soundHold } }
  package var pictureHold: Duration { state.withLock { $0.pictureHold } }
}

extension StreamSync.State {
  fileprivate mutating func balance(at now: Tick, early: Duration, late: Duration, step: Duration) {
    guard let sound, let picture else { return }
    guard let due = nextStep else {
      nextStep = now + .seconds(1)
      return
    }
    guard now >= due else { return }
    let lag = sound - picture
    guard lag < early || lag > late else { return }
    nextStep = now + .seconds(1)
    if lag > late {  // sound is behind: first it waits less, then pictures wait more
      let release = min(soundHold, min(lag, step))
      soundHold -= release
      pictureHold = min(pictureHold + min(lag, step) - release, .milliseconds(500))
    } else {
      let release = min(pictureHold, min(.zero - lag, step))
      pictureHold -= release
      soundHold = min(soundHold + min(.zero - lag, step) - release, .milliseconds(500))
    }
  }
}
