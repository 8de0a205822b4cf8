import KoineBase
import KoineRouter
import KoineSignalingHost
import Logging

// Commands from outside the rooms, on their way to the router.

extension RouterHost {
  /// From any thread.
  func execute(_ request: RoomRequest) async -> Result<RoomAnswer, RoomControlError> {
    await withCheckedContinuation { done in
      post { [self] in
        guard let router = signaling?.router else {
          done.resume(returning: .failure(RoomControlError(.unavailable, "the server stops")))
          return restIfStopped()
        }
        let result = router.execute(request, at: now)
        endTurn(at: now)
        done.resume(returning: result)
      }
    }
  }
}

extension Logger {
  /// Commands that change something are logged; those that only ask are for debugging.
  func log(_ request: RoomRequest, _ result: Result<RoomAnswer, RoomControlError>) {
    var metadata: Metadata = [
      "command": "\(request.command.word)", "by": "\(request.origin.kind.rawValue)",
      "subject": "\(LogText(request.origin.subject))",
    ]
    if let room = request.command.room { metadata["room"] = "\(LogText(room))" }
    if let participant = request.command.participant { metadata["participant"] = "\(LogText(participant))" }
    if let reason = request.reason { metadata["reason"] = "\(LogText(reason))" }
    switch result {
    case .success: metadata["result"] = "done"
    case .failure(let error): metadata["result"] = "\(error.code.rawValue)"
    }
    log(level: request.command.isQuery ? .debug : .notice, "command", metadata: metadata)
  }
}
