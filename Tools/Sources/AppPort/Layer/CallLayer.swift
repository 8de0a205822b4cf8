import CallModel
public import CompilerFacts
import Foundation
public import KoinePorting
import SwiftSyntax

/// A second call layer of an app, in the words of another style: a new file beside the app's own.
public struct CallLayer: Sendable {
  /// The new file, as text of the app's own.
  public let source: String
  /// The files with what the style has no counterpart for: the same for every app.
  public let helpers: [LayerHelper]
  /// The new class.
  public let typeName: String
  public let module: String
  private let isForTests: Bool
  /// Files of the app that an earlier port has written, and that the new files replace.
  private let replaced: Set<String>
  /// The app's declarations by their lines in the new file, the largest first.
  private let declarations: [(place: CodeLocation, lines: ClosedRange<Int>)]
  /// What came of the call sites, as text.
  public let report: String
  /// Shares of the call sites by their names, in the order of the report.
  public let counts: [(share: String, count: Int)]
  /// What came of each call site, in the order of the source.
  public let outcomes: [(place: CodeLocation, symbol: String, share: String)]
  /// What stays to be done by hand, with places.
  public let warnings: [String]
  /// The app's files in the words of the target, by their paths, if the port is in place; otherwise empty.
  public let changedFiles: [(path: String, text: String)]
  /// What the build compiles of the changed files now: the files, links to them, or copies.
  private let builtFiles: [String]
  /// nil: the app was built from its own files.
  private let linuxForm: LinuxForm?
  /// The file of the call class.
  public let classPath: String
  /// What the port does with the app, asks, and has no word for.
  public private(set) var plan: PortPlan

  /// - Parameters:
  ///   - type: the call class's name.
  ///   - target: the style of the new layer.
  ///   - isForTests: whether the new layer is for a test target, which imports the app's module with `@testable`.
  ///   - prefix: the beginning of the new names; nil: as the answers say.
  ///   - isInPlace: whether the app's own files change. Then all names stay.
  ///   - answers: what the app's team has answered to the plan's questions; nil: the default answers.
  ///   - refusals: declarations that stay as comments.
  ///   - facts: the types of a module.
  /// - Throws: `FactsFailure` if a file does not compile, the class cannot be found, there is no reader of its style, no writer of the
  ///   target, or the app has types with the new names.
  public init(
    of type: String, in app: CompiledApp, to target: Style, isForTests: Bool = false, prefix: String? = nil,
    isInPlace: Bool = false, answers: PortAnswers? = nil,
    without refusals: [LayerRefusal] = [], facts: (String) throws(FactsFailure) -> any TypeFacts
  ) throws(FactsFailure) {
    try self.init(
      of: try PortedApp(type, in: app, facts: facts), to: target, isForTests: isForTests, prefix: prefix,
      isInPlace: isInPlace, answers: answers, without: refusals)
  }

