import AmazonChimeSDK
import ArgumentParser
import Foundation
import Koine
import KoineSampleSupport

/// The sample of the meeting-session style.
@main
struct KoineMeeting: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "koine-meeting-session",
    abstract: "A call in the meeting-session style (AmazonChimeSDK).",
    discussion: """
      Lines of standard input are said to the others. Keys on a terminal: m mute, v camera, p people, f figures, s share, n next \
      page, q leave; anything longer, or after t, is a message. Who speaks is marked on the screen.
      """)

  @OptionGroup var call: CallOptions

  @Option(
    help: ArgumentHelp(
      """
      Join with what is in this file: what koine token meeting-session prints; or, with --attendee, the answer to CreateMeeting. \
      It says which room, and who.
      """, valueName: "file"))
  var meeting: String?

  @Option(help: ArgumentHelp("The answer to CreateAttendee, where it stands by itself.", valueName: "file"))
  var attendee: String?

  @Option(help: "Share this from the beginning, in the words of --camera; 's' shares it, too.")
  var share: String?

  @Option(help: "Show so many people at a time; 'n' turns to the next page.")
  var page: Int?

  func validate() throws {
    if attendee != nil, meeting == nil { throw ValidationError("--attendee belongs to --meeting") }
    if let page, !(1...25).contains(page) { throw ValidationError("--page takes 1 to 25") }
  }

  @MainActor
  func run() async throws {
    do {
      let answer =
        try meeting.map { file throws(SampleExit) in try JoinAnswer(meeting: file, attendee: attendee) }
        ?? JoinAnswer(room: call.room, name: call.name)
      var call = call
      call.room = answer.meeting.meeting.meetingId
      let run = try SampleRun(
        call, command: "koine-meeting-session", own: MeetingViewController.commands, screen: share,
        hasToken: meeting != nil)
      let controller = MeetingViewController()
      controller.pageSize = page
      controller.sharesAtOnce = share != nil
      controller.trace = { run.trace($0) }
      controller.stopped = { status in
        run.finish(problem: status == .ok ? nil : "the meeting ended: \(status) (\(status.rawValue))")
      }
      do { try controller.startMeeting(answer) } catch {
        throw SampleExit(code: 69, "the meeting did not start: \(error)")
      }
      await run.follow(controller)
    } catch let error as SampleExit {
      error.leave(command: "koine-meeting-session")
    }
  }
}

extension MeetingViewController: TalkingScreen {
  private static let share = Command("share", key: "s")
  private static let nextPage = Command("next", key: "n")
  static let commands = [share, nextPage]

  func carryOut(_ command: Command) {
    switch command {
    case Self.share: toggleShare()
    case Self.nextPage: turnPage()
    default: break
    }
  }

  var session: Session? { meetingSession?.session }
  var people: [String] { roster.map(\.externalUserId) }
  func leave() { endMeeting() }
}
