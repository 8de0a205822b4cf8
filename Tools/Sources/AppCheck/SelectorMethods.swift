import SwiftSyntax

/// A method that a selector can name: of an app's class, marked `@objc` or `@IBAction`, or of a class marked `@objcMembers`.
struct SelectorMethod {
  let name: String
  /// External names of the parameters, `_` for none.
  let labels: [String]
  /// As written, without `!`.
  let parameterTypes: [String]
  let hasResult: Bool
  /// As Objective-C spells it, such as `leave:`.
  let selector: String
  /// Why nothing can call the method by a selector here, or nil.
  let hindrance: String?

  init(_ node: FunctionDeclSyntax) {
    name = node.name.text
    let parameters = Array(node.signature.parameterClause.parameters)
    labels = parameters.map(\.firstName.text)
    parameterTypes = parameters.map { parameter in
      let type = parameter.type.as(AttributedTypeSyntax.self)?.baseType ?? parameter.type
      if let unwrapped = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
        return unwrapped.wrappedType.trimmedDescription
      }
      return type.trimmedDescription
    }
    hasResult = node.signature.returnClause.map { !["Void", "()"].contains($0.type.trimmedDescription) } ?? false
    selector = Self.explicitSelector(node.attributes) ?? Self.selector(name.filter { $0 != "`" }, labels)
    hindrance = Self.hindrance(node, parameters)
  }

  private static func explicitSelector(_ attributes: AttributeListSyntax) -> String? {
    for case .attribute(let attribute) in attributes where attribute.attributeName.trimmedDescription == "objc" {
      if let argument = attribute.arguments { return argument.trimmedDescription }
    }
    return nil
  }

  private static func hindrance(_ node: FunctionDeclSyntax, _ parameters: [FunctionParameterSyntax]) -> String? {
    let modifiers = node.modifiers.map(\.name.text)
    if modifiers.contains("static") || modifiers.contains("class") { return "it is a method of the type" }
    if node.signature.effectSpecifiers?.asyncSpecifier != nil { return "it is asynchronous" }
    if node.signature.effectSpecifiers?.throwsClause != nil { return "it throws" }
    if node.genericParameterClause != nil { return "it is generic" }
    if parameters.count > 2 { return "it has more than two parameters" }
    if parameters.count == 2, let second = parameters.last?.type,
      !second.is(OptionalTypeSyntax.self), second.trimmedDescription != "UIEvent"
    {
      return "its second parameter is no event"
    }
    if parameters.contains(where: { $0.type.trimmedDescription.contains("->") || $0.ellipsis != nil }) {
      return "it takes a closure or a list"
    }
    return nil
  }

  // MARK: Objective-C names

  /// A Swift method's Objective-C name: `leave(_:)` is `leave:`, `show(chat:for:)` is `showWithChat:for:`.
  static func selector(_ name: String, _ labels: [String]) -> String {
    guard let first = labels.first else { return name }
    var selector = name
    if first != "_" {
      let joins = prepositions.contains(firstWord(first)) || prepositions.contains(lastWord(name))
      selector += (joins ? "" : "With") + first.prefix(1).uppercased() + first.dropFirst()
    }
    return selector + ":" + labels.dropFirst().map { ($0 == "_" ? "" : $0) + ":" }.joined()
  }

  /// Before or after one of these, the compiler puts no "With" (swiftlang/swift, PartsOfSpeech.def).
  private static let prepositions: Set<String> = [
    "above", "after", "along", "alongside", "as", "at", "before", "below", "by", "following", "for", "from", "given",
    "in", "including", "inside", "into", "matching", "of", "on", "passing", "preceding", "since", "to", "until",
    "using", "via", "when", "with", "within",
  ]

  private static func firstWord(_ name: String) -> String { String(name.prefix { !$0.isUppercase }) }

  private static func lastWord(_ name: String) -> String {
    guard let capital = name.lastIndex(where: \.isUppercase) else { return name }
    return name[capital...].lowercased()
  }

  // MARK: Calling

  /// The lines of the generated switch that call the method.
  var lines: [String] {
    var lines = ["case \"\(selector)\":"]
    var arguments: [String] = []
    if let type = parameterTypes.first {
      lines += Self.unwrapping(type)
      arguments.append(argument(0, "sender"))
    }
    if parameterTypes.count == 2 { arguments.append(argument(1, parameterTypes[1] == "UIEvent" ? "UIEvent()" : "nil")) }
    lines.append("  \(hasResult ? "_ = " : "")self.\(name)(\(arguments.joined(separator: ", ")))")
    return lines + ["  return true"]
  }

  private func argument(_ number: Int, _ value: String) -> String {
    labels[number] == "_" ? value : labels[number] + ": " + value
  }

  /// Lines after which `sender` has the method's parameter type.
  private static func unwrapping(_ type: String) -> [String] {
    switch type {
    case "Any?": []
    case "Any": ["  guard let sender else { return false }"]
    case "NSNotification":
      ["  guard let sender = (sender as? Notification).map({ $0 as NSNotification }) else { return false }"]
    case _ where type.hasSuffix("?"): ["  let sender = sender as? \(type.dropLast())"]
    default: ["  guard let sender = sender as? \(type) else { return false }"]
    }
  }
}

