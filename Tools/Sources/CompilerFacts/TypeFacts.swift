/// The types that the compiler has given to declarations and expressions of a module.
///
/// The compiler's output that has them may change with each version; this protocol is all that the rest of the tools sees of it.
public protocol TypeFacts: Sendable {
  /// What the compiler knows of a declaration of the module; nil if the module has no such declaration.
  func declaration(_ usr: String) -> TypedDeclaration?
  /// The type of the expression between two tokens of a file, before conversions.
  /// - Parameters:
  ///   - first: the UTF-8 offset of the expression's first token in the file.
  ///   - last: the UTF-8 offset of its last token.
  func expressionType(in file: String, from first: Int, to last: Int) -> CompiledType?
  /// The type of a Swift property of any module, which its identifier contains; nil for other identifiers.
  func propertyType(_ usr: String) -> CompiledType?
}

/// A declaration as the compiler sees it.
public struct TypedDeclaration: Hashable, Sendable {
  public enum Access: String, Hashable, Sendable {
    case `private`, `fileprivate`, `internal`, package, `public`, open
  }

  /// Of a function: its function type, with the type of `self` as the first parameter list.
  public let type: CompiledType
  public let access: Access
  /// Whether the declaration belongs to the main actor, by its own attribute or its type's.
  public let isOnMainActor: Bool
  /// For a property with a wrapper that has a projected value (`$name`): that value's type.
  public internal(set) var projectedType: CompiledType?
}

/// A type as the compiler writes it in mangled form.
public struct CompiledType: Hashable, Sendable, CustomStringConvertible {
  public let mangled: String
  /// With modules before the names: `[VideoSDKRTC.Participant]`. Protocols have no `any`.
  public let description: String

  public init(mangled: String, description: String) {
    (self.mangled, self.description) = (mangled, description)
  }

  /// The names of types in it, with their modules: `Swift.String`.
  public var names: [String] {
    description.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == ".") }.map(String.init)
      .filter { $0.contains(".") && !$0.hasPrefix(".") }
  }
}
