import AppCheck
import CompilerFacts
import Foundation
import KoinePorting
import SwiftSyntax

/// Values of the app's own in place of the vendor's types that other code sees through the call class.
///
/// A type of the app needs a value type if each layer has it for itself: its code uses the vendor's types, or it is inside the call class.
/// The value type has the cases, and the properties and methods that other code uses; a type that uses no vendor's type in its code is copied
/// whole. For the vendor's types there is a view, what makes a view, or the properties that other code reads. The conversions stand beside
/// the class, which stays as it is.
final class SeamValues {
  /// How a type is written behind the seam.
  struct Form {
    let text: String
    /// From an expression of the old type to one of the new type.
    let convert: (String) -> String
    /// From an expression of the new type to one of the old type; nil if there is no way back.
    let back: ((String) -> String)?
    /// Protocols of the standard library's that the new type does not fulfil, of Equatable and Hashable.
    var lacks: Set<String> = []
    /// Whether the type stays as it is.
    var isSame: Bool { convert("") == "" }
  }

  /// A new type in the file.
  private struct Text {
    var value: [String] = []
    var conversion: [String] = []
    /// Members that other code uses and the value type lacks, with reasons and places.
    var missing: [String] = []
  }

  /// Why a type cannot be replaced.
  struct Obstacle: Error { let reason: String }