/// The methods of an app that selectors can name, by class.
struct SelectorIndex {
  /// The body of a class, or an extension.
  struct Block {
    let file: String
    /// As written: `Call`, or `Call.Cell` in an extension of a nested type.
    let type: String
    let methods: [SelectorMethod]
    /// UTF-8 offset of the closing brace.
    let end: Int
    let isExtension: Bool
  }

  struct Class {
    let name: String
    let file: String
    let parents: [String]
    /// `public ` or `open `, where the class has it.
    let access: String
    /// The offset behind the last inherited type, or behind the name.
    let conformanceOffset: Int
    let hasParents: Bool
    let performsAlready: Bool
    let body: Block
  }

  private(set) var classes: [Class] = []
  private(set) var extensions: [Block] = []
  /// Requirements of the app's `@objc` protocols that are `optional`.
  private(set) var optionalRequirements: Set<String> = []

  init(_ sources: AppSources, _ conditions: Conditions) {
    for file in sources.files {
      let visitor = SelectorVisitor(file, conditions)
      visitor.walk(file.tree)
      classes += visitor.classes
      extensions += visitor.extensions
      optionalRequirements.formUnion(visitor.optionalRequirements)
    }
  }

  /// The app's own class above a class: of the same file, if several have the name.
  func superclass(of one: Class) -> Class? {
    let found = classes.filter { candidate in
      one.parents.contains { $0 == candidate.name || $0.hasSuffix("." + candidate.name) }
    }
    return found.first { $0.file == one.file } ?? found.first
  }

  /// The class and its superclasses, nearest first.
  private func line(of one: Class) -> [Class] {
    var line = [one]
    while let above = superclass(of: line[line.count - 1]), !line.contains(where: { $0.name == above.name }) {
      line.append(above)
    }
    return line
  }

  /// The extensions whose methods the class itself performs: its own, and, of the topmost class, those of the platform's classes above.
  func extensions(of one: Class, foreignParents: [String]) -> [Int] {
    extensions.indices.filter { number in
      let type = extensions[number].type
      guard !extensions[number].methods.isEmpty else { return false }
      return type == one.name || type.hasSuffix("." + one.name)
        || (superclass(of: one) == nil && foreignParents.contains(type))
    }
  }

  /// Methods with this name that a class or its superclasses perform; of all classes where the class is not known.
  func methods(_ name: String, of type: String?) -> [SelectorMethod] {
    let start = classes.filter { $0.name == type }
    let known = start.flatMap(line).map(\.name)
    let own = classes.filter { known.contains($0.name) }.flatMap(\.body.methods)
    let added = extensions.filter { block in known.contains { block.type == $0 || block.type.hasSuffix("." + $0) } }
    let found = (own + added.flatMap(\.methods)).filter { $0.name == name }
    guard found.isEmpty else { return found }
    return (classes.map(\.body) + extensions).flatMap(\.methods).filter { $0.name == name }
  }
}

