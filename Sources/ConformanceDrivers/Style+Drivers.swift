public import Koine
public import KoineBase
public import KoineConformanceKit
public import KoineUIKit

extension Style {
  /// The driver of a participant with an app of this style, before it joins.
  /// - Parameter start: where the trace's times begin; nil: now.
  @MainActor
  public func makeDriver(
    name: String, room: String, in world: World, papers: Papers = .valid, since start: Tick? = nil
  ) throws -> any KoineDriver {
    let scheduler = world.backend.scheduler
    let start = start ?? scheduler.now
    let recorder = Recorder(who: name, clock: { (scheduler.now - start).inWholeMilliseconds })
    let casting = Casting(name: name, room: room, world: world, papers: papers, recorder: recorder)
    return switch self {
    case .koine: try NativeDriver(casting)
    case .callAgent: try CallAgentDriver(casting)
    case .stageStrategy: try StageDriver(casting)
    case .meetingSession: try MeetingDriver(casting)
    case .eventListener: try ListenerDriver(casting)
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
struct Casting {
  let name, room: String
  let world: World
  let papers: Papers
  let recorder: Recorder
}

extension Duration {
  var inWholeMilliseconds: Int {
    Int(components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000)
  }
}
