package import KoineRouter
package import KoineSignaling

/// Stands between a client whose front end has messages of its own and the router, which knows the room protocol.
package protocol MessageTranslator: AnyObject {
  /// Translates a message of the client. The result has no `forward`.
  func translate(_ message: ClientMessage) -> [TranslatedAction]
  /// Translates a message of the router.
  func translate(_ message: ServerMessage) -> [TranslatedAction]
}

package enum TranslatedAction {
  /// The router handles a message.
  case handle(ClientMessage)
  /// The router is told how the client's peer names things.
  case setCapabilities(MediaCapabilities)
  /// The client is sent a message.
  case send(ServerMessage)
  /// The client is sent the router's message as it is: its bytes are shared with other clients.
  case forward
  /// The client is sent a message of its front end's own protocol.
  case sendOwn(EncodedMessage)
}
