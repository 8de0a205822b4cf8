import KoinePorting
import SwiftSyntax

/// Finds what no compiler takes on Linux, by the table of Docs/adopt.md.
final class LinuxReader: LinuxVisitor {
  private let file: AppSources.File
  private let brought: Set<String>
  private let hindrances = LinuxHindrances.current
  private(set) var problems: [Problem] = []
  /// What compiles, and is otherwise than on a telephone.
  private(set) var remarks: [Problem] = []

  init(_ file: AppSources.File, brought: Set<String>, _ conditions: Conditions) {
    self.file = file
    self.brought = brought
    super.init(conditions)
  }

  override func visit(_ node: ImportDeclSyntax) -> SyntaxVisitorContinueKind {
    guard let module = node.path.first?.name.text, !brought.contains(module) else { return .skipChildren }
    if let row = hindrances.rows.first(where: { $0.modules?.contains(module) == true }) {
      add("import \(module)", row, at: node)
    } else {
      remarks.append(
        Problem(
          .linux, at: file.location(of: node), "import \(module)",
          instead: "not known here: it has to be built for Linux, too"))
    }
    return .skipChildren
  }

  override func visit(_ node: AttributeSyntax) -> SyntaxVisitorContinueKind {
    let name = node.attributeName.trimmedDescription
    if let row = hindrances.rows.first(where: { $0.attributes?.contains(name) == true }) {
      add("@\(name)", row, at: node)
    }
    return .visitChildren
  }

  override func visit(_ node: MacroExpansionExprSyntax) -> SyntaxVisitorContinueKind {
    let name = node.macroName.text
    if let row = hindrances.rows.first(where: { $0.macros?.contains(name) == true }) { add("#\(name)", row, at: node) }
    return .visitChildren
  }

  /// The requirements that `koine linux` cannot make ordinary ones with a default.
  override func visit(_ node: ProtocolDeclSyntax) -> SyntaxVisitorContinueKind {
    for member in node.memberBlock.members {
      let isOptional: Bool
      if let function = member.decl.as(FunctionDeclSyntax.self) {
        isOptional = function.isOptionalRequirement && LinuxEditor.emptyBody(function) == nil
      } else {
        isOptional = member.decl.as(VariableDeclSyntax.self)?.modifiers.contains { $0.name.text == "optional" } == true
      }
      guard isOptional else { continue }
      problems.append(
        Problem(
          .linux, at: file.location(of: member), "an optional requirement with a result that cannot be nil",
          instead: "an optional result, or a requirement with a default in an extension"))
    }
    return .visitChildren
  }

  override func visit(_ node: IdentifierTypeSyntax) -> SyntaxVisitorContinueKind {
    see(node.name.text, at: node)
    return .visitChildren
  }

  override func visit(_ node: DeclReferenceExprSyntax) -> SyntaxVisitorContinueKind {
    if node.parent?.as(MemberAccessExprSyntax.self)?.declName.id != node.id { see(node.baseName.text, at: node) }
    return .visitChildren
  }

  private func see(_ name: String, at node: some SyntaxProtocol) {
    for row in hindrances.rows {
      if row.types?.contains(name) == true { add(name, row, at: node) }
      if row.remarks?.contains(name) == true {
        remarks.append(Problem(.linux, at: file.location(of: node), name, instead: "\(row.what): \(row.instead)"))
      }
    }
  }

  private func add(_ what: String, _ row: LinuxHindrances.Row, at node: some SyntaxProtocol) {
    problems.append(Problem(.linux, at: file.location(of: node), what, instead: row.instead))
  }
}
