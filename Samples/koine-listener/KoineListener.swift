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
    commandName: "koine-listener",
    abstract: "A call in the event-listener style (VideoSDKRTC).",
    discussion: "Keys on a terminal: m mute, v camera, p people, q leave.")

  @OptionGroup var call: CallOptions

  @Option(help: "Record the room into a file of this folder.")
  var recordRoom: String?

  @Flag(help: "Make a playlist of the room, in a folder of KOINE_RECORDINGS or of the temporary one.")
  var playlist = false

  @MainActor
  func run() async throws {
    do {
      let run = try SampleRun(call, command: "koine-listener")
      let controller = MeetingViewController()
      controller.trace = { run.trace($0) }
      controller.recordings = recordRoom
      controller.wantsPlaylist = playlist
      controller.left = { [weak controller] in
        run.finish(problem: controller?.problem.map { "the meeting ended: \($0) (\($0.rawValue))" })
      }
      controller.initializeMeeting(room: call.room, name: call.name)
      await run.follow(controller)
    } catch let error as SampleExit {
      error.leave(command: "koine-listener")
    }
  }
}

extension MeetingViewController: SampleScreen {
  var session: Session? { meeting?.session }
  var people: [String] { participants.map(\.displayName) }
  func toggleMicrophone() { toggleMic() }
  func leave() { meeting?.leave() }
}
