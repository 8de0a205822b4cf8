import Dispatch
import Foundation
import Glibc
public import Koine

/// Notifies a machine of the real devices that are plugged in and out, as long as this object lives: PulseAudio's microphones and
/// loudspeakers, and the cameras of Video4Linux. The sound server's default devices are in use. When the server stops, or this
/// object is released, its devices are unplugged. The devices of a server that starts, or starts again, are plugged in within a
/// second or two.
///
///     MediaFiles.register()
///     let watch = DeviceWatch(world.machine)
public final class DeviceWatch: Sendable {
  private let sound: PulseWatch?
  private let cameras: CameraWatch?

  /// Starts to watch the devices of this machine.
  /// - Parameter soundServer: nil: the one of `PULSE_SERVER` or of the user's session. Without a server there are only
  ///   cameras.
  public convenience init(_ machine: Machine, soundServer: String? = nil) {
    self.init(
      sound: PulseWatch(machine, server: soundServer),
      cameras: CameraWatch(machine, folder: "/dev", describe: CameraWatch.describe))
  }

  init(sound: PulseWatch?, cameras: CameraWatch?) { (self.sound, self.cameras) = (sound, cameras) }

  deinit {
    sound?.stop()
    cameras?.stop()
  }
}

/// Keeps a machine's devices of one origin as a list says.
final class DeviceRoster: Sendable {
  private let machine: Machine
  private let known = Lock<[Machine.Device]>([])

  init(_ machine: Machine) { self.machine = machine }

  /// - Parameter defaults: are plugged in last, and chosen when another was before.
  func update(_ devices: [Machine.Device], defaults: Set<Machine.Device.ID> = []) {
    let before = known.withLock { known in
      defer { known = devices }
      return known
    }
    for device in before where !devices.contains(device) { machine.unplug(device.id) }
    let new = devices.filter { !before.contains($0) }
    for device in new where !defaults.contains(device.id) { machine.plugIn(device) }
    for device in new where defaults.contains(device.id) { machine.plugIn(device) }
    for device in devices where defaults.contains(device.id) && machine.current(device.kind) != device {
      machine.choose(device.id)
    }
  }
}

/// Watches a folder for `video0`, `video1`, …
///
/// `@unchecked Sendable`: constant; `source` may be cancelled from any thread.
final class CameraWatch: @unchecked Sendable {
  private let folder: String
  private let describe: @Sendable (String) -> String?
  private let roster: DeviceRoster
  private let source: any DispatchSourceRead

  /// - Parameter describe: the name of the camera at a path; nil: the device at the path is not a camera.
  /// - Returns: nil when the folder cannot be watched.
  init?(_ machine: Machine, folder: String, describe: @escaping @Sendable (String) -> String?) {
    let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard descriptor >= 0 else { return nil }
    // Attributes too: a device's node exists before its user may open it. Moves too: a node may be renamed into place.
    let changes = IN_CREATE | IN_DELETE | IN_ATTRIB | IN_MOVED_TO | IN_MOVED_FROM
    guard inotify_add_watch(descriptor, folder, UInt32(changes)) >= 0 else {
      close(descriptor)
      return nil
    }
    (self.folder, self.describe) = (folder, describe)
    roster = DeviceRoster(machine)
    let source = DispatchSource.makeReadSource(
      fileDescriptor: descriptor, queue: DispatchQueue(label: "cameras of \(folder)"))
    self.source = source
    source.setEventHandler { [weak self] in
      var buffer = [UInt8](repeating: 0, count: 4_096)
      while read(descriptor, &buffer, buffer.count) > 0 {}
      self?.look()
    }
    source.setCancelHandler { close(descriptor) }
    look()
    source.activate()
  }

  func stop() {
    source.cancel()
    roster.update([])
  }

  private func look() {
    let entries = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let numbers = entries.compactMap { $0.hasPrefix("video") ? Int($0.dropFirst(5)) : nil }.sorted()
    roster.update(
      numbers.compactMap { number in
        let path = "\(folder)/video\(number)"
        return describe(path).map { name in
          Machine.Device(id: "v4l2:\(path)", kind: .camera, name: name, attachment: .usb, source: "v4l2:\(path)")
        }
      })
  }
}
