package import KoineRouter
package import KoineSignaling

/// Translates between a front end's own messages and the room protocol of the router. Each client has a translator of its own.
package protocol MessageTranslator: AnyObject {
  /// Translates a message of the client. The result has no `forward`.
  func translate(_ message: ClientMessage) -> [TranslatedAction]
  /// Translates a message of the router.
  func translate(_ message: ServerMessage) -> [TranslatedAction]
}

package enum TranslatedAction {
  /// The router handles a message.
  case handle(ClientMessage)
  /// Sets the media capabilities of the client's peer in the router.
  case setCapabilities(MediaCapabilities)
  /// Sends the client a message.
  case send(ServerMessage)
  /// Sends the client the router's message unchanged. Its bytes are shared with other clients.
  case forward
  /// Sends the client a message of its front end's own protocol.
  case sendOwn(EncodedMessage)
}
