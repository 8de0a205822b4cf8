import KoineBase
import KoineRouter
import KoineSignaling
import KoineSignalingHost
import KoineTransport

// Browsers: a translator turns their messages into those of the room protocol.

extension RouterHost {
  /// From any thread.
  func handle(_ message: Result<BrowserMessage, SignalingError>, on line: ConnectionID) {
    receive(.browser(message), on: line)
  }

  func handle(
    _ message: Result<BrowserMessage, SignalingError>, _ checked: Check.Result, on line: ConnectionID, at now: Tick
  ) {
    switch message {
    case .success(.other(let message)):
      signaling?.receive(message, authorization: checked.verdict, on: line, at: now)
    case .success(let message):
      guard let client = signaling?.receiveOwnMessage(on: line), let browser = translator(on: line) else { return }
      signaling?.perform(
        actions(for: message, checked, by: browser, of: client, at: now), authorization: checked.verdict, of: client,
        at: now)
    case .failure(let error):
      // Without its number: here requests are the translator's own.
      signaling?.receive(UnreadableMessage(error), on: line)
    }
  }

  private func actions(
    for message: BrowserMessage, _ checked: Check.Result, by browser: BrowserTranslator, of client: ClientID,
    at now: Tick
  ) -> [TranslatedAction] {
    switch message {
    case .join(let join, _) where checked.verdict?.failure != nil:
      // Its offer has not been read; the router only refuses.
      return [.handle(.join(join))]
    case .offer where !mayOffer(checked.offer, of: client, at: now):
      return [.send(.failed(request: nil, Failure(.tooMany, "too many media offered in a short time")))]
    default: return browser.handle(message, offer: checked.offer)
    }
  }

  private func mayOffer(_ offer: Result<SessionDescription, SDPError>?, of client: ClientID, at now: Tick) -> Bool {
    guard case .success(let description) = offer else { return true }  // it is refused for another reason
    return signaling?.router.takeOffer(media: description.media.count, of: client, at: now) ?? false
  }

  func translator(on line: ConnectionID) -> BrowserTranslator? {
    signaling?.translator(on: line) as? BrowserTranslator
  }
}
