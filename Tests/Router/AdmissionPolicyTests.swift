import KoineBase
import KoineSignaling
import Testing

@testable import KoineRouter

@Suite struct AdmissionPolicyTests {
  /// Records the questions that a policy is asked.
  private final class Questions: Sendable {
    private let all = Lock<[AdmissionPolicy.Question]>([])

    func add(_ question: AdmissionPolicy.Question) { all.withLock { $0.append(question) } }
    var occasions: [AdmissionPolicy.Occasion] { all.withLock { $0.map(\.occasion) } }
    var last: AdmissionPolicy.Question? { all.withLock { $0.last } }
  }

  private func makeWorld(
    _ credential: @escaping @Sendable (Join) -> Result<Grants, Failure> = { _ in .success(.everything) },
    _ decide: @escaping @Sendable (AdmissionPolicy.Question) -> AdmissionPolicy.Decision
  ) throws -> World {
    try World {
      $0.authorization = Authorization(check: credential)
      $0.limits.participants = 3
      $0.admission = AdmissionPolicy(decide: decide)
    }
  }

  /// Asks for the id `name`.
  private func enter(_ name: String, _ credential: String = "", in world: World) throws -> Client {
    let client = try world.makeClient()
    client.join("room", as: name, credential: credential)
    world.run(.milliseconds(300))
    return client
  }

  private func isIn(_ client: Client) -> Bool {
    client.messages.contains { if case .joined = $0 { true } else { false } }
  }

  @Test func policySeesTheJoinItsGrantsAndTheRoom() throws {
    let questions = Questions()
    let world = try makeWorld({ join in
      var grants = Grants.everything
      (grants.participantID, grants.isHidden) = ("id-\(join.name)", join.name == "spy")
      return .success(grants)
    }) {
      questions.add($0)
      return .admit($0.grants)
    }
    #expect(isIn(try enter("ana", in: world)))
    #expect(questions.last?.room == nil)
    #expect(questions.last?.participantID == "id-ana")
    _ = try enter("spy", in: world)
    _ = try enter("ben", in: world)
    #expect(questions.last?.join.name == "ben")
    #expect(questions.last?.room == .init(participants: 1, hidden: 1, contentShares: 0, waiting: 0, limit: 3))
    #expect(questions.occasions == [.join, .join, .join])
  }

  @Test func policyIsNotAskedAboutARefusedCredential() throws {
    let questions = Questions()
    let world = try makeWorld({ _ in .failure(Failure(.unauthorized, "no")) }) {
      questions.add($0)
      return .admit(.everything)
    }
    #expect(try enter("ana", in: world).messages.last?.code == .unauthorized)
    #expect(questions.occasions.isEmpty)
  }

  /// A join may name any id, also another participant's.
  @Test func refusalIsReportedWithAProvenIdOnly() throws {
    let events = Lock<[RoomEvent]>([])
    let world = try World {
      $0.authorization = Authorization(check: { join in
        guard join.credential != "forged" else { return .failure(Failure(.unauthorized, "no")) }
        var grants = Grants.everything
        if join.credential == "ana's" { grants.participantID = "ana" }
        return .success(grants)
      })
      $0.admission = AdmissionPolicy(decide: { _ in .refuse(Failure(.ended, "the meeting is over")) })
      $0.roomEvent = { event in events.withLock { $0.append(event) } }
    }
    for credential in ["forged", "ana's", "open"] { _ = try enter("ana", credential, in: world) }
    #expect(events.withLock { $0.map(\.participant) } == ["", "ana", "ana"])
    let codes = events.withLock { $0 }.map { event -> Failure.Code? in
      if case .refused(let failure) = event.change { failure.code } else { nil }
    }
    #expect(codes == [.unauthorized, .ended, .ended])
  }

  @Test func refusedJoinCarriesThePolicysReason() throws {
    let world = try makeWorld { question in
      question.room == nil ? .admit(question.grants) : .refuse(Failure(.ended, "the meeting is over"))
    }
    #expect(isIn(try enter("ana", in: world)))
    #expect(try enter("ben", in: world).messages.last == .refused(Failure(.ended, "the meeting is over")))
    #expect(world.router.statistics.participants == 1)
  }

  @Test func participantEntersWithTheGrantsThatThePolicyLeaves() throws {
    let world = try makeWorld { question in
      var grants = question.grants
      (grants.publish, grants.participantID) = ([.microphone], "attendee")
      return .admit(grants)
    }
    let ana = try enter("ana", in: world)
    guard case .joined(let joined) = ana.messages.first(where: { if case .joined = $0 { true } else { false } }) else {
      Issue.record("\(ana.messages)")
      return
    }
    #expect(joined.participantID == "attendee")
    ana.publish(.camera)
    #expect(ana.messages.last?.code == .forbidden)
    ana.publish(.microphone)
    #expect(ana.messages.last?.code == nil)
  }

