import KoineBase
import KoinePeer
package import KoineRouter
import KoineSignaling

extension EmbeddedBackend {
  /// What decides about the rooms of a backend from outside, as the vendors' HTTP APIs do for a server.
  package struct ControlPlane: Sendable {
    package var hooks: RouterHooks
    /// Checks the credentials that the given authorization has accepted.
    package var authorization: @Sendable (Authorization) -> Authorization

    package init(hooks: RouterHooks, authorization: @escaping @Sendable (Authorization) -> Authorization) {
      (self.hooks, self.authorization) = (hooks, authorization)
    }
  }

  /// Has the rooms follow a control plane from now on. Any thread may call it. Events from before are not reported.
  package func use(_ controlPlane: ControlPlane) { host.controlPlane.withLock { $0 = controlPlane } }

  /// Carries out a command of `RoomControl`. Any thread may call it; in virtual time the answer comes when the clock works.
  package func execute(_ request: RoomRequest) async -> Result<RoomAnswer, RoomControlError> {
    await withCheckedContinuation { continuation in
      let answer = PendingAnswer(continuation)
      host.post { host in answer.give(host.execute(request)) }
    }
  }
}

/// The answer to a command, which is given even if the clock ends before the command is carried out.
private final class PendingAnswer: Sendable {
  typealias Answer = Result<RoomAnswer, RoomControlError>

  private let continuation: Lock<CheckedContinuation<Answer, Never>?>

  init(_ continuation: CheckedContinuation<Answer, Never>) { self.continuation = Lock(continuation) }

  func give(_ answer: Answer) {
    continuation.withLock { continuation in
      defer { continuation = nil }
      return continuation
    }?.resume(returning: answer)
  }

  deinit { give(.failure(RoomControlError(.unavailable, "the rooms have ended"))) }
}

extension EmbeddedRouterHost {
  fileprivate func execute(_ request: RoomRequest) -> Result<RoomAnswer, RoomControlError> {
    // Of the names of rooms all routers must know.
    switch request.command {
    case .link, .unlink:
      let answers = routers.map { $0.execute(request, at: loop.now) }
      if let answer = answers.first { return answer }
    default:
      if let router = router(with: request.command.room ?? "") { return router.execute(request, at: loop.now) }
    }
    // A router without clients would have no rooms.
    switch request.command {
    case .listRooms: return .success(.rooms([]))
    case .closeAllRooms: return .success(.done)
    case .unlink: return .success(.done)
    case .link: return .failure(RoomControlError(.notPossible, "links need a router that is open"))
    case .describe, .remove, .close, .grant, .mute, .startRecording, .stopRecording:
      return .failure(RoomControlError(.noSuchRoom, "there is no room “\(request.command.room ?? "")”"))
    }
  }
}

extension Lock<EmbeddedBackend.ControlPlane?> {
  private var present: EmbeddedBackend.ControlPlane? { withLock { $0 } }

  /// Hooks that lead to those of the present control plane.
  var hooks: RouterHooks {
    RouterHooks(
      admission: AdmissionPolicy(
        decide: { [self] in present?.hooks.admission.decide($0) ?? .admit($0.grants) },
        refuseIdentity: { [self] in present?.hooks.admission.refuseIdentity($0, $1) }),
      roomEvent: { [self] in present?.hooks.roomEvent($0) })
  }

  /// An authorization that leads to that of the present control plane.
  func authorization(after base: Authorization) -> Authorization {
    Authorization(
      check: { [self] in (present?.authorization(base) ?? base).check($0) },
      checkIdentity: { [self] in (present?.authorization(base) ?? base).checkIdentity($0) })
  }
}
