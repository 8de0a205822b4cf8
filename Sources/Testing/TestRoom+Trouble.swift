import Koine
public import KoineEmbeddedBackend
import KoineSimulatedNetwork

// What networks, servers and others do to a call. It begins at once; `run` or `until` lets it happen.

extension TestRoom {
  /// The ids that a participant of this name can have in this room. The id depends on the style of the participant's app.
  private func ids(of name: String) -> [String] {
    let id = people.entry(named: name).id
    return [id, identity(of: name)] + people.backEndIDs(of: id)
  }

  /// For messages about tests that fail.
  private func record(_ text: String, of name: String? = nil) { journal.add(text, of: name ?? "everybody", at: now) }

  // MARK: The network

  /// Replaces the link conditions of all participants, or of one: `rate=300k`, `loss=20%;10s:loss=0%`. Times count from now.
  /// - Throws: what makes no sense in it.
  public func setNetwork(_ network: String, of name: String? = nil) throws {
    let spec = try NetworkSpec(network)
    record("network becomes “\(network)”", of: name)
    guard let name else { return backend.setNetwork(spec) }
    for id in ids(of: name) { backend.setNetwork(spec, of: id) }
  }

  /// Takes the network of one person, or of all, away for a time: nothing they send arrives, nothing reaches them. A later cut
  /// replaces an earlier one.
  ///
  /// The app's SDK reports the loss after 15 s without a packet, which is 11 to 15 s after the cut, and gives up after 75 s; a shorter
  /// cut only freezes video.
  public func cutNetwork(of name: String? = nil, for duration: Duration) {
    record(duration > .zero ? "network cut for \(duration)" : "network restored", of: name)
    guard let name else { return backend.cutNetwork(for: duration) }
    for id in ids(of: name) { backend.cutNetwork(of: id, for: duration) }
  }

  /// Ends a cut of one person's network, or of all networks.
  public func restoreNetwork(of name: String? = nil) { cutNetwork(of: name, for: .zero) }

  /// A person's machine goes from one network to another, as from a house's to the telephone's.
  public func changeNetwork(of name: String) {
    record("network address changed", of: name)
    for id in ids(of: name) { backend.changeAddress(of: id) }
  }

  // MARK: The server

  /// The room's server goes down without a word and comes up again at once, knowing nothing.
  public func restartServer() {
    record("server restarted")
    backend.restartRouter()
  }

  // MARK: A cluster (`TestRoom(nodes: 3)`)

  /// The server that is the home of the room; nil: there is none, or it is being taken over.
  public var home: String? { backend.home(of: id) }

  /// A server's process ends without a word. The room opens on another server, with the messages that were acknowledged.
  public func kill(node: String) {
    record("\(node) killed")
    backend.kill(node: node)
  }

  /// A server that was killed starts again.
  public func start(node: String) {
    record("\(node) started")
    backend.start(node: node)
  }

  /// A server's process stands still, or goes on.
  public func freeze(node: String, _ isFrozen: Bool = true) {
    record(isFrozen ? "\(node) frozen" : "\(node) thawed")
    backend.freeze(node: node, isFrozen)
  }

  /// A server hands the room over to another one, as before an update.
  public func drain(node: String) {
    record("\(node) drained")
    backend.drain(node: node)
  }

  /// Nothing passes between a person, or everybody (nil), and a server, until it is called with false.
  public func cut(_ name: String?, from node: String, _ isCut: Bool = true) {
    record(isCut ? "cut from \(node)" : "no longer cut from \(node)", of: name)
    guard let name else { return backend.cut(nil, from: node, isCut) }
    for id in ids(of: name) { backend.cut(id, from: node, isCut) }
  }

  /// Nothing passes between a server and the ledger until it is called with false; nil: the ledger is down.
  public func cutLedger(of node: String? = nil, _ isCut: Bool = true) {
    record(isCut ? "ledger cut off" : "ledger restored", of: node)
    backend.cutLedger(of: node, isCut)
  }

  /// Refuses every further join of the person with this name.
  /// - Parameter refusal: the reason that the app gets; nil: joins are admitted again.
  public func refuse(_ name: String, _ refusal: EmbeddedBackend.Refusal?) {
    for id in ids(of: name) { backend.refuse(id, refusal) }
  }

  /// Refuses every further join; nil: joins are admitted again.
  public func refuseAll(_ refusal: EmbeddedBackend.Refusal?) { backend.refuse(nil, refusal) }

  /// Limits the number of participants from now on; nil: no limit.
  public func limitParticipants(to limit: Int?) { backend.limitParticipants(to: limit) }

  /// Removes the person with this name from the room.
  public func remove(_ name: String) { for id in ids(of: name) { backend.remove(id, from: self.id) } }
  /// Closes the room. The call ends for all participants.
  public func close() { backend.close(room: id) }
}

extension Person {
  /// Cuts the person's network without notice, until `comeBack()`.
  public func drop() { room.cutNetwork(of: name, for: .seconds(86_400)) }

  /// Restores the person's network after `drop()`. The person resumes, or joins again if the room has dropped it.
  /// - Throws: `Failure` if the person cannot join again.
  public func comeBack() async throws {
    room.cutNetwork(of: name, for: .zero)
    guard isOut, let roomID else { return }
    try await room.finish(try enter(roomID, as: id), "\(name) has not got into the room again")
  }
}
