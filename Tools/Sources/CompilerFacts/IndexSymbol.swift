/// A declaration in the compiler's index.
public struct IndexSymbol: Hashable, Sendable {
  public enum Kind: Hashable, Sendable {
    case module, `enum`, `struct`, `class`, `protocol`, `extension`, alias, function, variable, enumCase, method,
      staticMethod, property, staticProperty, initializer, deinitializer, parameter
    /// A kind that the index has and that no reader here needs, by its number there.
    case other(UInt32)

    init(_ number: UInt32) {
      self =
        switch number {
        case 1: .module
        case 5: .enum
        case 6: .struct
        case 7: .class
        case 8: .protocol
        case 9: .extension
        case 11: .alias
        case 12: .function
        case 13: .variable
        case 15: .enumCase
        case 16: .method
        case 17, 18: .staticMethod
        case 19: .property
        case 20, 21: .staticProperty
        case 22: .initializer
        case 23: .deinitializer
        case 25: .parameter
        default: .other(number)
        }
    }

    public var isType: Bool {
      switch self {
      case .enum, .struct, .class, .protocol, .alias: true
      default: false
      }
    }
  }

  /// The compiler's identifier of the declaration ("unified symbol resolution"): equal in all modules that use it.
  public let usr: String
  /// With argument labels: `join(with:)`.
  public let name: String
  public let kind: Kind
  /// True for the getter, the setter and the observers of a property.
  public let isAccessor: Bool

  public init(usr: String, name: String, kind: Kind, isAccessor: Bool = false) {
    (self.usr, self.name, self.kind, self.isAccessor) = (usr, name, kind, isAccessor)
  }
}

/// What an occurrence does with its symbol, and how a related symbol relates to it. The numbers are the index's.
public struct IndexRoles: OptionSet, Hashable, Sendable {
  public let rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  public static let declaration = IndexRoles(rawValue: 1 << 0)
  public static let definition = IndexRoles(rawValue: 1 << 1)
  public static let reference = IndexRoles(rawValue: 1 << 2)
  public static let read = IndexRoles(rawValue: 1 << 3)
  public static let write = IndexRoles(rawValue: 1 << 4)
  public static let call = IndexRoles(rawValue: 1 << 5)
  public static let dynamic = IndexRoles(rawValue: 1 << 6)
  /// The compiler has added the use: it is not in the source.
  public static let implicit = IndexRoles(rawValue: 1 << 8)

  /// The symbol is a member of the related one.
  public static let childOf = IndexRoles(rawValue: 1 << 9)
  /// The symbol is a superclass or protocol of the related one.
  public static let baseOf = IndexRoles(rawValue: 1 << 10)
  /// The symbol overrides the related one, or fulfils that requirement.
  public static let overrideOf = IndexRoles(rawValue: 1 << 11)
  /// The receiver of the call has the related type.
  public static let receivedBy = IndexRoles(rawValue: 1 << 12)
  /// The symbol is called in the body of the related one.
  public static let calledBy = IndexRoles(rawValue: 1 << 13)
  /// The symbol is extended by the related extension.
  public static let extendedBy = IndexRoles(rawValue: 1 << 14)
  /// The symbol is an accessor of the related property.
  public static let accessorOf = IndexRoles(rawValue: 1 << 15)
  /// The symbol is used in the declaration of the related one.
  public static let containedBy = IndexRoles(rawValue: 1 << 16)
}

/// One appearance of a symbol in a source file.
public struct IndexOccurrence: Hashable, Sendable {
  public struct Relation: Hashable, Sendable {
    public let roles: IndexRoles
    public let symbol: IndexSymbol

    public init(roles: IndexRoles, symbol: IndexSymbol) { (self.roles, self.symbol) = (roles, symbol) }
  }

  public let symbol: IndexSymbol
  public let roles: IndexRoles
  public let location: CodeLocation
  public let relations: [Relation]

  public init(symbol: IndexSymbol, roles: IndexRoles, location: CodeLocation, relations: [Relation]) {
    (self.symbol, self.roles, self.location, self.relations) = (symbol, roles, location, relations)
  }

  /// The symbols that the occurrence's symbol has this relation to.
  public func related(_ roles: IndexRoles) -> [IndexSymbol] {
    relations.filter { !$0.roles.isDisjoint(with: roles) }.map(\.symbol)
  }
}
