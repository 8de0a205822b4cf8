import KoinePorting

/// Koine's declarations for the styles that an app uses, and the status of the vendors' API entries.
struct SymbolIndex {
  let styles: [Style]
  private let apis: [VendorAPI]
  /// Declared or listed members by style, type and name without labels.
  private let members: [Style?: [String: [String: [String]]]]
  /// Listed members of all types, by name without labels.
  private let listed: [String: [(api: VendorAPI, entry: VendorAPI.Entry, name: SymbolName)]]
  /// Members that any type may have. Their absence from the declarations is not a problem.
  static let everywhere: Set<String> = [
    "self", "init", "hash", "hashValue", "isEqual", "description", "debugDescription", "localizedDescription",
    "rawValue",
    "allCases", "encode", "copy", "mutableCopy", "responds", "superclass", "isKind", "Type", "class", "domain", "code",
    "userInfo", "append", "count", "isEmpty", "map", "flatMap",
  ]

  init(styles: [Style]) {
    self.styles = styles
    let apis = styles.compactMap { VendorAPI.all[$0] } + [VendorAPI.platform]
    var members: [Style?: [String: [String: [String]]]] = [:]
    var listed: [String: [(api: VendorAPI, entry: VendorAPI.Entry, name: SymbolName)]] = [:]
    for api in apis {
      var own: [String: [String: Set<String>]] = [:]
      for (type, declaration) in api.types {
        for name in declaration.members.keys { own[type, default: [:]][Self.base(name), default: []].insert(name) }
      }
      for entry in api.entries.values {
        let name = SymbolName(entry.symbol)
        guard let member = name.member else { continue }
        own[name.owner, default: [:]][name.baseName, default: []].insert(member)
        listed[name.baseName, default: []].append((api, entry, name))
      }
      members[api.style] = own.mapValues { $0.mapValues { $0.sorted() } }
    }
    (self.apis, self.members, self.listed) = (apis, members, listed)
  }

  private static func base(_ name: String) -> String { String(name.prefix { $0 != "(" }) }

  /// A type that is declared, or that an entry names.
  struct Found {
    let api: VendorAPI
    let name: String
    var declaration: VendorAPI.TypeDeclaration? { api.types[name] }
  }

  func type(named name: String) -> Found? {
    for api in apis {
      if let declaration = api.types[name], declaration.kind != "extension" {
        if declaration.kind == "alias", let target = declaration.parents.first, target != name, api.types[target] != nil
        {
          return Found(api: api, name: target)
        }
        return Found(api: api, name: name)
      }
      if api.entries[name] != nil { return Found(api: api, name: name) }
    }
    return nil
  }

  /// The type and those above it, nearest first.
  func line(of found: Found) -> (types: [Found], isWhole: Bool) {
    var types = [found]
    var isWhole = true
    var waiting = found.declaration?.parents ?? []
    while !waiting.isEmpty {
      let name = waiting.removeFirst()
      if name == "Codable" { waiting += ["Encodable", "Decodable"] }
      guard let parent = type(named: name) ?? added(to: name) else {
        isWhole = isWhole && Self.harmless.contains(name)
        continue
      }
      if types.contains(where: { $0.name == parent.name }) { continue }
      types.append(parent)
      waiting += parent.declaration?.parents ?? []
    }
    return (types, isWhole)
  }

  /// Another module's type that is extended here.
  private func added(to name: String) -> Found? {
    guard let api = apis.first(where: { $0.types[name]?.kind == "extension" }) else { return nil }
    return Found(api: api, name: name)
  }

  /// Parents that have no members an app would ask for.
  private static let harmless: Set<String> = [
    "NSObject", "NSObjectProtocol", "Sendable", "Hashable", "Equatable", "AnyObject", "Error", "LocalizedError", "Int",
    "UInt32", "Int32", "UInt", "String", "CaseIterable", "Codable", "Encodable", "Decodable", "CustomStringConvertible",
    "Identifiable", "RawRepresentable", "CustomNSError", "Comparable", "unchecked", "preconcurrency",
    "KoineVideoView", "VideoView", "SendableMetatype",
  ]

  // MARK: Members

  struct Member {
    /// As the coverage files or the sources spell it.
    let symbol: String
    let status: VendorAPI.Status
    let why: String?
    /// What it is, or gives back.
    let type: ValueType
    /// Of its parameters, where they take closures.
    let parameters: [[String]]
    let style: Style?
  }

  enum Lookup {
    case found(Member)
    /// The type is known whole, and has none.
    case none
    case unknown
  }

