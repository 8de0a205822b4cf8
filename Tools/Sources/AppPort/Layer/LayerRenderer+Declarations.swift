import CallModel
import CompilerFacts
import KoinePorting
import SwiftSyntax

// Declarations. One that cannot be ported stays as a comment.

extension LayerRenderer {
  func text(of clause: InheritanceClauseSyntax) throws(Unportable) -> String {
    var kept: [String] = []
    for inherited in clause.inheritedTypes {
      let tokens = inherited.type.tokens(viewMode: .sourceAccurate)
      if let token = tokens.first(where: { reading(at: $0) == .conformance }) {
        mark(token, .written)
      } else {
        kept.append(try trimmed(inherited.type))
      }
    }
    if kept.count == clause.inheritedTypes.count { return try children(Syntax(clause)) }
    let end = clause.trailingTrivia.description
    return kept.isEmpty ? (end.isEmpty ? " " : end) : clause.colon.description + kept.joined(separator: ", ") + end
  }

  /// Renders a declaration, or leaves it as a comment. Marks say where it is in the new file.
  func declaration(_ node: Syntax, _ text: () throws(Unportable) -> String) -> String {
    let place = source.location(of: node.firstToken(viewMode: .sourceAccurate)!)
    let number = marks.number(of: place)
    return DeclarationMarks.begin(number) + unmarkedDeclaration(node, place, text) + DeclarationMarks.end
  }

  private func unmarkedDeclaration(
    _ node: Syntax, _ place: CodeLocation, _ text: () throws(Unportable) -> String
  ) -> String {
    if let handler = context.lostHandler(node, in: source) {
      markAll(in: node, .dropped)
      note(unported: node, isLeftOut: true)
      return Self.comment(node, "koine port: \(context.writer.title) does not report it; \(handler)")
    }
    if let reason = context.idleHandler(node, in: source) {
      markAll(in: node, .dropped)
      note(unported: node, isLeftOut: true)
      return Self.comment(node, "koine port: \(reason)")
    }
    if let handler = context.foreignHandler(node, in: source) {
      note(unported: node)
      return comment(node, .unknown(context.reason(for: handler)))
    }
    if let symbol = context.unknownRequirement(node, in: source) {
      // Nothing would call it.
      note(unported: node)
      return comment(node, .unknown(symbol))
    }
    let found = refusals.filter { $0.place == place }
    // A `default` and an initializer are tried once.
    let others =
      found.filter { !$0.needsDefault && !$0.needsInitializer } + found.filter(\.needsDefault).dropFirst()
      + found.filter(\.needsInitializer).dropFirst()
    if let refusal = others.first {
      if others.count == 1, let text = withoutBody(node, .unknown(refusal.reason)) { return text }
      note(unported: node)
      return comment(node, .unknown(refusal.reason))
    }
    do {
      let outer = needsDefault
      defer { needsDefault = outer }
      needsDefault = found.contains(where: \.needsDefault)
      return try text()
    } catch {
      let error = whole(error, of: node)
      if let text = withoutBody(node, error) ?? bindingsApart(node) { return text }
      note(unported: node, isLeftOut: !error.isUnknown)
      return comment(node, error)
    }
  }

