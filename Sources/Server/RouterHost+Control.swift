import KoineBase
import KoineRouter
import KoineSignaling
import KoineSignalingHost
import Logging

// Commands from outside the rooms.

extension RouterHost {
  /// From any thread. Each command is logged with its caller and its reason.
  func perform(_ request: ControlRequest, from kind: CommandOrigin.Kind) async -> ControlAnswer {
    await withCheckedContinuation { done in
      post { [self] in
        done.resume(returning: answer(request, from: CommandOrigin(kind, reason: request.reason), at: now))
        endTurn(at: now)
        restIfStopped()
      }
    }
  }

  private func answer(_ request: ControlRequest, from origin: CommandOrigin, at now: Tick) -> ControlAnswer {
    guard let router = signaling?.router else {
      return ControlAnswer(failure: Failure(.ended, "the server stops"))
    }
    do throws(Failure) {
      guard let command = try request.roomCommand() else { return ControlAnswer(rooms: router.rooms(at: now)) }
      try router.perform(command, from: origin, at: now)
      log(request, origin, nil)
      return ControlAnswer()
    } catch {
      log(request, origin, error)
      return ControlAnswer(failure: error)
    }
  }

  private func log(_ request: ControlRequest, _ origin: CommandOrigin, _ failure: Failure?) {
    logger.notice(
      "command",
      metadata: [
        "command": "\(request.command.rawValue)", "room": "\(LogText(request.room ?? ""))",
        "participant": "\(LogText(request.participant ?? ""))", "by": "\(origin)",
        "reason": "\(LogText(origin.reason ?? ""))", "outcome": "\(failure?.code.rawValue ?? "done")",
      ])
  }
}
