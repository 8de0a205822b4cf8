import Koine
import KoineBase
import KoineSignaling
import Testing

@testable import KoineRoomClient

/// Servers that send anything, at any time. `ScriptedServers` checks the deadline law after each timeout.
struct RandomServersTests {
  private static let places = (1...5).map { "ws://n\($0)" }

  @Test(arguments: 0..<100 as Range<UInt64>) func clientKeepsTheDeadlineLawAndEnds(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    func some(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
    func somePlaces() -> [String] { (0..<some(3)).map { _ in Self.places[some(5)] } }
    let ana = try Ana()
    let behaviours: [ScriptedServers.Behaviour] = [.opens, .opens, .refuses, .hangs]
    ana.servers.connect(to: Array(Self.places.prefix(1 + some(3))))
    for step in 0..<60 where !ana.servers.client.isOver {
      for place in Self.places { ana.servers.behaviours[place] = behaviours[some(4)] }
      switch some(12) {
      case 0: ana.servers.say(.waiting)
      case 1, 2:
        ana.servers.say(
          .resumable(key: "k\(step)", graceSeconds: 30),
          .joined(Ana.welcome("e\(some(3))", somePlaces(), continues: some(2) == 0)))
      case 3: ana.servers.say(.moved(places: somePlaces()))
      case 4: ana.servers.say(.refused(Failure([.moved, .unavailable, .tooMany][some(3)], ""), places: somePlaces()))
      case 5: ana.servers.say(.refused(Failure(.unknownConversation, ""), places: somePlaces()))
      case 6: ana.servers.lose([.broken, .silent(.seconds(6)), .notMade("no")][some(3)])
      case 7: ana.send("\(step)", isKept: some(2) == 0)
      case 8: ana.servers.say(.resumed(heard: some(4)))
      case 9: ana.servers.say(.data(message("m\(step)", UInt64(some(100)))))
      default: ana.servers.run(for: .milliseconds(1 << some(14)))
      }
    }
    for place in Self.places { ana.servers.behaviours[place] = .refuses }
    ana.servers.lose()
    ana.servers.run(for: .seconds(100))
    #expect(ana.servers.client.isOver)
    #expect(ana.servers.client.deadline == nil)
    #expect(ana.recorder.events.count { $0.hasPrefix("ended") } == 1)
    #expect(ana.recorder.events.last?.hasPrefix("ended") == true)
  }
}
