import KoinePorting
import SwiftSyntax

/// A change of an app's source text that makes it compile on Linux.
struct LinuxEdit {
  /// UTF-8 offsets in the source; empty where text is only inserted.
  let range: Range<Int>
  let replacement: String
  /// What `koine check` prints of the change; nil where it belongs to a change that is printed.
  let problem: Problem?

  init(_ range: Range<Int>, _ replacement: String, _ problem: Problem? = nil) {
    (self.range, self.replacement, self.problem) = (range, replacement, problem)
  }

  /// Members that are added to a type, before its closing brace.
  static func generated(_ lines: [String], before end: Int, in file: AppSources.File) -> LinuxEdit {
    let line = file.line(at: end)
    let text = ["", "#sourceLocation()"] + lines.map { "  " + $0 } + [LinuxCopy.directive(file.path, line), ""]
    return LinuxEdit(end..<end, text.joined(separator: "\n"))
  }

  static func apply(_ edits: [LinuxEdit], to source: String) -> String {
    var bytes = Array(source.utf8)
    // From the end, so that the offsets of those before stay. Of insertions at one place, the first comes first.
    for (_, edit) in edits.enumerated().sorted(by: {
      ($0.element.range.lowerBound, $0.offset) > ($1.element.range.lowerBound, $1.offset)
    }) {
      bytes.replaceSubrange(edit.range, with: Array(edit.replacement.utf8))
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Finds the changes of one file, without those that need all of the app (`LinuxCopy`).
final class LinuxEditor: LinuxVisitor {
  private let file: AppSources.File
  private let selectors: SelectorIndex
  private let index: AppIndex
  private let hindrances = LinuxHindrances.current
  private(set) var edits: [LinuxEdit] = []
  /// Lines for the end of the file.
  private(set) var additions: [String] = []
  /// Names of types and functions in the file that the app does not declare.
  private(set) var mentions: Set<String> = []
  /// The classes and extensions around, innermost last.
  private var open: [String] = []

  init(_ file: AppSources.File, _ index: AppIndex, _ selectors: SelectorIndex, _ conditions: Conditions) {
    (self.file, self.index, self.selectors) = (file, index, selectors)
    super.init(conditions)
  }

  /// Lines behind the node stay as they are counted: the replacement has at least as many.
  private func edit(_ node: some SyntaxProtocol, _ replacement: String, _ what: String, _ instead: String) {
    let start = node.positionAfterSkippingLeadingTrivia.utf8Offset
    let gone = node.trimmedDescription.count(where: \.isNewline) - replacement.count(where: \.isNewline)
    edits.append(
      LinuxEdit(
        start..<node.endPositionBeforeTrailingTrivia.utf8Offset,
        replacement + String(repeating: "\n", count: max(0, gone)),
        Problem(.rewritten, at: file.location(of: node), what, instead: instead)))
  }

  /// Spaces in place of a node, so that lines and columns stay.
  private func blank(_ node: some SyntaxProtocol, _ what: String) {
    edit(node, String(node.trimmedDescription.map { $0.isNewline ? $0 : " " }), what, "left out")
  }

  // MARK: Imports

  override func visit(_ node: ImportDeclSyntax) -> SyntaxVisitorContinueKind {
    guard let module = node.path.first?.name.text else { return .skipChildren }
    let renamed = hindrances.renames[module]
    guard renamed != nil || (hindrances.modules.contains(module) && node.path.count > 1) else { return .skipChildren }
    // `import os.log`, `import class UIKit.UIView`: modules here have no parts.
    let start =
      node.importKindSpecifier?.positionAfterSkippingLeadingTrivia ?? node.path.positionAfterSkippingLeadingTrivia
    edits.append(
      LinuxEdit(
        start.utf8Offset..<node.path.endPositionBeforeTrailingTrivia.utf8Offset, renamed ?? module,
        Problem(
          .rewritten, at: file.location(of: node), "import \(node.path.trimmedDescription)",
          instead: "import \(renamed ?? module)")))
    return .skipChildren
  }

  // MARK: Attributes and modifiers

  override func visit(_ node: AttributeSyntax) -> SyntaxVisitorContinueKind {
    let name = node.attributeName.trimmedDescription
    guard hindrances.rewrittenAttributes.contains(name), name != "main" || node.isOfAppDelegate else {
      return .visitChildren
    }
    blank(node, "@" + name)
    return .skipChildren
  }

  override func visit(_ node: ProtocolDeclSyntax) -> SyntaxVisitorContinueKind {
    guard node.attributes.names.contains("objc") else { return .visitChildren }
    // A protocol of Objective-C is one of classes.
    let inherited = node.inheritanceClause?.inheritedTypes.map { $0.type.trimmedDescription } ?? []
    if let first = node.inheritanceClause?.inheritedTypes.first {
      if Set(inherited).isDisjoint(with: ["AnyObject", "class", "NSObjectProtocol"]) {
        insert("AnyObject, ", at: first.positionAfterSkippingLeadingTrivia)
      }
    } else {
      insert(": AnyObject", at: node.name.endPositionBeforeTrailingTrivia)
    }
    var defaults: [String] = []
    for member in node.memberBlock.members {
      guard let function = member.decl.as(FunctionDeclSyntax.self), function.isOptionalRequirement else { continue }
      guard let body = Self.emptyBody(function) else { continue }
      for modifier in function.modifiers where modifier.name.text == "optional" {
        blank(modifier, "optional \(function.name.text)")
      }
      defaults.append("  \(Self.declaration(function)) \(body)")
    }
    if !defaults.isEmpty {
      let access = node.modifiers.contains { $0.name.text == "public" } ? "public " : ""
      additions += ["\(access)extension \(node.name.text) {"] + defaults + ["}"]
    }
    return .visitChildren
  }

  /// What an optional requirement does where a class has no method for it; nil: its result has no neutral value.
  static func emptyBody(_ function: FunctionDeclSyntax) -> String? {
    guard let result = function.signature.returnClause?.type else { return "{}" }
    if ["Void", "()"].contains(result.trimmedDescription) { return "{}" }
    return result.is(OptionalTypeSyntax.self) ? "{ nil }" : nil
  }

  private static func declaration(_ function: FunctionDeclSyntax) -> String {
    "func \(function.name.text)\(function.signature.trimmedDescription.replacing("\n", with: " "))"
  }

  private func insert(_ text: String, at position: AbsolutePosition) {
    edits.append(LinuxEdit(position.utf8Offset..<position.utf8Offset, text))
  }

  /// `delegate?.callDidEnd?(call)`: the requirement is no longer optional.
  override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
    if let chain = node.calledExpression.as(OptionalChainingExprSyntax.self) {
      let name =
        chain.expression.as(MemberAccessExprSyntax.self)?.declName.baseName.text
        ?? chain.expression.as(DeclReferenceExprSyntax.self)?.baseName.text
      if let name, selectors.optionalRequirements.contains(name), !isClosure(name) {
        blank(chain.questionMark, "\(name)?(…)")
      }
    }
    return .visitChildren
  }

  /// Whether a property of the app's has this name and may be a closure.
  private func isClosure(_ name: String) -> Bool {
    index.types.values.contains { type in
      switch type.properties[name] {
      case .function?, .unknown?: true
      default: false
      }
    }
  }

  // MARK: Selectors

  override func visit(_ node: MacroExpansionExprSyntax) -> SyntaxVisitorContinueKind {
    guard node.macroName.text == "selector", let argument = node.arguments.first else { return .visitChildren }
    if let accessor = argument.label?.text {
      let property = Self.reference(argument.expression)?.name ?? ""
      let selector = accessor == "setter" ? "set\(property.prefix(1).uppercased())\(property.dropFirst()):" : property
      edit(
        node, "Selector(\"\(selector)\")", "#selector(\(accessor): …)",
        "Selector(\"\(selector)\"), which nothing performs")
      return .skipChildren
    }
    guard let reference = Self.reference(argument.expression) else { return .skipChildren }
    let methods = methods(reference)
    let selector = methods.first?.selector ?? platformSelector(reference)
    let hindrance = methods.first?.hindrance
    edit(
      node, "Selector(\"\(selector)\")", "#selector(\(argument.expression.trimmedDescription))",
      hindrance.map { "not called by a selector here: \($0)" } ?? "Selector(\"\(selector)\")")
    return .skipChildren
  }

  private struct Reference {
    let owner: String?
    let name: String
    let labels: [String]?
  }

  private static func reference(_ expression: ExprSyntax) -> Reference? {
    if let node = expression.as(TupleExprSyntax.self), let only = node.elements.first {
      return reference(only.expression)
    }
    if let node = expression.as(SequenceExprSyntax.self), let first = node.elements.first { return reference(first) }
    if let node = expression.as(AsExprSyntax.self) { return reference(node.expression) }
    if let node = expression.as(OptionalChainingExprSyntax.self) { return reference(node.expression) }
    if let node = expression.as(MemberAccessExprSyntax.self) {
      let owner = node.base?.trimmedDescription.split(separator: ".").last.map(String.init)
      return Reference(
        owner: owner, name: node.declName.baseName.text,
        labels: node.declName.argumentNames?.arguments.map(\.name.text))
    }
    guard let node = expression.as(DeclReferenceExprSyntax.self) else { return nil }
    return Reference(
      owner: nil, name: node.baseName.text, labels: node.argumentNames?.arguments.map(\.name.text))
  }

  private func methods(_ reference: Reference) -> [SelectorMethod] {
    let isType = reference.owner?.first?.isUppercase == true && reference.owner != "Self"
    let found = selectors.methods(reference.name, of: isType ? reference.owner : open.last)
    guard let labels = reference.labels else { return found }
    return found.filter { $0.labels == labels }
  }

  /// Of a method of the platform's, such as `UIView.endEditing(_:)`.
  private func platformSelector(_ reference: Reference) -> String {
    if let labels = reference.labels { return SelectorMethod.selector(reference.name, labels) }
    let owner = reference.owner.flatMap { VendorAPI.platform.types[$0] }
    let member = owner?.members.keys.sorted().first { $0.prefix { $0 != "(" } == reference.name && $0.hasSuffix(")") }
    guard let member, let start = member.firstIndex(of: "(") else { return reference.name }
    let labels = member[start...].dropFirst().dropLast().split(separator: ":").map(String.init)
    return SelectorMethod.selector(reference.name, labels)
  }

  // MARK: Cells

  /// By the platform's class: the parameters of the initializer by which a list makes cells.
  private static let cells = ["UITableViewCell": ["style", "reuseIdentifier"], "UICollectionViewCell": ["frame"]]

  /// A list cannot make a cell that has initializers of its own only. UIKit ends a program that tries it; here the compiler asks each cell
  /// for the initializer that lists use.
  private func addInitializerOfCell(_ node: ClassDeclSyntax) {
    let platform = index.foreignParents(of: node.name.text).lazy.compactMap { Self.cells[$0] }.first
    let initializers = node.memberBlock.members.compactMap { $0.decl.as(InitializerDeclSyntax.self) }
    let labels = initializers.map { $0.signature.parameterClause.parameters.map(\.firstName.text) }
    let isDesignated = initializers.map { one in !one.modifiers.contains { $0.name.text == "convenience" } }
    guard let platform, zip(labels, isDesignated).contains(where: { $1 && $0 != ["coder"] }),
      !labels.contains(where: { $0 == platform || $0 == ["reusedAs"] })
    else { return }
    let access = node.modifiers.contains { ["open", "public"].contains($0.name.text) } ? "public " : ""
    edits.append(
      .generated(
        [
          "\(access)required convenience init(reusedAs identifier: String) {",
          "  fatalError(\"\(node.name.text) has no initializer for a list's cells\")", "}",
        ], before: node.memberBlock.rightBrace.positionAfterSkippingLeadingTrivia.utf8Offset, in: file))
  }

  // MARK: Names

  override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind {
    open.append(node.name.text)
    addInitializerOfCell(node)
    return .visitChildren
  }
  override func visitPost(_ node: ClassDeclSyntax) { open.removeLast() }
  override func visit(_ node: ExtensionDeclSyntax) -> SyntaxVisitorContinueKind {
    open.append(node.extendedType.trimmedDescription)
    return .visitChildren
  }
  override func visitPost(_ node: ExtensionDeclSyntax) { open.removeLast() }

  override func visit(_ node: IdentifierTypeSyntax) -> SyntaxVisitorContinueKind {
    mention(node.name.text)
    return .visitChildren
  }

  override func visit(_ node: DeclReferenceExprSyntax) -> SyntaxVisitorContinueKind {
    if node.parent?.as(MemberAccessExprSyntax.self)?.declName.id != node.id { mention(node.baseName.text) }
    return .visitChildren
  }

  private func mention(_ name: String) {
    guard !index.declares(name), index.functions[name] == nil, index.variables[name] == nil else { return }
    mentions.insert(name)
  }
}

extension AttributeSyntax {
  /// `@main` of other types than an app's delegate is the entry of a program, which works.
  var isOfAppDelegate: Bool {
    guard let owner = parent?.parent?.as(ClassDeclSyntax.self) else { return false }
    return owner.inheritanceClause?.inheritedTypes.contains { $0.type.trimmedDescription == "UIApplicationDelegate" }
      == true
  }
}
