import AppCheck
import CompilerFacts
import Foundation
import KoinePorting
import SwiftSyntax

/// Values of the app's own in place of the vendor's types that other code sees through the call class.
///
/// For each type of the app on the way to a vendor's type there is a value type with the same properties or cases; for the vendor's types, a
/// view, what makes a view, or the properties that other code reads. The conversions stand beside the class, which stays as it is.
final class SeamValues {
  /// How a type is written behind the seam.
  struct Form {
    let text: String
    /// From an expression of the old type to one of the new type.
    let convert: (String) -> String
    /// From an expression of the new type to one of the old type; nil if there is no way back.
    let back: ((String) -> String)?
  }

  /// Why a type cannot be replaced.
  struct Obstacle: Error { let reason: String }

  private let callClass: CallClass
  private let types: [String: Declarations.Declaration]
  private var uses: [String: [IndexOccurrence]] = [:]
  private var leaking: [String: Bool] = [:]
  /// New types, in the order in which they were needed.
  private var order: [String] = []
  private var texts: [String: (value: [String], conversion: [String])] = [:]
  /// Types that come back as arguments: their values keep the old ones.
  private let returning: Set<String>
  private var needsVideo = false
  private(set) var needsUIKit = false
  /// The vendor's view class that other code hands to the layer.
  private(set) var viewClass: String?

  init(_ callClass: CallClass, members: [Declarations.Declaration]) {
    self.callClass = callClass
    types = callClass.app.declarations.typesByQualifiedName()
    for occurrence in callClass.app.files.flatMap(\.occurrences)
    where occurrence.roles.contains(.reference) && !occurrence.roles.contains(.implicit) {
      uses[occurrence.symbol.usr, default: []].append(occurrence)
    }
    let methods = members.filter { $0.symbol.kind == .method }
    returning = Set(
      methods.flatMap { callClass.facts.declaration($0.symbol.usr)?.type.names ?? [] })
  }

  // MARK: Which types leak

  /// Whether a member's type is a vendor's, or an app's type that shows one.
  func leaks(_ member: Declarations.Declaration) -> Bool {
    callClass.facts.declaration(member.symbol.usr)?.type.names.contains(where: isLeaking) ?? false
  }

  private func isLeaking(_ name: String) -> Bool {
    if let known = leaking[name] { return known }
    guard let type = types[name], type.symbol.usr != callClass.type.symbol.usr else { return false }
    if VendorSites.style(of: type.module) != nil { return true }
    guard type.module == callClass.type.module else { return false }
    leaking[name] = false  // of a type that contains itself
    let found = shown(of: type).contains { member in
      callClass.facts.declaration(member.symbol.usr)?.type.names.contains(where: isLeaking) ?? false
    }
    leaking[name] = found
    return found
  }

  /// The members that other code can see: stored properties, cases, and what other code uses.
  private func shown(of type: Declarations.Declaration) -> [Declarations.Declaration] {
    callClass.app.declarations.members(of: type.symbol.usr).filter { member in
      guard let typed = callClass.facts.declaration(member.symbol.usr), typed.access != .private,
        typed.access != .fileprivate
      else { return false }
      switch member.symbol.kind {
      case .enumCase: return true
      case .property: return isStored(member) || isUsed(member, outside: type.symbol.usr)
      case .method, .initializer: return false
      default: return false
      }
    }
  }

  private func isUsed(_ member: Declarations.Declaration, outside type: String) -> Bool {
    let declarations = callClass.app.declarations
    return uses[member.symbol.usr, default: []].contains {
      !declarations.isInside($0, type) && !declarations.isInside($0, callClass.type.symbol.usr)
    }
  }

