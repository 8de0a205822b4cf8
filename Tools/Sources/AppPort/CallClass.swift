import AppCheck
import CompilerFacts
import Foundation
import SwiftSyntax

/// An app's call class, and the uses of its members in other code.
struct CallClass {
  struct Use {
    let location: CodeLocation
    let isWrite: Bool
    /// Whether the projected value is used (`$name`).
    let isProjection: Bool
  }

  let type: Declarations.Declaration
  /// The class's name with the types around it.
  let name: String
  let sources: [CompiledSource]
  let app: CompiledApp
  let facts: any TypeFacts
  /// By the member's identifier.
  private(set) var uses: [String: [Use]] = [:]
  /// Members of a superclass or protocol outside the app that are used on the class, by name.
  private(set) var inherited: [String: [CodeLocation]] = [:]
  /// Places at which other code names the class itself.
  private(set) var mentions: [CodeLocation] = []

  /// - Throws: `FactsFailure` if the class cannot be found, or a file is not compiled.
  init(named name: String, in app: CompiledApp, facts: (String) throws(FactsFailure) -> any TypeFacts)
    throws(FactsFailure)
  {
    self.app = app
    type = try Self.find(name, in: app)
    self.name = (app.declarations.owners(of: type.symbol.usr) + [type.symbol.name]).joined(separator: ".")
    var sources: [CompiledSource] = []
    for file in app.files where file.module == type.module {
      sources.append(try CompiledSource(file, app.declarations))
    }
    self.sources = sources
    self.facts = try facts(type.module)
    for source in sources { read(source) }
  }

  private static func find(_ name: String, in app: CompiledApp) throws(FactsFailure) -> Declarations.Declaration {
    let modules = Set(app.files.compactMap(\.module))
    let last = name.split(separator: ".").last.map(String.init) ?? name
    let found = app.declarations.types(named: last).filter { type in
      let whole = (app.declarations.owners(of: type.symbol.usr) + [last]).joined(separator: ".")
      return modules.contains(type.module) && (whole == name || last == name)
    }
    guard let type = found.first else {
      let uncompiled = app.files.filter { $0.state != .compiled }.map { "\n  \($0.path): \($0.state.explanation)" }
      throw FactsFailure("there is no type '\(name)' in the compiled files" + uncompiled.joined())
    }
    guard found.count == 1 else {
      throw FactsFailure("there are several types '\(name)': \(found.map { "\($0.location)" }.joined(separator: ", "))")
    }
    guard type.symbol.kind == .class else {
      throw FactsFailure("\(type.location): '\(name)' is not a class; a seam is for the class that owns the calls")
    }
    return type
  }

  // MARK: Uses

  private mutating func read(_ source: CompiledSource) {
    let usr = type.symbol.usr
    for occurrence in source.file.occurrences
    where occurrence.roles.contains(.reference) && !occurrence.roles.contains(.implicit)
      && !occurrence.symbol.isAccessor && !app.declarations.isInside(occurrence, usr)
    {
      if occurrence.symbol.usr == usr {
        mentions.append(occurrence.location)
      } else if app.declarations[occurrence.symbol.usr]?.owner?.usr == usr {
        add(occurrence, in: source)
      } else if let receiver = receiverType(of: occurrence, in: source), receiver == qualifiedName {
        let isApps = app.declarations[occurrence.symbol.usr].map { $0.module == type.module } ?? false
        if isApps {
          add(occurrence, in: source)
        } else {
          inherited[occurrence.symbol.name, default: []].append(occurrence.location)
        }
      }
    }
  }

  private mutating func add(_ occurrence: IndexOccurrence, in source: CompiledSource) {
    let token = source.token(at: occurrence.location)
    uses[occurrence.symbol.usr, default: []].append(
      Use(
        location: occurrence.location, isWrite: occurrence.roles.contains(.write),
        isProjection: token?.text.hasPrefix("$") == true))
  }

  private var qualifiedName: String { app.declarations.qualifiedName(of: type.symbol.usr) ?? name }

  /// The type of the value whose member is named at a place, without its optionality.
  private func receiverType(of occurrence: IndexOccurrence, in source: CompiledSource) -> String? {
    guard let token = source.token(at: occurrence.location),
      let access = token.parent?.parent?.as(MemberAccessExprSyntax.self), access.declName.baseName == token,
      let base = access.base
    else { return nil }
    return source.type(of: base, facts).map {
      String($0.description.drop { "@" == $0 }.split(separator: " ").last ?? "")
    }
    .map { $0.filter { $0 != "?" && $0 != "!" } }
  }

  func source(of path: String) -> CompiledSource? { sources.first { $0.file.path == path } }

  /// Whether the app was built from copies of its files (`koine linux`).
  var isOfCopies: Bool { sources.contains { $0.file.map.isOfCopy } }

  /// Whether the compiler puts the class on the main actor.
  var isOnMainActor: Bool { facts.declaration(type.symbol.usr)?.isOnMainActor == true }
}
