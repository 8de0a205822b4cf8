import ArgumentParser
import Foundation
import Koine
import KoineBackends
import KoineSampleSupport
import KoineUIKit
import VideoSDKRTC
import WebRTC

/// Two people in one room: Ana is written against the common layer, Ben in the event-listener style.
struct Demo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Two people in one room: Ana (common layer) and Ben (event listener) see and hear each other.",
    discussion: """
      Sound and pictures go through the embedded router, as SRTP over loopback UDP. Figures per receiver and sender: \
      packets, lost for good, come again, frames rendered/received, size, frames per second, freezes, longest gap, \
      concealed sound, latency from capture to rendering, time from joining to the first picture.
      """)

  @Option(help: "How long the call lasts.")
  var seconds = 10.0

  @OptionGroup var media: MediaOptions

  func validate() throws {
    guard seconds >= 1, seconds <= 86_400 else { throw ValidationError("--seconds takes 1 to 86400") }
  }

  @MainActor
  func run() async throws {
    do {
      let world = try media.makeWorld()
      try await call(in: world)
    } catch let error as SampleExit {
      error.leave(command: "koine demo")
    } catch let error as ValidationError {
      throw error
    } catch {
      SampleExit(code: 73, "\(error)").leave(command: "koine demo")
    }
  }

  @MainActor
  private func call(in world: World) async throws {
    let ana = Session(JoinRequest(room: "demo", name: "Ana"), in: world)
    let anaWitness = Witness(ana, receiver: "Ana", recordingTo: media.record)
    try ana.publish(camera: Devices.camera(world.devices.camera))
    try ana.publish(microphone: Devices.microphone(world.devices.microphone))
    try await ana.join()

    let ben = Ben(world: world)
    guard let benSession = ben.meeting.session else { throw SampleExit(code: 69, "Ben could not join") }
    let benWitness = Witness(benSession, receiver: "Ben", recordingTo: media.record)
    say("Ana and Ben are on their way into the room")
    for second in 1...Int(seconds.rounded(.up)) {
      try await Task.sleep(for: .seconds(min(1, seconds - Double(second - 1))))
      say(
        "\(second) s: Ben's screen has shown \(ben.screen.framesRendered) pictures of \(ben.others.joined(separator: ", "))"
      )
    }

    let directions = await anaWitness.report() + benWitness.report()
    if let snapshot = media.snapshot {
      try TileGrid([("Ana", ben.screen.lastFrame), ("Ben", ben.mirror.lastFrame)]).writePNG(to: snapshot)
    }
    await ana.leave()
    await ben.leave()
    try anaWitness.close()
    try benWitness.close()
    CallReport(seconds: seconds, directions: directions).write(asJSON: media.json)
    if directions.contains(where: { $0.framesRendered == 0 }) { throw SampleExit(code: 69, "somebody saw nothing") }
  }

  private func say(_ line: String) { KoineSampleSupport.print(line, to: .standardError) }
}
