import CallModel
import CompilerFacts
import KoinePorting

/// What a port reads of an app before it writes anything.
struct PortedApp {
  /// The call class's name as it was asked for.
  let typeName: String
  let callClass: CallClass
  let sites: VendorSites
  /// The style of the app's calls.
  let style: Style
  /// Files that the command has written before, which are not read.
  let written: PortedFiles
  /// nil: the app was built from its own files.
  let linuxForm: LinuxForm?

  /// - Parameter facts: the types of a module.
  /// - Throws: `FactsFailure` if a file does not compile, the class cannot be found, or the app uses no vendor's symbols.
  init(
    _ type: String, in app: CompiledApp, facts: (String) throws(FactsFailure) -> any TypeFacts
  ) throws(FactsFailure) {
    typeName = type
    written = PortedFiles(in: app, but: type)
    let app = app.leavingOut(written.contains)
    linuxForm = LinuxForm(app)
    callClass = try CallClass(named: type, in: app, facts: facts)
    sites = VendorSites(app)
    style = try Self.style(of: sites, callClass)
  }

  /// The style of most sites beside the call class, or in all files if its own has none.
  private static func style(of sites: VendorSites, _ callClass: CallClass) throws(FactsFailure) -> Style {
    if let file = sites.uncompiled.first { throw FactsFailure("\(file.path): \(file.state.explanation)") }
    let own = sites.sites.filter { $0.location.file == callClass.type.location.file }
    let counts = Dictionary(grouping: own.isEmpty ? sites.sites : own, by: \.style).mapValues(\.count)
    guard let most = counts.max(by: { ($0.value, $1.key.rawValue) < ($1.value, $0.key.rawValue) }) else {
      throw FactsFailure("the app uses no symbol of a vendor's module")
    }
    return most.key
  }
}
