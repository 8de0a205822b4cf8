public import KoineBase
import KoineJSONCodec

/// A vendor's API: its symbols, the status of each in Koine (Docs/styles/<style>.coverage.json), and the declarations in the sources.
public struct VendorAPI: Sendable {
  public enum Status: String, Sendable, Codable, CaseIterable {
    /// As the vendor's.
    case works
    /// Kept, and can be read; without effect.
    case recorded
    /// Declared, so that the compiler says why it cannot be had.
    case unavailable
    /// Not declared.
    case absent
  }

  public struct Entry: Sendable, Decodable {
    public let symbol: String
    public let status: Status
    /// Why the symbol differs from the vendor's, or a note about its use.
    public let why: String?
  }

  /// What the sources declare under a type's name.
  public struct TypeDeclaration: Sendable, Decodable {
    /// class, struct, enum, protocol; `alias`; `extension` of another module's type.
    public let kind: String
    /// What it inherits from, conforms to, or is an alias of.
    public let parents: [String]
    /// By name with labels: the type, or what a function gives back, as written; empty: nothing, or not said.
    public let members: [String: String]
    /// Of a protocol's requirements, and of functions that take closures: the types of parameters, overload by overload.
    public let parameters: [String: [[String]]]?
  }

  /// nil: the platform's modules, UIKit and the like.
  public let style: Style?
  public let modules: [String]
  public let entries: [String: Entry]
  public let types: [String: TypeDeclaration]

  public static let all: [Style: VendorAPI] = [
    .callAgent: VendorAPI(.callAgent, GeneratedTables.callAgent),
    .eventListener: VendorAPI(.eventListener, GeneratedTables.eventListener),
    .meetingSession: VendorAPI(.meetingSession, GeneratedTables.meetingSession),
    .stageStrategy: VendorAPI(.stageStrategy, GeneratedTables.stageStrategy),
  ]
  /// The headless part of Apple's modules.
  public static let platform = VendorAPI(nil, GeneratedTables.platform)

  private struct File: Decodable {
    let modules: [String]?
    let entries: [Entry]?
    let types: [String: TypeDeclaration]
  }

  private init(_ style: Style?, _ text: String) {
    let file = GeneratedTables.decode(File.self, from: text)
    self.style = style
    modules = file.modules ?? []
    entries = Dictionary((file.entries ?? []).map { ($0.symbol, $0) }, uniquingKeysWith: { $1 })
    types = file.types
  }
}

/// What an app cannot bring along to Linux: the table of Docs/adopt.md.
public struct LinuxHindrances: Sendable {
  public struct Row: Sendable, Decodable {
    public let what, instead: String
    public let modules, attributes, macros, types, remarks: [String]?
  }

  private struct Rewrite: Sendable, Decodable {
    let attributes: [String]
    let renames: [String: String]
  }

  public let rows: [Row]
  /// Apple's modules that this package has in their names.
  public let modules: [String]
  /// Attributes that `koine linux` leaves out.
  public let rewrittenAttributes: Set<String>
  /// Modules of Apple's that `koine linux` imports under another name.
  public let renames: [String: String]
  /// By the name of a type or function of Apple's: the module that has it here.
  public let homes: [String: String]

  public static let current = LinuxHindrances(reading: GeneratedTables.decode(File.self, from: GeneratedTables.linux))

  private struct File: Decodable {
    let rows: [Row]
    let modules: [String]
    let rewritten: Rewrite
    let homes: [String: [String]]
  }

  private init(reading file: File) {
    (rows, modules) = (file.rows, file.modules)
    (rewrittenAttributes, renames) = (Set(file.rewritten.attributes), file.rewritten.renames)
    homes = Dictionary(
      file.homes.flatMap { module, names in names.map { ($0, module) } }, uniquingKeysWith: { min($0, $1) })
  }
}

extension GeneratedTables {
  /// The text is this package's own: what cannot be read is a defect of the script that writes it.
  static func decode<Value: Decodable>(_ type: Value.Type, from text: String) -> Value {
    do {
      return try JSONCodec.decode(type, from: Array(text.utf8), limits: .init(depth: 16, size: 4 << 20))
    } catch {
      preconditionFailure("Sources/Porting/GeneratedTables.swift: \(error)")
    }
  }
}
