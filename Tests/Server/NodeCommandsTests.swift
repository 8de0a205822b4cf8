import KoineBase
import KoineLedger
import KoineRouter
import KoineVendorAPIs
import Synchronization
import Testing

@testable import KoineServer

/// Commands between nodes, over messages that are lost and repeated.
@Suite struct NodeCommandsTests {
  /// Nodes, which of them is the home of the room “tea”, and what passes between them.
  private final class Nodes: Sendable {
    struct State {
      var nodes: [NodeID: NodeCommands] = [:]
      var home: NodeID?
      var isHomeAlive = true
      var isLedgerAway = false
      /// Messages to be lost, of those to come.
      var losses = 0
      var executed: [NodeID: [RoomRequest]] = [:]
      var refreshes: [UInt64] = []
      /// Whether the home knows the registry.
      var isFresh = true
      var afterLoss: (@Sendable () -> Void)?
      /// Whether the room has participants.
      var isOpen = true
    }

    let state = Lock(State())

    func add(_ id: NodeID, patience: Duration = .seconds(60), succession: Duration = .seconds(2)) -> NodeCommands {
      let state = state
      let commands = NodeCommands(
        NodeCommands.Node(
          id: id, ask: { [weak self] in self?.answer(to: $0) ?? .done }, version: { 7 },
          refresh: { version in
            state.withLock { state in
              state.refreshes.append(version)
              return state.isFresh
            }
          },
          locate: { name in state.withLock { (name, $0.home == id && $0.isOpen && name == "tea") } },
          execute: { request in
            state.withLock { state in
              state.executed[id, default: []].append(request)
              return state.home == id ? .success(.done) : .failure(RoomControlError(.noSuchRoom, "there is none"))
            }
          },
          answer: { request in APIResponse(status: 200, headers: [("A", "b")], body: request.body + [0, 255]) }),
        patience: patience, succession: succession)
      state.withLock { $0.nodes[id] = commands }
      return commands
    }

    private func answer(to request: LedgerRequest) -> LedgerAnswer {
      switch request {
      case .find(let room):
        return state.withLock { state in
          if state.isLedgerAway { return .failed(.away("no connection")) }
          guard room == "tea", let home = state.home else { return .found(nil, isAlive: false) }
          return .found(
            RoomPlace(home: home, term: RoomTerm(count: 1, nonce: "x")), isAlive: state.isHomeAlive)
        }
      case .nodes:
        return state.withLock { state in
          let others = state.nodes.keys.filter { $0.name != "n1" }.sorted()
          return .nodes(
            others.map { id in
              var record = NodeRecord(id: id)
              record.publicAddress = "ws://\(id.name)"
              return ListedNode(record, silence: .zero)
            })
        }
      case .place(let request):
        return state.withLock { state in
          (state.home, state.isHomeAlive, state.isOpen) = (request.candidate, true, false)
          let place = RoomPlace(home: request.candidate, term: RoomTerm(count: 2, nonce: request.nonce))
          return .placed(Placed(place, isNew: true, last: 1))
        }
      case .evict(let id):
        return state.withLock { state in
          if state.nodes[id] == nil { state.isHomeAlive = false }
          return state.nodes[id] == nil ? .done : .alive
        }
      case .publish(.node(let id), let bytes):
        let (node, isLost, after): (NodeCommands?, Bool, (@Sendable () -> Void)?) = state.withLock { state in
          guard state.losses > 0 else { return (state.nodes[id], false, nil) }
          state.losses -= 1
          return (nil, true, state.losses == 0 ? state.afterLoss : nil)
        }
        if isLost { after?() }
        if let node { #expect(node.take(bytes)) }
        return .done
      default: return .failed(.away("another request"))
      }
    }

    func executed(at id: NodeID) -> [RoomRequest] { state.withLock { $0.executed[id] ?? [] } }
  }

  private let n1 = NodeID(name: "n1", incarnation: "a")!
  private let n2 = NodeID(name: "n2", incarnation: "b")!
  private let n3 = NodeID(name: "n3", incarnation: "c")!
  private let request = RoomRequest(
    .remove("ana", room: "tea"), by: CommandOrigin(.vendorAPI, "key"), reason: "DeleteAttendee")

