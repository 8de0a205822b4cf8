import Foundation
import KoineAVFoundation
import KoineTestSupport
import KoineTesting
import Testing

/// The information property list of an app, and its effects.
@Suite struct AppInformationTests {
  @Test func deviceWithoutAUsageDescriptionIsDenied() async throws {
    let room = try await TestRoom(media: .stamps)
    let machine = room.machine(of: "Ana")
    let all = AppInformation(["NSCameraUsageDescription": "to be seen", "NSMicrophoneUsageDescription": "to be heard"])
    func status(_ type: AVMediaType) -> AVAuthorizationStatus {
      room.enter(as: "Ana") { AVCaptureDevice.authorizationStatus(for: type) }
    }
    #expect(status(.video) == .authorized, "nobody has said anything")
    machine.setInformation(all)
    #expect(status(.video) == .authorized)
    #expect(machine.missingKeys.isEmpty)
    machine.setInformation(all.without("NSCameraUsageDescription"))
    machine.setPermission(.undetermined, .camera)
    let asked = try await room.run {
      await room.enter(as: "Ana") { await AVCaptureDevice.requestAccess(for: .video) }
    }
    #expect(!asked)
    #expect(status(.video) == .denied)
    #expect(status(.audio) == .authorized)
    #expect(machine.missingKeys == ["NSCameraUsageDescription"])
    machine.setInformation(AppInformation(["NSMicrophoneUsageDescription": ""]))
    #expect(status(.audio) == .denied, "empty words say nothing")
  }

  @Test(arguments: [["audio"], ["fetch", "voip"], ["fetch"], [], nil] as [[String]?])
  func audioContinuesInTheBackgroundWithTheRightMode(modes: [String]?) async throws {
    let room = try await TestRoom(media: .stamps)
    let bea = try await room.join("Bea")
    let machine = room.machine(of: "Ana")
    machine.setInformation(
      modes.map { AppInformation(["NSMicrophoneUsageDescription": "to be heard", "UIBackgroundModes": $0]) })
    let app = Session(JoinRequest(room: room.id, participantID: "ana", name: "Ana"), in: room.world(of: "Ana"))
    try app.publish(microphone: machine.makeMicrophone())
    app.join { _ in }
    await room.until("they hear each other") { bea.hears("Ana") && room.speaker.hears("Bea") }
    machine.moveToBackground()
    await room.run(for: .seconds(1))
    let goesOn = modes.map { $0.contains("audio") || $0.contains("voip") } ?? true
    #expect(bea.hears("Ana") == goesOn)
    #expect(room.speaker.hears("Bea") == goesOn)
    machine.returnToForeground()
    await room.until("they hear each other again") { bea.hears("Ana") && room.speaker.hears("Bea") }
    app.leave {}
    await room.until { bea.others.isEmpty }
  }

  @Test func infoPlistIsRead() throws {
    let folder = try Folder()
    let path = folder.file("Info.plist")
    try Data(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <plist version="1.0"><dict>
        <key>NSCameraUsageDescription</key><string>to be seen</string>
        <key>UIBackgroundModes</key><array><string>audio</string></array>
        <key>Wide</key><true/><key>Size</key><integer>7</integer>
      </dict></plist>
      """.utf8
    ).write(to: URL(fileURLWithPath: path))
    let information = try AppInformation(contentsOfFile: path)
    #expect(information.object(forInfoDictionaryKey: "NSCameraUsageDescription") as? String == "to be seen")
    #expect(information.object(forInfoDictionaryKey: "UIBackgroundModes") as? [String] == ["audio"])
    #expect(information.object(forInfoDictionaryKey: "Wide") as? Bool == true)
    #expect(information.object(forInfoDictionaryKey: "Size") as? Int == 7)
    #expect(throws: (any Error).self) { try AppInformation(contentsOfFile: path + "-") }
  }

  @Test @MainActor func applicationStateFollowsTheMachine() async throws {
    let room = try await TestRoom()
    let application = room.enter(as: "Ana") { UIApplication.shared }
    #expect(application === room.enter(as: "Ana") { UIApplication.shared })
    #expect(application.applicationState == .active)
    #expect(application !== room.enter(as: "Bea") { UIApplication.shared })
    let told = Lock<[UIApplication.State]>([])
    let token = NotificationCenter.default.addObserver(
      forName: UIApplication.didEnterBackgroundNotification, object: application, queue: nil
    ) { _ in MainActor.assumeIsolated { told.withLock { $0.append(UIApplication.shared.applicationState) } } }
    defer { NotificationCenter.default.removeObserver(token) }
    room.machine(of: "Ana").moveToBackground()
    room.machine(of: "Ana").moveToBackground()
    await room.run(for: .milliseconds(1))
    #expect(told.withLock { $0 } == [.background], "once, and 'shared' is the application that is told of")
    room.machine(of: "Ana").returnToForeground()
    await room.run(for: .milliseconds(1))
    #expect(application.applicationState == .active)
  }
}
