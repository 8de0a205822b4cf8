import Glibc
import Koine
import Testing

/// `RoomCall.swift`, which `koine port` writes beside layers over the common layer, without such a layer.
@Suite struct RoomCallTests {
  @Test func refusedAddressOfTheBackendIsTheReasonForTheEnd() async {
    await #expect(processExitsWith: .success) {
      setenv("KOINE_BACKEND", "nowhere:", 1)
      let call = RoomCall(room: "tea", credential: nil)
      var reasons: [String] = []
      call.handler = { event, _ in
        if case .stateChanged(.ended(.refused(let failure))) = event { reasons.append("\(failure)") }
      }
      call.join()
      #expect(call.session == nil)
      #expect(reasons.count == 1)
      #expect(reasons.first?.contains("'nowhere:'") == true, "\(reasons)")
    }
  }

  @Test func refusedAddressOfTheBackendIsNoDeniedMicrophone() async {
    await #expect(processExitsWith: .success) {
      setenv("KOINE_BACKEND", "nowhere:", 1)
      let meeting = RoomMeeting(JoinRequest(room: "tea", name: "Ana"))
      var reasons: [String] = []
      meeting.observer = { event in
        if case .stateChanged(.ended(.refused(let failure))) = event { reasons.append("\(failure)") }
      }
      try meeting.start()
      #expect(reasons.count == 1 && reasons.first?.contains("'nowhere:'") == true, "\(reasons)")
    }
  }
}
