import KoineBase
import KoineJSONCodec
import KoineLedger
import KoineRouter
import KoineSignalingHost
import KoineVendorAPIs
import Logging

// The node: carries the router's requests to the ledger, and the ledger's events to the router.

extension RouterHost {
  /// On the network loop, with a new router.
  func joinCluster() {
    guard let cluster = configuration.cluster else { return }
    // A waiting request gets its answer also when this object is gone.
    let made = cluster.connect(cluster.record.id) { [weak self, ownLedger] event in
      if ownLedger?.take(event) != true { self?.receive(event) }
    }
    ledger = made
    ownLedger?.use(made.ledger)
    loadMeter = LoadMeter(at: now)
  }

  /// On the ledger's thread.
  private func receive(_ event: LedgerEvent) {
    if case .message(_, let bytes) = event, commands?.take(bytes) == true { return }
    post { [weak self] in self?.take(event) }
  }

  private func take(_ event: LedgerEvent) {
    guard let router = signaling?.router else { return }
    switch event {
    case .answered(let number, let answer):
      let isAnswer = if case .failed = answer { false } else { true }
      ledgerMeter.answered(number, isAnswer: isAnswer, at: now)
      if case .nodes(let listed) = answer {
        nodes.withLock { $0.update(living: listed.compactMap(\.record.publicAddress), at: now) }
        warnOfOtherKeys(in: listed.map(\.record))
        warnOfSameAddress(in: listed.map(\.record))
      }
      readiness.withLock { $0.answered(answer, at: now) }
    case .connected, .disconnected: break
    case .message(_, let bytes): execute(bytes)
    }
    noteRegistry(router)
    router.handle(event, at: now)
    endTurn(at: now)
  }

  private func noteRegistry(_ router: Router) {
    let isKnown = ownLedger?.registry.hasRead ?? true
    readiness.withLock { $0.knowsRegistry = isKnown }
    if isKnown { router.setReady(at: now) }
  }

  func carryToLedger(at now: Tick) {
    guard let ledger, let router = signaling?.router else { return }
    for (number, request) in router.takeLedgerRequests() {
      ledgerMeter.sent(number, at: now)
      ledger.ledger.send(request, number: number, at: now)
    }
    for event in router.takeClusterEvents() { handle(event) }
  }

  /// From any thread.
  func publishKeysDigest(_ digest: String?) {
    post { [weak self] in
      guard let self, let router = signaling?.router else { return }
      router.setKeysDigest(digest, at: now)
      endTurn(at: now)
    }
  }

  /// Logs one warning for each node with other keys: it would refuse the participants of the rooms that move to it.
  private func warnOfOtherKeys(in records: [NodeRecord]) {
    let (id, digest) = (configuration.cluster?.record.id, keysDigest)
    let differing = records.filter { $0.id != id && $0.keysDigest != nil && $0.keysDigest != digest }
    let others = Set(differing.map(\.id))
    for other in others.subtracting(nodesWithOtherKeys).sorted() {
      logger.warning(
        "another node has other keys: give all nodes the same --keys, or all --open",
        metadata: ["node": "\(other.name)"])
    }
    nodesWithOtherKeys = others
  }

  /// Logs one warning for each node with this node's address: participants of the one would come to the other.
  private func warnOfSameAddress(in records: [NodeRecord]) {
    guard let own = configuration.cluster?.record, let address = own.publicAddress else { return }
    let others = Set(records.filter { $0.id.name != own.id.name && $0.publicAddress == address }.map(\.id))
    for other in others.subtracting(nodesWithSameAddress).sorted() {
      logger.warning(
        "another node has the same --public: participants cannot reach both", metadata: ["node": "\(other.name)"])
    }
    nodesWithSameAddress = others
  }

  private func handle(_ event: ClusterEvent) {
    switch event {
    case .uncertain(true):
      logger.warning("the ledger does not answer: receipts of kept messages wait, and new rooms do")
    case .uncertain(false): logger.notice("the ledger answers")
    case .nameTaken(let other):
      logger.critical("another living node has this node's name", metadata: ["node": "\(other)"])
      configuration.cluster?.nameTaken(other)
    case .opened(let room, let entries):
      logger.info("room opened", metadata: ["room": "\(LogText(room))", "kept messages": "\(entries)"])
    case .deposed(let room, let home, let cause):
      logger.notice(
        "room is elsewhere",
        metadata: ["room": "\(LogText(room))", "home": "\(home?.name ?? "-")", "cause": "\(cause)"])
    case .closed(let room): logger.debug("room closed", metadata: ["room": "\(LogText(room))"])
    case .drained: endWaits(of: &drainWaits)
    case .released: endWaits(of: &releaseWaits)
    }
  }

