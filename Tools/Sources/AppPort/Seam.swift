import AppCheck
public import CompilerFacts
import Foundation
import KoinePorting

/// A protocol in front of an app's call class: the members that the app's other code uses.
///
/// The class conforms in an extension, and changes in nothing else. A second class, with another vendor's calls, can then stand behind the
/// same protocol.
public struct Seam: Sendable {
  /// The new file.
  public let source: String
  public let protocolName: String
  /// What stands in the way, as text.
  public let report: String
  /// The names of the protocol's requirements.
  public let requirements: [String]
  /// Members that are not in the protocol, with places and reasons.
  public let inexpressible: [String]
  /// Vendor types that other code sees through the protocol, with places.
  public let leaks: [String]
  public let module: String

  /// - Parameters:
  ///   - type: the class's name.
  ///   - name: the protocol's name; the class's with `Protocol` by default.
  ///   - facts: the types of a module.
  /// - Throws: `FactsFailure` if the class cannot be found, no other code uses it, the app has a type with the protocol's name, or a file of
  ///   the module is not compiled.
  public init(
    of type: String, in app: CompiledApp, name: String? = nil,
    facts: (String) throws(FactsFailure) -> any TypeFacts
  ) throws(FactsFailure) {
    let callClass = try CallClass(named: type, in: app, facts: facts)
    let protocolName = name ?? callClass.name.replacing(".", with: "") + "Protocol"
    if let other = app.declarations.types(named: protocolName).first(where: { $0.module == callClass.type.module }) {
      throw FactsFailure("the app has a type '\(protocolName)' (\(other.location)); choose another name with --name")
    }
    guard !callClass.uses.isEmpty else {
      throw FactsFailure("no other code uses a member of '\(callClass.name)'")
    }
    var (members, requirements): ([Declarations.Declaration], [Requirement]) = ([], [])
    var inexpressible: [String] = []
    let writer = RequirementWriter(callClass: callClass)
    let used = callClass.uses.keys.compactMap { app.declarations[$0] }.sorted { $0.location < $1.location }
    let values = SeamValues(callClass, members: used)
    var kept: [String] = []
    // Types inside the class come last: the members decide whether there is a value type for them.
    for member in used.filter({ !$0.symbol.kind.isType }) + used.filter(\.symbol.kind.isType) {
      let uses = callClass.uses[member.symbol.usr, default: []]
      if member.symbol.kind != .initializer, values.leaks(member) {
        do {
          let found = try values.requirements(of: member, uses, callClass)
          members.append(member)
          requirements += found
          inexpressible.append(Self.remark(on: member, replacedBy: found, uses, values, callClass))
          inexpressible += found.compactMap(\.remark).map {
            "\(member.symbol.name): \($0); \(Self.places(uses.map(\.location)))"
          }
          continue
        } catch {
          let advice = values.isNested(member) ? " (at the top level of a file, the type would stay as it is)" : ""
          kept.append("\(member.symbol.name): \(error.reason)\(advice); \(Self.places(uses.map(\.location)))")
        }
      }
      if let name = values.valueName(of: member) {
        inexpressible.append(
          "\(member.symbol.name): it is a type inside the class; it is '\(name)' there; \(Self.places(uses.map(\.location)))"
        )
        continue
      }
      do {
        let found = try writer.requirements(of: member, uses)
        members.append(member)
        requirements += found
        inexpressible += Self.remarks(on: member, uses, found, callClass)
      } catch {
        inexpressible.append("\(member.symbol.name): \(error.reason); \(Self.places(uses.map(\.location)))")
      }
    }
    inexpressible += values.missing
    if let factory = values.factory(callClass) { requirements.append(factory) }
    if let name = (values.names + [Self.choiceName(callClass)]).first(where: { name in
      app.declarations.types(named: name).contains { $0.module == callClass.type.module }
    }) {
      throw FactsFailure("the app has a type '\(name)', which the seam needs")
    }
    let (bases, notInherited) = Self.bases(of: callClass)
    inexpressible += notInherited
    self.protocolName = protocolName
    self.requirements = requirements.map(\.text)
    self.inexpressible = inexpressible
    module = callClass.type.module
    leaks = LeakFinder.leaks(of: callClass, members: members).map {
      "\($0.type) by \($0.chain.joined(separator: ", ")); \(Self.places($0.places))"
    }
    source = Self.source(callClass, protocolName, bases, requirements, inexpressible, values)
    let sites = VendorSites(app) { !app.declarations.isInside($0, callClass.type.symbol.usr) }
    report = Self.report(callClass, requirements, leaks, kept, inexpressible, sites)
  }

