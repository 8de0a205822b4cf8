import Dispatch
import Foundation
import Koine
import KoineAVFoundation
import KoineEmbeddedBackend
import Testing

/// Notifications of Apple's modules about the machine's devices.
@Suite struct DeviceNotificationTests {
  private let world = World(
    backend: EmbeddedBackend(virtual: 1), delivery: Delivery(queue: DispatchQueue(label: "delivery")))

  private func observe(_ name: Notification.Name, _ take: @escaping @Sendable (Notification) -> Void)
    -> any NSObjectProtocol
  {
    NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil, using: take)
  }

  @Test func routeChangesAndInterruptionsArePosted() async throws {
    let session = World.$current.withValue(world) { AVAudioSession.sharedInstance() }
    #expect(session === World.$current.withValue(world) { AVAudioSession.sharedInstance() })
    let other = World(backend: world.backend)
    #expect(session !== World.$current.withValue(other) { AVAudioSession.sharedInstance() }, "another machine")
    let told = Lock<[String]>([])
    let route = observe(AVAudioSession.routeChangeNotification) { note in
      guard note.object as? AVAudioSession === session else { return }
      let reason = (note.userInfo?[AVAudioSessionRouteChangeReasonKey] as? UInt).flatMap(
        AVAudioSession.RouteChangeReason.init)
      let previous = note.userInfo?[AVAudioSessionRouteChangePreviousRouteKey] as? AVAudioSessionRouteDescription
      told.withLock {
        $0.append(
          "\(reason!) \(previous?.inputs.first?.portName ?? "-") > \(session.currentRoute.inputs.first?.portName ?? "-")"
        )
      }
    }
    let interruption = observe(AVAudioSession.interruptionNotification) { note in
      guard note.object as? AVAudioSession === session else { return }
      let type = (note.userInfo?[AVAudioSessionInterruptionTypeKey] as? UInt).flatMap(
        AVAudioSession.InterruptionType.init)
      let options = (note.userInfo?[AVAudioSessionInterruptionOptionKey] as? UInt).map(
        AVAudioSession.InterruptionOptions.init)
      told.withLock { $0.append("\(type!) \(options?.contains(.shouldResume) ?? false)") }
    }
    defer { for token in [route, interruption] { NotificationCenter.default.removeObserver(token) } }

    let headset = Machine.Device(id: "h", kind: .microphone, name: "Headset", attachment: .wired, source: "silence")
    world.machine.plugIn(headset)
    await world.run(for: .milliseconds(1))
    #expect(session.availableInputs?.map(\.portType) == [.builtInMic, .headsetMic])
    try session.setPreferredInput(try #require(session.availableInputs?.first))
    await world.run(for: .milliseconds(1))
    world.machine.choose("h")
    await world.run(for: .milliseconds(1))
    world.machine.unplug("h")
    world.machine.beginInterruption()
    world.machine.endInterruption()
    world.machine.beginInterruption()
    world.machine.endInterruption(mayResume: false)
    await world.run(for: .milliseconds(1))
    #expect(
      told.withLock { $0 } == [
        "newDeviceAvailable Built-in Microphone > Headset", "override Headset > Built-in Microphone",
        "override Built-in Microphone > Headset", "oldDeviceUnavailable Headset > Built-in Microphone",
        "began false", "ended true", "began false", "ended false",
      ])
    #expect(throws: NSError.self) { try session.setPreferredInput(AVAudioSessionPortDescription(headset)) }
  }

  @Test func camerasAreDiscoveredAndTheirChangesPosted() async throws {
    let machine = world.machine
    let (found, back) = World.$current.withValue(world) {
      (
        AVCaptureDevice.DiscoverySession(
          deviceTypes: [.builtInWideAngleCamera, .external], mediaType: .video, position: .unspecified),
        AVCaptureDevice.default(.builtInWideAngleCamera, for: .video, position: .back)
      )
    }
    #expect(found.devices.map(\.localizedName) == ["Front camera", "Back camera"])
    #expect(back?.position == .back)
    #expect(back?.isConnected == true)
    let told = Lock<[String]>([])
    let id = "usb \(UUID())"
    let tokens = [AVCaptureDevice.wasConnectedNotification, AVCaptureDevice.wasDisconnectedNotification].map { name in
      observe(name) { note in
        guard let device = note.object as? AVCaptureDevice, device.uniqueID == id else { return }
        told.withLock { $0.append("\(device.localizedName) \(device.isConnected)") }
      }
    }
    defer { for token in tokens { NotificationCenter.default.removeObserver(token) } }
    machine.plugIn(Machine.Device(id: id, kind: .camera, name: "USB", source: "pattern"))
    await world.run(for: .milliseconds(1))
    #expect(found.devices.last?.deviceType == .external)
    machine.unplug(id)
    await world.run(for: .milliseconds(1))
    #expect(told.withLock { $0 } == ["USB true", "USB false"])
    World.$current.withValue(world) {
      #expect(AVCaptureDevice.default(for: .video)?.position == .front)
      #expect(AVCaptureDevice.default(for: .audio)?.deviceType == .microphone)
      #expect(AVCaptureDevice(uniqueID: id) == nil)
    }
  }
}
