import Foundation

/// Solves linear equations and inequalities with priorities, by the incremental simplex method of Cassowary (Badros, Borning and Stuckey,
/// "The Cassowary Linear Arithmetic Constraint Solving Algorithm", 2001).
///
///     let width = solver.makeVariable()
///     solver.add(LinearExpression(width) - 100, .greaterThanOrEqual, weight: nil)
///     solver.solve()
///     solver.value(of: width)
///
/// A constraint without a weight must hold. Of the others the solver minimises the weighted sum of the errors.
struct LinearSolver {
  struct Variable: Hashable { fileprivate let number: Int }

  enum Relation { case equal, lessThanOrEqual, greaterThanOrEqual }

  /// A required constraint contradicts those that were added before.
  struct Unsatisfiable: Error {}

  private enum Kind { case external, slack, error, dummy }
  private typealias Symbol = Int
  private typealias Row = [Symbol: Double]

  /// A basic symbol as a constant and a sum of other symbols.
  private struct Basic {
    var constant: Double
    var cells: Row = [:]

    mutating func add(_ coefficient: Double, _ symbol: Int) {
      let sum = (cells[symbol] ?? 0) + coefficient
      cells[symbol] = abs(sum) < LinearSolver.epsilon ? nil : sum
    }

    mutating func add(_ factor: Double, _ other: Basic) {
      constant += factor * other.constant
      for (symbol, coefficient) in other.cells { add(factor * coefficient, symbol) }
    }

    /// Solves the row, which is zero, for a symbol in it.
    mutating func solve(for symbol: Int) {
      let factor = -1 / (cells.removeValue(forKey: symbol) ?? 1)
      constant *= factor
      for (symbol, coefficient) in cells { cells[symbol] = coefficient * factor }
    }

    mutating func substitute(_ symbol: Int, _ row: Basic) {
      guard let coefficient = cells.removeValue(forKey: symbol) else { return }
      add(coefficient, row)
    }
  }

  private static let epsilon = 1e-8
  /// Pivots of one optimisation; a layout of some hundred constraints needs some hundred.
  private static let pivotLimit = 10_000

  private var kinds: [Kind] = []
  private var rows: [Symbol: Basic] = [:]
  private var objective = Basic(constant: 0)
  /// Coefficients of an auxiliary objective while an artificial variable is removed.
  private var artificial: Basic?

  mutating func makeVariable() -> Variable { Variable(number: makeSymbol(.external)) }

  func value(of variable: Variable) -> Double { rows[variable.number]?.constant ?? 0 }

  /// Adds `expression relation 0`.
  /// - Parameter weight: greater than 0; nil: the constraint is required.
  mutating func add(
    _ expression: LinearExpression, _ relation: Relation, weight: Double?
  ) throws(Unsatisfiable) {
    var row = Basic(constant: expression.constant)
    for (variable, coefficient) in expression.terms where abs(coefficient) > Self.epsilon {
      if let basic = rows[variable.number] {
        row.add(coefficient, basic)
      } else {
        row.add(coefficient, variable.number)
      }
    }
    let (marker, other) = addMarkers(to: &row, relation, weight)
    if row.constant < 0 {
      row.constant = -row.constant
      row.cells = row.cells.mapValues { -$0 }
    }
    if let subject = subject(of: row, marker, other) {
      row.solve(for: subject)
      substitute(subject, row)
      rows[subject] = row
    } else if row.cells.keys.allSatisfy({ kinds[$0] == .dummy }) {
      guard abs(row.constant) < 1e-6 else { throw Unsatisfiable() }
      row.solve(for: marker)
      substitute(marker, row)
      rows[marker] = row
    } else if try !addWithArtificialVariable(row) {
      throw Unsatisfiable()
    }
    optimize()
  }

  // MARK: Rows

  private mutating func makeSymbol(_ kind: Kind) -> Symbol {
    kinds.append(kind)
    return kinds.count - 1
  }

  private mutating func addMarkers(to row: inout Basic, _ relation: Relation, _ weight: Double?) -> (Symbol, Symbol?) {
    switch relation {
    case .equal:
      guard let weight else {
        let dummy = makeSymbol(.dummy)
        row.add(1, dummy)
        return (dummy, nil)
      }
      let (above, below) = (makeSymbol(.error), makeSymbol(.error))
      row.add(-1, above)
      row.add(1, below)
      objective.add(weight, above)
      objective.add(weight, below)
      return (above, below)
    case .lessThanOrEqual, .greaterThanOrEqual:
      let sign: Double = relation == .lessThanOrEqual ? 1 : -1
      let slack = makeSymbol(.slack)
      row.add(sign, slack)
      guard let weight else { return (slack, nil) }
      let error = makeSymbol(.error)
      row.add(-sign, error)
      objective.add(weight, error)
      return (slack, error)
    }
  }

