import KoinePorting
import SwiftSyntax

/// The copy of an app's sources that Linux compiles.
///
/// The app's files stay as they are. In the copy, attributes of Objective-C are left out, `#selector` is a `Selector` that a generated
/// switch of each class performs, and imports fit the modules here. Lines and columns are those of the app's files (`#sourceLocation`).
/// A file that compiles as it is stands in the copy as a link.
public struct LinuxCopy {
  public struct File: Sendable {
    /// Of the app's file.
    public let path: String
    public let text: String
    /// False: the app's file compiles as it is, and the copy has a link to it.
    public let isChanged: Bool
  }

  public let files: [File]
  /// What was changed, in source order.
  public let changes: [Problem]
  /// Products of Koine with the modules that the copy imports: its target has to depend on them.
  public let products: [String]

  /// - Parameter paths: the files that are copied, beside the others; nil: all.
  public init(_ sources: AppSources, of paths: Set<String>? = nil) {
    let hindrances = LinuxHindrances.current
    let conditions = Conditions(modules: AppCheck.linuxModules(hindrances))
    self.init(sources, AppIndex(sources, conditions), conditions, of: paths)
  }

  init(_ sources: AppSources, _ index: AppIndex, _ conditions: Conditions, of paths: Set<String>? = nil) {
    let selectors = SelectorIndex(sources, conditions)
    let performing = PerformingClasses(selectors, index)
    let hindrances = LinuxHindrances.current
    var files: [File] = []
    var changes: [Problem] = []
    var modules: Set<String> = []
    for file in sources.files where paths?.contains(file.path) ?? true {
      let editor = LinuxEditor(file, index, selectors, conditions)
      editor.walk(file.tree)
      let generated = performing.code(of: file)
      let imports = Imports(file, index, editor, needsSelectors: generated.needsSelectors)
      let edits = editor.edits + generated.edits
      let end = editor.additions + generated.end
      let isChanged = !edits.isEmpty || !end.isEmpty || !imports.added.isEmpty
      files.append(
        File(
          path: file.path,
          text: isChanged ? Self.text(of: file, edits, imports: imports.added, end: end) : file.tree.description,
          isChanged: isChanged))
      changes += editor.edits.compactMap(\.problem) + imports.changes
      modules.formUnion(imports.added)
      modules.formUnion(index.modules(of: file.path).map { hindrances.renames[$0] ?? $0 })
    }
    self.files = files
    self.changes = Set(changes).sorted { ($0.location, $0.what) < ($1.location, $1.what) }
    products = KoineProducts.of(modules)
  }

  private static func text(of file: AppSources.File, _ edits: [LinuxEdit], imports: [String], end: [String]) -> String {
    let source = file.tree.description
    var text = imports.map { "import " + $0 }.joined(separator: "; ")
    if !text.isEmpty { text += "\n" }
    text += "\(directive(file.path, 1))\n" + LinuxEdit.apply(edits, to: source)
    guard !end.isEmpty else { return text }
    if !text.hasSuffix("\n") { text += "\n" }
    return text + (["#sourceLocation()", ""] + end).joined(separator: "\n") + "\n"
  }

  static func directive(_ path: String, _ line: Int) -> String {
    let escaped = path.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    return "#sourceLocation(file: \"\(escaped)\", line: \(line))"
  }
}

/// Imports that a file misses here, because on Apple's systems another module brings them along.
private struct Imports {
  let added: [String]
  let changes: [Problem]

  init(_ file: AppSources.File, _ index: AppIndex, _ editor: LinuxEditor, needsSelectors: Bool) {
    let hindrances = LinuxHindrances.current
    var there = Set(index.modules(of: file.path).map { hindrances.renames[$0] ?? $0 })
    let vendors = VendorAPI.all.values.flatMap(\.modules)
    if !there.isDisjoint(with: vendors) { there.formUnion(Self.vendorsBring) }
    if there.contains("KoineFoundation") { there.formUnion(["Combine", "FoundationNetworking"]) }
    if !there.isDisjoint(with: ["UIKit", "AVFoundation", "AVFAudio"]) { there.insert("KoineFoundation") }
    if there.contains("AVFAudio") { there.insert("AVFoundation") }
    var wanted: [String: String] = [:]  // by module: the name that asks for it
    for name in editor.mentions.sorted() {
      if let module = hindrances.homes[name], wanted[module] == nil { wanted[module] = name }
    }
    if needsSelectors { wanted["UIKit"] = wanted["UIKit"] ?? "Selector" }
    let missing = wanted.filter { !there.contains($0.key) }.sorted { $0.key < $1.key }
    let start = CodeLocation(file: file.path, line: 1, column: 1)
    added = missing.map(\.key)
    changes = missing.map { module, name in
      Problem(.rewritten, at: start, "\(name) without its module", instead: "import \(module)")
    }
  }

