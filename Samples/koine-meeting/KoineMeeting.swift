import AmazonChimeSDK
import ArgumentParser
import Foundation
import Koine
import KoineBackends
import KoineSampleSupport
import KoineUIKit

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
      let script = try call.script.map { path throws(SampleExit) in try Script(contentsOf: path) }
      let world = try call.media.makeWorld(backend: call.backend)
      Backends.configure(world)
      App(call, world, script).begin()
    } catch let error as SampleExit {
      error.leave(command: "koine-meeting")
    }
    while true { try await Task.sleep(for: .seconds(3_600)) }  // the app ends the program
  }
}

/// One run of the sample, from joining to leaving.
@MainActor
private final class App {
  private static var running: App?  // lives as long as the program
  private let call: CallOptions
  private let script: Script?
  private let controller = MeetingViewController()
  private let peers: Peers
  private let start: Tick
  private let world: World
  private var keys: Keys?
  private var witness: Witness?
  private var isLeaving = false

  init(_ call: CallOptions, _ world: World, _ script: Script?) {
    self.call = call
    self.world = world
    self.script = script
    start = world.backend.scheduler.now
    peers = Peers(count: call.peers, room: call.room, world: world)
    Self.running = self
  }

  func begin() {
    controller.trace = { [self] line in
      guard call.trace else { return }
      let time = (world.backend.scheduler.now - start).inSeconds
      KoineSampleSupport.print(String(format: "%8.3f  ", time) + line, to: .standardError)
    }
    controller.stopped = { [self] in finish() }
    do {
      try controller.startMeeting(room: call.room, name: call.name)
    } catch {
      SampleExit(code: 69, "the meeting did not start: \(error)").leave(command: "koine-meeting")
    }
    if let session = controller.meetingSession?.session {
      witness = Witness(session, receiver: call.name, recordingTo: call.media.record)
    }
    peers.join()
    keys = Keys { [weak self] command in MainActor.assumeIsolated { self?.carryOut(command) } }
    for step in script?.steps ?? [] { after(step.time) { [self] in carryOut(step.command) } }
    if call.seconds > 0 { after(.seconds(call.seconds)) { [self] in carryOut(.leave) } }
  }

  private func after(_ time: Duration, _ work: @escaping @MainActor () -> Void) {
    Task { @MainActor in
      try? await Task.sleep(for: time)
      work()
    }
  }

  private func carryOut(_ command: KoineSampleSupport.Command) {
    switch command {
    case .mute: controller.toggleMute()
    case .camera: controller.toggleVideo()
    case .people:
      for attendee in controller.roster { KoineSampleSupport.print(attendee.externalUserId, to: .standardError) }
    case .leave: leave()
    }
  }

  private func leave() {
    guard !isLeaving else { return }
    isLeaving = true
    Task { @MainActor in
      let seconds = (world.backend.scheduler.now - start).inSeconds
      if let witness { CallReport(seconds: seconds, directions: await witness.report()).write(asJSON: call.media.json) }
      do {
        if let path = call.media.snapshot { try controller.view.writePNG(to: path) }
      } catch {
        SampleExit(code: 73, "\(error)").leave(command: "koine-meeting")
      }
      controller.endMeeting()
    }
  }

  /// The meeting is over, by our will or not.
  private func finish() {
    guard Self.running != nil else { return }
    Self.running = nil
    Task { @MainActor in
      await peers.leave()
      do { try witness?.close() } catch { SampleExit(code: 73, "\(error)").leave(command: "koine-meeting") }
      let status = controller.status
      if status != .ok {
        SampleExit(code: 69, "the meeting ended: \(status) (\(status.rawValue))").leave(command: "koine-meeting")
      }
      Foundation.exit(0)
    }
  }
}
