public import Foundation
package import Koine
import KoineBackends

/// A stage. The app's strategy decides on publishing and subscribing. Renderers are notified of the stage's state.
///
/// Calls may come from any thread and return at once. Strategy and renderers are called on the world's delivery queue (main
/// unless the app chose otherwise). Strategy, renderers and delegate are held weakly. When the app releases the stage, the
/// participant leaves, and no more callbacks arrive.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSStage.html)
public class IVSStage: NSObject, IVSErrorSource, @unchecked Sendable {  // `state` is a lock, `board` guards itself
  private struct State {
    var token: ParticipantToken
    weak var strategy: (any IVSBaseStageStrategy)?
    weak var errorDelegate: (any IVSErrorDelegate)?
    var run: StageSession?
  }

  let world: World
  let board = RendererList()
  private let state: Lock<State>

  /// - Throws: 1000 for a text that is no participant token; `invalidState` for a strategy that is neither an `IVSStageStrategy`
  ///   nor an `IVSStageStrategyV2`.
  public init(token: String, strategy: any IVSBaseStageStrategy) throws {
    guard strategy.isComplete else { throw Self.incomplete }
    guard let parsed = ParticipantToken(token) else {
      throw NSError.ivs(.malformedToken, "the token is no participant token")
    }
    do { world = try Backends.world(room: parsed.stage, participant: parsed.participantID) } catch {
      throw NSError.ivs(.networkError, error.description)
    }
    state = Lock(State(token: parsed, strategy: strategy))
  }

  public var errorDelegate: (any IVSErrorDelegate)? {
    get { state.withLock { $0.errorDelegate } }
    set { state.withLock { $0.errorDelegate = newValue } }
  }

  /// Several may listen; each hears everything once.
  public func addRenderer(_ renderer: any IVSStageRenderer) { board.add(renderer) }
  public func remove(_ renderer: any IVSStageRenderer) { board.remove(renderer) }

  /// Begins to connect; how it goes is told to the renderers. A stage that was left can be joined again.
  /// - Throws: 1001 when the token has expired; `invalidState` when the stage is joined already.
  public func join() throws {
    guard !token.isExpired else { throw NSError.ivs(.expiredToken, "the token has expired") }
    let run = StageSession(of: self)
    let isFirst = state.withLock { state in
      guard state.run == nil else { return false }
      state.run = run
      return true
    }
    guard isFirst else {
      throw NSError.ivs(.invalidState, "the stage is joined already, or being joined", source: "IVSStage")
    }
    run.start()
  }

  /// Leaves. Called on the delivery queue, everything about the end is told before this returns; called elsewhere, it
  /// follows there. Harmless on a stage that is not joined.
  public func leave() {
    guard let run = takeRun() else { return }
    if world.delivery.isCurrent {
      run.finish(with: nil)
    } else {
      world.delivery.deliver { run.finish(with: nil) }
    }
  }

  /// Asks the strategy again and applies the differences from its last answers. Harmless while not connected.
  public func refreshStrategy() {
    world.delivery.deliver { [weak self] in self?.run?.refresh() }
  }

  /// Goes on with another token of the same participant and stage: with other permissions, attributes and user id, or a later
  /// expiry. The strategy is asked about publishing once the room has granted it; a stream that may not be published any more is
  /// withdrawn at once. The other participants are notified of changed attributes; a changed user id is seen by participants that
  /// join later. If the room refuses the token, the
  /// error delegate is notified. A stage that is not joined uses the token when it is joined.
  /// - Throws: 1000 for a text that is no participant token; 1001 for an expired one; 1026 for a token of another participant or
  ///   stage. Nothing changes then.
  public func exchangeToken(_ token: String) throws {
    guard let new = ParticipantToken(token) else {
      throw NSError.ivs(.malformedToken, "the token is no participant token", fatal: false)
    }
    guard !new.isExpired else { throw NSError.ivs(.expiredToken, "the token has expired", fatal: false) }
    guard self.token.canBeExchanged(for: new) else {
      throw NSError.ivs(.invalidToken, "the token is another participant's, or of another stage", fatal: false)
    }
    state.withLock { $0.token = new }
    world.delivery.deliver { [weak self] in self?.run?.exchange(for: new) }
  }

  /// Asks another strategy from now on. One that is neither an `IVSStageStrategy` nor an `IVSStageStrategyV2` is refused: the
  /// error delegate is notified, and the former strategy stays.
  public func replaceStrategy(_ strategy: any IVSBaseStageStrategy) {
    guard strategy.isComplete else {
      return world.delivery.deliver { [weak self] in
        if let self { errorDelegate?.source(self, didEmitError: Self.incomplete) }
      }
    }
    state.withLock { $0.strategy = strategy }
    refreshStrategy()
  }

  private static var incomplete: NSError {
    .ivs(
      .invalidState, "the strategy does not say what to subscribe to: adopt IVSStageStrategy or IVSStageStrategyV2",
      source: "IVSStage")
  }

  // MARK: For the run

  /// The session behind the stage while it is joined; for figures that the style has no word for.
  package var session: Session? { run?.session }

  /// The newest token.
  var token: ParticipantToken { state.withLock { $0.token } }
  private var run: StageSession? { state.withLock { $0.run } }
  var strategy: (any IVSBaseStageStrategy)? { state.withLock { $0.strategy } }

  /// - Parameter run: only if it is this one; nil: whichever there is.
  @discardableResult
  func takeRun(_ run: StageSession? = nil) -> StageSession? {
    state.withLock { state in
      guard run == nil || run === state.run else { return nil }
      defer { state.run = nil }
      return state.run
    }
  }
}
