import KoinePorting

/// Callbacks that an app declares but Koine never calls.
///
/// A vendor's SDK looks up the methods of its Objective-C protocols by name when an event occurs. Koine's protocols are Swift
/// protocols: the compiler matches a type's methods with the requirements where the type declares its conformance.
struct Callbacks {
  let index: AppIndex
  let knowledge: SymbolIndex
  /// By compiled file: the methods there that the compiler has matched with a requirement or an overridden method.
  private let overrides: [String: Set<String>]

  private(set) var usages: [UsageReader.Usage] = []
  private(set) var problems: [Problem] = []

  init(_ index: AppIndex, _ knowledge: SymbolIndex, overrides: [String: Set<String>]) {
    (self.index, self.knowledge, self.overrides) = (index, knowledge, overrides)
    for (name, type) in index.types.sorted(by: { $0.key < $1.key }) { read(name, type) }
  }

  private mutating func read(_ name: String, _ type: AppIndex.Declaration) {
    let own = protocols(of: type.parents)
    let inherited = index.line(of: name).dropFirst().flatMap { protocols(of: index.types[$0]?.parents ?? []) }
    for function in type.functions {
      if let called = overrides[function.location.file] {
        // The compiler's index has the usages of callbacks; what it has matched is called.
        if called.contains(CompiledUsages.key(line: function.location.line, name: function.signature)) { continue }
        if match(function, own) != nil { continue }
      }
      if match(function, own) != nil {
        count(function, own)
      } else if let (requirement, found) = match(function, inherited) {
        if overrides[function.location.file] == nil { count(function, inherited) }
        missing(function, requirement, of: found, in: name)
      } else {
        mistyped(function, own + inherited, in: name)
      }
    }
  }

  private func protocols(of parents: [String]) -> [SymbolIndex.Found] {
    var found: [SymbolIndex.Found] = []
    for parent in parents where !index.declares(parent) {
      guard let type = knowledge.type(named: parent), type.declaration?.kind == "protocol" else { continue }
      for type in knowledge.line(of: type).types where !found.contains(where: { $0.name == type.name }) {
        found.append(type)
      }
    }
    return found
  }

  /// The requirement that a function fills, types and all.
  private func match(_ function: AppIndex.Function, _ protocols: [SymbolIndex.Found]) -> (String, SymbolIndex.Found)? {
    for found in protocols {
      guard let overloads = found.declaration?.parameters?[function.signature] else { continue }
      if overloads.isEmpty || overloads.contains(where: { agrees($0, function.parameters) }) {
        return (function.signature, found)
      }
    }
    return nil
  }

  private func agrees(_ declared: [String], _ given: [String]) -> Bool {
    declared.count == given.count
      && zip(declared, given).allSatisfy { declared, given in
        let (one, other) = (ValueType.normal(declared), ValueType.normal(given))
        return one == other || one.hasSuffix("." + other) || other.hasSuffix("." + one)
      }
  }

  private mutating func count(_ function: AppIndex.Function, _ protocols: [SymbolIndex.Found]) {
    for found in protocols {
      guard found.declaration?.parameters?[function.signature] != nil,
        case .found(let member) = knowledge.member(function.name, labels: nil, of: found)
      else { continue }
      let symbol = found.name + "." + function.signature
      let entry = found.api.entries[symbol]
      guard found.api.style != nil else { return }
      usages.append(
        UsageReader.Usage(
          member: SymbolIndex.Member(
            symbol: symbol, status: entry?.status ?? .works, why: entry?.why, type: member.type, parameters: [],
            style: found.api.style), location: function.location, isCertain: true))
      return
    }
  }

  // MARK: What would not be called

  /// The class above conforms, without the callback; what a subclass has beside it is not the protocol's.
  private mutating func missing(
    _ function: AppIndex.Function, _ requirement: String, of found: SymbolIndex.Found, in name: String
  ) {
    let above = index.line(of: name).dropFirst()
    let isThere = above.contains { ancestor in
      index.types[ancestor]?.functions.contains {
        $0.signature == requirement && agrees($0.parameters, function.parameters)
      }
        ?? false
    }
    guard !isThere,
      let conforming = above.first(where: {
        protocols(of: index.types[$0]?.parents ?? []).contains { $0.name == found.name }
      })
    else { return }
    problems.append(
      Problem(
        .callback, at: function.location,
        "\(name).\(requirement) is not called: \(conforming) conforms to \(found.name) without it",
        instead: "an empty one in \(conforming), which \(name) overrides", style: found.api.style))
  }

  private mutating func mistyped(_ function: AppIndex.Function, _ protocols: [SymbolIndex.Found], in name: String) {
    for found in protocols where found.api.style != nil {
      let requirements = found.declaration?.parameters ?? [:]
      if let overloads = requirements[function.signature] {
        let wanted = overloads.map { "(" + $0.joined(separator: ", ") + ")" }.joined(separator: " or ")
        problems.append(
          Problem(
            .callback, at: function.location,
            "\(name).\(function.signature) is not called: its types are not those of \(found.name)",
            instead: "parameters " + wanted, style: found.api.style))
        return
      }
      if let entry = found.api.entries["\(found.name).\(function.signature)"] {
        problems.append(
          Problem(
            .callback, at: function.location, "\(entry.symbol) is not called", instead: entry.why ?? "",
            style: found.api.style))
        return
      }
    }
    // A vendor's prefix word with other labels, or a slip of the pen.
    for found in protocols where found.api.style != nil {
      let requirements = found.declaration?.parameters.map { Array($0.keys) } ?? []
      let sameName = requirements.filter { $0.prefix { $0 != "(" } == function.name }
      let near = sameName.isEmpty ? requirements.filter { isSlip(function.signature, $0) } : sameName
      guard let meant = near.min(by: { distance($0, function.signature) < distance($1, function.signature) }) else {
        continue
      }
      problems.append(
        Problem(
          .callback, at: function.location,
          "\(name).\(function.signature) is not called: \(found.name) has none of that name",
          instead: "there is " + meant, style: found.api.style))
      return
    }
  }

  private func distance(_ one: String, _ other: String) -> Int { Spelling.distance(Array(one), Array(other)) }

  private func isSlip(_ given: String, _ requirement: String) -> Bool {
    let (one, other) = (given.prefix { $0 != "(" }, requirement.prefix { $0 != "(" })
    guard one != other, other.count > 8 else { return false }
    return Spelling.distance(Array(one), Array(other)) <= 2
  }
}
