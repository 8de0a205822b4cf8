public import Koine

extension TestRoom {
  /// Adds a participant to the room, and returns once they are in. They stay until they leave.
  /// - Parameters:
  ///   - camera: nil: none.
  ///   - id: nil: the name in small letters.
  ///   - roomID: a room that a back end has made on this room's server, such as a meeting or a stage; nil: the room's own.
  /// - Throws: why they were not let in; `.alreadyJoined` if they are in the room.
  @discardableResult
  public func join(
    _ name: String, camera: TestCamera? = .stamp, microphone: TestMicrophone? = .tone, id: Participant.ID? = nil,
    attributes: [String: String] = [:], in roomID: String? = nil
  ) async throws -> Person {
    try refuseSecond(name, id)
    let person = meet(name, camera: camera, microphone: microphone, id: id, attributes: attributes)
    try await finish(try person.enter(roomID ?? self.id, as: person.id), "\(name) has not got into the room")
    return person
  }

  /// Creates a person that joins the room, from a synchronous test on the main thread.
  /// - Throws: `Failure` if the person cannot join.
  @available(*, noasync)
  @discardableResult
  public func join(
    _ name: String, camera: TestCamera? = .stamp, microphone: TestMicrophone? = .tone, id: Participant.ID? = nil,
    attributes: [String: String] = [:], in roomID: String? = nil
  ) throws -> Person {
    try refuseSecond(name, id)
    let person = meet(name, camera: camera, microphone: microphone, id: id, attributes: attributes)
    let outcome = try person.enter(roomID ?? self.id, as: person.id)
    let end = now + Self.patience
    while !outcome.isKnown, now < end { run(for: .milliseconds(5)) }
    guard outcome.isKnown else { throw TestRoomTimeout(description: "\(name) has not got into the room") }
    try outcome.get()
    return person
  }

  /// Signs in a person that can make and receive calls, and returns once the sign-in is complete. The person is in no room
  /// until it answers a call or begins one.
  /// - Throws: `Failure` if the person cannot be registered.
  public func signIn(
    _ name: String, camera: TestCamera? = .stamp, microphone: TestMicrophone? = .tone
  ) async throws -> Person {
    let person = meet(name, camera: camera, microphone: microphone, id: identity(of: name), attributes: [:])
    try await person.signIn()
    return person
  }

  /// The identity that a caller rings to reach this person, in the form of a communication user's raw id. It contains the
  /// room's id where a vendor's raw id contains the vendor's resource.
  public func identity(of name: String) -> String { "8:acs:\(id)_\(people.entry(named: name).id)" }

  /// Throws if the person is in the room already: a second join would disconnect the first.
  private func refuseSecond(_ name: String, _ id: Participant.ID?) throws(Failure) {
    guard people.isIn(id ?? People.id(of: name)) else { return }
    throw Failure(.alreadyJoined, "\(name) is in the room already; a second join would send the first one out")
  }

  private func meet(
    _ name: String, camera: TestCamera?, microphone: TestMicrophone?, id: Participant.ID?, attributes: [String: String]
  ) -> Person {
    Person(name, id: id, in: self, camera: camera, microphone: microphone, attributes: attributes)
  }

  private static let patience = Duration.seconds(60)

  /// Lets everything go on until it is known how something ends.
  func finish(_ outcome: Outcome, _ problem: String) async throws {
    let end = now + Self.patience
    while !outcome.isKnown {
      guard now < end else { throw TestRoomTimeout(description: problem) }
      await run(for: .milliseconds(5))
    }
    try outcome.get()
  }
}

// Calls: ringing, answering and declining.

extension Person {
  func signIn() async throws {
    guard endpoint == nil else { return }
    let endpoint = Endpoint(identity: identity, name: name, in: room.world(of: name))
    setEndpoint(endpoint)
    room.people.keep(endpoint)
    endpoint.observe { [outgoingStates] event in
      if case .answered(let ring, _, let state) = event, !ring.isIncoming {
        outgoingStates.withLock { $0.append(state) }
      }
    }
    let outcome = Outcome()
    endpoint.register { outcome.set($0) }
    try await room.finish(outcome, "\(name) has not signed in")
  }

  private func goTo(_ roomID: String) async throws {
    try await room.finish(try enter(roomID, as: identity), "\(name) has not got into the call")
  }

  /// Calls that ring at them, in the order in which they began.
  public var incomingCalls: [Ring] { endpoint?.invitations.filter(\.isIncoming) ?? [] }
  /// Whether a call rings at this person.
  public var isRung: Bool { !incomingCalls.isEmpty }

  /// Calls the person with this name, joins the call's room, and returns once it has joined. Signs in first if necessary.
  /// - Parameter hasVideo: whether pictures are announced.
  /// - Throws: `Failure` if the person is not signed in.
  public func ring(_ name: String, hasVideo: Bool = false) async throws {
    try await signIn()
    guard let endpoint else { return }
    let invitation = endpoint.invite([room.identity(of: name)], hasVideo: hasVideo)
    try await goTo(invitation.room)
  }

  /// Answers the call that rings, and returns once in it.
  /// - Throws: `.notConnected` if nothing rings.
  public func answer() async throws {
    let (endpoint, invitation) = try ringing()
    endpoint.reply(.accept, to: invitation.id)
    try await goTo(invitation.room)
  }

  /// Declines the call that rings at this person.
  /// - Throws: `Failure` if no call rings.
  public func decline() throws {
    let (endpoint, invitation) = try ringing()
    endpoint.reply(.decline, to: invitation.id)
  }

  /// The states of the calls that this person has begun, in the order in which they were reported.
  public var ringStates: [Ring.State] { outgoingStates.withLock { $0 } }

  /// Gives up ringing.
  public func cancelRinging() {
    for invitation in endpoint?.invitations ?? [] where !invitation.isIncoming { endpoint?.cancel(invitation.id) }
  }

  private func ringing() throws -> (Endpoint, Ring) {
    guard let endpoint, let invitation = incomingCalls.first else {
      throw Failure(.notConnected, "nothing rings at \(name)")
    }
    return (endpoint, invitation)
  }
}
