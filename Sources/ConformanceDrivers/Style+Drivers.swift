public import Koine
public import KoineBase
public import KoineConformanceKit
public import KoineUIKit

extension Style {
  /// The driver of a participant with an app of this style, before it joins.
  /// - Parameter start: where the trace's times begin; nil: now.
  @MainActor
  public func makeDriver(
    name: String, room: String, in world: World, credential: CredentialState = .valid, since start: Tick? = nil
  ) throws -> any KoineDriver {
    let scheduler = world.backend.scheduler
    let start = start ?? scheduler.now
    let recorder = Recorder(who: name, clock: { (scheduler.now - start).inWholeMilliseconds })
    let context = DriverContext(name: name, room: room, world: world, credential: credential, recorder: recorder)
    return switch self {
    case .koine: try NativeDriver(context)
    case .callAgent: try CallAgentDriver(context)
    case .stageStrategy: try StageDriver(context)
    case .meetingSession: try MeetingDriver(context)
    case .eventListener: try ListenerDriver(context)
    }
  }
}

/// A driver that also gives access to the session below the style's API.
@MainActor
public protocol KoineDriver: Driver {
  /// The session below the style's API, for statistics.
  var session: Session? { get }
  /// A view that shows the person's own camera, where the style has one.
  var mirror: VideoView? { get }
  /// The view that draws a participant's camera. It stays available after the video has been removed.
  func view(of id: String) -> VideoView?
}

/// The participant that a driver plays, and its test environment.
@MainActor
struct DriverContext {
  let name, room: String
  let world: World
  let credential: CredentialState
  let recorder: Recorder
}