  private init(
    of app: PortedApp, to target: Style, isForTests: Bool, prefix: String?, isInPlace: Bool, answers: PortAnswers?,
    without refusals: [LayerRefusal]
  ) throws(FactsFailure) {
    let (callClass, sites, style) = (app.callClass, app.sites, app.style)
    let writer = try LayerWriters.writer(of: target, from: style)
    let reader = try LayerReader(callClass, from: style, to: writer)
    let layer = LayerDeclarations(callClass) { reader.vendorSymbol($0) != nil }
    let helpers = writer.helpers(for: reader.reader)
    let answers = answers ?? PortAnswers(type: app.typeName, to: target)
    let chosen = try answers.prefix()
    let prefix = isInPlace ? "" : prefix ?? chosen
    replaced = try Self.checkNames(layer, callClass, prefix: prefix, helpers, app.written)
    let context = LayerContext(
      callClass, layer, reader, sites: Set(sites.sites.map(\.location)), prefix: prefix, isOutside: isForTests,
      isInPlace: isInPlace)
    let meanings = CaseMeanings.all(in: context)
    // Without an answer the first case stays.
    for meaning in meanings where meaning.chosen(by: answers).name != meaning.choices[0].name {
      for (place, symbol) in meaning.left(by: answers) {
        context.leaveOut(symbol, at: place, "another case means the same")
      }
    }
    guard let first = layer.items.first else { throw FactsFailure("\(callClass.name) uses no vendor's symbols") }
    let renderer = LayerRenderer(context, source: first.source, refusals: refusals)
    var texts: [String] = []
    for _ in 0..<Self.roundLimit {
      renderer.beginAgain()
      texts = layer.items.map { renderer.text(of: $0) }
      if !renderer.hasNews { break }
    }
    let typeName = prefix + callClass.name
    let dispatch =
      context.model.handlers.isEmpty || renderer.unported.contains(callClass.type.symbol.usr)
      ? "" : "\n" + context.dispatch(of: typeName, without: renderer.unported)
    let body = Self.withoutRepetitions(texts).map { Self.trimmed($0) + "\n" }.joined(separator: "\n").replacing(
      context.writer.placeOfMembers, with: context.writer.members)
    let outcomes = SiteOutcomes(
      context, sites.sites, renderer.shares, decided: Set(meanings.flatMap { $0.left(by: answers).keys }),
      answers: answers)
    let fates = outcomes.fates(by: answers)
    let whole = Self.head(callClass, layer, writer, of: body, isForTests: isForTests) + body + dispatch
    classPath = callClass.type.location.file
    let changed =
      isInPlace ? InPlaceFiles(callClass, layer, members: context.writer).texts(of: texts, dispatch) : []
    changedFiles = changed.map { file, text in
      (file.path, DeclarationMarks.removed(from: AnsweredText.text(text, fates)).text)
    }
    builtFiles = changed.map { $0.file.compiledPath ?? $0.file.path }
    linuxForm = app.linuxForm
    let marked = DeclarationMarks.removed(from: AnsweredText.text(whole, fates))
    source = marked.text
    declarations = marked.lines.map { (renderer.places[$0.number], $0.lines) }
    self.isForTests = isForTests
    self.helpers = helpers
    self.typeName = typeName
    module = callClass.type.module
    counts = Share.allCases.map { share in (share.rawValue, outcomes.all.count { $0.share == share }) }
    self.outcomes = outcomes.all.map { ($0.site.location, $0.site.symbol, $0.share.rawValue) }
    let unvisited = sites.sites.filter { renderer.shares[$0.location] == nil }
    let answered = Set(fates.filter { $0.value != .warn }.map { AnsweredText.quoted(Substring($0.key)) })
    let asked = outcomes.all.filter { $0.share == .warned && $0.cause.flatMap(answers.fate) == .warn }
    warnings =
      renderer.warnings.filter { !answered.contains(AnsweredText.quoted(Substring($0.symbol))) }
      .map { "\($0.place): \($0.symbol)" }
      + unvisited.map { "\($0.location): \($0.symbol) is in no declaration that was ported" }
      + asked.map { "\($0.site.location): \($0.site.symbol), as answered" }
    plan = PortPlan(
      context, outcomes, meanings: meanings, answers: answers, prefix: prefix, newName: typeName, to: target,
      files: [(typeName + ".swift", source)] + helpers.map { ($0.fileName, $0.source) })
    report = Self.report(
      callClass, layer, typeName, sites.sites.count, counts, warnings, context.foreignText, isForTests: isForTests,
      toSet: context.writer.toSet,
      noWord: ("No word in \(context.writer.title), left out", plan.noWordLines), differences: plan.differenceLines)
  }

  /// Each round leaves at least one more declaration as a comment; so many rounds end all chains that apps have.
  private static let roundLimit = 64

  /// - Returns: paths of files that the command has written before, and that the new ones replace.
  private static func checkNames(
    _ layer: LayerDeclarations, _ callClass: CallClass, prefix: String, _ helpers: [LayerHelper], _ written: PortedFiles
  ) throws(FactsFailure) -> Set<String> {
    let declarations = callClass.app.declarations
    guard declarations.owners(of: callClass.type.symbol.usr).isEmpty else {
      throw FactsFailure(
        "\(callClass.type.location): '\(callClass.name)' is inside another type; a layer is a class of its own")
    }
    let names = layer.renamed.compactMap { declarations[$0]?.symbol.name }.map { prefix + $0 }
    let taken = helpers.flatMap(\.typeNames)
    if let name = names.first(where: taken.contains) {
      throw FactsFailure("the helper has a type '\(name)': choose another beginning of the new names")
    }
    // In place, the app's names stay.
    var replaced = written.files(named: helpers.map(\.fileName))
    for other in declarations.types(named: (prefix.isEmpty ? [] : names) + taken)
    where other.module == callClass.type.module {
      guard let path = written.path(of: other.location.file) else {
        throw FactsFailure("the app has a type '\(other.symbol.name)' (\(other.location)), which the new layer needs")
      }
      replaced.insert(path)
    }
    return replaced
  }

