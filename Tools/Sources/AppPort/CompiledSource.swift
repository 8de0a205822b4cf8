import CompilerFacts
import Foundation
import SwiftParser
import SwiftSyntax

/// The text that the compiler read of a file, parsed, with the index's symbols at its tokens.
struct CompiledSource {
  let file: CompiledApp.File
  let path: String
  let tree: SourceFileSyntax
  private let converter: SourceLocationConverter
  private let occurrences: [String: [IndexOccurrence]]

  /// - Throws: `FactsFailure` if the file is not compiled or cannot be read.
  init(_ file: CompiledApp.File) throws(FactsFailure) {
    guard file.state == .compiled, let path = file.compiledPath else {
      throw FactsFailure("\(file.path): \(file.state.explanation)")
    }
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw FactsFailure("'\(path)' cannot be read as text")
    }
    (self.file, self.path) = (file, path)
    tree = Parser.parse(source: text)
    converter = SourceLocationConverter(fileName: path, tree: tree)
    occurrences = Dictionary(grouping: file.occurrences) { "\($0.location.line):\($0.location.column)" }
  }

  func occurrences(at token: TokenSyntax) -> [IndexOccurrence] {
    let location = location(of: token)
    return occurrences["\(location.line):\(location.column)"] ?? []
  }

  /// A token's place in the app's own file.
  func location(of token: TokenSyntax) -> CodeLocation {
    let place = converter.location(for: token.positionAfterSkippingLeadingTrivia)
    return CodeLocation(file: file.path, line: file.lines.original(place.line), column: place.column)
  }

  /// The token that begins at a place; for a projected value (`$name`), whose place in the index is the name's, the token with the sign.
  func token(at location: CodeLocation) -> TokenSyntax? {
    let offset = converter.position(ofLine: file.lines.compiled(location.line), column: location.column)
    return tree.token(at: offset)
  }
}
