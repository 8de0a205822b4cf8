import AmazonChimeSDK
import ArgumentParser
import Foundation
import Koine
import KoineSampleSupport

/// The sample of the meeting-session style.
@main
struct KoineMeeting: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "koine-meeting",
    abstract: "A call in the meeting-session style (AmazonChimeSDK).",
    discussion: "Keys on a terminal: m mute, v camera, p people, q leave.")

  @OptionGroup var call: CallOptions

  @MainActor
  func run() async throws {
    do {
      let run = try SampleRun(call, command: "koine-meeting")
      let controller = MeetingViewController()
      controller.trace = { run.trace($0) }
      controller.stopped = { status in
        run.finish(problem: status == .ok ? nil : "the meeting ended: \(status) (\(status.rawValue))")
      }
      do { try controller.startMeeting(room: call.room, name: call.name) } catch {
        throw SampleExit(code: 69, "the meeting did not start: \(error)")
      }
      await run.follow(controller)
    } catch let error as SampleExit {
      error.leave(command: "koine-meeting")
    }
  }
}

extension MeetingViewController: SampleScreen {
  var session: Session? { meetingSession?.session }
  var people: [String] { roster.map(\.externalUserId) }
  func leave() { endMeeting() }
}
