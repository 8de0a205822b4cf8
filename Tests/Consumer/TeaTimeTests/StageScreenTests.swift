import AVFoundation
import Foundation
import KoineTesting
import Testing
import UIKit

@testable import TeaTime

@MainActor
@Suite struct StageScreenTests {
  @Test(.room(as: "Ana", network: "loss=2%", media: .stamps)) func anaMeetsBea() async throws {
    let room = TestRoom.current
    let screen = StageScreen()
    screen.loadViewIfNeeded()
    try screen.join(with: room.credential(.stageStrategy, for: "Ana").token)
    let bea = try await room.join("Bea")
    await room.until("they see each other") { room.screen(screen.view).shows("Bea") && bea.sees("Ana") }
    await room.until("they hear each other") { room.speaker.hears("Bea") && bea.hears("Ana") }
    #expect(screen.caption.text == "bea")
    bea.leave()
    await room.until("Bea has gone") { screen.roster.names.isEmpty && room.screen(screen.view).names == ["Ana"] }
    screen.leave()
  }

  /// The app's own Info.plist lets it have what it asks for.
  @Test(.room(as: "Ana", media: .stamps)) func theInfoPlistSaysWhatTheCameraIsFor() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let information = try AppInformation(contentsOfFile: folder.appendingPathComponent("TeaTime/Info.plist").path)
    let machine = TestRoom.current.machine(of: "Ana")
    machine.setInformation(information)
    #expect(AVCaptureDevice.authorizationStatus(for: .video) == .authorized)
    #expect(machine.missingKeys.isEmpty)
    machine.setInformation(information.without("NSCameraUsageDescription"))
    #expect(AVCaptureDevice.authorizationStatus(for: .video) == .denied)
    #expect(machine.missingKeys == ["NSCameraUsageDescription"])
  }

  @Test(.room(as: "Ana", media: .stamps)) func inTheBackgroundNobodySeesAna() async throws {
    let room = TestRoom.current
    let screen = StageScreen()
    try screen.join(with: room.credential(.stageStrategy, for: "Ana").token)
    let bea = try await room.join("Bea")
    await room.until { bea.sees("Ana") && bea.hears("Ana") }
    room.machine(of: "Ana").moveToBackground()
    let left = room.now
    await room.run(for: .seconds(2))
    #expect(UIApplication.shared.applicationState == .background)
    #expect(!bea.sees("Ana", newerThan: left + .milliseconds(500)))
    #expect(bea.hears("Ana"))
    room.machine(of: "Ana").returnToForeground()
    await room.until("Ana is seen again") { bea.sees("Ana", newerThan: left + .seconds(2)) }
    screen.leave()
  }
}