  /// The modules that the new files import, in alphabetical order. The app's target needs all of them.
  public var imports: [String] {
    let lines = ([source] + helpers.map(\.source)).flatMap { $0.split(separator: "\n") }
    let names = lines.filter { $0.hasPrefix("import ") || $0.hasPrefix("@testable import ") }
      .compactMap { $0.split(separator: " ").last.map(String.init) }
    return Set(names).sorted()
  }

  /// The module of the views, as identifiers of its declarations have it.
  private static let platform = "10KoineUIKit"

  /// Modules that the vendors' modules export, by their names in the compiler's identifiers.
  private static let platformModules = [
    "14KoineCoreVideo": "CoreVideo", "14KoineCoreMedia": "CoreMedia", "17KoineAVFoundation": "AVFoundation",
  ]

  /// The modules that declarations import in the words of a style, beside the app's own imports.
  static func imports(of items: [LayerDeclarations.Item], _ writer: LayerWriter.Type) -> Set<String> {
    // The vendors' modules export Foundation.
    var imports = writer.modules.union(["Foundation"])
    let references = items.reduce(into: Set<String>()) { $0.formUnion($1.references) }
    if references.contains(where: { $0.contains(platform) }) { imports.insert("KoineUIKit") }
    for (module, name) in platformModules where references.contains(where: { $0.contains(module) }) {
      imports.insert(name)
    }
    return imports
  }

  /// The views' module has two names here, of which an app for iOS knows one only.
  static func withViews(_ imports: Set<String>, isOfCopies: Bool) -> Set<String> {
    guard imports.contains("KoineUIKit"), isOfCopies || imports.contains("UIKit") else { return imports }
    return imports.subtracting(["KoineUIKit"]).union(["UIKit"])
  }

  private static func head(
    _ callClass: CallClass, _ layer: LayerDeclarations, _ writer: LayerWriter.Type, of body: String, isForTests: Bool
  ) -> String {
    var imports = imports(of: layer.items, writer).union(writer.modules(of: body))
    var testable: Set<String> = []
    for path in Set(layer.items.map(\.location.file)) {
      guard let source = callClass.source(of: path) else { continue }
      let lines = source.tree.statements.compactMap { $0.item.as(ImportDeclSyntax.self) }
      for line in lines where line.attributes.trimmedDescription.contains("@testable") {
        testable.insert(line.path.trimmedDescription)
      }
      for occurrence in source.file.occurrences
      where occurrence.symbol.kind == .module && occurrence.roles.contains(.reference)
        && VendorSites.style(of: occurrence.symbol.name) == nil && source.token(at: occurrence.location) != nil
      {
        imports.insert(occurrence.symbol.name)
      }
      // A copy imports the modules here in the place of some of the app's: those are in the index.
      guard source.file.map.isOfCopy else { continue }
      for line in lines where !line.isOfVendor { imports.insert(line.imported) }
    }
    imports = withViews(imports, isOfCopies: callClass.isOfCopies)
    if isForTests { testable.insert(callClass.type.module) }
    let last = testable.sorted().map { "\n@testable import \($0)" }.joined()
    let app = last.isEmpty ? "" : "\n" + last
    return """
      // swift-format-ignore-file
      // Written by `koine port` from \(callClass.name): the app's calls in the words of \(writer.title).

      \(imports.subtracting(testable).sorted().map { "import \($0)" }.joined(separator: "\n"))\(app)


      """
  }

