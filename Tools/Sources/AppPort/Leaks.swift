import CompilerFacts
import KoinePorting

/// A vendor's type that other code sees through the call class.
struct Leak: Hashable {
  /// From the member of the class to the type: `CallModel.tiles`, `Tile.track`.
  let chain: [String]
  let type: String
  /// Where other code uses the last member of the chain.
  let places: [CodeLocation]
}

/// Follows the types of the protocol's members, through the app's own types, to the vendors' types.
struct LeakFinder {
  private let callClass: CallClass
  private let types: [String: Declarations.Declaration]
  private var found: [Leak] = []
  private var visited: Set<String> = []
  private let occurrences: [String: [IndexOccurrence]]

  init(_ callClass: CallClass) {
    self.callClass = callClass
    types = callClass.app.declarations.typesByQualifiedName()
    var occurrences: [String: [IndexOccurrence]] = [:]
    for file in callClass.app.files {
      for occurrence in file.occurrences
      where occurrence.roles.contains(.reference) && !occurrence.roles.contains(.implicit) {
        occurrences[occurrence.symbol.usr, default: []].append(occurrence)
      }
    }
    self.occurrences = occurrences
  }

  static func leaks(of callClass: CallClass, members: [Declarations.Declaration]) -> [Leak] {
    var finder = LeakFinder(callClass)
    for member in members {
      let places = callClass.uses[member.symbol.usr, default: []].map(\.location)
      finder.follow(member, [callClass.name + "." + member.symbol.name], places)
    }
    return finder.found.filter { !$0.places.isEmpty }
  }

  private mutating func follow(_ member: Declarations.Declaration, _ chain: [String], _ places: [CodeLocation]) {
    guard let typed = callClass.facts.declaration(member.symbol.usr), typed.access != .private else { return }
    for name in Set(typed.type.names).sorted() {
      guard let type = types[name], type.symbol.usr != callClass.type.symbol.usr else { continue }
      if let style = VendorSites.style(of: type.module) {
        let whole = (callClass.app.declarations.owners(of: type.symbol.usr) + [type.symbol.name]).joined(separator: ".")
        found.append(Leak(chain: chain, type: "\(whole) (\(style.title))", places: places))
      } else if type.module == callClass.type.module, visited.insert(type.symbol.usr).inserted {
        for inner in callClass.app.declarations.members(of: type.symbol.usr) {
          follow(inner, chain + [type.symbol.name + "." + inner.symbol.name], uses(of: inner, outside: type.symbol.usr))
        }
      }
    }
  }

  private func uses(of member: Declarations.Declaration, outside type: String) -> [CodeLocation] {
    let declarations = callClass.app.declarations
    return occurrences[member.symbol.usr, default: []].filter {
      !declarations.isInside($0, type) && !declarations.isInside($0, callClass.type.symbol.usr)
    }.map(\.location)
  }
}