  @Test func commandIsExecutedAtTheHomeInTheNameOfItsOrigin() async {
    let nodes = Nodes()
    let (first, _) = (nodes.add(n1), nodes.add(n2))
    nodes.state.withLock { $0.home = n2 }
    #expect(await first.execute(request) == .success(.done))
    #expect(nodes.executed(at: n2) == [request])
    #expect(nodes.executed(at: n1).isEmpty)
    // The home has first read what the command follows from.
    #expect(nodes.state.withLock { $0.refreshes } == [7])
  }

  @Test(arguments: [1, 2, 3]) func lostMessagesAreSentAgainAndTheCommandIsExecutedOnce(losses: Int) async {
    let nodes = Nodes()
    let (first, _) = (nodes.add(n1), nodes.add(n2))
    nodes.state.withLock { ($0.home, $0.losses) = (n2, losses) }
    #expect(await first.execute(request) == .success(.done))
    #expect(nodes.executed(at: n2) == [request])
  }

  @Test func lostAnswerIsGivenAgainWithoutASecondExecution() async {
    let nodes = Nodes()
    let (first, second) = (nodes.add(n1), nodes.add(n2))
    nodes.state.withLock { $0.home = n2 }
    let (sent, send) = AsyncStream.makeStream(of: Void.self)
    let lossy = NodeCommands(
      NodeCommands.Node(
        id: n1,
        ask: { request in
          if case .publish(_, let bytes) = request {
            #expect(second.take(bytes))
            send.yield()
            return .done
          }
          return .found(RoomPlace(home: n2, term: RoomTerm(count: 1, nonce: "x")), isAlive: true)
        }, version: { 0 }, refresh: { _ in true }, locate: { ($0, false) }, execute: { _ in .success(.done) },
        answer: { _ in nil }))
    // Answers go to `first`, which waits for none of them, until the command has been sent twice.
    nodes.state.withLock { $0.nodes[n1] = first }
    async let result = lossy.execute(request)
    for await _ in sent.prefix(2) {}
    nodes.state.withLock { $0.nodes[n1] = lossy }
    #expect(await result == .success(.done))
    #expect(nodes.executed(at: n2) == [request])
  }

  @Test func commandFollowsTheRoomToItsNewHome() async {
    let nodes = Nodes()
    let (first, _, _) = (nodes.add(n1), nodes.add(n2), nodes.add(n3))
    nodes.state.withLock { state in
      (state.home, state.losses) = (n2, 1)
      state.afterLoss = { [state = nodes.state, n3] in state.withLock { $0.home = n3 } }
    }
    #expect(await first.execute(request) == .success(.done))
    #expect(nodes.executed(at: n3) == [request])
    #expect(nodes.executed(at: n2).isEmpty)
  }

  @Test func homeThatDoesNotKnowTheRegistryDoesNotExecute() async {
    let nodes = Nodes()
    let (first, _) = (nodes.add(n1, patience: .milliseconds(600)), nodes.add(n2))
    nodes.state.withLock { ($0.home, $0.isFresh) = (n2, false) }
    guard case .failure(let error) = await first.execute(request) else {
      Issue.record("executed")
      return
    }
    #expect(error.code == .unavailable)
    #expect(nodes.executed(at: n2).isEmpty)
  }

  @Test func roomOfASilentHomeIsGivenToAnotherNode() async {
    let nodes = Nodes()
    let (first, _) = (nodes.add(n1), nodes.add(n3))
    nodes.state.withLock { $0.home = n2 }
    let begun = ContinuousClock.now
    guard case .failure(let error) = await first.execute(request) else {
      Issue.record("executed")
      return
    }
    #expect(error.code == .noSuchRoom)
    #expect(begun.duration(to: .now) >= .seconds(3), "a second of silence, and more for a new home")
    // If the dead home comes back, it finds that it is not the home.
    #expect(nodes.state.withLock { $0.home } == n3)
  }

  @Test func commandForARoomOfADeadHomeFailsWhereNoNodeTakesTheRoom() async {
    let nodes = Nodes()
    let first = nodes.add(n1, patience: .seconds(3))
    nodes.state.withLock { ($0.home, $0.isHomeAlive) = (n2, false) }
    guard case .failure(let error) = await first.execute(request) else {
      Issue.record("executed")
      return
    }
    #expect(error.code == .unavailable)
  }

