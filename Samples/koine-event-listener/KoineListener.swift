import ArgumentParser
import Foundation
import Koine
import KoineSampleSupport
import KoineUIKit
import VideoSDKRTC

/// The sample of the event-listener style.
@main
struct KoineListener: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "koine-event-listener",
    abstract: "A call in the event-listener style (VideoSDKRTC).",
    discussion: """
      Lines of standard input go to everybody's chat. Keys on a terminal: m mute, v camera, p people, f figures, s share, r raise the \
      hand, a ask the others for their microphones, q leave; anything longer, or after t, is a message.
      """)

  @OptionGroup var call: CallOptions

  @OptionGroup var source: TokenSource

  @Option(help: "Id of the participant, if the token requires one; by default the room makes one.")
  var participant: String?

  @Option(help: "Record the room into a file of this folder.")
  var recordRoom: String?

  @Flag(help: "Make a playlist of the room, in a folder of KOINE_RECORDINGS or of the temporary one.")
  var playlist = false

  @MainActor
  func run() async throws {
    do {
      let token = try source.text()
      let run = try SampleRun(
        call, command: "koine-event-listener", own: MeetingViewController.commands, hasToken: token != nil)
      let controller = MeetingViewController()
      controller.trace = { run.trace($0) }
      controller.recordings = recordRoom
      controller.wantsPlaylist = playlist
      controller.left = { [weak controller] in
        run.finish(problem: controller?.problem.map { "the meeting ended: \($0) (\($0.rawValue))" })
      }
      if let token { VideoSDK.config(token: token) }
      controller.initializeMeeting(room: call.room, participant: participant ?? "", name: call.name)
      await run.follow(controller)
    } catch let error as SampleExit {
      error.leave(command: "koine-event-listener")
    }
  }
}

extension MeetingViewController: TalkingScreen {
  private static let share = Command("share", key: "s")
  private static let raise = Command("raise", key: "r")
  private static let ask = Command("ask", key: "a")
  static let commands = [share, raise, ask]

  func carryOut(_ command: Command) {
    switch command {
    case Self.share: toggleShare()
    case Self.raise: raiseHand()
    case Self.ask: askForMicrophones()
    default: break
    }
  }

  var session: Session? { meeting?.session }
  var people: [String] { participants.map(\.displayName) }
  func toggleMicrophone() { toggleMic() }
  func leave() { meeting?.leave() }
}