  /// A member that a protocol of the app's requires, with its statements as a comment: the type still conforms. An initializer and a function
  /// without a result, too, so that the rest of its class and its callers stay.
  /// - Returns: nil for other declarations, and if the member's own types cannot be written.
  private func withoutBody(_ node: Syntax, _ error: Unportable) -> String? {
    guard let member = node.as(MemberBlockItemSyntax.self) else { return nil }
    do {
      if error.isUnknown, let initializer = member.decl.as(InitializerDeclSyntax.self),
        let body = initializer.body, !body.statements.isEmpty
      {
        return try children(Syntax(initializer), before: Syntax(body)) + body.leftBrace.description
          + commented(body.statements, error, then: [Self.stop("init")]) + body.rightBrace.description
          + (member.semicolon?.description ?? "")
      }
      let function = member.decl.as(FunctionDeclSyntax.self)
      let result = function?.signature.returnClause?.type
      let isAction = function != nil && ["Void", "()", nil].contains(result?.trimmedDescription)
      guard (isAction && error.isUnknown) || context.isRequired(member, in: source) else { return nil }
      if let function, let body = function.body {
        guard !body.statements.isEmpty else { return nil }
        // An override still calls what it overrides.
        let above = body.statements.map(\.trimmedDescription).filter { $0.hasPrefix("super.\(function.name.text)(") }
        let value = Self.emptyValue(of: result, function.name.text)
        return try children(Syntax(function), before: Syntax(body)) + body.leftBrace.description
          + commented(body.statements, error, then: above + (value.map { [$0] } ?? [])) + body.rightBrace.description
          + (member.semicolon?.description ?? "")
      }
      guard let variable = member.decl.as(VariableDeclSyntax.self), variable.bindings.count == 1,
        let binding = variable.bindings.first, let type = binding.typeAnnotation, let block = binding.accessorBlock,
        let value = Self.emptyValue(of: type.type, binding.pattern.trimmedDescription)
      else { return nil }
      let start =
        try children(Syntax(variable), before: Syntax(variable.bindings)) + render(Syntax(binding.pattern))
        + render(Syntax(type)) + block.leftBrace.description
      switch block.accessors {
      case .getter(let statements):
        return start + commented(statements, error, then: [value]) + block.rightBrace.description
          + (member.semicolon?.description ?? "")
      case .accessors(let accessors):
        let names = accessors.map(\.accessorSpecifier.text)
        guard names.contains("get") else { return nil }
        return start
          + commented(accessors, error, then: ["get { \(value) }"] + (names.contains("set") ? ["set {}"] : []))
          + block.rightBrace.description + (member.semicolon?.description ?? "")
      @unknown default: return nil
      }
    } catch { return nil }
  }

  /// Code as a comment, and statements that take its place.
  private func commented(_ code: some SyntaxProtocol, _ error: Unportable, then statements: [String]) -> String {
    Self.text(comment(code, error), inPlaceOf: code, then: statements)
  }

  /// A comment in the place of code, and statements behind it.
  static func text(
    _ comment: String, inPlaceOf code: some SyntaxProtocol, then statements: [String]
  ) -> String {
    let margin = margin(of: code)
    if code.leadingTrivia.description.contains("\n") {
      return comment + statements.map { "\n" + margin + $0 }.joined()
    }
    return comment + statements.map { "  \($0)\n\(margin)" }.joined()
  }

  /// A statement that returns an empty value of a type; nil if there is nothing to return.
  private static func emptyValue(of type: TypeSyntax?, _ name: String) -> String? {
    guard let type else { return nil }
    if type.is(OptionalTypeSyntax.self) || type.is(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return "return nil" }
    if type.is(ArrayTypeSyntax.self) { return "return []" }
    if type.is(DictionaryTypeSyntax.self) { return "return [:]" }
    return switch type.trimmedDescription {
    case "Void", "()": nil
    case "Bool": "return false"
    case "String": "return \"\""
    case "Int", "Int32", "Int64", "UInt", "UInt32", "UInt64", "Float", "Double", "CGFloat": "return 0"
    default: stop(name)
    }
  }

  static func stop(_ name: String) -> String { "fatalError(\"PORT: \(name) is not ported\")" }

  /// An initializer that nothing calls, for a class that has lost its own, so that the rest of the class stays; nil for other classes.
  func missingInitializer(of block: MemberBlockSyntax) -> String? {
    guard let declaration = block.parent, let first = declaration.firstToken(viewMode: .sourceAccurate) else {
      return nil
    }
    let place = source.location(of: first)
    guard refusals.contains(where: { $0.place == place && $0.needsInitializer }) else { return nil }
    return "\n\(Self.margin(of: declaration))  init(notPorted: Void) { \(Self.stop("init")) }"
  }