  private static func report(
    _ callClass: CallClass, _ layer: LayerDeclarations, _ name: String, _ total: Int,
    _ counts: [(share: String, count: Int)], _ warnings: [String], _ foreign: String?, isForTests: Bool,
    toSet: [String],
    noWord: (title: String, lines: [String]), differences: [String]
  ) -> String {
    let shares = percentages(counts.map(\.count))
    var lines = [
      "\(callClass.name) (\(callClass.type.location)) → \(name): \(total) call sites",
      zip(counts, shares).map { "\($0.share) \($1) % (\($0.count))" }.joined(separator: ", "),
      "The new file has \(layer.items.count) declarations of the app's: those that use the vendor's symbols, and those that see them.",
    ]
    if callClass.isOfCopies, !isForTests {
      lines.append("The app was built from copies. The new file has its own text; `koine linux` copies the file, too.")
    }
    if let seam = layer.seam { lines.append("Both layers are behind the protocol \(seam).") }
    if !toSet.isEmpty {
      lines.append("To be set before the app makes the call: " + toSet.joined(separator: ", "))
    }
    if let foreign { lines.append(foreign) }
    for (title, found) in [noWord, ("Works otherwise", differences), ("To be written by hand", warnings)]
    where !found.isEmpty {
      lines += ["", "\(title) (\(found.count))"] + found.map { "  " + $0 }
    }
    return lines.joined(separator: "\n")
  }

  /// Whole percentages whose sum is 100: the largest remainders are rounded up.
  static func percentages(_ counts: [Int]) -> [Int] {
    let total = counts.reduce(0, +)
    guard total > 0 else { return counts.map { _ in 0 } }
    var shares = counts.map { $0 * 100 / total }
    let order = counts.indices.sorted { (counts[$0] * 100 % total, $1) > (counts[$1] * 100 % total, $0) }
    for index in order.prefix(100 - shares.reduce(0, +)) { shares[index] += 1 }
    return shares
  }

  /// Files of an app may each have the same private declaration; the new file has it once.
  private static func withoutRepetitions(_ texts: [String]) -> [String] {
    var known: Set<String> = []
    return texts.filter { known.insert(DeclarationMarks.removed(from: $0).text).inserted }
  }

  /// A mark stands before the empty lines with which a declaration's text begins.
  private static func trimmed(_ text: String) -> String {
    guard let end = text.firstIndex(of: "\u{4}") else { return text }
    let body = text[text.index(after: end)...]
    return text[...end] + String(body.drop(while: \.isNewline))
  }

  // MARK: Proof

  /// Writes the layer, and compiles it beside the app. Declarations of the app that the compiler refuses in their new form stay as comments,
  /// each under a `#warning` with the error.
  /// - Parameters:
  ///   - command: how the build compiles a module.
  ///   - facts: the types of a module.
  /// - Throws: `FactsFailure`, as the initializer does, and if the compiler cannot be started.
  public static func compiled(
    of type: String, in app: CompiledApp, to target: Style, isForTests: Bool, prefix: String? = nil,
    isInPlace: Bool = false, answers: PortAnswers? = nil,
    _ command: (String) throws(FactsFailure) -> CompileCommand, facts: (String) throws(FactsFailure) -> any TypeFacts
  ) throws(FactsFailure) -> (layer: CallLayer, outcome: CompileCommand.Outcome) {
    let app = try PortedApp(type, in: app, facts: facts)
    var refusals: [LayerRefusal] = []
    var asked: [PortQuestion]?
    func layer(isInPlace: Bool) throws(FactsFailure) -> CallLayer {
      var layer = try CallLayer(
        of: app, to: target, isForTests: isForTests, prefix: prefix, isInPlace: isInPlace, answers: answers,
        without: refusals)
      // What the compiler refuses is no question: the plan asks what it has asked before.
      layer.plan.questions = asked ?? layer.plan.questions
      asked = layer.plan.questions
      return layer
    }
    while true {
      let new = try layer(isInPlace: false)
      let module = try command(new.module)
      // What is new can make the app's own files ambiguous, too: the first and the last round show it. In between, the new files are enough.
      var outcome = try new.typecheck(beside: module, isWhole: refusals.isEmpty)
      if outcome.succeeded, !refusals.isEmpty { outcome = try new.typecheck(beside: module) }
      // A member that a protocol requires first loses its statements, and is a comment if that is not enough.
      let news = new.refusals(of: outcome).filter { one in refusals.count { $0.place == one.place } < 3 }
      if outcome.succeeded, isInPlace {
        // What the compiler accepts under new names, it has to accept under the old ones.
        let changed = try layer(isInPlace: true)
        return (changed, try changed.typecheckInPlace(try command(changed.module)))
      }
      if outcome.succeeded || news.isEmpty { return (new, outcome) }
      refusals += news
    }
  }