  /// Its participants may be about to bring it to another node.
  @Test func roomOfADeadHomeIsNotSaidToBeOverBeforeItsParticipantsCouldReturn() async {
    let nodes = Nodes()
    // No command lasts as long as the succession: the last one knows of the time of the earlier ones.
    let (first, _) = (nodes.add(n1, patience: .milliseconds(300), succession: .seconds(1)), nodes.add(n3))
    nodes.state.withLock { ($0.home, $0.isHomeAlive) = (n2, false) }
    var codes: [RoomControlError.Code] = []
    repeat {
      guard case .failure(let error) = await first.execute(request) else { break }
      codes.append(error.code)
    } while codes.last == .unavailable && codes.count < 100
    #expect(codes.count > 1)
    #expect(codes.last == .noSuchRoom)
    #expect(nodes.state.withLock { $0.home } == n3)
  }

  @Test func failedCommandNamesTheHomeOrTheLedger() async {
    let nodes = Nodes()
    let first = nodes.add(n1, patience: .milliseconds(400))
    var messages: [String] = []
    for isAway in [false, true] {
      nodes.state.withLock { ($0.home, $0.isLedgerAway) = (n2, isAway) }
      guard case .failure(let error) = await first.execute(request) else { continue }
      messages.append(error.message)
    }
    #expect(
      messages == [
        "the node that has the room does not answer: “tea”",
        "the ledger does not answer, so it is not known which node has the room: “tea”",
      ])
  }

  @Test func commandForARoomThatNobodyHasEnteredIsExecutedAtItsPlace() async {
    let nodes = Nodes()
    let (first, _) = (nodes.add(n1), nodes.add(n2))
    nodes.state.withLock { ($0.home, $0.isOpen) = (n2, false) }
    _ = await first.execute(request)
    #expect(nodes.executed(at: n2) == [request])
  }

  @Test func roomWithoutAHomeAndCommandsForAllRoomsAreOfTheNodeItself() async {
    let nodes = Nodes()
    let first = nodes.add(n1)
    _ = await first.execute(request)
    _ = await first.execute(RoomRequest(.listRooms, by: CommandOrigin(.test, "")))
    #expect(nodes.executed(at: n1).count == 2)
  }

  @Test func namesAreUnlinkedAtTheHomeAndHere() async {
    let nodes = Nodes()
    let (first, _) = (nodes.add(n1), nodes.add(n2))
    nodes.state.withLock { $0.home = n2 }
    _ = await first.execute(RoomRequest(.unlink(["tea"]), by: CommandOrigin(.vendorAPI, "key")))
    #expect(nodes.executed(at: n2).count == 1)
    #expect(nodes.executed(at: n1).count == 1)
  }

  @Test func requestToAnAPIIsAnsweredByTheHomeWithAllItsBytes() async throws {
    let nodes = Nodes()
    let (first, _) = (nodes.add(n1), nodes.add(n2))
    nodes.state.withLock { $0.home = n2 }
    let asked = APIRequest(
      method: "POST", target: "/x?y=%20", headers: [("Host", "h"), ("X", "1")], body: [1, 2, 200])
    let answer = try #require(await first.answer(asked, room: "tea"))
    #expect(answer.status == 200)
    #expect(answer.header("A") == "b")
    #expect(answer.body == [1, 2, 200, 0, 255])
    #expect(await first.answer(asked, room: "rye") == nil)
    #expect(await first.place(of: "tea") == .elsewhere)
    #expect(await first.place(of: "rye") == .nowhere)
    nodes.state.withLock { $0.isHomeAlive = false }
    #expect(await first.place(of: "tea") == .unknown)
  }

  @Test func otherMessagesAreNotTaken() {
    let nodes = Nodes()
    let commands = nodes.add(n1)
    for text in ["", "{}", "[]", #"{"order":"drain"}"#, #"{"command":{"id":"x"}}"#, #"{"answer":3}"#] {
      #expect(!commands.take(Array(text.utf8)), "\(text)")
    }
    #expect(nodes.executed(at: n1).isEmpty)
  }
}
