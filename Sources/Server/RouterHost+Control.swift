import KoineBase
import KoineLedger
import KoineRouter
import KoineSignalingHost
import KoineVendorAPIs
import Logging

// Commands from outside the rooms, on their way to the router.

extension RouterHost {
  /// From any thread. In a cluster, carries the command to the room's home.
  func execute(_ request: RoomRequest) async -> Result<RoomAnswer, RoomControlError> {
    guard let commands else { return await executeHere(request) }
    return await commands.execute(request)
  }

  /// The commands to other nodes; nil: the server has all rooms.
  func nodeCommands() -> NodeCommands? {
    guard let ownLedger, let cluster = configuration.cluster else { return nil }
    let registry = ownLedger.registry
    return NodeCommands(
      NodeCommands.Node(
        id: cluster.record.id, ask: { await ownLedger.ask($0) }, version: { registry.newestVersion.number },
        refresh: { version in
          await withCheckedContinuation { done in
            registry.refresh(to: RegistryVersion(number: version)) { done.resume(returning: $0 == nil) }
          }
        },
        locate: { [weak self] name in
          await withCheckedContinuation { done in
            guard let self else { return done.resume(returning: (name, true)) }
            self.post { done.resume(returning: self.signaling?.router.place(of: name) ?? (name, true)) }
          }
        },
        execute: { [weak self] request in
          guard let self else { return .failure(RoomControlError(.unavailable, "the server stops")) }
          return await executeHere(request)
        },
        answer: { [weak self] in await self?.apis?.answer($0) }))
  }

  /// nil: all rooms are here.
  var roomHomes: RoomHomes? {
    commands.map { commands in
      RoomHomes(
        place: { await commands.place(of: $0) }, answer: { await commands.answer($0, room: $1) },
        executeHere: { [weak self] request in
          guard let self else { return .failure(RoomControlError(.unavailable, "the server stops")) }
          return await executeHere(request)
        })
    }
  }

  private func executeHere(_ request: RoomRequest) async -> Result<RoomAnswer, RoomControlError> {
    await withCheckedContinuation { done in
      post { [self] in
        guard let router = signaling?.router else {
          done.resume(returning: .failure(RoomControlError(.unavailable, "the server stops")))
          return restIfStopped()
        }
        let result = router.execute(request, at: now)
        // The registry may not follow: then the rooms follow it again.
        if case .unlink(let names) = request.command, case .success = result { apis?.roomsUnlinked(names) }
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
