import Dispatch
import Foundation
@testable import Koine
import KoineEmbeddedBackend
import Testing

/// Device changes at a machine, the notifications about them, and their effect on the media that remote participants receive.
@Suite struct MachineTests {
  private static let delivery = DispatchQueue(label: "delivery")

  private static func makeWorld(camera: String = "stamp:front,160x90@30", microphone: String = "tone") -> World {
    World(
      backend: EmbeddedBackend(virtual: 7), delivery: Delivery(queue: delivery),
      devices: DefaultDevices(camera: camera, microphone: microphone))
  }

  private static func headset(_ source: String = "silence") -> Machine.Device {
    Machine.Device(id: "headset", kind: .microphone, name: "Headset", attachment: .wired, source: source)
  }

  /// All events, in order.
  private func watch(_ machine: Machine) -> Lock<[Machine.Event]> {
    let told = Lock<[Machine.Event]>([])
    machine.observe { event in
      dispatchPrecondition(condition: .onQueue(Self.delivery))
      told.withLock { $0.append(event) }
    }
    return told
  }

  @Test func torchBelongsToACameraAndGoesOffWhenItIsUnplugged() {
    let machine = Self.makeWorld().machine
    let camera = Machine.Device(id: "lamp", kind: .camera, name: "Lamp", source: "pattern", hasTorch: true)
    machine.plugIn(camera)
    #expect(!machine.setTorch(true, of: "front camera"), "it has none")
    #expect(!machine.setTorch(true, of: "no such thing"))
    #expect(machine.setTorch(true, of: "lamp"))
    #expect(machine.isTorchOn("lamp"))
    #expect(machine.setTorch(false, of: "lamp"))
    #expect(!machine.isTorchOn("lamp"))
    machine.setTorch(true, of: "lamp")
    machine.unplug("lamp")
    #expect(!machine.isTorchOn("lamp"))
    machine.plugIn(camera)
    #expect(!machine.isTorchOn("lamp"))
    let microphone = Machine.Device(id: "m", kind: .microphone, name: "M", source: "tone", hasTorch: true)
    #expect(!microphone.hasTorch, "only cameras have torches")
  }

