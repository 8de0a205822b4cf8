import Koine
import KoineEmbeddedBackend
import KoineSampleSupport
import KoineTokens

// Joins, permissions and messages.

extension Acts {
  static func ring(_ stage: Stage) async throws {
    let ana = Endpoint(identity: "ana", name: "Ana", in: stage.world)
    let devices = ["telephone", "desk"].map { ($0, Endpoint(identity: "ben", name: "Ben", in: stage.world)) }
    for endpoint in [ana] + devices.map(\.1) { endpoint.register { _ in } }
    let answers = Lock<[Ring.ID: Ring.State]>([:])
    ana.observe { event in
      guard case .answered(let invitation, let callee, let answer) = event else { return }
      answers.withLock { $0[invitation.id] = answer }
      stage.printLine("Ana hears of \(callee): \(answer.rawValue)")
    }
    for (name, endpoint) in devices {
      endpoint.observe { event in
        switch event {
        case .invited(let invitation): stage.printLine("Ben's \(name) rings, it is \(invitation.callerName)")
        case .answered(_, _, let answer) where answer.isOver: stage.printLine("Ben's \(name) stops: \(answer.rawValue)")
        default: break
        }
      }
    }
    await stage.run(1)
    let desk = devices[1].1
    func call(_ callee: String, patience: Duration = .seconds(30), _ then: (Ring) -> Void) async -> Ring.State? {
      let ring = ana.invite([callee], patience: patience)
      await stage.run(1)
      then(ring)
      await stage.run(3)
      return answers.withLock { $0[ring.id] }
    }
    try stage.expect(await call("ben") { desk.reply(.accept, to: $0.id) } == .accepted, "Ben could not accept")
    try stage.expect(await call("ben") { desk.reply(.busy, to: $0.id) } == .busy, "Ben could not be busy")
    try stage.expect(await call("ben") { ana.cancel($0.id) } == .cancelled, "Ana could not give up")
    try stage.expect(
      await call("ben", patience: .seconds(2)) { _ in } == .unanswered, "an unanswered call did not end")
    try stage.expect(await call("eva") { _ in } == .unreachable, "Eva is not registered")
  }

  static func messages(_ stage: Stage) async throws {
    let (ana, ben) = (try await stage.enter("ana"), try await stage.enter("ben"))
    let heard = Lock<[String]>([])
    func listen(_ session: Session) {
      session.observe { event in
        guard case .messageReceived(let message) = event else { return }
        let text = String(decoding: message.payload, as: UTF8.self)
        heard.withLock { $0.append("\(session.request.name) \(text)") }
        stage.printLine(
          "\(session.request.name) reads “\(text)” of \(message.sender)\(message.isHistory ? ", from before" : "")")
      }
    }
    listen(ben)
    func write(_ text: String, to: [String]? = nil, lifetime: Duration? = nil, isPersistent: Bool = false) throws {
      try ana.send(
        DataMessage(topic: "chat", payload: Array(text.utf8), to: to, lifetime: lifetime, isPersistent: isPersistent))
    }
    try write("hello")
    try write("for ten seconds", lifetime: .seconds(10))
    try write("the rules", isPersistent: true)
    try write("only for Cleo, once she is there", to: ["cleo"], lifetime: .seconds(60))
    await stage.run(15)
    let cleo = Session(JoinRequest(room: "demo", participantID: "cleo", name: "cleo"), in: stage.world)
    listen(cleo)
    cleo.join { _ in }
    await stage.run(1)
    stage.backend.cutNetwork(of: "ben", for: .seconds(20))
    await stage.run(1)
    try write("while Ben is away")
    await stage.run(35)
    try stage.expect(
      heard.withLock { $0.sorted() } == [
        "ben for ten seconds", "ben hello", "ben the rules", "ben while Ben is away",
        "cleo only for Cleo, once she is there", "cleo the rules", "cleo while Ben is away",
      ], "other messages came: \(heard.withLock { $0 })")
  }

