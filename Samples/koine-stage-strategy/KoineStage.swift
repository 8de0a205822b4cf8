import AmazonIVSBroadcast
import ArgumentParser
import Foundation
import Koine
import KoineSampleSupport
import KoineTokens

/// The sample of the stage-strategy style.
@main
struct KoineStage: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "koine-stage-strategy",
    abstract: "A call in the stage-strategy style (AmazonIVSBroadcast).",
    discussion: """
      Keys on a terminal: m mute, v camera, p people, f figures, s the next way of subscribing, b publish or not, q leave.
      """)

  @OptionGroup var call: CallOptions

  @OptionGroup var source: TokenSource

  @Option(help: "The stage, where no token says it; otherwise --room.")
  var stage: String?

  @Option(help: "The user; otherwise --name.")
  var user: String?

  @Option(help: "What is wanted of the others: none, audio or audio-video.")
  var subscribe = Subscribing.audioVideo

  @Flag(inversion: .prefixedNo, help: "Whether to publish from the beginning.")
  var publish = true

  enum Subscribing: String, CaseIterable, ExpressibleByArgument {
    case none, audio
    case audioVideo = "audio-video"
  }

  func validate() throws {
    guard !source.isGiven || stage == nil && user == nil else {
      throw ValidationError("--token already names the stage and the participant")
    }
  }

  @Option(help: "Broadcast the composed stage: to a .webm, .mp4 or .m3u8 file, or to rtmp://HOST/APP/KEY.")
  var broadcast: String?

  @MainActor
  func run() async throws {
    do {
      let given = stage == nil && user == nil ? try source.text() : nil
      let token = try given ?? makeToken()
      var call = call
      call.room = stage ?? (try? JSONWebToken.parse(token).claims(as: IVSStageToken.self).topic) ?? call.room
      let run = try SampleRun(
        call, command: "koine-stage-strategy", own: StageViewController.commands, hasToken: given != nil)
      let controller = StageViewController()
      controller.subscribeType =
        switch subscribe {
        case .none: .none
        case .audio: .audioOnly
        case .audioVideo: .audioVideo
        }
      controller.publishes = publish
      controller.trace = { run.trace($0) }
      controller.left = { error in
        run.finish(problem: error.map { "the stage was lost: \($0.localizedDescription) (\($0.code))" })
      }
      do {
        try controller.joinStage(token: token)
        if let broadcast { try controller.startBroadcast(to: url(of: broadcast)) }
      } catch {
        throw SampleExit(code: 69, "the stage was not joined: \(error.localizedDescription)")
      }
      await run.follow(controller)
    } catch let error as SampleExit {
      error.leave(command: "koine-stage-strategy")
    }
  }

  private func url(of place: String) -> URL {
    if place.contains("://"), let url = URL(string: place) { url } else { URL(fileURLWithPath: place) }
  }

  /// The token that an app's server would return, signed with a generated key. The embedded backend does not check the signature.
  private func makeToken() throws -> String {
    try IVSStageToken(
      participantID: UUID().uuidString.lowercased(), stage: stage ?? call.room, userID: user ?? call.name,
      attributes: ["username": user ?? call.name], issued: NumericDate.ofSystemClock()
    ).signed(with: SigningKey(generating: .p384))
  }
}

extension StageViewController: SampleScreen {
  private static let subscribe = Command("subscribe", key: "s")
  private static let publish = Command("publish", key: "b")
  static let commands = [subscribe, publish]

  func carryOut(_ command: Command) {
    switch command {
    case Self.subscribe: wantNextSubscribeType()
    case Self.publish: togglePublishing()
    default: break
    }
  }

  var session: Session? { stage?.session }
  func leave() { leaveStage() }
}