  /// A symbol that the row can be solved for: a variable, else an unused marker that may grow.
  private func subject(of row: Basic, _ marker: Symbol, _ other: Symbol?) -> Symbol? {
    if let external = row.cells.keys.filter({ kinds[$0] == .external }).min() { return external }
    for symbol in [marker, other].compactMap(\.self) where kinds[symbol] == .slack || kinds[symbol] == .error {
      if (row.cells[symbol] ?? 0) < 0 { return symbol }
    }
    return nil
  }

  private mutating func substitute(_ symbol: Symbol, _ row: Basic) {
    for key in rows.keys { rows[key]?.substitute(symbol, row) }
    objective.substitute(symbol, row)
    artificial?.substitute(symbol, row)
  }

  /// - Returns: whether the row goes with the others.
  private mutating func addWithArtificialVariable(_ row: Basic) throws(Unsatisfiable) -> Bool {
    let symbol = makeSymbol(.slack)
    rows[symbol] = row
    artificial = row
    optimize(artificially: true)
    let isPossible = abs(artificial?.constant ?? 0) < 1e-6
    artificial = nil
    if let left = rows.removeValue(forKey: symbol) {
      guard !left.cells.isEmpty else { return isPossible }
      guard let entering = left.cells.keys.filter({ kinds[$0] == .slack || kinds[$0] == .error }).min() else {
        return false
      }
      var row = left
      row.cells[symbol] = -1
      row.solve(for: entering)
      substitute(entering, row)
      rows[entering] = row
    }
    for key in rows.keys { rows[key]?.cells[symbol] = nil }
    objective.cells[symbol] = nil
    return isPossible
  }

  // MARK: Simplex

  private mutating func optimize(artificially: Bool = false) {
    for _ in 0..<Self.pivotLimit {
      let goal = artificially ? artificial ?? Basic(constant: 0) : objective
      // The symbol with the lowest number: by Bland's rule the method ends.
      guard
        let entering = goal.cells.filter({ kinds[$0.key] != .dummy && $0.value < -Self.epsilon }).keys.min(),
        let leaving = leaving(for: entering)
      else { return }
      guard var row = rows.removeValue(forKey: leaving) else { return }
      row.cells[leaving] = -1
      row.solve(for: entering)
      substitute(entering, row)
      rows[entering] = row
    }
  }

  /// The basic symbol that limits how far another may grow.
  private func leaving(for entering: Symbol) -> Symbol? {
    var best: (symbol: Symbol, ratio: Double)?
    for (symbol, row) in rows where kinds[symbol] != .external {
      guard let coefficient = row.cells[entering], coefficient < 0 else { continue }
      let ratio = -row.constant / coefficient
      if let known = best, ratio > known.ratio || (ratio == known.ratio && symbol > known.symbol) { continue }
      best = (symbol, ratio)
    }
    return best?.symbol
  }
}

/// A sum of variables with coefficients, and a constant.
struct LinearExpression {
  var constant: Double
  private(set) var terms: [LinearSolver.Variable: Double] = [:]

  init(_ constant: Double) { self.constant = constant }
  init(_ variable: LinearSolver.Variable) { (constant, terms) = (0, [variable: 1]) }

  static func + (one: LinearExpression, other: LinearExpression) -> LinearExpression {
    var sum = one
    sum.constant += other.constant
    for (variable, coefficient) in other.terms { sum.terms[variable, default: 0] += coefficient }
    return sum
  }
  static func * (factor: Double, one: LinearExpression) -> LinearExpression {
    var product = one
    product.constant *= factor
    product.terms = one.terms.mapValues { $0 * factor }
    return product
  }
  static func - (one: LinearExpression, other: LinearExpression) -> LinearExpression { one + (-1) * other }
  static func + (one: LinearExpression, other: Double) -> LinearExpression { one + LinearExpression(other) }
  static func - (one: LinearExpression, other: Double) -> LinearExpression { one + LinearExpression(-other) }
}
