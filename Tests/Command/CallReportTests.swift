import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
@testable import KoineSampleSupport
import Testing

@Suite struct CallReportTests {
  @Test func callReportSurvivesJSONAndAccumulatesOverRejoins() async throws {
    let world = World(backend: EmbeddedBackend(virtual: 9), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    let (ana, ben) = (
      Session(JoinRequest(room: "tea", name: "Ana"), in: world),
      Session(JoinRequest(room: "tea", name: "Ben"), in: world)
    )
    let witness = Witness(ben, receiver: "Ben")
    try ana.publish(camera: Devices.camera("pattern:160x90@30"))
    try ana.publish(microphone: Devices.microphone("tone"))
    for session in [ana, ben] { session.join { _ in } }
    await world.run(for: .seconds(3))
    let directions = await world.run { await witness.report() }
    let data = try JSONEncoder().encode(CallReport(seconds: 3, directions: directions))
    let copy = try JSONDecoder().decode(CallReport.self, from: data)
    let way = try #require(copy.directions.first)
    #expect(copy.seconds == 3)
    #expect(copy.directions.count == 1)
    #expect(way.receiver == "Ben")
    #expect(way.sender == "Ana")
    #expect(way.width == 160)
    #expect(way.height == 90)
    #expect(way.framesRendered > 75)
    #expect(way.framesReceived >= way.framesRendered)
    #expect(way.packetsLost == 0)
    #expect(way.concealed < 0.1)
    #expect(way.joinToFirstPicture.map { $0 > 0 && $0 < 1_000 } == true)
    #expect(witness.lastFrame(of: ana.localParticipant.id)?.width == 160)

    // Figures stay after their sender has left, and add up over several stays; the name is the room's.
    ana.leave {}
    await world.run(for: .seconds(2))
    let left = try #require(await world.run { await witness.report() }.first)
    #expect(left.framesRendered >= way.framesRendered)
    #expect(left.sender == "Ana")
    let again = Session(JoinRequest(room: "tea", participantID: ana.localParticipant.id, name: "Ana"), in: world)
    try again.publish(camera: Devices.camera("pattern:160x90@30"))
    again.join { _ in }
    await world.run(for: .seconds(3))
    let both = await world.run { await witness.report() }
    #expect(both.count == 1 && both[0].framesRendered > left.framesRendered + 75)
    #expect(both[0].joinToFirstPicture == left.joinToFirstPicture)

    let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    #expect(Set(object.keys) == ["seconds", "directions"])
  }

  @Test func latencyAboveTheScaleIsShownAsLowerBound() throws {
    var row =
      #"{"receiver":"Ben","sender":"Ana","packets":1,"audioPackets":0,"packetsLost":0,"packetsRecovered":0,"framesReceived":1,"#
    row += #""framesRendered":1,"width":160,"height":90,"framesPerSecond":1,"freezes":0,"longestGap":0,"#
    row += #""latencyMedian":31.5,"latency95":2000,"concealed":0,"soundBuffer":0}"#
    let report = try JSONDecoder().decode(
      CallReport.self, from: Data(#"{"seconds":1,"directions":[\#(row)]}"#.utf8))
    #expect(report.table.contains(" 31.5 "))
    #expect(report.table.contains(" >2000 "))
  }
}
