import ArgumentParser
import AzureCommunicationCalling
import Foundation
import Koine
import KoineBase
import KoineSampleSupport
import KoineUIKit

/// The sample of the call-agent style.
@main
struct KoineCallAgent: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "koine-call-agent",
    abstract: "A call in the call-agent style (AzureCommunicationCalling).",
    discussion: """
      Meets others in the room, unless it rings somebody (--call), is rung (--answer) or joins a group call (--group). \
      With peers, those who are called are signed in and answer, and one of them rings who answers. Keys on a terminal: \
      m mute, v camera, h hold and resume, p people, f figures, q hang up.
      """)

  @OptionGroup var call: KoineSampleSupport.CallOptions

  @Option(help: "Who calls; otherwise --name.")
  var user: String?

  @OptionGroup var source: TokenSource

  @Option(
    name: .customLong("call"),
    help: ArgumentHelp(
      "Ring this user ('ben', or an identity as in '8:acs:ben'); several are rung at once.", valueName: "name"))
  var callees: [String] = []

  @Flag(help: "Wait to be rung, and accept.")
  var answer = false

  @Option(help: "Join the group call of this id, a UUID.")
  var group: String?

  @Flag(help: "Without video until 'v' is pressed.")
  var audioOnly = false

  func validate() throws {
    guard [!callees.isEmpty, answer, group != nil].count(where: \.self) <= 1 else {
      throw ValidationError("--call, --answer and --group exclude each other")
    }
    if source.isGiven, user != nil { throw ValidationError("--token already names the caller") }
    if let group, UUID(uuidString: group) == nil { throw ValidationError("--group takes a UUID") }
  }

  private func way() throws -> CallScreen.Way {
    if answer { return .answer }
    if !callees.isEmpty { return .call(callees.map(identity)) }
    if let group = group.flatMap(UUID.init(uuidString:)) { return .group(group) }
    return .room(call.room)
  }

  private func identity(of user: String) -> String { user.contains(":") ? user : "8:acs:" + user.lowercased() }

  @MainActor
  func run() async throws {
    do {
      let token = user == nil ? try source.text() : nil
      let run = try SampleRun(call, command: "koine-call-agent", own: [CallScreen.hold], hasToken: token != nil)
      let screen = CallScreen(name: user ?? call.name, token: token, startsWithVideo: !audioOnly)
      screen.trace = { run.trace($0) }
      screen.callBegan = { run.watch() }
      screen.callEnded = { [weak screen] in run.finish(problem: screen?.problem) }
      let way = try way()
      var telephones: [Telephone] = []
      switch way {
      case .call(let identities) where run.company > 0: telephones = identities.map { Telephone($0, in: run.world) }
      case .answer where run.company > 0: telephones = [Telephone("8:acs:ana", in: run.world)]
      default: break
      }
      for telephone in telephones { try await telephone.register() }
      screen.isReady = { [telephones] identity in
        if answer, let telephone = telephones.first { telephone.ring(identity, room: call.room) }
      }
      screen.begin(way)
      await run.follow(screen, joiningPeers: telephones.isEmpty && !answer && callees.isEmpty)
    } catch let error as SampleExit {
      error.leave(command: "koine-call-agent")
    } catch let error as Failure {
      SampleExit(code: 69, error.description).leave(command: "koine-call-agent")
    }
  }
}

/// A user of the common layer that other users can ring, and that can ring others. It accepts every incoming call.
private final class Telephone: Sendable {
  private let endpoint: Endpoint
  private let session = Lock<Session?>(nil)

  init(_ identity: String, in world: World) {
    endpoint = Endpoint(identity: identity, name: identity, in: world)
    endpoint.observe { [self] event in
      guard case .invited(let invitation) = event else { return }
      endpoint.reply(.accept, to: invitation.id)
      enter(invitation.room)
    }
  }

  func ring(_ identity: String, room: String) {
    _ = endpoint.invite([identity], to: room, hasVideo: true)
    enter(room)
  }

  func register() async throws(Failure) { try await endpoint.register() }

  private func enter(_ room: String) {
    let world = endpoint.world
    let session = Session(
      JoinRequest(room: room, participantID: endpoint.identity, name: endpoint.identity), in: world)
    do {
      try session.publish(camera: Devices.camera(world.devices.camera))
      try session.publish(microphone: Devices.microphone(world.devices.microphone))
    } catch {
      KoineSampleSupport.print(LogText.line("\(endpoint.identity): \(error)"), to: .standardError)
    }
    session.join { _ in }
    self.session.withLock { $0 = session }
  }
}
