import AppPort
import Testing

/// Switches around the statements of a new file. Scripts/check-mutants compiles and runs a whole layer's.
@Suite struct SwitchTests {
  private let app = """
    final class Model {
      func join() { meeting.join(); count += 1; refresh() }
    }

    """

  @Test func statementsThatTheAppDoesNotHaveGetNumbers() {
    let switches = StatementSwitches(
      """
      final class KoineModel {
        func join() {
          room.join(side: .front)
          count   +=  1
          refresh()
          state = .joined; topics.insert("a")  // both
          Task { if isOn { room.start() } else { room.stop() } }
        }
      }
      """, originals: [app])
    #expect(switches.statements.map(\.number) == Array(1...4))
    #expect(switches.statements.map(\.line) == [3, 6, 6, 7])
    let lines = switches.source.split(separator: "\n").map { $0.drop { $0 == " " } }
    #expect(lines[2] == "if Mutants.isOn(1) { room.join(side: .front) }")
    #expect(lines[3] == "count   +=  1")
    #expect(lines[4] == "refresh()")
    #expect(lines[5] == "if Mutants.isOn(2) { state = .joined }; if Mutants.isOn(3) { topics.insert(\"a\") }  // both")
    #expect(lines[6].hasPrefix("if Mutants.isOn(4) { Task { if isOn {"))
  }

  @Test func valuesDeclarationsAndInitializersStayAsTheyAre() {
    let source = """
      final class KoineModel {
        init() { value = room.value }
        var name: String { room.name() }
        func text() -> String { switch value { case 1: room.first() default: room.second() } }
        func all() -> [String] { guard let room else { return [] }; return room.names() }
        let names = { room.names() }()
        func find() { let one = rooms.first { $0.matches() }; if case .a = one.kind() { return } }
      }

      """
    let switches = StatementSwitches(source, originals: [])
    #expect(switches.statements == [])
    #expect(switches.source == source)
  }

  @Test func linesThatTheCompilerRefusesStayAsTheyAre() {
    let source = "func f() {\n  one()\n  two()\n}\n"
    let switches = StatementSwitches(source, originals: [], excluded: [2])
    #expect(switches.source == "func f() {\n  one()\n  if Mutants.isOn(1) { two() }\n}\n")
    #expect(switches.statements.map(\.text) == ["two()"])
    #expect(switches.json.contains("\"text\" : \"two()\""))
  }
}
