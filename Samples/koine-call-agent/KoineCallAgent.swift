import ArgumentParser
import AzureCommunicationCalling
import Foundation
import Koine
import KoineSampleSupport
import KoineUIKit

/// The sample of the call-agent style.
@main
struct KoineCallAgent: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "koine-call-agent",
    abstract: "A call in the call-agent style (AzureCommunicationCalling).",
    discussion: """
      Meets others in the room, unless --call rings somebody. With --call and peers, a peer of that name is signed in \
      and answers. Keys on a terminal: m mute, v camera, p people, q leave.
      """)

  @OptionGroup var call: KoineSampleSupport.CallOptions

  @Option(name: .customLong("call"), help: "Ring this user (as in '8:acs:ben') instead of meeting in the room.")
  var callee: String?

  @Flag(help: "Without video until 'v' is pressed.")
  var audioOnly = false

  @MainActor
  func run() async throws {
    do {
      let run = try SampleRun(call, command: "koine-call-agent")
      let screen = CallScreen(name: call.name, startsWithVideo: !audioOnly)
      screen.trace = { run.trace($0) }
      screen.callBegan = { run.watch() }
      screen.callEnded = { [weak screen] in run.finish(problem: screen?.problem) }
      let answerer = callee.flatMap { call.peers > 0 ? Answerer($0, in: run.world) : nil }
      try await answerer?.register()
      screen.begin(calling: callee, orMeetingIn: call.room)
      await run.follow(screen, joiningPeers: callee == nil)
    } catch let error as SampleExit {
      error.leave(command: "koine-call-agent")
    } catch let error as SessionError {
      SampleExit(code: 69, error.description).leave(command: "koine-call-agent")
    }
  }
}

/// Somebody of the common layer who answers the telephone.
private final class Answerer: Sendable {
  private let endpoint: Endpoint
  private let session = Lock<Session?>(nil)

  init(_ identity: String, in world: World) {
    endpoint = Endpoint(identity: identity, name: identity, in: world)
    endpoint.observe { [self] event in
      if case .invited(let invitation) = event { answer(invitation) }
    }
  }

  func register() async throws(SessionError) { try await endpoint.register() }

  private func answer(_ invitation: Invitation) {
    let world = endpoint.world
    endpoint.reply(.accept, to: invitation.id)
    let session = Session(
      JoinRequest(room: invitation.room, participantID: endpoint.identity, name: endpoint.identity), in: world)
    do {
      try session.publish(camera: Devices.camera(world.devices.camera))
      try session.publish(microphone: Devices.microphone(world.devices.microphone))
    } catch {
      KoineSampleSupport.print("\(endpoint.identity): \(error)", to: .standardError)
    }
    session.join { _ in }
    self.session.withLock { $0 = session }
  }
}