  // MARK: What the protocol refines

  private static func bases(of callClass: CallClass) -> (bases: String, inexpressible: [String]) {
    var bases = ["AnyObject"]
    var condition = ""
    var rest: [String] = []
    for (name, places) in callClass.inherited.sorted(by: { $0.key < $1.key }) {
      if name == "objectWillChange" {
        bases = ["ObservableObject"]
        condition = " where ObjectWillChangePublisher == ObservableObjectPublisher"
      } else {
        rest.append("\(name): \(callClass.name) inherits it from outside the app; \(Self.places(places))")
      }
    }
    let all = callClass.app.declarations.bases(of: callClass.type.symbol.usr)
    if all.contains(where: { $0.usr == sendable }) { bases.append("Sendable") }
    return (bases.joined(separator: ", ") + condition, rest)
  }

  private static let sendable = "s:s8SendableP"

  /// What other code has to write in another way, although the member is in the protocol.
  private static func remarks(
    on member: Declarations.Declaration, _ uses: [CallClass.Use], _ found: [Requirement], _ callClass: CallClass
  ) -> [String] {
    let name = member.symbol.name
    var remarks: [String] = []
    let projections = uses.filter(\.isProjection)
    if !projections.isEmpty, let requirement = found.last {
      let other = requirement.text.split(separator: "var ").last?.prefix { $0 != ":" } ?? ""
      remarks.append(
        "$\(name): a protocol cannot require a name with '$'; it is '\(other)' there; \(places(projections.map(\.location)))"
      )
    }
    if [.staticMethod, .staticProperty].contains(member.symbol.kind) {
      remarks.append(
        "\(name): other code names it by \(callClass.name), not by a value; \(places(uses.map(\.location)))")
    }
    return remarks
  }

  private static func remark(
    on member: Declarations.Declaration, replacedBy found: [Requirement], _ uses: [CallClass.Use], _ values: SeamValues,
    _ callClass: CallClass
  ) -> String {
    let names = found.map(name).filter { $0 != member.symbol.name.prefix { $0 != "(" } }
    let there =
      names.isEmpty ? "it has values in their place" : "it is '\(names.joined(separator: "' and '"))'"
    let reason = values.isNested(member) ? "its type is inside \(callClass.name)" : "it shows vendor types"
    return "\(member.symbol.name): \(reason); \(there) there; \(places(uses.map(\.location)))"
  }

  /// Files and lines in the order of the source, each once.
  private static func lines(of locations: [CodeLocation]) -> [String] {
    var lines: [String] = []
    for location in locations.sorted() where lines.last != "\(location.file):\(location.line)" {
      lines.append("\(location.file):\(location.line)")
    }
    return lines
  }

  static func places(_ locations: [CodeLocation]) -> String {
    let lines = Self.lines(of: locations)
    return lines.prefix(3).joined(separator: " ") + (lines.count > 3 ? " and \(lines.count - 3) more" : "")
  }

  // MARK: Text

  private static func source(
    _ callClass: CallClass, _ name: String, _ bases: String, _ requirements: [Requirement], _ inexpressible: [String],
    _ values: SeamValues
  ) -> String {
    let files = Set(
      ([callClass.type] + callClass.uses.keys.compactMap { callClass.app.declarations[$0] }).map(\.location.file))
    var imports = Set(
      callClass.sources.filter { files.contains($0.file.path) }.flatMap { source in
        source.file.occurrences.filter { $0.symbol.kind == .module && $0.roles.contains(.reference) }.map(\.symbol.name)
      })
    imports.insert("Foundation")
    if values.needsUIKit { imports.insert("UIKit") }
    var lines = ["// Written by `koine port seam`: the members of \(callClass.name) that the app's other code uses."]
    lines += inexpressible.isEmpty ? [] : ["//", "// Not in the protocol, or not under the same name:"]
    lines += inexpressible.map { "// - " + $0.replacing("\n", with: " ") }
    lines += [""] + imports.sorted().map { "import \($0)" } + [""]
    lines.append("/// The call layer of the app, as the app's other code uses it.")
    if callClass.isOnMainActor { lines.append("@MainActor") }
    lines.append("protocol \(name): \(bases) {")
    lines += requirements.map { "  " + $0.text } + ["}", ""]
    let conveniences = requirements.compactMap(\.convenience)
    if !conveniences.isEmpty {
      lines += ["/// The default arguments of \(callClass.name).", "extension \(name) {"]
      lines += conveniences.map { "  " + $0 } + ["}", ""]
    }
    lines += values.values + choice(callClass, name)
    let witnesses = requirements.compactMap(\.witness)
    guard !witnesses.isEmpty else {
      return (lines + ["extension \(callClass.name): \(name) {}", ""]).joined(separator: "\n")
    }
    lines += ["extension \(callClass.name): \(name) {"] + witnesses.map { "  " + $0 } + ["}", ""]
    return (lines + values.conversions).joined(separator: "\n")
  }

