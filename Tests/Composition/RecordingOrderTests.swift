import CrossVendorConventions
import Foundation
import KoineRouter
import KoineSignaling
import Testing

/// The recorder must read the orders that `RoomControl` writes.
@Suite struct RecordingOrderTests {
  @Test func recordingOrderNamesMatchTheConventions() {
    #expect(RecordingOrder.Kind.file.rawValue == Convention.recording)
    #expect(RecordingOrder.Kind.playlist.rawValue == Convention.playlist)
    #expect(RecordingOrder.Kind.livestream.rawValue == Convention.livestream)
    #expect(Set(RecordingOrder.Kind.allCases.map(\.rawValue)) == Set(Convention.recordingServices))
    #expect(DataOrder.prefix + "stop" == Convention.stop)
  }

  @Test func recordingOrderIsReadAsOutputRequest() throws {
    let order = RecordingOrder(.livestream, people: 7, places: ["rtmp://a/b"])
    let request = try #require(OutputRequest(order.payload))
    #expect(request.shownParticipants == 7)
    #expect(request.destinations == [URL(string: "rtmp://a/b")])
    #expect(OutputRequest(RecordingOrder().payload) == OutputRequest(shownParticipants: 4, destinations: []))
    #expect(RecordingOrder(people: 9).payload == OutputRequest(shownParticipants: 9, destinations: []).payload)
  }
}
