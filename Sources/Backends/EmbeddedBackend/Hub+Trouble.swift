import KoineBase
import KoinePeer
import KoineRouter
import KoineSignaling
import KoineSimulatedNetwork

// Trouble on purpose: what tests and demos do to networks, servers and people.

extension Hub {
  /// - Parameter name: nil: everybody, but for what stands beside the router.
  func cutNetwork(of name: String?, for duration: Duration) {
    loop.post { [self] in
      for (number, client) in clients where name.map(client.names.contains) ?? !client.names.isEmpty {
        client.cutUntil = loop.now + duration
        doors[number]?.cutUntil = loop.now + duration
      }
    }
  }

  func changeAddress(of name: String) {
    loop.post { [self] in
      let now = loop.now
      for (number, client) in clients where client.names.contains(name) {
        guard let address = try? loop.open() else { continue }
        let old = client.address
        numbers[old] = nil
        numbers[address] = number
        client.move(to: address, at: now)
        touched.insert(number)
        loop.close(old)
      }
      endTurn(at: now)
    }
  }

  func routerStatistics(
    of room: String, _ completion: @escaping @Sendable (RouterStatistics, [ForwardingStatistics]) -> Void
  ) {
    loop.post { [self] in completion(router?.statistics ?? RouterStatistics(), router?.forwarding(in: room) ?? []) }
  }

  func restartRouter() {
    loop.post { [self] in
      let now = loop.now
      guard signaling != nil, let new = try? makeRouter(at: now) else { return }
      signaling = new
      owners = [:]
      for (number, client) in clients.sorted(by: { $0.key < $1.key }) {
        doors[number]?.lines = []
        doors[number]?.reset((routerAddress, client.address), over: loop, at: now)
      }
      touched.formUnion(clients.keys)
      endTurn(at: now)
    }
  }

  /// - Parameter name: nil: everybody's, and of those who come.
  func setNetwork(_ spec: NetworkSpec, of name: String?) {
    loop.post { [self] in
      if name == nil { network = spec }
      for (number, client) in clients where name.map(client.names.contains) ?? !client.names.isEmpty {
        client.setNetwork(spec, seed: UInt64(number) * 2, at: loop.now)
        doors[number]?.setNetwork(spec, seed: UInt64(number) * 2 + 1, at: loop.now)
        touched.insert(number)
      }
      endTurn(at: loop.now)
    }
  }

  func refuse(_ name: String?, _ failure: Failure?) { refusals.set(failure, for: name) }

  func limitParticipants(_ limit: Int?) {
    loop.post { [self] in
      participantLimit = limit
      router?.setParticipantLimit(limit ?? RouterLimits().participants)
    }
  }

  func remove(_ participant: String, from room: String) {
    loop.post { [self] in
      router?.remove(participant: participant, from: room, at: loop.now)
      endTurn(at: loop.now)
    }
  }

  func close(room: String) {
    loop.post { [self] in
      router?.close(room: room, at: loop.now)
      endTurn(at: loop.now)
    }
  }
}
