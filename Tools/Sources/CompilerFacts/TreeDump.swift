import Foundation

/// The types of a module's files, from `swiftc -dump-ast -dump-ast-format json`.
///
/// The compiler prints one JSON object for each file. Of it this reader uses `filename`, `usr`, `interface_type`, `access`, `attrs`, `type`,
/// `range`, `name` and `implicit`; a test states what they contain. Files with an error give no types.
public struct TreeDump: TypeFacts {
  private struct Range: Hashable {
    let first, last: Int
  }

  private struct Place: Hashable {
    let file: String
    let offset: Int
    init(_ file: String, _ offset: Int) { (self.file, self.offset) = (file, offset) }
  }

  private var declarations: [String: TypedDeclaration] = [:]
  private var places: [String: Place] = [:]
  private var projections: [Place: CompiledType] = [:]
  private var expressions: [String: [Range: String]] = [:]
  private let demangler: Demangler

  /// Runs the compiler.
  /// - Throws: `FactsFailure` if a file does not compile, or if the compiler's output is not as expected.
  public init(_ command: CompileCommand, toolchain: Toolchain) throws(FactsFailure) {
    // Without batches the driver starts a compiler for each file.
    let outcome = try command.run(["-dump-ast", "-dump-ast-format", "json", "-enable-batch-mode"])
    guard outcome.succeeded else {
      let errors = outcome.errors.prefix(3).joined(separator: "\n  ")
      throw FactsFailure("the module \(command.module) does not compile, so it has no types:\n  \(errors)")
    }
    demangler = try Demangler(toolchain)
    let trees = try Self.trees(in: outcome.output)
    let files = Set(trees.compactMap { $0["filename"] as? String })
    if let missing = command.files.first(where: { !files.contains($0) }) {
      throw FactsFailure(
        "the compiler's syntax tree in JSON has no file '\(missing)': its format is not the expected one")
    }
    for tree in trees {
      let file = tree["filename"] as? String ?? ""
      for item in tree["items"] as? [Any] ?? [] { read(item, file) }
    }
  }

  /// Each file's object begins with its kind; between the objects, the compiler may print warnings.
  private static func trees(in output: Data) throws(FactsFailure) -> [[String: Any]] {
    var trees: [[String: Any]] = []
    var from = output.startIndex
    while let start = beginning(in: output, from: from) {
      guard let end = endOfObject(in: output, from: start),
        let tree = (try? JSONSerialization.jsonObject(with: output[start..<end])) as? [String: Any]
      else { throw FactsFailure("the compiler's syntax tree is not JSON: its format is not the expected one") }
      trees.append(tree)
      from = end
    }
    return trees
  }

  /// The next object's place. `Data.range(of:)` copies all of the data at each call, which a whole module's tree is too large for.
  private static func beginning(in output: Data, from index: Data.Index) -> Data.Index? {
    let beginning = Array(#"{"_kind":"source_file","#.utf8)
    return output.withUnsafeBytes { bytes in
      let first = index - output.startIndex
      let last = bytes.count - beginning.count
      guard first <= last else { return nil }
      return (first...last).first { bytes[$0] == beginning[0] && bytes[$0...].starts(with: beginning) }
        .map { $0 + output.startIndex }
    }
  }

  /// The index behind the brace that closes the object.
  private static func endOfObject(in output: Data, from start: Data.Index) -> Data.Index? {
    output.withUnsafeBytes { bytes in
      var (depth, isText, index) = (0, false, start - output.startIndex)
      while index < bytes.count {
        switch bytes[index] {
        case UInt8(ascii: "\\") where isText: index += 1
        case UInt8(ascii: "\""): isText.toggle()
        case UInt8(ascii: "{") where !isText: depth += 1
        case UInt8(ascii: "}") where !isText:
          depth -= 1
          if depth == 0 { return output.startIndex + index + 1 }
        default: break
        }
        index += 1
      }
      return nil
    }
  }

  // MARK: Reading

  private mutating func read(_ node: Any, _ file: String) {
    if let list = node as? [Any] {
      for item in list { read(item, file) }
      return
    }
    guard let object = node as? [String: Any] else { return }
    readDeclaration(object, file)
    readExpression(object, file)
    for (key, value) in object where key != "range" && key != "attrs" { read(value, file) }
  }

  private mutating func readDeclaration(_ object: [String: Any], _ file: String) {
    guard let usr = object["usr"] as? String, !usr.isEmpty, let mangled = object["interface_type"] as? String else {
      return
    }
    let attributes = (object["attrs"] as? [[String: Any]] ?? []).filter { $0["_kind"] as? String == "custom_attr" }
    let range = (object["range"] as? [String: Int]).flatMap { range in range["start"].map { Place(file, $0) } }
    let name = ((object["name"] as? [String: Any])?["base_name"] as? [String: Any])?["name"] as? String ?? ""
    // The projected value of a property is an implicit property at the same place, with a dollar sign before the name.
    if object["implicit"] as? Bool == true, name.hasPrefix("$"), let range { projections[range] = type(mangled) }
    places[usr] = range
    declarations[usr] = TypedDeclaration(
      type: type(mangled),
      access: (object["access"] as? String).flatMap(TypedDeclaration.Access.init(rawValue:)) ?? .internal,
      isOnMainActor: attributes.contains { $0["type"] as? String == Self.mainActor },
      projectedType: nil)
  }

  private static let mainActor = "$sScMD"

  private mutating func readExpression(_ object: [String: Any], _ file: String) {
    guard let mangled = object["type"] as? String, !mangled.isEmpty, let kind = object["_kind"] as? String,
      kind.hasSuffix("_expr"), object["implicit"] as? Bool != true, let range = object["range"] as? [String: Int],
      let first = range["start"], let last = range["end"]
    else { return }
    // Outer expressions come first; the inner ones at the same place are their parts.
    let place = Range(first: first, last: last)
    if expressions[file]?[place] == nil { expressions[file, default: [:]][place] = mangled }
  }

  private func type(_ mangled: String) -> CompiledType {
    CompiledType(mangled: mangled, description: demangler.readable(mangled))
  }

  // MARK: Answers

  public func declaration(_ usr: String) -> TypedDeclaration? {
    guard var declaration = declarations[usr] else { return nil }
    declaration.projectedType = places[usr].flatMap { projections[$0] }
    return declaration
  }

  public func expressionType(in file: String, from first: Int, to last: Int) -> CompiledType? {
    expressions[file]?[Range(first: first, last: last)].map(type)
  }

  public func propertyType(_ usr: String) -> CompiledType? {
    guard usr.hasPrefix("s:"), usr.hasSuffix("vp") else { return nil }
    // `VideoSDKRTC.Participant.displayName : Swift.String`
    let name = demangler.readable("$s" + usr.dropFirst(2))
    return name.range(of: " : ").map { CompiledType(mangled: "", description: String(name[$0.upperBound...])) }
  }
}
