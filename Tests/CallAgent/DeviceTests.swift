import AzureCommunicationCalling
import Foundation
import Koine
import Testing

/// Records camera notifications.
private final class CameraWatcher: NSObject, DeviceManagerDelegate, @unchecked Sendable {  // a lock
  let told = Lock<[String]>([])

  func deviceManager(_ deviceManager: DeviceManager, didUpdateCameras args: VideoDevicesUpdatedEventArgs) {
    let words = args.addedVideoDevices.map { "+\($0.name)" } + args.removedVideoDevices.map { "-\($0.name)" }
    told.withLock { $0 += words + ["\(deviceManager.cameras.count)"] }
  }
}

struct DeviceTests {
  @Test func cameraPlugAndUnplugAreReported() async throws {
    let telephone = try Telephone()
    let client = World.$current.withValue(telephone.world) { CallClient() }
    let made = Lock<DeviceManager?>(nil)
    client.getDeviceManager { manager, _ in made.withLock { $0 = manager } }
    await telephone.run(.milliseconds(10))
    let manager = try #require(made.withLock { $0 })
    let watcher = CameraWatcher()
    manager.delegate = watcher
    let front = try #require(manager.cameras.first)
    #expect(manager.cameras.map(\.cameraFacing) == [.front, .back])
    let machine = telephone.world.machine
    machine.plugIn(Machine.Device(id: "usb", kind: .camera, name: "USB", source: "stamp:usb,160x90@30"))
    await telephone.run(.milliseconds(10))
    let usb = try #require(manager.cameras.last)
    #expect(usb.deviceType == .usbCamera)
    #expect(usb.cameraFacing == .external)
    #expect(manager.cameras.first === front)
    let stream = LocalVideoStream(camera: usb)
    machine.unplug("usb")
    machine.plugIn(Machine.Device(id: "h", kind: .microphone, name: "Headset", source: "silence"))
    await telephone.run(.milliseconds(10))
    #expect(watcher.told.withLock { $0 } == ["+USB", "3", "-USB", "2"])
    let failed = Lock<Bool?>(nil)
    stream.switchSource(camera: front) { error in failed.withLock { $0 = error != nil } }
    await telephone.run(.milliseconds(10))
    #expect(failed.withLock { $0 } == false)
    #expect(stream.source === front)
  }

  /// A plugged device is reported on the delivery queue, perhaps after the app has read the list.
  @Test func cameraReportedLateIsListedOnce() async throws {
    let telephone = try Telephone()
    let client = World.$current.withValue(telephone.world) { CallClient() }
    let made = Lock<DeviceManager?>(nil)
    telephone.world.delivery.queue.suspend()
    telephone.world.machine.plugIn(
      Machine.Device(id: "usb", kind: .camera, name: "USB", attachment: .usb, source: "stamp:c,160x90@30"))
    client.getDeviceManager { manager, _ in made.withLock { $0 = manager } }
    telephone.world.delivery.queue.resume()
    await telephone.run(.milliseconds(10))
    #expect(made.withLock { $0?.cameras.count { $0.id == "usb" } } == 1)
  }

  @Test func cameraAttachmentDeterminesDeviceTypeAndFacing() async throws {
    let telephone = try Telephone()
    let machine = telephone.world.machine
    for attachment in [Machine.Attachment.wired, .builtIn] {
      machine.plugIn(
        Machine.Device(
          id: attachment.rawValue, kind: .camera, name: "C", attachment: attachment, source: "stamp:c,160x90@30"))
    }
    let client = World.$current.withValue(telephone.world) { CallClient() }
    let made = Lock<DeviceManager?>(nil)
    client.getDeviceManager { manager, _ in made.withLock { $0 = manager } }
    await telephone.run(.milliseconds(10))
    let cameras = try #require(made.withLock { $0?.cameras.suffix(2) })
    #expect(cameras.map(\.deviceType) == [.captureAdapter, .virtual])
    #expect(cameras.map(\.cameraFacing) == [.external, .unknown])
  }

  @Test func callWithoutDevicePermissionIsRefused() async throws {
    let telephone = try Telephone()
    let (ana, anaHears) = try await telephone.agent("ana")
    let camera = try await telephone.camera()
    let machine = telephone.world.machine
    let codes = Lock<[Int]>([])
    func start(withCamera: Bool) async {
      let options = StartCallOptions()
      if withCamera { options.videoOptions = VideoOptions(localVideoStreams: [camera]) }
      ana.startCall(participants: [identity("ben")], options: options) { _, error in
        codes.withLock { $0.append((error as NSError?)?.code ?? 0) }
      }
      await telephone.run(.milliseconds(100))
    }
    machine.setPermission(.denied, .camera)
    await start(withCamera: true)
    machine.setPermission(.denied, .microphone)
    await start(withCamera: true)
    await start(withCamera: false)
    #expect(
      codes.withLock { $0 } == [
        CallingCommunicationErrors.noVideoPermission.rawValue,
        CallingCommunicationErrors.noAudioAndVideoPermission.rawValue,
        CallingCommunicationErrors.noAudioPermission.rawValue,
      ])
    #expect(ana.calls.isEmpty)
    #expect(anaHears.words.isEmpty)
    machine.setPermission(.undetermined, .microphone)  // asked, and granted, when it starts
    await start(withCamera: false)
    #expect(codes.withLock { $0.last } == 0)
    #expect(machine.permission(.microphone) == .granted)
  }
}