  @Test func routersLimitHoldsAfterThePolicy() throws {
    let world = try makeWorld { .admit($0.grants) }
    for name in ["ana", "ben", "cyd"] { #expect(isIn(try enter(name, in: world))) }
    #expect(try enter("dan", in: world).messages.last?.code == .roomFull)
  }

  @Test func waitingParticipantIsDecidedOnAgainWhenTheRoomAdmitsIt() throws {
    let (questions, isOver) = (Questions(), Lock(false))
    let world = try makeWorld { question in
      questions.add(question)
      if isOver.withLock({ $0 }) { return .refuse(Failure(.ended, "the meeting is over")) }
      return question.join.name == "ana" ? .admit(question.grants) : .wait(question.grants)
    }
    let (ana, ben, cyd) = (try enter("ana", in: world), try enter("ben", in: world), try enter("cyd", in: world))
    #expect(ben.messages.last == .waiting)
    #expect(questions.last?.room == .init(participants: 1, hidden: 0, contentShares: 0, waiting: 1, limit: 3))
    ana.send(.answerKnock(participant: "ben", admitted: true))
    #expect(isIn(ben))
    isOver.withLock { $0 = true }
    ana.send(.answerKnock(participant: "cyd", admitted: true))
    #expect(cyd.messages.last == .refused(Failure(.ended, "the meeting is over")))
    #expect(!isIn(cyd))
    #expect(questions.occasions == [.join, .join, .join, .admission, .admission])
  }

  /// If the policy does not admit a waiting participant, the participant gets the refusal and the room is not told of an
  /// admission.
  @Test(arguments: ["over", "other", "expired", "no-join"])
  func waitingParticipantRefusedByThePolicyIsNotReportedAsAdmitted(_ name: String) throws {
    let questions = Questions()
    let world = try makeWorld { question in
      guard question.occasion == .admission else {
        return question.join.name == "ana" ? .admit(question.grants) : .wait(question.grants)
      }
      questions.add(question)
      var grants = question.grants
      switch name {
      case "over": return .refuse(Failure(.ended, "the meeting is over"))
      case "other": grants.participantID = "ana"
      case "expired": grants.validFor = .zero
      default: grants.canJoin = false
      }
      return .admit(grants)
    }
    let ana = try enter("ana", in: world)
    let eva = try world.makeClient()
    eva.join("room", as: nil)
    world.run(.milliseconds(300))
    let id = try #require(
      ana.messages.compactMap { if case .knock(let participant, _) = $0 { participant.id } else { nil } }.first)
    ana.send(.answerKnock(participant: id, admitted: true))
    #expect(!isIn(eva))
    guard case .refused(let failure, _) = eva.messages.last else {
      Issue.record("\(eva.messages)")
      return
    }
    #expect(questions.last?.participantID == id, "the id under which the room knows it")
    #expect(ana.messages.last == .failed(request: nil, failure))
    #expect(
      ana.messages.contains { if case .knockEnded(id, admitted: nil, number: _) = $0 { true } else { false } })
    #expect(world.router.statistics.participants == 1)
  }

  @Test func policyAdmitsAParticipantWhoseCredentialRequiresWaiting() throws {
    let world = try makeWorld({ _ in
      var grants = Grants.everything
      grants.mustAsk = true
      return .success(grants)
    }) { question in
      var grants = question.grants
      grants.mustAsk = false
      return .admit(grants)
    }
    #expect(isIn(try enter("ana", in: world)))
  }

  @Test func policyDecidesAboutRenewals() throws {
    let world = try makeWorld { question in
      guard question.occasion == .renewal else { return .admit(question.grants) }
      switch question.join.credential {
      case "wait": return .wait(question.grants)
      case "gone": return .refuse(Failure(.unauthorized, "the user has been removed"))
      default:
        var grants = question.grants
        grants.publish = []
        return .admit(grants)
      }
    }
    let ana = try enter("ana", in: world)
    ana.publish(.microphone)
    ana.send(.renew(credential: "wait"))
    #expect(ana.messages.last?.code == .forbidden)
    ana.send(.renew(credential: "gone"))
    #expect(ana.messages.last?.code == .unauthorized)
    #expect(world.router.room(of: ana.id)?.roster["ana"]?.tracks.count == 1, "the old credential holds on")
    ana.send(.renew(credential: "less"))
    #expect(ana.messages.contains(.withdrawn(participant: "ana", trackIDs: ["microphone"])))
  }

  @Test func refusedIdentityIsNotRegistered() throws {
    let world = try World {
      $0.admission = AdmissionPolicy(
        decide: { .admit($0.grants) },
        refuseIdentity: { _, known in
          known.identity == "ana" ? Failure(.unauthorized, "the user has been removed") : nil
        })
    }
    let (ana, ben) = (try world.makeClient(), try world.makeClient())
    ana.send(.register(Register(identity: "ana", name: "Ana")))
    ben.send(.register(Register(identity: "ben", name: "Ben")))
    #expect(ana.messages.last?.code == .unauthorized)
    #expect(ben.messages.last == .registered(identity: "ben"))
  }
}
