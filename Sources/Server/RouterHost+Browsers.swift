import KoineBase
import KoineRouter
import KoineSignaling
import KoineTransport
import Logging

// Browsers: what they say is translated for the router, and their lines may break.

extension RouterHost {
  /// From any thread.
  func take(_ message: Result<BrowserMessage, SignalingError>, on line: ConnectionID) {
    receive(.browser(message), on: line)
  }

  func take(
    _ message: Result<BrowserMessage, SignalingError>, _ checked: Check.Result, on line: ConnectionID, at now: Tick
  ) {
    guard let browser = browsers.holder(on: line) else { return }
    switch message {
    case .success(let message): take(message, checked, of: browser, on: line, at: now)
    case .failure(let error):
      hear(from: browser, isCounted: true)
      // Without its number: here requests are the translation's own.
      router?.refuse(UnreadableMessage(error), on: browser.id)
    }
  }

  private func take(
    _ message: BrowserMessage, _ checked: Check.Result, of browser: Browser, on line: ConnectionID, at now: Tick
  ) {
    hear(from: browser, isCounted: message.isCounted)
    switch message {
    case .other(.heard(let count)): browser.conversation.told(heard: count)
    case .other(.resumeConversation(let key, let heard)):
      takeUp(key, heard: heard, on: line, instead: browser, at: now)
    case .other(.bye):
      browsers.remove(browser)
      router?.handle(.bye, on: browser.id, at: now)
    case .join(let join, _) where checked.verdict?.failure != nil:
      // Its offer has not been read; the router only refuses.
      route(.join(join), checked.verdict, on: browser.id, at: now)
    case .offer where !mayOffer(checked.offer, of: browser, at: now):
      tell(.message(.failed(request: nil, Failure(.tooMany, "too many media offered in a short time"))), to: browser)
    default: carryOut(browser.end.take(message, offer: checked.offer), checked.verdict, of: browser, at: now)
    }
  }

  private func mayOffer(
    _ offer: Result<SessionDescription, SDPError>?, of browser: Browser, at now: Tick
  ) -> Bool {
    guard case .success(let description) = offer else { return true }  // it is refused for another reason
    return router?.takeOffer(media: description.media.count, on: browser.id, at: now) ?? false
  }

  private func hear(from browser: Browser, isCounted: Bool) {
    if let count = browser.conversation.hear(isCounted: isCounted) { send(.message(.heard(count)), to: browser) }
  }

  /// A browser is back, on a new line.
  private func takeUp(_ key: String, heard: Int, on line: ConnectionID, instead new: Browser, at now: Tick) {
    guard !new.end.hasBegun, let browser = browsers.holder(withKey: key), browser !== new,
      browser.conversation.takenUp(heard: heard) != nil
    else {
      let failure = Failure(.unknownConversation, "this conversation is not known, or no longer")
      return tell(.message(.refused(failure)), to: new)
    }
    router?.close(new.id, at: now)
    if let old = browser.line { close(afterTurn: old) }
    browsers.move(browser, to: line)
    send(.message(.resumed(heard: browser.conversation.heard)), to: browser)
    browser.repeating = heard
    repeatPage(to: browser)
    stays[browser.id]?.info("connection taken up again")
  }

  /// Says the next page again of what a browser that is back has not heard.
  private func repeatPage(to browser: Browser) {
    guard let line = browser.line, let number = browser.repeating else { return }
    guard let page = browser.conversation.page(from: number, within: .page) else {
      // Too much was said meanwhile, and some of it has been forgotten.
      return close(afterTurn: line)
    }
    let next = number + page.count
    browser.repeating = next < browser.conversation.said ? next : nil
    let end = RepeatedPage(bytes: page.reduce(0) { $0 + $1.weight }) { [weak self, id = browser.id] in
      self?.post { [weak self] in
        guard let self, let browser = browsers[id], browser.line == line else { return }
        repeatPage(to: browser)
        endTurn(at: now)
      }
    }
    for (index, word) in zip(page.indices, page) {
      send(word, to: browser, endOf: index == page.endIndex - 1 ? end : nil)
    }
  }

  /// Its line broke. If it can come back, the router does not hear of it for the grace; if not, it is gone.
  /// - Returns: the browser's name where it may come back.
  func lose(_ browser: Browser, keeping pass: DoorKeeper.Pass?, at now: Tick) -> ConnectionID? {
    guard browser.isResumable else {
      giveUp(browser, at: now)
      return nil
    }
    browsers.lose(browser, until: now + browser.grace, keeping: pass)
    return browser.id
  }

  func giveUp(_ browser: Browser, at now: Tick) {
    browsers.remove(browser)
    stays.end(on: browser.id)
    router?.lose(browser.id, at: now)
  }

  func giveUpLostBrowsers(at now: Tick) {
    while let browser = browsers.firstExpired(at: now) { giveUp(browser, at: now) }
  }

  func refuseJoin(_ failure: Failure, onBrowserLine line: ConnectionID) {
    guard let browser = browsers.holder(on: line) else { return }
    hear(from: browser, isCounted: true)
    tell(.message(.refused(failure)), to: browser)
  }

  /// The router says something to it.
  func hear(_ message: ServerMessage, to browser: Browser, at now: Tick) {
    if case .resumable(let key, let graceSeconds) = message {
      browsers.setKey(key, of: browser)
      browser.grace = .seconds(graceSeconds)
    }
    carryOut(browser.end.hear(message), of: browser, at: now)
  }

  private func carryOut(
    _ actions: [BrowserEnd.Action], _ verdict: CredentialVerdict? = nil, of browser: Browser, at now: Tick
  ) {
    for action in actions {
      switch action {
      case .route(let message): route(message, verdict, on: browser.id, at: now)
      case .speak(let dialect): router?.speak(dialect, on: browser.id)
      case .tell(let message): tell(.message(message), to: browser)
      case .answer(let answer): tell(.answer(answer), to: browser)
      }
    }
  }

  private func tell(_ word: BrowserWord, to browser: Browser) {
    browser.conversation.say(word)
    // While earlier messages are being said again it comes after them.
    if browser.repeating == nil || !word.isCounted { send(word, to: browser) }
  }

  /// On the line there is; without one it waits, if it was said.
  private func send(_ word: BrowserWord, to browser: Browser, endOf page: RepeatedPage? = nil) {
    guard let outlet = browser.line.flatMap({ lines[$0]?.outlet }) else { return }
    switch word {
    case .message(let message): outlet.send(shared(message, for: browser.id, endOf: page))
    case .answer(let answer): outlet.send(answer, endOf: page)
    }
  }
}
