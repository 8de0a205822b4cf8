import Koine
import KoineBase
import KoineLedger
import KoinePeer
import KoineRoomClient
import KoineRouter
import KoineSignaling
import KoineSimulatedNetwork

// Faults that tests and demos inject into networks, servers and participants.

extension EmbeddedRouterHost {
  /// - Parameter name: nil: of all clients except those inside with the router.
  private func transports(of name: String?) -> [EmbeddedTransport] {
    transports.filter { transport in name.map(transport.names.contains) ?? !transport.names.isEmpty }
  }

  /// - Parameter name: nil: all clients except those inside with the router.
  func cutNetwork(of name: String?, for duration: Duration) {
    post { host in
      for transport in host.transports(of: name) {
        transport.clientEnd.cutUntil = host.loop.now + duration
        transport.routerEnd.cutUntil = host.loop.now + duration
      }
    }
  }

  func changeAddress(of name: String) {
    post { host in
      for transport in host.transports(of: name) {
        guard let address = try? host.loop.open() else { continue }
        let old = transport.address
        host.clients.move(transport.number, from: old, to: address)
        transport.move(to: address, at: host.loop.now)
        host.loop.close(old)
      }
    }
  }

  func routerStatistics(
    of room: String, _ completion: @escaping @Sendable (RouterStatistics, [ForwardingStatistics]) -> Void
  ) {
    post { host in
      let router = host.router(with: room)
      completion(router?.statistics ?? RouterStatistics(), router?.forwarding(in: room) ?? [])
    }
  }

  func restartRouter() { post { $0.restart(at: $0.loop.now) } }

  /// - Parameter name: nil: all clients except those inside with the router, and all that follow.
  func setNetwork(_ spec: NetworkSpec, of name: String?) {
    post { host in
      if name == nil { host.network = spec }
      for transport in host.transports(of: name) {
        let seed = UInt64(transport.number) * 2
        transport.clientEnd.setNetwork(spec, seed: seed, at: host.loop.now)
        transport.routerEnd.setNetwork(spec, seed: seed + 1, at: host.loop.now)
        host.clients.touch(transport.number)
      }
    }
  }

  func refuse(_ name: String?, _ failure: Failure?) { refusals.set(failure, for: name) }

  func limitParticipants(_ limit: Int?) {
    post { host in
      host.participantLimit = limit
      for router in host.routers { router.setParticipantLimit(limit ?? RouterLimits().participants) }
    }
  }

  /// The origin of commands that tests and demos give.
  private static let test = CommandOrigin(.test, "embedded")

  func roster(of room: String, _ completion: @escaping @Sendable ([EmbeddedBackend.RosterMember]) -> Void) {
    post { host in
      let request = RoomRequest(.describe(room: room), by: Self.test)
      guard let router = host.router(with: room),
        case .success(.room(let details)) = router.execute(request, at: host.loop.now)
      else {
        return completion([])
      }
      completion(
        details.participants.filter { !$0.isHidden }.map { member in
          let sending = member.tracks.filter { !$0.isMuted }.compactMap { Track.Kind(rawValue: $0.kind) }
          return EmbeddedBackend.RosterMember(
            id: member.id, name: member.name, sending: Set(sending), client: member.client)
        })
    }
  }

  func remove(_ participant: String, from room: String) {
    post { host in
      host.router(with: room)?.execute(RoomRequest(.remove(participant, room: room), by: Self.test), at: host.loop.now)
    }
  }

  func setRole(_ role: String, of participant: String, in room: String) {
    var change = PermissionChange()
    change.role = role
    post { [change] host in
      host.router(with: room)?.execute(
        RoomRequest(.grant(change, participant, room: room), by: Self.test), at: host.loop.now)
    }
  }

  func close(room: String) {
    post { host in
      host.router(with: room)?.execute(RoomRequest(.close(room: room), by: Self.test), at: host.loop.now)
    }
  }

  // MARK: Nodes

  private func node(named name: String) -> EmbeddedNode? { nodes.first { $0.name == name } }

  func kill(node name: String) {
    post { host in if let node = host.node(named: name) { host.kill(node, at: host.loop.now) } }
  }

  func start(node name: String) {
    post { host in if let node = host.node(named: name) { host.start(node, at: host.loop.now) } }
  }

  /// The process stands still: it reads and sends nothing.
  func freeze(node name: String, _ isFrozen: Bool) {
    post { host in
      guard let node = host.node(named: name), node.router != nil else { return }
      node.state = isFrozen ? .frozen : .open
      let held = node.held
      node.held = []
      for event in held { node.router?.handle(event, at: host.loop.now) }
      for transport in host.transports { transport.deliverHeld(at: node, at: host.loop.now) }
    }
  }

  func drain(node name: String) {
    post { host in host.node(named: name)?.router?.drain(at: host.loop.now) }
  }

  func cut(_ name: String?, from node: String, _ isCut: Bool) {
    post { host in
      guard let address = host.node(named: node)?.address else { return }
      for transport in host.transports(of: name) {
        for end in [transport.clientEnd, transport.routerEnd] {
          if isCut { end.blocked.insert(address) } else { end.blocked.remove(address) }
        }
      }
    }
  }

  /// - Parameter name: nil: of all nodes: the ledger is down.
  func cutLedger(of name: String?, _ isCut: Bool) {
    post { host in
      guard let ledger = host.ledger else { return }
      guard let name else { return isCut ? ledger.stop(at: host.loop.now) : ledger.start() }
      if let connection = host.node(named: name)?.connection { ledger.cut(connection.node, isCut, at: host.loop.now) }
    }
  }
}
