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
  /// - Returns: paths and texts of the files that change.
  /// - Throws: `FactsFailure` if the app was built from a copy of its files.
  func texts(of items: [String], _ dispatch: String) throws(FactsFailure) -> [(path: String, text: String)] {
    var texts: [(path: String, text: String)] = []
    for source in callClass.sources {
      let places = layer.items.indices.filter { layer.items[$0].source.path == source.path }
      let isClass = source.file.path == callClass.type.location.file
      if places.isEmpty, !source.tree.statements.contains(where: { isVendorImport($0) }) { continue }
      let own = URL(fileURLWithPath: source.file.path).standardizedFileURL
      guard !source.file.lines.isOfCopy, own == URL(fileURLWithPath: source.path).standardizedFileURL else {
        throw FactsFailure("\(source.file.path) was built from a copy: its own text cannot be ported in place")
      }
      texts.append(
        (source.path, text(of: source, places.map { (layer.items[$0], items[$0]) }, isClass ? dispatch : "")))
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
        piece = (made.isEmpty ? "" : made + "\n") + item.text
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
    var imports = (items.isEmpty ? ["Foundation"] : needed).subtracting(own)
    if own.contains("UIKit") || imports.contains("UIKit") { imports.remove("KoineUIKit") }
    return imports.sorted().map { "import \($0)" }.joined(separator: "\n")
  }

  private func isVendorImport(_ statement: CodeBlockItemSyntax) -> Bool {
    guard let module = statement.item.as(ImportDeclSyntax.self)?.path.first?.name.text else { return false }
    return VendorSites.style(of: module) != nil
  }
}
