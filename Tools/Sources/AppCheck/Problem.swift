public import KoinePorting

/// Something of an app that cannot work here.
public struct Problem: Hashable, Sendable {
  public enum Kind: String, Sendable, Hashable {
    /// A vendor's symbol that Koine does not offer.
    case unavailable
    /// A member that is neither declared nor listed.
    case missing
    /// Code that cannot be compiled on Linux.
    case linux
    /// A callback that Koine never calls.
    case callback
    /// Code that does not compile on Linux as it is, and does in the copy that `koine linux` writes.
    case rewritten
  }

  public let kind: Kind
  public let location: CodeLocation
  public let what: String
  /// What to write instead; why it is so.
  public let instead: String
  public let style: Style?

  init(_ kind: Kind, at location: CodeLocation, _ what: String, instead: String, style: Style? = nil) {
    (self.kind, self.location, self.what, self.instead, self.style) = (kind, location, what, instead, style)
  }
}