  private func isStored(_ member: Declarations.Declaration) -> Bool {
    guard let token = callClass.source(of: member.location.file)?.token(at: member.location) else { return false }
    var node = token.parent
    while let current = node {
      if let binding = current.as(PatternBindingSyntax.self) {
        guard case .accessors(let accessors)? = binding.accessorBlock?.accessors else {
          return binding.accessorBlock == nil
        }
        return accessors.allSatisfy { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
      }
      if current.is(MemberBlockSyntax.self) { return false }
      node = current.parent
    }
    return false
  }

  // MARK: Forms of types

  /// - Parameter type: as the compiler writes it, with modules.
  /// - Throws: `Obstacle` if the type shows a vendor's type and cannot be replaced.
  func form(of type: String) throws(Obstacle) -> Form {
    let compiled = CompiledType(mangled: "", description: type)
    guard compiled.names.contains(where: isLeaking) else {
      return Form(text: TypeText(callClass.app).text(compiled), convert: { $0 }, back: { $0 })
    }
    if type.hasSuffix("?") {
      let inner = try form(of: String(type.dropLast()))
      return Form(
        text: inner.text + "?", convert: { "\($0).map { \(inner.convert("$0")) }" },
        back: inner.back.map { back in { "\($0).map { \(back("$0")) }" } })
    }
    if type.hasPrefix("["), type.hasSuffix("]") {
      let content = String(type.dropFirst().dropLast())
      guard let colon = Self.topLevelColon(in: content) else {
        let inner = try form(of: content)
        return Form(
          text: "[\(inner.text)]", convert: { "\($0).map { \(inner.convert("$0")) }" },
          back: inner.back.map { back in { "\($0).map { \(back("$0")) }" } })
      }
      let (key, value) = (
        try form(of: String(content[..<colon.lowerBound])), try form(of: String(content[colon.upperBound...]))
      )
      guard key.convert("") == "" else { throw Obstacle(reason: "a dictionary has vendor types as keys") }
      return Form(
        text: "[\(key.text): \(value.text)]", convert: { "\($0).mapValues { \(value.convert("$0")) }" }, back: nil)
    }
    let name = type.hasPrefix("any ") ? String(type.dropFirst(4)) : type
    guard let declaration = types[name] else {
      throw Obstacle(reason: "its type '\(type)' has a vendor's type in it")
    }
    return VendorSites.style(of: declaration.module) == nil
      ? try form(ofApps: declaration, name) : try form(ofVendors: declaration, name)
  }

  private static func topLevelColon(in text: String) -> Range<String.Index>? {
    var depth = 0
    var index = text.startIndex
    while index < text.endIndex {
      switch text[index] {
      case "[", "(", "<": depth += 1
      case "]", ")", ">": depth -= 1
      case " " where depth == 0 && text[index...].hasPrefix(" : "):
        return index..<text.index(index, offsetBy: 3)
      default: break
      }
      index = text.index(after: index)
    }
    return nil
  }

  private func form(named new: String, keeps old: String?) -> Form {
    Form(
      text: new, convert: { "\(new)(\($0))" },
      back: old.map { old in { "(\($0).original as! \(old))" } })
  }

  // MARK: The app's types

  private func form(ofApps type: Declarations.Declaration, _ name: String) throws(Obstacle) -> Form {
    let owners = callClass.app.declarations.owners(of: type.symbol.usr)
    let old = (owners + [type.symbol.name]).joined(separator: ".")
    if type.symbol.kind == .class, let seam = seam(before: type) {
      return Form(text: "(any \(seam))", convert: { "(\($0) as any \(seam))" }, back: { "(\($0) as! \(old))" })
    }
    let new = (owners + [type.symbol.name]).joined() + "Value"
    let keeps = returning.contains(name) && type.symbol.kind == .struct
    let form = form(named: new, keeps: keeps ? old : nil)
    guard texts[new] == nil else { return form }
    texts[new] = ([], [])
    do throws(Obstacle) {
      switch type.symbol.kind {
      case .struct: texts[new] = try structure(type, old, new, keeps: keeps)
      case .enum: texts[new] = try enumeration(type, old, new)
      default:
        throw Obstacle(reason: "\(old) is an object of its own: koine port seam writes a protocol in front of it, too")
      }
    } catch {
      texts[new] = nil
      throw error
    }
    order.append(new)
    return form
  }

  /// The app's protocol before another class, if it shows no vendor's type.
  private func seam(before type: Declarations.Declaration) -> String? {
    let declarations = callClass.app.declarations
    return declarations.bases(of: type.symbol.usr).filter { $0.kind == .protocol }.compactMap { declarations[$0.usr] }
      .first { base in
        base.module == callClass.type.module
          && !declarations.members(of: base.symbol.usr).contains { member in
            let names = callClass.facts.declaration(member.symbol.usr)?.type.names ?? []
            // A requirement's type begins with the type of `self`.
            return names.contains { $0 != "\(base.module).\(base.symbol.name)" && isLeaking($0) }
          }
      }.map(\.symbol.name)
  }

  private func structure(
    _ type: Declarations.Declaration, _ old: String, _ new: String, keeps: Bool
  ) throws(Obstacle) -> (value: [String], conversion: [String]) {
    var (properties, arguments): ([String], [String]) = ([], [])
    for member in shown(of: type) where member.symbol.kind == .property {
      guard let typed = callClass.facts.declaration(member.symbol.usr) else { continue }
      let form = try form(of: typed.type.description)
      properties.append("  let \(member.symbol.name): \(form.text)")
      arguments.append("\(member.symbol.name): \(form.convert("value.\(member.symbol.name)"))")
    }
    if keeps {
      properties.append("  /// The layer's own value.\n  let original: Any")
      arguments.append("original: value")
    }
    let bases =
      keeps
      ? bases(of: type, among: ["Identifiable"]) : bases(of: type, among: ["Equatable", "Hashable", "Identifiable"])
    return (
      ["/// \(old) without the vendor's types.", "struct \(new)\(bases) {"] + properties + ["}"],
      [
        "extension \(new) {", "  init(_ value: \(old)) {", "    self.init(\(arguments.joined(separator: ", ")))", "  }",
        "}",
      ]
    )
  }

  private func bases(of type: Declarations.Declaration, among names: [String]) -> String {
    let all = callClass.app.declarations.bases(of: type.symbol.usr).map(\.name)
    let found = names.filter(all.contains)
    return found.isEmpty ? "" : ": " + found.joined(separator: ", ")
  }

  private func enumeration(
    _ type: Declarations.Declaration, _ old: String, _ new: String
  ) throws(Obstacle) -> (value: [String], conversion: [String]) {
    var (cases, conversions): ([String], [String]) = ([], [])
    for member in shown(of: type) where member.symbol.kind == .enumCase {
      let name = String(member.symbol.name.prefix { $0 != "(" })
      let payload = try payload(of: member)
      guard !payload.isEmpty else {
        cases.append("  case \(name)")
        conversions.append("    case .\(name): self = .\(name)")
        continue
      }
      let names = payload.indices.map { "value\($0)" }
      let fields = payload.map { ($0.label.map { "\($0): " } ?? "") + $0.form.text }.joined(separator: ", ")
      let values = zip(payload, names).map { ($0.label.map { "\($0): " } ?? "") + $0.form.convert($1) }
      cases.append("  case \(name)(\(fields))")
      conversions.append(
        "    case .\(name)(\(names.map { "let \($0)" }.joined(separator: ", "))): self = .\(name)(\(values.joined(separator: ", ")))"
      )
    }
    let bases = bases(of: type, among: ["Equatable", "Hashable"])
    return (
      ["/// \(old) without the vendor's types.", "enum \(new)\(bases) {"] + cases + ["}"],
      ["extension \(new) {", "  init(_ value: \(old)) {", "    switch value {"] + conversions + ["    }", "  }", "}"]
    )
  }

  private func payload(of member: Declarations.Declaration) throws(Obstacle) -> [(label: String?, form: Form)] {
    guard let source = callClass.source(of: member.location.file), let token = source.token(at: member.location),
      let element = token.parent?.as(EnumCaseElementSyntax.self)
    else { throw Obstacle(reason: "the case \(member.symbol.name) cannot be read") }
    var found: [(label: String?, form: Form)] = []
    for parameter in element.parameterClause?.parameters ?? [] {
      found.append((parameter.firstName?.text, try form(of: qualified(parameter.type, source))))
    }
    return found
  }

  /// A type of the source as the compiler writes it.
  func qualified(_ type: TypeSyntax, _ source: CompiledSource) -> String {
    if let optional = type.as(OptionalTypeSyntax.self) { return qualified(optional.wrappedType, source) + "?" }
    if let list = type.as(ArrayTypeSyntax.self) { return "[\(qualified(list.element, source))]" }
    if let map = type.as(DictionaryTypeSyntax.self) {
      return "[\(qualified(map.key, source)) : \(qualified(map.value, source))]"
    }
    for token in type.tokens(viewMode: .sourceAccurate).reversed() {
      if let symbol = source.occurrences(at: token).first(where: { $0.symbol.kind.isType })?.symbol {
        let isWhole =
          type.is(IdentifierTypeSyntax.self) || type.is(MemberTypeSyntax.self) || type.is(SomeOrAnyTypeSyntax.self)
        if isWhole, let name = callClass.app.declarations.qualifiedName(of: symbol.usr) { return name }
      }
    }
    return type.trimmedDescription
  }

  // MARK: The vendor's types

  /// What makes a view of a vendor's video.
  private static let views = [
    "RTCVideoTrack":
      "{\n        let view = RTCMTLVideoView(frame: .zero)\n        video.add(view)\n        return view\n      }",
    "IVSImageDevice": "{ (try? video.previewView()) ?? UIView() }",
  ]

  private func form(ofVendors type: Declarations.Declaration, _ name: String) throws(Obstacle) -> Form {
    let old = (callClass.app.declarations.owners(of: type.symbol.usr) + [type.symbol.name]).joined(separator: ".")
    if let make = Self.views[old] {
      needsVideo = true
      needsUIKit = true
      if texts["VideoValue:" + old] == nil {
        order.append("VideoValue:" + old)
        texts["VideoValue:" + old] = ([], Self.video(old, make))
      }
      return form(named: "VideoValue", keeps: nil)
    }
    let bases = callClass.app.declarations.bases(of: type.symbol.usr)
    if bases.contains(where: { $0.usr.contains("KoineUIKit") }) {
      needsUIKit = true
      return Form(text: "UIView", convert: { $0 }, back: { "(\($0) as! \(old))" })
    }
    if type.symbol.kind == .protocol, let view = view(for: type) {
      needsUIKit = true
      viewClass = view
      return Form(text: "UIView", convert: { "(\($0) as! UIView)" }, back: { "(\($0) as! any \(old))" })
    }
    let new = old.replacing(".", with: "") + "Value"
    let keeps = returning.contains(name)
    let form = form(named: new, keeps: keeps ? old : nil)
    guard texts[new] == nil else { return form }
    texts[new] = ([], [])
    texts[new] =
      type.symbol.kind == .enum ? enumeration(ofVendors: type, old, new) : try snapshot(type, old, new, keeps)
    order.append(new)
    return form
  }

  /// The vendor's view that fulfils its protocol; the one that the app uses, if there are several.
  private func view(for type: Declarations.Declaration) -> String? {
    let views = types.values.filter { other in
      guard other.symbol.kind == .class, VendorSites.style(of: other.module) != nil else { return false }
      let bases = callClass.app.declarations.bases(of: other.symbol.usr)
      return bases.contains { $0.usr == type.symbol.usr } && bases.contains { $0.usr.contains("KoineUIKit") }
    }.map(\.symbol).sorted { $0.name < $1.name }
    return (views.first { uses[$0.usr] != nil } ?? views.first)?.name
  }

  private static func video(_ old: String, _ make: String) -> [String] {
    [
      "extension VideoValue {", "  init(_ video: \(old)) {", "    self.init(",
      "      original: video, isSame: { ($0 as? \(old)) === video },", "      makeView: \(make))", "  }", "}",
    ]
  }

  private static let video = [
    "/// A video that a view can show.", "struct VideoValue: Equatable {", "  /// The layer's own object.",
    "  let original: Any", "  let isSame: (Any) -> Bool",
    "  /// Makes a view that shows the video as long as it lasts.",
    "  let makeView: @MainActor () -> UIView", "",
    "  static func == (one: Self, other: Self) -> Bool { one.isSame(other.original) }", "}",
  ]

  private func enumeration(
    ofVendors type: Declarations.Declaration, _ old: String, _ new: String
  ) -> (value: [String], conversion: [String]) {
    let cases = callClass.app.declarations.members(of: type.symbol.usr).filter { $0.symbol.kind == .enumCase }
      .map(\.symbol.name)
    return (
      ["/// The vendor's \(old).", "enum \(new) {"] + cases.map { "  case \($0)" } + ["}"],
      ["extension \(new) {", "  init(_ value: \(old)) {", "    switch value {"]
        + cases.map { "    case .\($0): self = .\($0)" } + ["    }", "  }", "}"]
    )
  }

  /// The properties that other code reads.
  private func snapshot(
    _ type: Declarations.Declaration, _ old: String, _ new: String, _ keeps: Bool
  ) throws(Obstacle) -> (value: [String], conversion: [String]) {
    let declarations = callClass.app.declarations
    var (properties, arguments): ([String], [String]) = ([], [])
    for member in declarations.members(of: type.symbol.usr)
    where isUsed(member, outside: type.symbol.usr) && isSeenBySeam(member) {
      guard member.symbol.kind == .property else {
        throw Obstacle(reason: "other code calls \(old).\(member.symbol.name)")
      }
      guard let type = callClass.facts.propertyType(member.symbol.usr)?.description else {
        throw Obstacle(reason: "the type of \(old).\(member.symbol.name) is not known")
      }
      let form = try form(of: type)
      properties.append("  let \(member.symbol.name): \(form.text)")
      arguments.append("\(member.symbol.name): \(form.convert("value.\(member.symbol.name)"))")
    }
    if keeps || properties.isEmpty {
      properties.append("  /// The layer's own object.\n  let original: Any")
      arguments.append("original: value")
    }
    return (
      ["/// What the app reads of the vendor's \(old).", "struct \(new) {"] + properties + ["}"],
      [
        "extension \(new) {", "  init(_ value: \(old)) {", "    self.init(\(arguments.joined(separator: ", ")))", "  }",
        "}",
      ]
    )
  }

  /// Code that has the vendor's import in its own file for the layer's sake, such as extensions of the vendor's types, does not count: it
  /// stays with the layer.
  private func isSeenBySeam(_ member: Declarations.Declaration) -> Bool {
    uses[member.symbol.usr, default: []].contains { use in
      guard !callClass.app.declarations.isInside(use, callClass.type.symbol.usr),
        let source = callClass.sources.first(where: { $0.file.path == use.location.file }),
        let token = source.token(at: use.location)
      else { return false }
      return !isInExtensionOfVendor(token, source)
    }
  }

  private func isInExtensionOfVendor(_ token: TokenSyntax, _ source: CompiledSource) -> Bool {
    var node = token.parent
    while let current = node {
      if let type = current.as(ExtensionDeclSyntax.self)?.extendedType.lastToken(viewMode: .sourceAccurate) {
        return source.occurrences(at: type).contains {
          callClass.app.declarations[$0.symbol.usr].map { VendorSites.style(of: $0.module) != nil } ?? false
        }
      }
      node = current.parent
    }
    return false
  }

  // MARK: Text

  var values: [String] {
    (needsVideo ? Self.video + [""] : [])
      + order.flatMap { texts[$0].map { $0.value + ($0.value.isEmpty ? [] : [""]) } ?? [] }
  }

  /// The new types' names.
  var names: [String] { (needsVideo ? ["VideoValue"] : []) + order.filter { !(texts[$0]?.value.isEmpty ?? true) } }

  var conversions: [String] { order.flatMap { texts[$0].map { $0.conversion + [""] } ?? [] } }
}
