import KoineBase
import KoineRouter
import KoineSignaling

// Messages on their way to the router: in order, and those that need a check by way of the checker's thread.

extension RouterHost {
  /// From any thread.
  func receive(_ message: IncomingMessage, on line: ConnectionID) {
    post { [self] in
      accept(message, on: line, at: now)
      endTurn(at: now)
    }
  }

  private func accept(_ message: IncomingMessage, on line: ConnectionID, at now: Tick) {
    switch lines[line]?.accept(message) {
    case .now: begin(message, on: line, at: now)
    case .tooMuch: close(afterTurn: line)
    case .later, .dropped, nil: break
    }
  }

  private func begin(_ message: IncomingMessage, on line: ConnectionID, at now: Tick) {
    guard let client = lines[line], let check = check(for: message, on: line) else {
      return handle(message, Check.Result(), on: line, at: now)
    }
    if check.question?.costs == true, !refusedCredentials.mayAsk(client.visitor, at: now) {
      let failure = Failure(.tooMany, "too many refused credentials from this address; try again in a few seconds")
      return handle(message, check.refused(failure), on: line, at: now)
    }
    let isQueued = checker.submit(to: check.queue) { [self] in
      let result = check.run(authorization)
      post { [self] in
        finish(message, check, result, on: line, at: now)
        endTurn(at: now)
        restIfStopped()
      }
    }
    guard isQueued else {
      let failure = Failure(.tooMany, "too many joins at once; try again in a moment")
      return handle(message, check.refused(failure), on: line, at: now)
    }
    lines[line]?.isChecking = true
  }

  /// nil for a message that needs none, or only a free one.
  private func check(for message: IncomingMessage, on line: ConnectionID) -> Check? {
    switch message {
    case .native(.success(let message)):
      guard let question = router?.credentialQuestion(of: message, on: line), question.costs else { return nil }
      return Check(question: question)
    case .browser(.success(let message)):
      guard let browser = browsers.holder(on: line) else { return nil }
      switch message {
      case .join(let join, let offer):
        guard !browser.end.hasBegun, let question = router?.credentialQuestion(of: .join(join), on: browser.id) else {
          return nil
        }
        return Check(question: question, sdp: offer.sdp)
      case .offer(let offer): return browser.end.hasJoined ? Check(sdp: offer.sdp) : nil
      case .other(let message):
        guard let question = router?.credentialQuestion(of: message, on: browser.id), question.costs else {
          return nil
        }
        return Check(question: question)
      }
    case .native(.failure), .browser(.failure): return nil
    }
  }

  private func finish(
    _ message: IncomingMessage, _ check: Check, _ result: Check.Result, on line: ConnectionID, at now: Tick
  ) {
    guard let client = lines[line] else { return }  // its connection has gone
    if check.question?.costs == true, result.verdict?.failure != nil {
      refusedCredentials.refused(client.visitor, at: now)
    }
    handle(message, result, on: line, at: now)
    for message in lines[line]?.takeWaiting() ?? [] { accept(message, on: line, at: now) }
  }

  private func handle(_ message: IncomingMessage, _ checked: Check.Result, on line: ConnectionID, at now: Tick) {
    note(checked, on: line)
    switch message {
    case .native(.success(let message)): route(message, checked.verdict, on: line, at: now)
    case .native(.failure(let unreadable)): router?.refuse(unreadable, on: line)
    case .browser(let message): take(message, checked, on: line, at: now)
    }
  }

  /// Checks under way. For tests.
  func pendingChecks() async -> Int {
    await withCheckedContinuation { done in
      post { [self] in done.resume(returning: lines.values.count { $0.isChecking }) }
    }
  }

  // MARK: Refusals

  private func note(_ checked: Check.Result, on line: ConnectionID) {
    if checked.verdict?.failure != nil {
      countRefusal(on: line)
    } else if case .failure = checked.offer {
      countRefusal(on: line)
    } else if checked.verdict != nil {
      lines[line]?.credentialAccepted()
    }
  }

  private func countRefusal(on line: ConnectionID) {
    if lines[line]?.credentialRefused() ?? false { close(afterTurn: line) }
  }
}

extension CredentialQuestion {
  /// Whether there is anything to check.
  fileprivate var costs: Bool { credential?.isEmpty == false }
}
