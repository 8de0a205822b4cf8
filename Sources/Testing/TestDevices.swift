import Foundation
import Koine

/// What stands for the devices of apps in test rooms, by names that `Devices` knows.
enum TestDevices {
  static let sparseTone = "test-tone"
  private static let loudspeaker = "test-room"
  private static let guarded = "test-device"
  /// Devices that another program has, as `room/person/kind`.
  private static let busy = Lock<Set<String>>([])
  /// The number of started devices, by `room/person/kind`.
  private static let running = Lock<[String: Int]>([:])

  private static let registered: Void = {
    Devices.register(microphone: sparseTone) { argument throws(DeviceError) in
      guard let argument, let frequency = Double(argument), (20...20_000).contains(frequency) else {
        throw .invalid("\(sparseTone):\(argument ?? "")", reason: "a tone has 20 to 20000 Hz")
      }
      return SparseTone(frequency: frequency)
    }
    Devices.register(camera: guarded) { argument throws(DeviceError) in
      let (place, inner) = split(argument)
      return GuardedCamera(try Devices.camera(inner), at: place)
    }
    Devices.register(microphone: guarded) { argument throws(DeviceError) in
      let (place, inner) = split(argument)
      return GuardedMicrophone(try Devices.microphone(inner), at: place)
    }
    Devices.register(loudspeaker: loudspeaker) { argument throws(DeviceError) in try Ears.sink(at: argument ?? "") }
  }()

  static func register() { _ = registered }

  // MARK: Devices that others may take

  /// Another device, in the words of `Devices`, which a test may make busy.
  static func guarded(_ kind: Machine.Kind, room: String, person: String, _ device: String) -> String {
    "\(guarded):\(room)/\(person)/\(kind.rawValue)=\(device)"
  }

  private static func split(_ argument: String?) -> (place: String, device: String) {
    let parts = (argument ?? "").split(separator: "=", maxSplits: 1).map(String.init)
    return (parts.first ?? "", parts.count > 1 ? parts[1] : "")
  }

  static func setBusy(_ isBusy: Bool, _ kind: Machine.Kind, room: String, person: String) {
    let place = "\(room)/\(person)/\(kind.rawValue)"
    busy.withLock { busy in if isBusy { busy.insert(place) } else { busy.remove(place) } }
  }

  static func forget(room: String) {
    busy.withLock { $0 = $0.filter { !$0.hasPrefix(room + "/") } }
    running.withLock { $0 = $0.filter { !$0.key.hasPrefix(room + "/") } }
  }

  /// Whether a camera or a microphone of a person's machine runs.
  static func isRunning(_ kind: Machine.Kind, room: String, person: String) -> Bool {
    running.withLock { ($0["\(room)/\(person)/\(kind.rawValue)"] ?? 0) > 0 }
  }

  fileprivate static func count(_ change: Int, at place: String) {
    running.withLock { running in
      let number = (running[place] ?? 0) + change
      running[place] = number > 0 ? number : nil
    }
  }

  fileprivate static func checkFree(_ place: String) throws(DeviceError) {
    guard busy.withLock({ $0.contains(place) }) else { return }
    let kind = place.split(separator: "/").last.map(String.init) ?? "device"
    throw .unreadable(kind, reason: "another program has it")
  }

  static func loudspeaker(room: String, person: String) -> String { "\(loudspeaker):\(room)/\(person)" }
}

/// Counts a device among the running ones of its machine, while it runs.
private final class RunningMark: Sendable {
  private let place: String
  private let isOn = Lock(false)

  init(at place: String) { self.place = place }
  deinit { set(false) }

  func set(_ isOn: Bool) {
    let hasChanged = self.isOn.withLock { present in
      defer { present = isOn }
      return present != isOn
    }
    if hasChanged { TestDevices.count(isOn ? 1 : -1, at: place) }
  }
}

private final class GuardedCamera: VideoSource {
  private let camera: any VideoSource
  private let place: String
  private let mark: RunningMark

  init(_ camera: any VideoSource, at place: String) {
    (self.camera, self.place, mark) = (camera, place, RunningMark(at: place))
  }

  var format: VideoFormat { camera.format }
  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) throws {
    try TestDevices.checkFree(place)
    try camera.start(on: lane, deliver: deliver)
    mark.set(true)
  }
  func stop() {
    camera.stop()
    mark.set(false)
  }
}

private final class GuardedMicrophone: AudioSource {
  private let microphone: any AudioSource
  private let place: String
  private let mark: RunningMark

  init(_ microphone: any AudioSource, at place: String) {
    (self.microphone, self.place, mark) = (microphone, place, RunningMark(at: place))
  }

  var channels: Int { microphone.channels }
  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) throws {
    try TestDevices.checkFree(place)
    try microphone.start(on: lane, deliver: deliver)
    mark.set(true)
  }
  func stop() {
    microphone.stop()
    mark.set(false)
  }
}

/// A tone of which only each tenth block is given: enough for stamps, at a tenth of the work.
private final class SparseTone: AudioSource, @unchecked Sendable {  // `run` is a lock, the rest is constant
  let channels = 1
  private let samples: [Int16]
  private let run = Lock(0)
  private static let interval = Duration.milliseconds(100)

  init(frequency: Double) {
    samples = (0..<AudioBlock.length).map {
      Int16(8_000 * sin(2 * .pi * frequency * Double($0) / Double(AudioBlock.sampleRate)))
    }
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    let number = run.withLock { run in
      run += 1
      return run
    }
    let begin = lane.scheduler.now
    lane.post { [weak self] in self?.tick(due: begin, number, lane, deliver) }
  }

  func stop() { run.withLock { $0 += 1 } }

  private func tick(due: Tick, _ number: Int, _ lane: Lane, _ deliver: @escaping @Sendable (AudioBlock) -> Void) {
    guard run.withLock({ $0 }) == number else { return }
    var block = AudioBlock(captured: due)
    block.samples = samples
    deliver(block)
    let next = max(due + Self.interval, lane.scheduler.now)
    lane.post(at: next) { [weak self] in self?.tick(due: next, number, lane, deliver) }
  }
}
