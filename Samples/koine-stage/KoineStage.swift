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
    commandName: "koine-stage",
    abstract: "A call in the stage-strategy style (AmazonIVSBroadcast).",
    discussion: "Keys on a terminal: m mute, v camera, p people, q leave.")

  @OptionGroup var call: CallOptions

  @Option(help: "Broadcast the composed stage: to a .webm, .mp4 or .m3u8 file, or to rtmp://HOST/APP/KEY.")
  var broadcast: String?

  @MainActor
  func run() async throws {
    do {
      let run = try SampleRun(call, command: "koine-stage")
      let controller = StageViewController()
      controller.trace = { run.trace($0) }
      controller.left = { error in
        run.finish(problem: error.map { "the stage was lost: \($0.localizedDescription) (\($0.code))" })
      }
      do {
        try controller.joinStage(token: try makeToken())
        if let broadcast { try controller.startBroadcast(to: url(of: broadcast)) }
      } catch {
        throw SampleExit(code: 69, "the stage was not joined: \(error)")
      }
      await run.follow(controller)
    } catch let error as SampleExit {
      error.leave(command: "koine-stage")
    }
  }

  private func url(of place: String) -> URL {
    if place.contains("://"), let url = URL(string: place) { url } else { URL(fileURLWithPath: place) }
  }

  /// What an app's server answers, from a key of its own; nobody checks it here.
  private func makeToken() throws -> String {
    try StageToken(
      participantID: UUID().uuidString.lowercased(), stage: call.room, userID: call.name,
      attributes: ["username": call.name], issued: NumericDate.ofSystemClock()
    ).signed(with: SigningKey(generating: .p384))
  }
}

extension StageViewController: SampleScreen {
  var session: Session? { stage?.session }
  func leave() { leaveStage() }
}