  static func reconnect(_ stage: Stage) async throws {
    let (ana, ben) = (try await stage.enter("ana"), try await stage.enter("ben"))
    let viewer = Viewer()
    try ana.publish(camera: Devices.camera("pattern:320x180@30"))
    let (states, heard) = (Lock<[SessionState]>([]), Lock(0))
    ana.observe { event in
      if case .stateChanged(let state) = event {
        states.withLock { $0.append(state) }
        stage.printLine("Ana is \(state)")
      }
    }
    ben.observe { event in
      if case .messageReceived = event { heard.withLock { $0 += 1 } }
      if case .participantLeft(let who, let reason) = event {
        stage.printLine("Ben is told that \(who.name) has \(reason)")
      }
    }
    await stage.run(1)
    ben.attach(viewer as any VideoSink, to: try stage.stream(.camera, of: "ana", seenBy: ben))
    var sent = 0
    let troubles: [(String, Double, () -> Void)] = [
      ("no network for 3 s", 6, { stage.backend.cutNetwork(of: "ana", for: .seconds(3)) }),
      ("no network for 25 s", 40, { stage.backend.cutNetwork(of: "ana", for: .seconds(25)) }),
      ("another address", 4, { stage.backend.changeAddress(of: "ana") }),
      ("a router that has lost its memory", 35, { stage.backend.restartRouter() }),
    ]
    for (trouble, seconds, begin) in troubles {
      stage.printLine(trouble)
      begin()
      for _ in 0..<Int(seconds) {
        try ana.send(DataMessage(topic: "count", payload: []))
        sent += 1
        await stage.run(1)
      }
      let before = viewer.pictures
      await stage.run(2)
      let heard = heard.withLock { $0 }
      stage.printLine(
        "Ben has heard \(heard) of \(sent) messages, and sees \((viewer.pictures - before) / 2) pictures a second")
      try stage.expect(
        ana.state == .connected && heard == sent && viewer.pictures > before + 30, "not all is as it was before")
    }
  }

  static func grants(_ stage: Stage) async throws {
    let key = try SigningKey(generating: .p256)
    let now = NumericDate.ofSystemClock()
    func pass(_ name: String, _ rights: Set<KoineToken.Right>, seconds: Double = 600) throws -> String {
      try KoineToken(participantID: name, name: name, rights: rights, issued: now, expires: now + seconds).signed(
        with: key)
    }
    let host = try await stage.enter("host", credential: pass("host", [.publish, .subscribe, .send, .moderate]))
    let guest = try await stage.enter("guest", credential: pass("guest", [.publishSound], seconds: 15))
    let refusals = Lock(0)
    guest.observe { event in
      if case .failed(let error) = event {
        refusals.withLock { $0 += 1 }
        stage.printLine("the guest is refused: \(error.message)")
      }
      if case .streamMuted(let stream, let owner) = event, owner.isLocal, stream.isMuted {
        stage.printLine("the guest's \(stream.kind.rawValue) has been muted by the host")
      }
    }
    let voice = try guest.publish(microphone: Devices.microphone("tone"))
    try guest.publish(camera: Devices.camera("pattern:160x90@5"))
    try guest.publish(camera: Devices.camera("pattern:160x90@5"), as: .screen)
    try guest.send(DataMessage(topic: "chat", payload: []))
    try host.publish(microphone: Devices.microphone("tone"))
    guest.remove("host")
    guest.closeRoom()
    await stage.run(2)
    try stage.expect(refusals.withLock { $0 } == 6, "\(refusals.withLock { $0 }) refusals instead of 6")
    host.mute(voice.id)
    await stage.run(1)
    try stage.expect(voice.isMuted, "the host could not mute the guest")
    let eye = try await stage.enter("eye", credential: pass("eye", [.subscribe, .hidden]))
    try stage.expect(
      host.participants.map(\.id) == ["guest"] && eye.participants.count == 2,
      "a hidden participant was seen, or sees no participant")
    guest.renew(credential: try pass("guest", [.publishSound], seconds: 40))
    await stage.run(20)
    try stage.expect(guest.state == .connected, "the renewed pass did not hold")
    host.remove("guest")
    await stage.run(1)
    try stage.expect(guest.state == .ended(.removed), "the host could not put the guest out")
    stage.printLine("the guest's pass was renewed, and then the host put the guest out")
    let asking = Session(
      JoinRequest(room: "demo", credential: try pass("eva", [.publish, .subscribe, .ask]), name: "eva"), in: stage.world
    )
    asking.join { _ in }
    await stage.run(1)
    try stage.expect(host.entryRequests.map(\.id) == ["eva"], "no participant waits in the lobby")
    host.admit("eva")
    await stage.run(1)
    try stage.expect(asking.state == .connected, "Eva was not let in")
    stage.printLine("Eva asked to be let in, and the host let her in")
  }
}