  private let callClass: CallClass
  private let types: [String: Declarations.Declaration]
  private var uses: [String: [IndexOccurrence]] = [:]
  private var storing: [String: Bool] = [:]
  /// New types, in the order in which they were needed.
  private var order: [String] = []
  private var texts: [String: Text] = [:]
  /// Types that come back, as arguments or because other code sets a property: their values keep the old ones.
  private let returning: Set<String>
  /// Identifiers of what each layer declares for itself.
  private let ofLayer: Set<String>
  /// Identifiers of the app's types that values can stand for. Their code stays with the layer: it is not other code.
  private var replaceable: Set<String> = []
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
    ofLayer = LayerDeclarations.copied(with: callClass) { occurrence in
      callClass.app.declarations[occurrence.symbol.usr].map { VendorSites.style(of: $0.module) != nil } ?? false
    }
    let coming = members.filter { member in
      member.symbol.kind == .method || callClass.uses[member.symbol.usr, default: []].contains(where: \.isWrite)
    }
    returning = Set(coming.flatMap { callClass.facts.declaration($0.symbol.usr)?.type.names ?? [] })
    var waiting = members
    while let member = waiting.popLast() {
      for name in callClass.facts.declaration(member.symbol.usr)?.type.names ?? [] where isLeaking(name) {
        guard let type = types[name], [.struct, .enum].contains(type.symbol.kind), isApps(type),
          replaceable.insert(type.symbol.usr).inserted
        else { continue }
        waiting += callClass.app.declarations.members(of: type.symbol.usr)
      }
    }
  }

  // MARK: Which types leak

  /// Whether a member's type is a vendor's, or a type of the app that each layer has for itself.
  func leaks(_ member: Declarations.Declaration) -> Bool {
    callClass.facts.declaration(member.symbol.usr)?.type.names.contains(where: isLeaking) ?? false
  }

  /// Whether the types inside the call class are all that keeps a member out of the protocol.
  func isNested(_ member: Declarations.Declaration) -> Bool {
    let names = callClass.facts.declaration(member.symbol.usr)?.type.names.filter(isLeaking) ?? []
    return names.compactMap { types[$0]?.symbol.usr }.allSatisfy {
      TypeCopy.isInside($0, callClass.type.symbol.usr, callClass.app.declarations)
    }
  }

  private func isApps(_ type: Declarations.Declaration) -> Bool { type.module == callClass.type.module }

  private func isLeaking(_ name: String) -> Bool {
    guard let type = types[name], type.symbol.usr != callClass.type.symbol.usr else { return false }
    return VendorSites.style(of: type.module) != nil || isApps(type) && ofLayer.contains(type.symbol.usr)
  }

  /// Whether a name means something else, or nothing, in code that is free of the layer.
  func isOfLayer(_ symbol: IndexSymbol) -> Bool {
    guard let declaration = callClass.app.declarations[symbol.usr] else { return false }
    return VendorSites.style(of: declaration.module) != nil || ofLayer.contains(symbol.usr)
  }

  /// The members that other code can see: cases, and what other code uses.
  ///
  /// Some uses do not name the member: generic code reads `id`, and comparisons read all stored properties. Those that hold a vendor's
  /// objects, and that no other code reads, stay out of comparisons.
  private func shown(of type: Declarations.Declaration) -> [Declarations.Declaration] {
    let bases = Set(callClass.app.declarations.bases(of: type.symbol.usr).map(\.name))
    let (isIdentifiable, isCompared) = (
      bases.contains("Identifiable"), !bases.isDisjoint(with: ["Equatable", "Hashable"])
    )
    return callClass.app.declarations.members(of: type.symbol.usr).filter { member in
      guard let typed = callClass.facts.declaration(member.symbol.usr), typed.access != .private,
        typed.access != .fileprivate
      else { return false }
      return member.symbol.kind == .enumCase || isIdentifiable && member.symbol.name == "id"
        || isUsed(member, outside: type.symbol.usr)
        || isCompared && isStored(member) && !typed.type.names.contains(where: storesVendors)
    }
  }

  /// Whether values of a type have objects of a vendor's in them.
  private func storesVendors(_ name: String) -> Bool {
    if let known = storing[name] { return known }
    guard isLeaking(name), let type = types[name] else { return false }
    guard isApps(type), [.struct, .enum].contains(type.symbol.kind) else { return true }
    storing[name] = false  // of a type that contains itself
    let found = callClass.app.declarations.members(of: type.symbol.usr).contains { member in
      guard member.symbol.kind == .enumCase || isStored(member) else { return false }
      return callClass.facts.declaration(member.symbol.usr)?.type.names.contains(where: storesVendors) ?? false
    }
    storing[name] = found
    return found
  }

  private func isStored(_ member: Declarations.Declaration) -> Bool {
    guard member.symbol.kind == .property,
      let token = callClass.source(of: member.location.file)?.token(at: member.location)
    else { return false }
    var node = token.parent
    while let current = node, !current.is(MemberBlockSyntax.self) {
      if let binding = current.as(PatternBindingSyntax.self) { return TypeCopy.isStored(binding) }
      node = current.parent
    }
    return false
  }

  private func isUsed(_ member: Declarations.Declaration, outside type: String) -> Bool {
    !usesOfOthers(of: member, outside: type).isEmpty
  }

  /// Uses in code that stands on the other side of the protocol.
  private func usesOfOthers(of member: Declarations.Declaration, outside type: String) -> [IndexOccurrence] {
    let declarations = callClass.app.declarations
    return uses[member.symbol.usr, default: []].filter { use in
      !use.symbol.isAccessor && !declarations.isInside(use, type)
        && !declarations.isInside(use, callClass.type.symbol.usr)
        && !replaceable.contains { declarations.isInside(use, $0) }
    }
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
        back: inner.back.map { back in { "\($0).map { \(back("$0")) }" } }, lacks: inner.lacks)
    }
    if type.hasPrefix("["), type.hasSuffix("]") {
      let content = String(type.dropFirst().dropLast())
      guard let colon = Self.topLevelColon(in: content) else {
        let inner = try form(of: content)
        return Form(
          text: "[\(inner.text)]", convert: { "\($0).map { \(inner.convert("$0")) }" },
          back: inner.back.map { back in { "\($0).map { \(back("$0")) }" } }, lacks: inner.lacks)
      }
      let (key, value) = (
        try form(of: String(content[..<colon.lowerBound])), try form(of: String(content[colon.upperBound...]))
      )
      guard key.isSame else { throw Obstacle(reason: "a dictionary has types of the layer as keys") }
      return Form(
        text: "[\(key.text): \(value.text)]", convert: { "\($0).mapValues { \(value.convert("$0")) }" }, back: nil,
        lacks: value.lacks)
    }
    let name = type.hasPrefix("any ") ? String(type.dropFirst(4)) : type
    guard let declaration = types[name] else {
      let text = TypeText(callClass.app).text(compiled)
      throw Obstacle(reason: "its type '\(text)' has a type in it that each layer has for itself")
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

  private func form(named new: String, keeps old: String?, lacks: Set<String> = []) -> Form {
    Form(
      text: new, convert: { "\(new)(\($0))" },
      back: old.map { old in { "(\($0).original as! \(old))" } }, lacks: lacks)
  }

  // MARK: The app's types

  private func form(ofApps type: Declarations.Declaration, _ name: String) throws(Obstacle) -> Form {
    let owners = callClass.app.declarations.owners(of: type.symbol.usr)
    let old = (owners + [type.symbol.name]).joined(separator: ".")
    if type.symbol.kind == .class, let seam = seam(before: type) {
      return Form(text: "(any \(seam))", convert: { "(\($0) as any \(seam))" }, back: { "(\($0) as! \(old))" })
    }
    let new = (owners + [type.symbol.name]).joined() + "Value"
    if let copy = TypeCopy(of: type, as: new, callClass, isOfLayer: { ofLayer.contains($0) }) {
      if texts[new] == nil {
        let text = copy.text(comesBack: returning.contains(name))
        texts[new] = Text(
          value: text.value, conversion: text.conversion,
          missing: missing(of: type, old, new, not: { copy.members.contains($0.symbol.usr) }))
        order.append(new)
      }
      return Form(text: new, convert: { "\(new)(\($0))" }, back: { "\(old)(\($0))" })
    }
    let keeps = returning.contains(name) && type.symbol.kind == .struct
    let form = form(named: new, keeps: keeps ? old : nil)
    guard texts[new] == nil else { return form }
    texts[new] = Text()
    switch type.symbol.kind {
    case .struct: texts[new] = try structure(type, old, new, keeps: keeps)
    case .enum: texts[new] = try enumeration(type, old, new)
    case .protocol: throw Obstacle(reason: "the protocol \(old) names types that each layer has for itself")
    default:
      throw Obstacle(reason: "\(old) is an object of its own: koine port seam writes a protocol in front of it, too")
    }
    order.append(new)
    return form
  }

  /// Removes the new types that were written for a member, if that member cannot be replaced after all.
  func undoing<Result>(_ body: () throws(Obstacle) -> Result) throws(Obstacle) -> Result {
    let before = (order, texts, needsVideo, needsUIKit, viewClass)
    do throws(Obstacle) { return try body() } catch {
      (order, texts, needsVideo, needsUIKit, viewClass) = before
      throw error
    }
  }

  /// Members of a type that other code uses, and that its value type does not have.
  private func missing(
    of type: Declarations.Declaration, _ old: String, _ new: String, _ reasons: [String: String] = [:],
    not isThere: (Declarations.Declaration) -> Bool
  ) -> [String] {
    shown(of: type).filter { !isThere($0) && !$0.symbol.kind.isType }.map { member in
      let reason =
        switch member.symbol.kind {
        case .initializer: "other code makes \(old) itself; here the layer does"
        case .staticMethod, .staticProperty: "it is static"
        case .property: "an enum has no place for what it returns"
        default: "\(new) has no place for it"
        }
      let places = usesOfOthers(of: member, outside: type.symbol.usr).map(\.location)
      return "\(old).\(member.symbol.name): \(reasons[member.symbol.usr] ?? reason); \(Seam.places(places))"
    }
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
  ) throws(Obstacle) -> Text {
    var (properties, functions, arguments): ([String], [String], [String]) = ([], [], [])
    var stored: [(name: String, lacks: Set<String>)] = []
    var (written, reasons): (Set<String>, [String: String]) = ([], [:])
    let members = shown(of: type)
    for member in members where member.symbol.kind == .property {
      guard let typed = callClass.facts.declaration(member.symbol.usr) else { continue }
      let form: Form
      do throws(Obstacle) {
        form = try undoing { () throws(Obstacle) in try self.form(of: typed.type.description) }
      } catch {
        // Here for comparisons only.
        guard isUsed(member, outside: type.symbol.usr) else { continue }
        throw error
      }
      written.insert(member.symbol.usr)
      stored.append((member.symbol.name, form.lacks))
      properties.append("  let \(member.symbol.name): \(form.text)")
      arguments.append("\(member.symbol.name): \(form.convert("value.\(member.symbol.name)"))")
    }
    var taken = Set(stored.map(\.name))
    for member in members where member.symbol.kind == .method {
      do throws(Obstacle) {
        let method = try undoing { () throws(Obstacle) in try ValueMethod(member, self, callClass, taken) }
        taken.insert(method.property)
        written.insert(member.symbol.usr)
        properties += method.properties
        functions += method.functions
        arguments.append(method.argument)
      } catch {
        reasons[member.symbol.usr] = error.reason
      }
    }
    if keeps {
      properties.append("  /// The layer's own value.\n  let original: Any")
      arguments.append("original: value")
    }
    let names = keeps ? ["Identifiable"] : ["Equatable", "Hashable", "Identifiable"]
    let found = callClass.app.declarations.bases(of: type.symbol.usr).map(\.name).filter(names.contains)
    // The compiler compares no closures, and no values of the vendor's objects.
    let lacks = stored.reduce(into: Set<String>()) { $0.formUnion($1.lacks) }
    let isWhole = stored.count == arguments.count && lacks.isDisjoint(with: found)
    if !isWhole, found.contains("Equatable") || found.contains("Hashable") {
      functions += Self.comparison(stored, isHashable: found.contains("Hashable"))
    }
    let bases = bases(of: type, among: names)
    return Text(
      value: ["/// \(old) without the vendor's types.", "struct \(new)\(bases) {"] + properties + functions + ["}"],
      conversion: [
        "extension \(new) {", "  init(_ value: \(old)) {", "    self.init(\(arguments.joined(separator: ", ")))", "  }",
        "}",
      ],
      missing: missing(of: type, old, new, reasons) { written.contains($0.symbol.usr) })
  }

  private static func comparison(_ stored: [(name: String, lacks: Set<String>)], isHashable: Bool) -> [String] {
    let compared = stored.filter { !$0.lacks.contains("Equatable") }.map(\.name)
    let hashed = stored.filter { !$0.lacks.contains("Hashable") }.map(\.name)
    let equal =
      ["", "  static func == (one: Self, other: Self) -> Bool {"]
      + compared.map { "    if one.\($0) != other.\($0) { return false }" } + ["    return true", "  }"]
    let hash =
      ["", "  func hash(into hasher: inout Hasher) {"] + hashed.map { "    hasher.combine(\($0))" } + ["  }"]
    return equal + (isHashable ? hash : [])
  }

  private func bases(of type: Declarations.Declaration, among names: [String]) -> String {
    let all = callClass.app.declarations.bases(of: type.symbol.usr).map(\.name)
    let found = names.filter(all.contains)
    return found.isEmpty ? "" : ": " + found.joined(separator: ", ")
  }

  private func enumeration(
    _ type: Declarations.Declaration, _ old: String, _ new: String
  ) throws(Obstacle) -> Text {
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
    return Text(
      value: ["/// \(old) without the vendor's types.", "enum \(new)\(bases) {"] + cases + ["}"],
      conversion: ["extension \(new) {", "  init(_ value: \(old)) {", "    switch value {"] + conversions
        + ["    }", "  }", "}"],
      missing: missing(of: type, old, new) { $0.symbol.kind == .enumCase })
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
        texts["VideoValue:" + old] = Text(conversion: Self.video(old, make))
      }
      return form(named: "VideoValue", keeps: nil, lacks: ["Hashable"])
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
    let form = form(
      named: new, keeps: keeps ? old : nil, lacks: type.symbol.kind == .enum ? [] : ["Equatable", "Hashable"])
    guard texts[new] == nil else { return form }
    texts[new] = Text()
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
  ) -> Text {
    let cases = callClass.app.declarations.members(of: type.symbol.usr).filter { $0.symbol.kind == .enumCase }
      .map(\.symbol.name)
    return Text(
      value: ["/// The vendor's \(old).", "enum \(new) {"] + cases.map { "  case \($0)" } + ["}"],
      conversion: ["extension \(new) {", "  init(_ value: \(old)) {", "    switch value {"]
        + cases.map { "    case .\($0): self = .\($0)" } + ["    }", "  }", "}"]
    )
  }

  /// The properties that other code reads.
  private func snapshot(
    _ type: Declarations.Declaration, _ old: String, _ new: String, _ keeps: Bool
  ) throws(Obstacle) -> Text {
    let declarations = callClass.app.declarations
    var (properties, arguments): ([String], [String]) = ([], [])
    for member in declarations.members(of: type.symbol.usr)
    where isSeenBySeam(member, of: type.symbol.usr) {
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
    let needsIdentity = type.symbol.kind == .class && usesObjectIdentifiers
    if keeps || properties.isEmpty || needsIdentity {
      properties.append("  /// The layer's own object.\n  let original: Any")
      arguments.append("original: value")
    }
    let identity = needsIdentity ? Self.identity(of: new) : []
    return Text(
      value: ["/// What the app reads of the vendor's \(old).", "struct \(new) {"] + properties + ["}"] + identity,
      conversion: [
        "extension \(new) {", "  init(_ value: \(old)) {", "    self.init(\(arguments.joined(separator: ", ")))", "  }",
        "}",
      ]
    )
  }

  /// Other code may tell objects of the vendor's apart by `ObjectIdentifier(stream)`.
  private var usesObjectIdentifiers: Bool {
    callClass.app.files.contains { $0.occurrences.contains { $0.symbol.usr == "s:SO" } }
  }

  private static func identity(of value: String) -> [String] {
    [
      "", "extension ObjectIdentifier {", "  /// That of the layer's own object.",
      "  init(_ value: \(value)) { self.init(value.original as AnyObject) }", "}",
    ]
  }

  /// Code that has the vendor's import in its own file for the layer's sake, such as extensions of the vendor's types, does not count: it
  /// stays with the layer.
  private func isSeenBySeam(_ member: Declarations.Declaration, of type: String) -> Bool {
    usesOfOthers(of: member, outside: type).contains { use in
      guard let source = callClass.sources.first(where: { $0.file.path == use.location.file }),
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

  /// Members of values that other code uses, and that the file cannot have.
  var missing: [String] { order.flatMap { texts[$0]?.missing ?? [] } }

  /// The name of the value type that stands for a type of the app, if there is one.
  func valueName(of type: Declarations.Declaration) -> String? {
    guard type.symbol.kind.isType else { return nil }
    let name = (callClass.app.declarations.owners(of: type.symbol.usr) + [type.symbol.name]).joined() + "Value"
    return texts[name] == nil ? nil : name
  }

  var conversions: [String] { order.flatMap { texts[$0].map { $0.conversion + [""] } ?? [] } }
}
