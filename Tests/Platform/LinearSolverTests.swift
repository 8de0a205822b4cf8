import Testing

@testable import KoineUIKit

@Suite struct LinearSolverTests {
  @Test func equationsAreSolved() throws {
    var solver = LinearSolver()
    let (x, y) = (solver.makeVariable(), solver.makeVariable())
    try solver.add(LinearExpression(x) + LinearExpression(y) - 10, .equal, weight: nil)
    try solver.add(LinearExpression(x) - LinearExpression(y) - 4, .equal, weight: nil)
    #expect(solver.value(of: x) == 7)
    #expect(solver.value(of: y) == 3)
  }

  @Test func optionalConstraintHoldsAsFarAsTheRequiredOnesPermit() throws {
    var solver = LinearSolver()
    let x = solver.makeVariable()
    try solver.add(LinearExpression(x) - 100, .lessThanOrEqual, weight: nil)
    try solver.add(LinearExpression(x) - 40, .greaterThanOrEqual, weight: nil)
    try solver.add(LinearExpression(x) - 250, .equal, weight: 1)
    #expect(solver.value(of: x) == 100)
  }

  @Test func heavierConstraintWins() throws {
    var solver = LinearSolver()
    let x = solver.makeVariable()
    try solver.add(LinearExpression(x) - 10, .equal, weight: 1)
    try solver.add(LinearExpression(x) - 20, .equal, weight: 1.1)
    #expect(abs(solver.value(of: x) - 20) < 1e-6)
  }

  @Test func contradictionIsRefusedAndTheRestStays() throws {
    var solver = LinearSolver()
    let x = solver.makeVariable()
    try solver.add(LinearExpression(x) - 10, .equal, weight: nil)
    #expect(throws: LinearSolver.Unsatisfiable.self) { try solver.add(LinearExpression(x) - 11, .equal, weight: nil) }
    #expect(throws: LinearSolver.Unsatisfiable.self) {
      try solver.add(LinearExpression(x) - 11, .greaterThanOrEqual, weight: nil)
    }
    #expect(solver.value(of: x) == 10)
  }

  /// Random systems that have a solution by construction: each constraint is true for a known point.
  @Test(arguments: 0..<40) func randomSystemWithASolutionIsSatisfied(seed: UInt64) throws {
    var random = Generator(state: seed &* 0x9E37_79B9_7F4A_7C15 &+ 1)
    var solver = LinearSolver()
    let count = 2 + random.next(6)
    let variables = (0..<count).map { _ in solver.makeVariable() }
    let point = (0..<count).map { _ in Double(random.next(200) - 100) }
    var added: [(LinearExpression, LinearSolver.Relation)] = []
    for _ in 0..<(3 * count) {
      var (expression, value) = (LinearExpression(0), 0.0)
      for _ in 0..<(1 + random.next(3)) {
        let (index, factor) = (random.next(count), Double(random.next(5) - 2))
        expression = expression + factor * LinearExpression(variables[index])
        value += factor * point[index]
      }
      switch random.next(3) {
      case 0: added.append((expression - value, .equal))
      case 1: added.append((expression - (value + Double(random.next(20))), .lessThanOrEqual))
      default: added.append((expression - (value - Double(random.next(20))), .greaterThanOrEqual))
      }
    }
    for (expression, relation) in added { try solver.add(expression, relation, weight: nil) }
    for variable in variables {
      try solver.add(LinearExpression(variable) - Double(random.next(400) - 200), .equal, weight: 1)
    }
    for (expression, relation) in added {
      let value = expression.terms.reduce(expression.constant) { $0 + $1.value * solver.value(of: $1.key) }
      switch relation {
      case .equal: #expect(abs(value) < 1e-4)
      case .lessThanOrEqual: #expect(value < 1e-4)
      case .greaterThanOrEqual: #expect(value > -1e-4)
      }
    }
  }

  private struct Generator {
    var state: UInt64
    mutating func next(_ limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(limit))
    }
  }
}
