import CompilerFacts
import Foundation
import SwiftSyntax

/// The app's own files in the words of the target: `koine port --in-place`. Declarations that do not see the vendor stay byte for byte.
struct InPlaceFiles {
  private let callClass: CallClass
  private let layer: LayerDeclarations
  private let writer: LayerWriter

  init(_ callClass: CallClass, _ layer: LayerDeclarations, members writer: LayerWriter) {
    (self.callClass, self.layer, self.writer) = (callClass, layer, writer)
  }

  /// - Parameters:
  ///   - items: the new texts of the layer's declarations.
  ///   - dispatch: the functions that get the session's events. They follow the call class.
  /// - Returns: the files that change, and their texts.
  func texts(of items: [String], _ dispatch: String) -> [(file: CompiledApp.File, text: String)] {
    var texts: [(file: CompiledApp.File, text: String)] = []
    for source in callClass.sources {
      let places = layer.items.indices.filter { layer.items[$0].source.file.path == source.file.path }
      let isClass = source.file.path == callClass.type.location.file
      if places.isEmpty, !source.tree.statements.contains(where: { isVendorImport($0) }) { continue }
      texts.append(
        (source.file, text(of: source, places.map { (layer.items[$0], items[$0]) }, isClass ? dispatch : "")))
    }
    return texts
  }

  private func text(
    of source: CompiledSource, _ items: [(item: LayerDeclarations.Item, text: String)], _ dispatch: String
  ) -> String {
    let imports = imports(of: source, items)
    var (text, hasImports, isLineGone) = ("", false, false)
    for statement in source.tree.statements {
      var piece = statement.description
      let isImport = isVendorImport(statement)
      // The first of the vendor's imports makes place for all.
      let made = hasImports ? "" : imports
      if isImport {
        piece = statement.leadingTrivia.description + made
        hasImports = true
      } else if let item = items.first(where: { $0.item.syntax.id == statement.id }) {
        // Behind the file's other imports, of which none is the vendor's.
        let behind = made.isEmpty || item.item.syntax.description.first?.isNewline == true ? "" : "\n"
        piece = (made.isEmpty || text.isEmpty ? "" : "\n") + made + behind + item.text
        hasImports = true
      }
      if isLineGone, piece.hasPrefix("\n") { piece.removeFirst() }
      isLineGone = isImport && made.isEmpty
      text += piece
    }
    text = text.replacing(writer.placeOfMembers, with: writer.members)
    if !dispatch.isEmpty { text += "\n" + dispatch.dropLast() }
    return text + source.tree.endOfFileToken.description
  }

  private func imports(of source: CompiledSource, _ items: [(item: LayerDeclarations.Item, text: String)]) -> String {
    let own = source.tree.statements.compactMap { $0.item.as(ImportDeclSyntax.self)?.path.trimmedDescription }
    let writer = type(of: writer)
    let needed = CallLayer.imports(of: items.map(\.item), writer).union(writer.modules(of: items.map(\.text).joined()))
    let all = (items.isEmpty ? ["Foundation"] : needed).union(own)
    return CallLayer.withViews(all, isOfCopies: callClass.isOfCopies).subtracting(own).sorted().map { "import \($0)" }
      .joined(separator: "\n")
  }

  private func isVendorImport(_ statement: CodeBlockItemSyntax) -> Bool {
    statement.item.as(ImportDeclSyntax.self)?.isOfVendor == true
  }
}

extension ImportDeclSyntax {
  var isOfVendor: Bool { path.first.flatMap { VendorSites.style(of: $0.name.text) } != nil }
  /// As it stands behind `import`: `class UIKit.UIView`.
  var imported: String { (importKindSpecifier.map { $0.text + " " } ?? "") + path.trimmedDescription }
}