  /// The flag that chooses the layer at the app's start.
  private static func choice(_ callClass: CallClass, _ name: String) -> [String] {
    let type = choiceName(callClass)
    let isolation = callClass.isOnMainActor ? "@MainActor " : ""
    return """
      /// The call layer that the app starts with: the argument `-\(type) new`, or \(type)=new in the environment, chooses the new one.
      enum \(type): String {
        case old, new

        static var atStart: \(type) {
          let name = ProcessInfo.processInfo.environment["\(type)"] ?? UserDefaults.standard.string(forKey: "\(type)")
          return name.flatMap(\(type).init) ?? .old
        }

        /// Makes the layer: `\(type).make(old: \(callClass.name)(), new: …)`.
        \(isolation)static func make(
          old: @autoclosure () throws -> any \(name), new: @autoclosure () throws -> any \(name)
        ) rethrows -> any \(name) {
          switch atStart {
          case .old: try old()
          case .new: try new()
          }
        }
      }

      """.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  private static func choiceName(_ callClass: CallClass) -> String { callClass.name.replacing(".", with: "") + "Layer" }

  private static func name(of requirement: Requirement) -> String {
    let text = requirement.text
    guard let range = text.range(of: "var ") ?? text.range(of: "func ") else { return text }
    return String(text[range.upperBound...].prefix { $0 != ":" && $0 != "(" })
  }

  private static func report(
    _ callClass: CallClass, _ requirements: [Requirement], _ leaks: [String], _ kept: [String],
    _ inexpressible: [String], _ sites: VendorSites
  ) -> String {
    var lines = [
      "\(callClass.name) (\(callClass.type.location)): \(requirements.count) requirements, "
        + "\(leaks.count) vendor types leak, \(inexpressible.count) uses to be written in another way"
    ]
    let part = { (title: String, found: [String]) in
      if !found.isEmpty { lines += ["", "\(title) (\(found.count))"] + found.map { "  " + $0 } }
    }
    part("Vendor types that other code sees through the class", leaks)
    part("Members that still show vendor types", kept)
    part("Not in the protocol, or not under the same name", inexpressible)
    part("The class is named by other code", Self.lines(of: callClass.mentions))
    let symbols = Dictionary(grouping: sites.sites) { $0.location.file }.sorted { $0.key < $1.key }
    part(
      "Call sites outside the class",
      symbols.map { file, sites in
        "\(sites.count)  \(file): \(Set(sites.map(\.symbol)).sorted().prefix(4).joined(separator: ", "))"
          + (Set(sites.map(\.symbol)).count > 4 ? " …" : "")
      })
    return lines.joined(separator: "\n")
  }

  // MARK: Proof

  /// Checks the types of the new file together with the module's.
  /// - Throws: `FactsFailure` if the compiler cannot be started, or the file cannot be put into a temporary folder.
  public func typecheck(beside module: CompileCommand) throws(FactsFailure) -> CompileCommand.Outcome {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(
      "\(protocolName)-\(UUID().uuidString).swift")
    do { try source.write(to: file, atomically: false, encoding: .utf8) } catch {
      throw FactsFailure("'\(file.path)' cannot be written: \(error.localizedDescription)")
    }
    defer { try? FileManager.default.removeItem(at: file) }
    return try module.with(files: module.files + [file.path]).typecheck()
  }
}