  /// A member by its name, and for calls by the labels that were given: those of defaults and trailing closures may lack.
  func member(_ name: String, labels: [String]?, closures: Int = 0, of type: Found) -> Lookup {
    let (types, isWhole) = line(of: type)
    var best: (rank: Int, Member)?
    for (depth, ancestor) in types.enumerated() {
      for candidate in members[ancestor.api.style]?[ancestor.name]?[name] ?? [] {
        let symbol = ancestor.name.isEmpty ? candidate : ancestor.name + "." + candidate
        let entry = ancestor.api.entries[symbol]
        guard let fit = Self.fit(candidate, labels, closures) else { continue }
        // The async variant of a listed member has the same entry.
        let isHere = entry.map { $0.status == .works || $0.status == .recorded }
        var rank = fit * 100 + depth * 10 + (isHere == nil ? 1_000 : isHere == false && fit > 0 ? 2_000 : 0)
        if labels == nil, entry?.status == .recorded { rank += 1 }  // which of several is meant is not said
        if best.map({ $0.rank <= rank }) ?? false { continue }
        best = (rank, member(symbol, candidate, of: ancestor, entry: entry))
      }
    }
    if let best { return .found(best.1) }
    return isWhole && !Self.everywhere.contains(name) ? .none : .unknown
  }

  private func member(_ symbol: String, _ name: String, of owner: Found, entry: VendorAPI.Entry?) -> Member {
    let declared = owner.declaration?.members[name] ?? ""
    var type = ValueType(declared)
    if case .named(let inner) = type, self.type(named: inner) == nil, self.type(named: owner.name + "." + inner) != nil
    {
      type = .named(owner.name + "." + inner)
    }
    return Member(
      symbol: symbol, status: entry?.status ?? .works, why: entry?.why, type: type,
      parameters: owner.declaration?.parameters?[name] ?? [], style: owner.api.style)
  }

  /// A function or constant of a module's own.
  func global(_ name: String, labels: [String]?) -> Member? {
    for api in apis where api.types[""] != nil {
      if case .found(let member) = self.member(name, labels: labels, of: Found(api: api, name: "")) { return member }
    }
    return nil
  }

  /// How well a call's labels fit a declaration: 0 exactly; nil not at all; the more is left out the worse.
  private static func fit(_ declared: String, _ labels: [String]?, _ closures: Int) -> Int? {
    guard let open = declared.firstIndex(of: "(") else { return labels == nil ? 0 : 40 }
    guard let labels else { return 1 }
    let all = declared[open...].dropFirst().dropLast().split(separator: ":").map(String.init)
    var rest = all[...]
    for label in labels {
      guard let at = rest.firstIndex(of: label) else { return nil }
      rest = rest[(at + 1)...]
    }
    return abs(all.count - labels.count - closures)
  }

  /// All members with this name, of any type. Used where the receiver's type is unknown.
  func members(named name: String, labels: [String]?) -> [Member] {
    var found: [Member] = []
    for (api, entry, spelt) in listed[name] ?? [] {
      guard let member = spelt.member, member.hasSuffix(")") == (labels != nil), Self.fit(member, labels, 1) != nil
      else { continue }
      let type = ValueType(api.types[spelt.owner]?.members[member] ?? "")
      found.append(
        Member(
          symbol: entry.symbol, status: entry.status, why: entry.why, type: type, parameters: [], style: api.style))
    }
    return found.sorted { $0.symbol < $1.symbol }
  }

  private static let prefixes = [
    "UI", "AV", "CA", "CX", "MTK", "MTL", "UN", "RP", "PK", "WK", "CL", "CI", "CG", "CF", "CV", "CM", "kCG", "kCF",
    "kCV",
    "kCM",
  ]
  private static let vendorPrefixes: [Style: [String]] = [
    .stageStrategy: ["IVS"], .eventListener: ["RTC", "VideoSDK"],
  ]

  /// Whether a name has the prefix that all types of a vendor have.
  static func looksLikeAVendors(_ name: String, of style: Style?) -> Bool {
    guard let style else { return false }
    return (vendorPrefixes[style] ?? []).contains { prefix in
      let rest = name.dropFirst(prefix.count)
      return name.hasPrefix(prefix) && rest.first?.isUppercase == true
        && rest.dropFirst().first?.isLowercase == true
    }
  }

  /// Types with one of these prefixes that Foundation has on Linux.
  private static let foundations: Set<String> = ["CGFloat", "CGPoint", "CGSize", "CGRect", "CGRectEdge"]

  /// Names of Apple's that begin so are looked for among those that are declared here.
  static func looksLikeApples(_ name: String) -> Bool {
    guard !foundations.contains(name) else { return false }
    for prefix in prefixes {
      let rest = name.dropFirst(prefix.count)
      guard name.hasPrefix(prefix), let first = rest.first, first.isUppercase,
        rest.dropFirst().first?.isLowercase == true
      else { continue }
      return true
    }
    return false
  }
}
