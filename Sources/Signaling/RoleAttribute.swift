/// The attribute that tells the others a participant's role in a room whose back end gives roles.
package enum RoleAttribute {
  /// Only a credential or the server's rules set it. The router ignores it in what participants say of themselves.
  package static let name = "koine.role"
}