  /// Properties that one declaration makes, those that cannot be rendered as comments behind the others; nil for other declarations, and if
  /// a property has its type from the next one.
  private func bindingsApart(_ node: Syntax) -> String? {
    guard let member = node.as(MemberBlockItemSyntax.self), let variable = member.decl.as(VariableDeclSyntax.self),
      variable.bindings.count > 1,
      variable.bindings.allSatisfy({ $0.typeAnnotation != nil || $0.initializer != nil })
    else { return nil }
    let start = variable.bindings.first!.leadingTrivia.description
    var kept: [String] = [], comments = ""
    for binding in variable.bindings {
      do {
        kept.append(try children(Syntax(binding), before: binding.trailingComma.map(Syntax.init)))
      } catch {
        note(unported: Syntax(binding), isLeftOut: !error.isUnknown)
        comments += comment(binding, error)
      }
    }
    guard !kept.isEmpty, let head = try? children(Syntax(variable), before: Syntax(variable.bindings)) else {
      return nil
    }
    // The next token may be on the same line.
    if node.lastToken(viewMode: .sourceAccurate)?.nextToken(viewMode: .sourceAccurate)?.leadingTrivia.description
      .contains("\n") == true
    {
      while comments.last?.isWhitespace == true { comments.removeLast() }
    }
    return head + start + kept.joined(separator: ", ") + (member.semicolon?.description ?? "") + comments
  }

  private func note(unported node: Syntax, isLeftOut: Bool = false) {
    for token in node.tokens(viewMode: .sourceAccurate) {
      for occurrence in source.occurrences(at: token) where !occurrence.roles.contains(.reference) {
        let symbol = occurrence.symbol
        guard !symbol.isAccessor, context.isMember(symbol.usr) else { continue }
        if unported.insert(symbol.usr).inserted { hasNews = true }
        if isLeftOut { leftOut.insert(symbol.usr) }
      }
    }
  }

  /// Why a node is a comment: what has no counterpart can take more along, which is not lost without a warning.
  private func whole(_ error: Unportable, of node: some SyntaxProtocol) -> Unportable {
    switch error {
    case .lost(let symbol, _) where takesMore(node, than: symbol): .unknown("\(symbol), and the code that needs it")
    case .leftOut(let name) where hasEffect(in: node): .unknown("'\(name)', which is not ported")
    default: error
    }
  }

  /// The node as a comment, with the reason.
  func comment(_ node: some SyntaxProtocol, _ error: Unportable) -> String {
    let place = source.location(of: node.firstToken(viewMode: .sourceAccurate)!)
    switch whole(error, of: node) {
    case .lost(let symbol, let instead):
      markAll(in: node, .dropped)
      return Self.comment(node, "koine port: \(context.writer.title) has no \(symbol); \(instead)")
    case .leftOut(let name):
      markAll(in: node, .dropped)
      return Self.comment(node, "koine port: \(name) is left out")
    case .unknown(let symbol):
      markAll(in: node, .warned)
      warnings.append((place, symbol))
      let text = symbol.replacing("\\", with: "").replacing("\"", with: "'")
      return Self.comment(node, nil, warning: "PORT 3: not known to \(context.writer.title): \(text)")
    }
  }

  /// The white space at the beginning of the line that a node begins in.
  static func margin(of node: some SyntaxProtocol) -> String {
    let line = node.root.description.utf8.prefix(node.positionAfterSkippingLeadingTrivia.utf8Offset)
      .reversed().prefix { $0 != UInt8(ascii: "\n") }.reversed()
    return String(String(decoding: line, as: UTF8.self).prefix { $0 == " " || $0 == "\t" })
  }

  /// The source of a node as lines of comments, each with the node's indentation.
  static func comment(_ node: some SyntaxProtocol, _ reason: String?, warning: String? = nil) -> String {
    let leading = node.leadingTrivia.description
    let isOnLineOfItsOwn = leading.contains("\n")
    let margin = margin(of: node)
    let indent = isOnLineOfItsOwn ? margin : margin + "  "
    var lines: [String] = []
    if let warning { lines.append("#warning(\"\(warning)\")") }
    if let reason { lines.append("// \(reason)") }
    lines += node.trimmedDescription.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      "// " + (line.hasPrefix(margin) ? line.dropFirst(margin.count) : line)
    }
    let text = lines.joined(separator: "\n" + indent)
    return isOnLineOfItsOwn ? leading + text + node.trailingTrivia.description : "\n\(indent)\(text)\n\(margin)"
  }
}