  private func endWaits(of waits: inout [CheckedContinuation<Void, Never>]) {
    for wait in waits { wait.resume() }
    waits = []
  }

  func measureLoad(at now: Tick) {
    guard let deadline = loadMeter?.deadline, deadline <= now, let load = loadMeter?.measure(at: now) else { return }
    guard let router = signaling?.router else { return }
    router.setLoad(load, at: now)
    noteRegistry(router)
  }

  /// From any thread. Where participants reach the nodes of the cluster, also those that were alive lately.
  var nodeAddresses: [String] { nodes.withLock { $0.addresses } }

  /// From any thread. Whether a page of another node sends this, which may be dead by now: the page's room may be here.
  func isNodeOrigin(_ origin: String) -> Bool { nodes.withLock { $0.origins.contains(origin.lowercased()) } }

  /// On the network loop.
  func browserNodes() -> BrowserNodes? {
    signaling?.router.nodeList(at: now).map {
      BrowserNodes(places: $0.places, pingSeconds: $0.ping, silenceSeconds: $0.silence)
    }
  }

  /// From any thread.
  func clusterFigures() async -> (figures: ClusterStatistics, ledger: LedgerMeter)? {
    await withCheckedContinuation { done in
      post { [self] in
        done.resume(returning: signaling?.router.clusterStatistics.map { ($0, ledgerMeter) })
      }
    }
  }

  // MARK: The end

  /// From any thread. Hands all rooms over to other nodes.
  /// - Returns: when that is done, or after the limit.
  func drain(limit: Duration) async {
    await withCheckedContinuation { done in
      post { [self] in
        guard let router = signaling?.router else { return done.resume() }
        readiness.withLock { $0.isDraining = true }
        drainWaits.append(done)
        router.drain(at: now)
        endTurn(at: now)
        after(limit) { [weak self] in self.map { $0.endWaits(of: &$0.drainWaits) } }
      }
    }
  }

  /// From any thread. Sends the participants that are still here to other nodes, and ends the lease.
  func leaveCluster() async {
    guard configuration.cluster != nil else { return }
    await withCheckedContinuation { done in
      post { [self] in
        guard let router = signaling?.router, !hasLeftCluster else { return done.resume() }
        hasLeftCluster = true
        releaseWaits.append(done)
        router.abandonRooms(at: now)
        endTurn(at: now)
        after(.seconds(1)) { [weak self] in self.map { $0.endWaits(of: &$0.releaseWaits) } }
      }
    }
  }

  /// On the network loop.
  func closeLedger() {
    ownLedger?.use(nil)
    ledger?.close()
    (ledger, loadMeter) = (nil, nil)
  }

  func after(_ time: Duration, _ work: @escaping @Sendable () -> Void) {
    Task { [weak self] in
      try? await Task.sleep(for: time)
      self?.post(work)
    }
  }

  // MARK: Messages

  private func execute(_ bytes: [UInt8]) {
    let limits = JSONCodec.Limits(depth: 4, size: 4_096, values: 16)
    // Other messages are the router's.
    guard let router = signaling?.router, let order = try? JSONCodec.decode(NodeOrder.self, from: bytes, limits: limits)
    else { return }
    switch order.order {
    case .drain:
      if !readiness.withLock(\.isDraining) { logger.notice("draining, by order of an operator") }
      readiness.withLock { $0.isDraining = true }
      router.drain(at: now)
    case .serve:
      // The process ends when it is drained.
      guard drainWaits.isEmpty else { break }
      if readiness.withLock(\.isDraining) { logger.notice("taking rooms again, by order of an operator") }
      readiness.withLock { $0.isDraining = false }
      router.endDraining(at: now)
    case .move:
      guard let room = order.room else { break }
      logger.info("handing a room over, by order of an operator", metadata: ["room": "\(LogText(room))"])
      router.handOver(room, at: now)
    case .report: if let to = order.to { report(router, to: to) }
    }
    endTurn(at: now)
  }

  private func report(_ router: Router, to reader: NodeID) {
    guard let node = configuration.cluster?.record.id else { return }
    var rest = router.participantsOfHomes.sorted { $0.key < $1.key }[...]
    repeat {
      let rooms = Dictionary(rest.prefix(NodeReport.limit).map { ($0.key, $0.value) }) { $1 }
      rest = rest.dropFirst(NodeReport.limit)
      let report = NodeReport(node: node, rooms: rooms, isLast: rest.isEmpty)
      if let bytes = try? JSONCodec.encode(report) { router.publish(bytes, on: .node(reader), at: now) }
    } while !rest.isEmpty
  }
}