  /// Each vendor's module here re-exports these.
  private static let vendorsBring = ["UIKit", "AVFoundation", "CoreMedia", "CoreVideo", "FoundationNetworking"]
}

/// The classes of an app that perform selectors, and the code that does it.
private struct PerformingClasses {
  struct Code {
    var edits: [LinuxEdit] = []
    var end: [String] = []
    var needsSelectors: Bool { !edits.isEmpty || !end.isEmpty }
  }

  private let selectors: SelectorIndex
  /// By class: the extensions whose methods it performs, by their numbers.
  private var extensions: [Int: [Int]] = [:]
  private var performing: Set<Int> = []

  init(_ selectors: SelectorIndex, _ index: AppIndex) {
    self.selectors = selectors
    for (number, one) in selectors.classes.enumerated() where !one.performsAlready {
      let above = Self.platformLine(index.foreignParents(of: one.name))
      let found = selectors.extensions(of: one, foreignParents: above).filter {
        selectors.extensions[$0].methods.contains { $0.hindrance == nil }
      }
      extensions[number] = found
      if !found.isEmpty || one.body.methods.contains(where: { $0.hindrance == nil }) { performing.insert(number) }
    }
  }

  /// Classes of the platform and those above them.
  private static func platformLine(_ parents: [String]) -> [String] {
    var line: [String] = []
    var waiting = parents
    while let next = waiting.popLast() {
      guard !line.contains(next) else { continue }
      line.append(next)
      waiting += VendorAPI.platform.types[next]?.parents ?? []
    }
    return line
  }

  private func performs(_ one: SelectorIndex.Class?) -> Bool {
    guard let one else { return false }
    return one.performsAlready
      || performing.contains { selectors.classes[$0].name == one.name && selectors.classes[$0].file == one.file }
      || performs(selectors.superclass(of: one))
  }

  func code(of file: AppSources.File) -> Code {
    var code = Code()
    for number in performing.sorted() where selectors.classes[number].file == file.path {
      let one = selectors.classes[number]
      let isOverride = performs(selectors.superclass(of: one))
      if !isOverride {
        code.edits.append(
          LinuxEdit(
            one.conformanceOffset..<one.conformanceOffset, (one.hasParents ? ", " : ": ") + "SelectorPerforming"))
      }
      var rest = (extensions[number] ?? []).map { "\(Self.partName($0))(selector, sender: sender)" }
      if isOverride { rest.append("super.performSelector(selector, sender: sender)") }
      let lines = Self.function(
        one.access + (isOverride ? "override " : ""), "performSelector", one.body.methods,
        otherwise: rest.isEmpty ? "false" : rest.joined(separator: " || "))
      code.edits.append(.generated(lines, before: one.body.end, in: file))
    }
    let used = Set(performing.flatMap { extensions[$0] ?? [] })
    for number in used.sorted() where selectors.extensions[number].file == file.path {
      let block = selectors.extensions[number]
      code.end += ["extension \(block.type) {"]
      code.end += Self.function("", Self.partName(number), block.methods, otherwise: "false").map { "  " + $0 } + ["}"]
    }
    return code
  }

  private static func partName(_ number: Int) -> String { "performSelectorOfExtension\(number + 1)" }

  private static func function(_ modifiers: String, _ name: String, _ methods: [SelectorMethod], otherwise: String)
    -> [String]
  {
    let head = "@MainActor \(modifiers)func \(name)(_ selector: Selector, sender: Any?) -> Bool {"
    let callable = methods.filter { $0.hindrance == nil }
    guard !callable.isEmpty else { return [head, "  \(otherwise)", "}"] }
    return [head, "  switch selector.name {"] + callable.flatMap(\.lines).map { "  " + $0 }
      + ["  default: return \(otherwise)", "  }", "}"]
  }
}
