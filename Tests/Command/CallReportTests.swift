import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import KoineSampleSupport
import Testing

@Suite struct CallReportTests {
  @Test func aReportSurvivesItsJSON() async throws {
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
    #expect(copy.seconds == 3 && copy.directions.count == 1)
    #expect(way.receiver == "Ben" && way.sender == "Ana" && way.width == 160 && way.height == 90)
    #expect(way.framesRendered > 75 && way.framesReceived >= way.framesRendered && way.packetsLost == 0)
    #expect(way.concealed < 0.1 && way.joinToFirstPicture.map { $0 > 0 && $0 < 1_000 } == true)
    #expect(witness.lastFrame(of: ana.localParticipant.id)?.width == 160)
    let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    #expect(Set(object.keys) == ["seconds", "directions"])
  }
}