  @Test func changesOfOutputBatteryNetworkAndMemoryAreReportedOnce() async {
    let world = Self.makeWorld()
    let machine = world.machine
    let told = watch(machine)
    machine.setOutputVolume(7)
    machine.setOutputVolume(0.5)
    machine.setOutputMuted(true)
    machine.setOutputMuted(true)
    let battery = Machine.Power(level: .nan, state: .charging)
    #expect(battery.level == 0)
    machine.setPower(battery)
    machine.setPower(battery)
    machine.setNetwork(.wifi)
    machine.setNetwork(.wifi)
    machine.reportLowMemory()
    await world.run(for: .milliseconds(10))
    #expect(
      told.withLock { $0 } == [
        .outputChanged, .outputChanged, .powerChanged(battery), .networkChanged(.wifi), .memoryLow,
      ])
    #expect(machine.outputVolume == 0.5)
  }

  /// The files of a system, in a folder of its own.
  private final class SystemFolder {
    let root = FileManager.default.temporaryDirectory.appendingPathComponent("koine-system-\(UUID().uuidString)")
    deinit { try? FileManager.default.removeItem(at: root) }
    func write(_ text: String, _ path: String) throws {
      let file = root.appendingPathComponent(path)
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: file)
    }
    func remove(_ path: String) throws { try FileManager.default.removeItem(at: root.appendingPathComponent(path)) }
  }

  private static let routes = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"

  @Test func machineReadsBatteryNetworkAndMemoryOfLinux() async throws {
    let world = Self.makeWorld()
    let (machine, folder) = (world.machine, SystemFolder())
    machine.followSystem(at: folder.root.path)
    #expect(machine.power == nil)
    #expect(machine.network == nil, "the system does not tell")
    try folder.write("Battery\n", "sys/class/power_supply/BAT0/type")
    try folder.write("80\n", "sys/class/power_supply/BAT0/capacity")
    try folder.write("Discharging\n", "sys/class/power_supply/BAT0/status")
    try folder.write("Mains\n", "sys/class/power_supply/AC/type")
    try folder.write("Battery\n", "sys/class/power_supply/hidpp/type")
    try folder.write("Device\n", "sys/class/power_supply/hidpp/scope")
    try folder.write("5\n", "sys/class/power_supply/hidpp/capacity")
    for (name, type, state) in [("lo", "772", "unknown"), ("eth0", "1", "down"), ("wlp2s0", "1", "up")] {
      try folder.write(type + "\n", "sys/class/net/\(name)/type")
      try folder.write(state + "\n", "sys/class/net/\(name)/operstate")
    }
    try folder.write("DEVTYPE=wlan\nINTERFACE=wlp2s0\n", "sys/class/net/wlp2s0/uevent")
    try folder.write("MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    60 kB\n", "proc/meminfo")
    let told = watch(machine)
    machine.followSystem(at: folder.root.path)
    #expect(machine.power == Machine.Power(level: 0.8, state: .discharging))
    #expect(machine.network == .wifi, "the only one that is up")
    try folder.write("49\n", "sys/class/power_supply/BAT0/capacity")
    try folder.write("Charging\n", "sys/class/power_supply/BAT0/status")
    try folder.write("up\n", "sys/class/net/eth0/operstate")
    try folder.write("DEVTYPE=wwan\n", "sys/class/net/wwan0/uevent")
    for memory in [40, 40, 60, 40, 110, 40] {
      try folder.write("MemTotal: 1000 kB\nMemAvailable: \(memory) kB\n", "proc/meminfo")
      machine.followSystem(at: folder.root.path)
    }
    #expect(machine.power == Machine.Power(level: 0.49, state: .charging))
    #expect(machine.network == .ethernet)
    let routes = Self.routes + "wlp2s0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n"
    try folder.write(routes, "proc/net/route")
    machine.followSystem(at: folder.root.path)
    #expect(machine.network == .wifi, "it has the default route")
    try folder.write(routes + "wwan0\t00000000\t0101A8C0\t0003\t0\t0\t50\t00000000\t0\t0\t0\n", "proc/net/route")
    machine.followSystem(at: folder.root.path)
    #expect(machine.network == .cellular, "its route comes first")
    for name in ["eth0", "wlp2s0", "wwan0"] { try folder.remove("sys/class/net/\(name)") }
    machine.followSystem(at: folder.root.path)
    #expect(machine.network == Machine.Network.none)
    await world.run(for: .milliseconds(10))
    let low = told.withLock { $0.filter { $0 == .memoryLow }.count }
    #expect(low == 2, "once for each time that memory becomes short")
  }

  @Test func machineFollowsTheSystemInRealTimeAndReadsThisOne() async throws {
    let (folder, lane) = (SystemFolder(), DispatchQueue(label: "delivery"))
    let machine = Machine([], delivery: Delivery(queue: lane))
    try folder.write("1\n", "sys/class/net/eth0/type")
    try folder.write("up\n", "sys/class/net/eth0/operstate")
    let changes = machine.events()
    machine.followSystem(at: folder.root.path)
    try folder.write("down\n", "sys/class/net/eth0/operstate")
    var seen: [Machine.Event] = []
    for await change in changes {
      seen.append(change)
      if seen.count == 2 { break }
    }
    #expect(seen == [.networkChanged(.ethernet), .networkChanged(Machine.Network.none)])
    let files = SystemFiles(root: "/")
    let memory = try #require(files.availableMemory)
    #expect(memory > 0 && memory <= 1)
    #expect(files.network != nil, "Linux has at least the interface lo")
  }

  @Test func devicesArePluggedUnpluggedAndSelected() async throws {
    let world = Self.makeWorld()
    let machine = world.machine
    let told = watch(machine)
    let builtIn = try #require(machine.current(.microphone))
    machine.plugIn(Self.headset())
    #expect(machine.current(.microphone) == Self.headset(), "at once")
    #expect(machine.choose(builtIn.id))
    #expect(machine.choose(builtIn.id), "changes nothing")
    #expect(!machine.choose("no such thing"))
    machine.choose("headset")
    machine.unplug("headset")
    machine.unplug("headset")
    let usb = Machine.Device(id: "usb", kind: .camera, name: "USB camera", source: "pattern")
    machine.plugIn(usb)
    #expect(machine.current(.camera)?.attachment == .front, "a camera does not take over")
    #expect(machine.devices(.camera).map(\.name) == ["Front camera", "Back camera", "USB camera"])
    machine.unplug(builtIn.id)
    #expect(machine.current(.microphone) == nil)
    await world.run(for: .milliseconds(1))
    #expect(
      told.withLock { $0 } == [
        .plugged(Self.headset()), .routeChanged(.microphone, from: builtIn, to: Self.headset(), .plugged),
        .routeChanged(.microphone, from: Self.headset(), to: builtIn, .chosen),
        .routeChanged(.microphone, from: builtIn, to: Self.headset(), .chosen),
        .unplugged(Self.headset()), .routeChanged(.microphone, from: Self.headset(), to: builtIn, .unplugged),
        .plugged(usb), .unplugged(builtIn), .routeChanged(.microphone, from: builtIn, to: nil, .unplugged),
      ])
  }

  @Test func publishedMicrophoneFollowsSelectedDevice() async throws {
    let world = Self.makeWorld()
    let machine = world.machine
    let (ana, ben) = (
      Session(JoinRequest(room: "tea", name: "Ana"), in: world),
      Session(JoinRequest(room: "tea", name: "Ben"), in: world)
    )
    let hears = Loudness()
    hears.follow(ben)
    try ana.publish(microphone: machine.makeMicrophone())
    for session in [ana, ben] { session.join { _ in } }
    func peak() async -> Int {
      await world.run(for: .milliseconds(500))
      _ = hears.take()
      await world.run(for: .milliseconds(500))
      return hears.take()
    }
    #expect(await peak() > 4_000)
    machine.plugIn(Self.headset())
    #expect(await peak() < 100, "the headset is silent")
    machine.beginInterruption()
    machine.choose("built-in microphone")
    #expect(await peak() < 100, "something else has the sound")
    machine.endInterruption()
    #expect(await peak() > 4_000)
    machine.setPermission(.denied, .microphone)
    #expect(await peak() < 100)
    machine.setPermission(.granted, .microphone)
    #expect(await peak() > 4_000)
    machine.unplug("headset")
    machine.unplug("built-in microphone")
    #expect(await peak() < 100)
    machine.plugIn(Self.headset("tone:300"))
    #expect(await peak() > 4_000)
    #expect(ana.state == .connected && ben.participants.first?.tracks.count == 1, "still the same stream")
  }

  @Test func publishedCameraFollowsSelectedDevice() async throws {
    let world = Self.makeWorld()
    let machine = world.machine
    let session = Session(JoinRequest(room: "tea", name: "Ana"), in: world)
    let stamps = Stamps()
    let stream = try session.publish(camera: machine.makeCamera())
    let pinned = try machine.makeCamera("front camera")
    let pinnedStamps = Stamps()
    try pinned.start(on: world.backend.scheduler.lane("pinned")) { pinnedStamps.render($0) }
    session.attach(stamps as any VideoSink, to: stream.id)
    session.join { _ in }
    await world.run(for: .seconds(1))
    #expect(stamps.last == "front")
    machine.plugIn(Machine.Device(id: "usb", kind: .camera, name: "USB camera", source: "stamp:usb,160x90@30"))
    await world.run(for: .seconds(1))
    #expect(stamps.last == "front")
    machine.choose("usb")
    await world.run(for: .seconds(1))
    #expect(stamps.last == "usb")
    #expect(pinnedStamps.last == "front")
    machine.unplug("front camera")
    machine.unplug("usb")
    await world.run(for: .milliseconds(100))
    let count = pinnedStamps.count
    await world.run(for: .seconds(1))
    #expect(pinnedStamps.count == count, "what is unplugged gives no pictures")
    #expect(machine.current(.camera)?.id == "back camera")
    pinned.stop()
  }

  @Test func loudspeakerFollowsSelectedDevice() async throws {
    let (first, second) = (Listener(), Listener())
    Devices.register(loudspeaker: "first ear") { _ throws(DeviceError) in first }
    Devices.register(loudspeaker: "second ear") { _ throws(DeviceError) in second }
    func loudspeaker(_ name: String) -> Machine.Device {
      Machine.Device(id: name, kind: .loudspeaker, name: name, source: name)
    }
    let world = Self.makeWorld()
    let (ana, ben) = (
      Session(JoinRequest(room: "tea", name: "Ana"), in: world),
      Session(JoinRequest(room: "tea", name: "Ben"), in: world)
    )
    try ana.publish(microphone: Devices.microphone("tone"))
    for session in [ana, ben] { session.join { _ in } }
    await world.run(for: .seconds(1))
    world.machine.plugIn(loudspeaker("first ear"))
    await world.run(for: .seconds(1))
    #expect((95...101).contains(first.blocks.withLock { $0 }), "although it came after joining")
    world.machine.plugIn(loudspeaker("second ear"))
    await world.run(for: .seconds(1))
    #expect((95...101).contains(first.blocks.withLock { $0 }))
    #expect((95...101).contains(second.blocks.withLock { $0 }))
    world.machine.beginInterruption()
    await world.run(for: .seconds(1))
    #expect((95...101).contains(second.blocks.withLock { $0 }))
    world.machine.endInterruption(mayResume: false)
    world.machine.unplug("second ear")
    await world.run(for: .seconds(1))
    #expect((195...202).contains(first.blocks.withLock { $0 }))
  }

  @Test func deviceThatFailsToOpenIsReported() async throws {
    let world = Self.makeWorld()
    let told = watch(world.machine)
    let microphone = try world.machine.makeMicrophone()
    try microphone.start(on: world.backend.scheduler.lane("test")) { _ in }
    let broken = Machine.Device(id: "x", kind: .microphone, name: "X", source: "no such source")
    world.machine.plugIn(broken)
    await world.run(for: .milliseconds(1))
    let failures = told.withLock { $0 }.filter { if case .failed(broken, _) = $0 { true } else { false } }
    #expect(failures.count == 1)
    #expect(throws: DeviceError.self) { try world.machine.makeMicrophone() }
    #expect(throws: DeviceError.self) { try world.machine.makeCamera("x") }
    world.machine.setPermission(.denied, .camera)
    let camera = try world.machine.makeCamera()
    #expect(throws: DeviceError.notAllowed("camera")) {
      try camera.start(on: world.backend.scheduler.lane("test")) { _ in }
    }
    microphone.stop()
  }

  @Test func permissionIsRequestedOnceAndMayBeAnsweredLater() async {
    let world = Self.makeWorld()
    let machine = world.machine
    let told = watch(machine)
    let answers = Lock<[Bool]>([])
    #expect(machine.permission(.camera) == .granted, "nobody is asked on Linux")
    machine.requestPermission(.camera) { granted in answers.withLock { $0.append(granted) } }
    machine.setPermission(.undetermined, .microphone)
    machine.willAnswer(.undetermined, .microphone)
    for _ in 0..<2 { machine.requestPermission(.microphone) { granted in answers.withLock { $0.append(granted) } } }
    await world.run(for: .seconds(1))
    #expect(answers.withLock { $0 } == [true])
    machine.setPermission(.denied, .microphone)
    await world.run(for: .milliseconds(1))
    #expect(answers.withLock { $0 } == [true, false, false])
    machine.setPermission(.undetermined, .camera)
    machine.willAnswer(.denied, .camera)
    #expect(await world.run { await machine.requestPermission(.camera) } == false)
    #expect(
      told.withLock { $0 } == [
        .permissionChanged(.microphone, .undetermined), .permissionChanged(.microphone, .denied),
        .permissionChanged(.camera, .undetermined), .permissionChanged(.camera, .denied),
      ])
  }

  @Test func observerCancelsInsideCallbackAndEventSequenceStarts() async {
    let world = Self.makeWorld()
    let machine = world.machine
    let first = Lock(0)
    let observation = Lock<Observation?>(nil)
    let made = machine.observe { _ in
      first.withLock { $0 += 1 }
      observation.withLock { $0 }?.cancel()
    }
    observation.withLock { $0 = made }
    let events = machine.events()
    machine.beginInterruption()
    machine.endInterruption()
    await world.run(for: .milliseconds(1))
    #expect(first.withLock { $0 } == 1)
    var seen: [Machine.Event] = []
    for await event in events {
      seen.append(event)
      if seen.count == 2 { break }
    }
    #expect(seen == [.interruptionBegan, .interruptionEnded(mayResume: true)])
  }
}

private final class Loudness: AudioSink, Sendable {
  private let peak = Lock(0)

  func follow(_ session: Session) {
    session.observe { [weak session] event in
      guard case .streamAdded(let stream, let owner) = event, !owner.isLocal, stream.kind.isAudio else { return }
      session?.attach(self as any AudioSink, to: stream.id)
    }
  }

  func play(_ block: AudioBlock) {
    let loudest = block.samples.map { abs(Int($0)) }.max() ?? 0
    peak.withLock { $0 = max($0, loudest) }
  }

  func take() -> Int {
    peak.withLock { peak in
      defer { peak = 0 }
      return peak
    }
  }
}

private final class Stamps: VideoSink, Sendable {
  private let names = Lock<[String]>([])
  var last: String? { names.withLock { $0.last } }
  var count: Int { names.withLock { $0.count } }
  func render(_ frame: VideoFrame) {
    if let name = StampReader.read(frame)?.name { names.withLock { $0.append(name) } }
  }
}

private final class Listener: AudioSink, Sendable {
  let blocks = Lock(0)
  func play(_ block: AudioBlock) { blocks.withLock { $0 += 1 } }
}