  /// The declarations of the app in which the compiler has found errors: the smallest around each error.
  public func refusals(of outcome: CompileCommand.Outcome) -> [LayerRefusal] {
    let refusals = outcome.errors.compactMap { error -> LayerRefusal? in
      let parts = error.split(separator: ":", maxSplits: 4).map(String.init)
      guard parts.count == 5, parts[0].split(separator: "/").last == "\(typeName).swift", let line = Int(parts[1]),
        let declaration = declarations.last(where: { $0.lines.contains(line) })
      else { return nil }
      return LayerRefusal(place: declaration.place, reason: parts[4].trimmingCharacters(in: .whitespaces))
    }
    var places: Set<CodeLocation> = []
    return refusals.filter { places.insert($0.place).inserted }
  }

  /// Checks the types of the new file and the helpers together with the module's, or as files of a test target that imports the module.
  /// - Parameter isWhole: whether the module's own files are checked, too.
  /// - Throws: `FactsFailure` if the compiler cannot be started, or the files cannot be put into a temporary folder.
  public func typecheck(
    beside module: CompileCommand, isWhole: Bool = true
  ) throws(FactsFailure) -> CompileCommand.Outcome {
    try typecheck(files(typeName + ".swift", source), beside: module, isWhole: isWhole)
  }

  /// Checks the types of the module with the changed files and the helpers in the place of the app's.
  func typecheckInPlace(_ module: CompileCommand) throws(FactsFailure) -> CompileCommand.Outcome {
    let changed = Set(builtFiles.map { URL(fileURLWithPath: $0).standardizedFileURL.path })
    let kept = module.files.filter { !changed.contains(URL(fileURLWithPath: $0).standardizedFileURL.path) }
    guard module.files.count - kept.count == changed.count else {
      throw FactsFailure("the build does not compile the files that would change: \(changed.sorted())")
    }
    let texts = changedFiles.map { (URL(fileURLWithPath: $0.path).lastPathComponent, $0.text) }
    return try typecheck(texts + helpers.map { ($0.fileName, $0.source) }, beside: module.with(files: kept))
  }

  /// How the command writes a text of the new file. No `koine linux` copies a test target, so that gets the copy's text.
  public func written(_ text: String) -> String { isForTests ? linuxForm?.standalone(text) ?? text : text }

  /// A file and those of the helpers, by their names.
  func files(_ name: String, _ text: String) -> [(name: String, text: String)] {
    [(name, text)] + helpers.map { ($0.fileName, $0.source) }
  }

  func typecheck(
    _ texts: [(name: String, text: String)], beside module: CompileCommand, isWhole: Bool = true
  ) throws(FactsFailure) -> CompileCommand.Outcome {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("koine-port-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let named = texts.map { (path: folder.appendingPathComponent($0.name).path, text: $0.text) }
    let changed = Set(changedFiles.map(\.path))
    let compiled = linuxForm?.copies(of: named, inPlaceOf: changed) ?? named.map(\.text)
    let files = zip(named, compiled).map { (URL(fileURLWithPath: $0.path), $1) }
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      for (file, text) in files { try text.write(to: file, atomically: false, encoding: .utf8) }
    } catch { throw FactsFailure("'\(folder.path)' cannot be written: \(error.localizedDescription)") }
    let paths = files.map(\.0.path)
    // The module may have the helpers of another layer, outside of the app's path.
    let names = texts.map(\.name)
    let kept = module.files.filter {
      !replaced.contains(PortedFiles.resolved($0)) && !PortedFiles.isWritten($0, as: names)
    }
    let all =
      isForTests ? module.with(files: paths, module: module.module + "Tests") : module.with(files: kept + paths)
    return try all.typecheck(only: isWhole ? all.files : paths).without(folder: folder.path)
  }
}