private final class SelectorVisitor: LinuxVisitor {
  private let file: AppSources.File
  private(set) var classes: [SelectorIndex.Class] = []
  private(set) var extensions: [SelectorIndex.Block] = []
  private(set) var optionalRequirements: Set<String> = []

  init(_ file: AppSources.File, _ conditions: Conditions) {
    self.file = file
    super.init(conditions)
  }

  override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind {
    let methods = methods(in: node.memberBlock, areExposed: node.attributes.names.contains("objcMembers"))
    let modifiers = node.modifiers.map(\.name.text)
    let inherited = node.inheritanceClause?.inheritedTypes.map { $0.type.trimmedDescription } ?? []
    let end =
      node.inheritanceClause?.endPositionBeforeTrailingTrivia
      ?? node.genericParameterClause?.endPositionBeforeTrailingTrivia ?? node.name.endPositionBeforeTrailingTrivia
    classes.append(
      SelectorIndex.Class(
        name: node.name.text, file: file.path, parents: inherited,
        access: ["open", "public", "package"].first(where: modifiers.contains).map { $0 + " " } ?? "",
        conformanceOffset: end.utf8Offset, hasParents: node.inheritanceClause != nil,
        performsAlready: inherited.contains("SelectorPerforming")
          || node.memberBlock.members.contains { $0.decl.as(FunctionDeclSyntax.self)?.name.text == "performSelector" },
        body: SelectorIndex.Block(
          file: file.path, type: node.name.text, methods: methods,
          end: node.memberBlock.rightBrace.positionAfterSkippingLeadingTrivia.utf8Offset, isExtension: false)))
    return .visitChildren
  }

  override func visit(_ node: ExtensionDeclSyntax) -> SyntaxVisitorContinueKind {
    let isExposed = node.attributes.names.contains("objc")
    extensions.append(
      SelectorIndex.Block(
        file: file.path, type: node.extendedType.trimmedDescription,
        methods: methods(in: node.memberBlock, areExposed: isExposed),
        end: node.memberBlock.rightBrace.positionAfterSkippingLeadingTrivia.utf8Offset, isExtension: true))
    return .visitChildren
  }

  override func visit(_ node: ProtocolDeclSyntax) -> SyntaxVisitorContinueKind {
    for member in node.memberBlock.members {
      if let function = member.decl.as(FunctionDeclSyntax.self), function.isOptionalRequirement {
        optionalRequirements.insert(function.name.text)
      }
    }
    return .skipChildren
  }

  private func methods(in block: MemberBlockSyntax, areExposed: Bool) -> [SelectorMethod] {
    methods(in: block.members, areExposed)
  }

  /// Also of an `#if` that certainly holds.
  private func methods(in members: MemberBlockItemListSyntax, _ areExposed: Bool) -> [SelectorMethod] {
    members.flatMap { member -> [SelectorMethod] in
      if let alternatives = member.decl.as(IfConfigDeclSyntax.self) {
        guard let clause = conditions.certain(alternatives), case .decls(let members)? = clause.elements else {
          return []
        }
        return methods(in: members, areExposed)
      }
      guard let function = member.decl.as(FunctionDeclSyntax.self) else { return [] }
      let names = function.attributes.names
      guard areExposed && !names.contains("nonobjc") || !names.isDisjoint(with: ["objc", "IBAction"]) else { return [] }
      return [SelectorMethod(function)]
    }
  }
}

extension AttributeListSyntax {
  var names: Set<String> {
    Set(
      compactMap { element in
        if case .attribute(let attribute) = element { attribute.attributeName.trimmedDescription } else { nil }
      })
  }
}

extension FunctionDeclSyntax {
  var isOptionalRequirement: Bool { modifiers.contains { $0.name.text == "optional" } }
}
