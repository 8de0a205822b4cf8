import KoineBase
import KoineRouter
import KoineSignaling
import KoineSignalingHost
import KoineVendorAPIs

// Messages on their way to the router: in order, and those that need a check by way of the checker's thread. In a cluster the checks of
// credentials follow the registry as it is when they begin.

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
    case .now: startCheck(message, on: line, at: now)
    case .tooMuch: close(afterTurn: line)
    case .later, .dropped, nil: break
    }
  }

  private func startCheck(_ message: IncomingMessage, on line: ConnectionID, at now: Tick) {
    guard let client = lines[line], !client.isClosing else { return }
    guard let check = check(for: message, on: line) else { return handle(message, Check.Result(), on: line, at: now) }
    if check.costs, let failure = refusal(of: check, on: line, at: now) {
      return handle(message, check.refused(failure), on: line, at: now)
    }
    guard let registry = ownLedger?.registry, check.question != nil else {
      return run(check, of: message, on: line, at: now)
    }
    lines[line]?.beginCheck()
    refresh(registry, for: check, since: now) { [self] check, failure in
      let goOn: @Sendable () -> Void = { [self] in go(on: check, failure, message, line) }
      if let apis { apis.followLinks(then: goOn) } else { goOn() }
    }
  }

  /// How long a join waits for the registry: to a room that is here it does not, because calls go on without the ledger.
  private static let registryPatience = Duration.seconds(8)

  /// From any thread.
  /// - Parameter done: called with the check, and with a failure if the check is not possible.
  private func refresh(
    _ registry: LedgerRegistry, for check: Check, since start: Tick,
    then done: @escaping @Sendable (Check, Failure?) -> Void
  ) {
    registry.refresh { [self] failure in
      guard failure != nil else { return done(check, nil) }
      post { [self] in
        let isElsewhere =
          if case .join(let join)? = check.question { signaling?.router.place(of: join.room).isHere == false } else {
            false
          }
        guard !isElsewhere || now >= start + Self.registryPatience else {
          return after(.milliseconds(250)) { [self] in refresh(registry, for: check, since: start, then: done) }
        }
        // While the ledger is away, the rules in memory decide. A credential may replace the name of the room by one that is here.
        var decided = check
        decided.isForRoomsHere = isElsewhere
        let isKnown = registry.hasRead
        done(decided, isKnown ? nil : Failure(.unavailable, "the registry of the cluster is not known yet"))
      }
    }
  }

  private func isElsewhere(_ check: Check, _ result: Check.Result) -> Bool {
    guard check.isForRoomsHere, case .join(let join)? = check.question,
      case .participant(.success(let grants))? = result.verdict
    else { return false }
    return signaling?.router.place(of: grants.room ?? join.room).isHere == false
  }

  /// From any thread.
  private func go(on check: Check, _ failure: Failure?, _ message: IncomingMessage, _ line: ConnectionID) {
    post { [self] in
      if let failure {
        // It says nothing about the credential.
        if check.countsForAddress { lines[line]?.pass?.credentialAccepted() }
        if lines[line] != nil { handle(message, check.refused(failure), on: line, at: now) }
      } else {
        run(check, of: message, on: line, at: now)
      }
      endTurn(at: now)
      restIfStopped()
    }
  }

  private func run(_ check: Check, of message: IncomingMessage, on line: ConnectionID, at now: Tick) {
    guard let client = lines[line], !client.isClosing else { return }
    guard check.costs else {
      let result = check.run(authorization)
      return finish(message, check, result, on: line, at: now)
    }
    let isQueued = checker.submit(to: client.pass?.isInside == true ? .participants : check.queue) { [self] in
      let result = check.run(authorization)
      if check.countsForAddress, result.verdict?.failure == nil { client.pass?.credentialAccepted() }
      post { [self] in
        finish(message, check, result, on: line, at: now)
        endTurn(at: now)
        restIfStopped()
      }
    }
    guard isQueued else {
      if check.countsForAddress { client.pass?.credentialAccepted() }
      let failure = Failure(.tooMany, "too many joins at once; try again in a moment")
      return handle(message, check.refused(failure), on: line, at: now)
    }
    lines[line]?.beginCheck()
  }

  /// - Returns: why the credential is not checked; nil where it is.
  private func refusal(of check: Check, on line: ConnectionID, at now: Tick) -> Failure? {
    if check.countsForAddress {
      guard lines[line]?.pass?.takeCredential(at: now) == false else { return nil }
      return Failure(.tooMany, "too many refused credentials from this address; try again in a few seconds")
    }
    guard case .renewal = check.question, lines[line]?.takeRenewal(at: now) == false else { return nil }
    return Failure(.tooMany, "renewed too often; try again in a few seconds")
  }

  /// nil for a message that needs none.
  private func check(for message: IncomingMessage, on line: ConnectionID) -> Check? {
    switch message {
    case .native(.success(let message)):
      return credentialQuestion(of: message, on: line).map { Check(question: $0) }
    case .browser(.success(let message)):
      guard let browser = translator(on: line) else { return nil }
      switch message {
      case .join(let join, let offer):
        guard !browser.hasBegun, let question = credentialQuestion(of: .join(join), on: line) else { return nil }
        return Check(question: question, sdp: offer.sdp)
      case .offer(let offer): return browser.hasJoined ? Check(sdp: offer.sdp) : nil
      case .other(let message): return credentialQuestion(of: message, on: line).map { Check(question: $0) }
      }
    case .native(.failure), .browser(.failure): return nil
    }
  }

  private func credentialQuestion(of message: ClientMessage, on line: ConnectionID) -> CredentialQuestion? {
    signaling.flatMap { signaling in
      signaling.client(on: line).flatMap { signaling.router.credentialQuestion(of: message, from: $0) }
    }
  }

  private func finish(
    _ message: IncomingMessage, _ check: Check, _ result: Check.Result, on line: ConnectionID, at now: Tick
  ) {
    guard lines[line] != nil else { return }  // its connection has gone
    countCredential(result, on: line)
    let isElsewhere = isElsewhere(check, result)
    let unknown = Failure(.unavailable, "the ledger of the cluster does not answer")
    handle(message, isElsewhere ? check.refused(unknown) : result, on: line, at: now)
  }

  private func handle(_ message: IncomingMessage, _ checked: Check.Result, on line: ConnectionID, at now: Tick) {
    log(message, on: line)
    switch message {
    case .native(.success(let message)):
      signaling?.receive(message, authorization: checked.verdict, on: line, at: now)
    case .native(.failure(let unreadable)): signaling?.receive(unreadable, on: line)
    case .browser(let message): handle(message, checked, on: line, at: now)
    }
    // A job of its own for each: other connections, and media, have their turns in between.
    guard let next = lines[line]?.takeWaiting() else { return }
    post { [self] in
      startCheck(next, on: line, at: self.now)
      endTurn(at: self.now)
      restIfStopped()
    }
  }

  /// Lines with a check under way, or messages behind one. For tests.
  func pendingChecks() async -> Int {
    await withCheckedContinuation { done in
      post { [self] in done.resume(returning: lines.values.count { $0.isBusy }) }
    }
  }

  // MARK: Refusals

  private func countCredential(_ checked: Check.Result, on line: ConnectionID) {
    if checked.isRefused {
      if lines[line]?.credentialRefused() ?? false { close(afterTurn: line) }
    } else if checked.verdict != nil {
      lines[line]?.credentialAccepted()
    }
  }
}
