import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import Testing

@testable import KoineMediaFiles

/// PulseAudio's devices, against a server with a silent loudspeaker. The limit is for a machine that runs all
/// tests at once.
@Suite(.timeLimit(.minutes(15))) struct AudioDeviceTests {
  init() { MediaFiles.register() }

  /// Blocks of a microphone, as they arrive.
  private func blocks(of microphone: any AudioSource) throws -> AsyncStream<AudioBlock> {
    let (stream, continuation) = AsyncStream.makeStream(of: AudioBlock.self)
    try microphone.start(on: Scheduler.real.lane("test microphone")) { continuation.yield($0) }
    continuation.onTermination = { _ in microphone.stop() }
    return stream
  }

  /// Waits until a tone is heard for 300 ms without a gap; a busy machine may need several attempts, and leaves holes shorter
  /// than a block, which take some of the waves with them.
  /// - Returns: the frequency in Hz, of twenty such times the first that is within a tenth of what is expected, else the
  ///   last; and its blocks' times.
  private func tone(of expected: Double, in blocks: AsyncStream<AudioBlock>) async -> (frequency: Double, times: [Tick])
  {
    var (loud, times): ([Int16], [Tick]) = ([], [])
    var (heard, attempts) = ((frequency: 0.0, times: [Tick]()), 0)
    for await block in blocks {
      if block.samples.contains(where: { abs(Int($0)) > 3_000 }) {
        loud += block.samples
        times.append(block.captured)
      } else {
        (loud, times) = ([], [])
      }
      guard times.count == 30 else { continue }
      let crossings = zip(loud, loud.dropFirst()).filter { ($0 < 0) != ($1 < 0) }.count
      heard = (Double(crossings) / 2 / 0.3, times)
      (loud, times) = ([], [])
      attempts += 1
      if abs(heard.frequency - expected) < expected / 10 || attempts == 20 { break }
    }
    return heard
  }

  @Test func loudspeakerMonitorReceivesThePlayedTone() async throws {
    let server = try await PulseAudioServer()
    let loudspeaker = try Devices.loudspeaker("pulse:nothing@\(server.address)")
    let microphone = try Devices.microphone("pulse:nothing.monitor@\(server.address)")
    #expect(microphone.channels == 1)
    #expect(microphone.usualProcessing?.cancelsEcho == true)
    let tone = try Devices.microphone("tone:1000")
    try tone.start(on: Scheduler.real.lane("test tone")) { loudspeaker.play($0) }
    defer { tone.stop() }
    let (frequency, times) = await self.tone(of: 1_000, in: try blocks(of: microphone))
    #expect(abs(frequency - 1_000) < 100, "\(frequency) Hz")
    for (early, late) in zip(times, times.dropFirst()) {
      #expect((late - early - .milliseconds(10)).nanoseconds % 20_000_000 == 0, "10 ms apart, but for whole packets")
    }
    #expect(loudspeaker.playoutDelay > .zero)
    #expect(loudspeaker.playoutDelay < .seconds(2))
  }

  @Test func callAudioIsPlayedOnTheWorldsLoudspeaker() async throws {
    let server = try await PulseAudioServer()
    let world = World(
      backend: EmbeddedBackend(), delivery: Delivery(queue: DispatchQueue(label: "delivery")),
      devices: DefaultDevices(loudspeaker: "pulse:nothing@\(server.address)"))
    let ears = try blocks(of: Devices.microphone("pulse:nothing.monitor@\(server.address)"))
    let silent = World(backend: world.backend, delivery: world.delivery)
    let ana = Session(JoinRequest(room: "tea", name: "Ana"), in: silent)
    let ben = Session(JoinRequest(room: "tea", name: "Ben"), in: world)
    try ana.publish(microphone: Devices.microphone("tone:600"))
    try await ben.join()
    try await ana.join()
    let frequency = await tone(of: 600, in: ears).frequency
    #expect(abs(frequency - 600) < 60, "\(frequency) Hz")
    await ana.leave()
    await ben.leave()
  }

  @Test func audioResumesAfterPulseAudioRestart() async throws {
    let server = try await PulseAudioServer()
    let microphone = try Devices.microphone("pulse:nothing.monitor@\(server.address)")
    let loudspeaker = try Devices.loudspeaker("pulse:nothing@\(server.address)")
    let tone = try Devices.microphone("tone:500")
    try tone.start(on: Scheduler.real.lane("test tone")) { loudspeaker.play($0) }
    defer { tone.stop() }
    let heard = try blocks(of: microphone)
    for await block in heard where block.samples.contains(where: { $0 > 3_000 }) { break }
    microphone.stop()
    server.stop()
    #expect(throws: DeviceError.self) { try microphone.start(on: Scheduler.real.lane("x")) { _ in } }
    try await server.start()
    let again = await self.tone(of: 500, in: try blocks(of: microphone))
    #expect(abs(again.frequency - 500) < 50)
  }

  @Test func deviceChangesAreReported() async throws {
    let server = try await PulseAudioServer()
    let machine = Machine([], delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    var events = machine.events().makeAsyncIterator()
    func next(_ isRight: (Machine.Event) -> Bool) async {
      while let event = await events.next(), !isRight(event) {}
    }
    let watch = DeviceWatch(sound: PulseWatch(machine, server: server.address), cameras: nil)
    await next {
      if case .routeChanged(.loudspeaker, _, let to?, .plugged) = $0 { to.id == "sink nothing" } else { false }
    }
    #expect(machine.devices(.microphone).isEmpty, "what a loudspeaker plays is no microphone")
    let module = try await server.control(
      "load-module", "module-null-source", "source_name=desk", "description=Desk")
    await next { if case .routeChanged(.microphone, _, let to?, _) = $0 { to.id == "source desk" } else { false } }
    let desk = try #require(machine.current(.microphone))
    #expect(desk.source == "pulse:desk@\(server.address)")
    let microphone = try machine.makeMicrophone()
    for await block in try blocks(of: microphone) where block.samples.allSatisfy({ $0 == 0 }) { break }
    try await server.control("load-module", "module-null-sink", "sink_name=second")
    await next { if case .plugged(let device) = $0 { device.id == "sink second" } else { false } }
    try await server.control("set-default-sink", "second")
    await next { _ in machine.current(.loudspeaker)?.id == "sink second" }
    try await server.control("unload-module", module.trimmingCharacters(in: .whitespacesAndNewlines))
    await next { $0 == .unplugged(desk) }
    server.stop()
    await next { _ in machine.devices.isEmpty }
    try await server.start()
    await next {
      if case .routeChanged(.loudspeaker, _, let to?, .plugged) = $0 { to.id == "sink nothing" } else { false }
    }
    withExtendedLifetime(watch) {}
  }

  @Test func deviceWatchWaitsForPulseAudioServer() async throws {
    let server = try await PulseAudioServer()
    server.stop()
    let machine = Machine([], delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    var events = machine.events().makeAsyncIterator()
    let watch = DeviceWatch(sound: PulseWatch(machine, server: server.address), cameras: nil)
    try await server.start()
    while machine.current(.loudspeaker)?.id != "sink nothing", await events.next() != nil {}
    withExtendedLifetime(watch) {}
  }

  @Test func invalidDeviceTextsThrow() async throws {
    for text in ["pulse:@unix:/nowhere/at/all", "pulse:x@unix:/nowhere"] {
      #expect(throws: DeviceError.self) { try Devices.microphone(text) }
      #expect(throws: DeviceError.self) { try Devices.loudspeaker(text) }
    }
    let server = try await PulseAudioServer()
    #expect(throws: DeviceError.self) { try Devices.microphone("pulse:nobody@\(server.address)") }
    let microphone = try Devices.microphone("pulse:@\(server.address)")
    #expect(throws: DeviceError.self, "a virtual clock") {
      try microphone.start(on: Scheduler.virtual().lane("x")) { _ in }
    }
    #expect(PulsePlace("@DEFAULT_SINK@").name == "@DEFAULT_SINK@")
    #expect(PulsePlace("@DEFAULT_SINK@").server == nil)
    #expect(PulsePlace(nil).name == nil)
    #expect(PulsePlace("mic").name == "mic")
    #expect(PulsePlace("a@b").server == "b")
    #expect(PulsePlace("a@b").argument == "a@b")
    #expect(PulsePlace("@b").name == nil)
  }

  @Test func captureClockRemovesThreadJitter() {
    var clock = CaptureClock()
    let start = Tick.zero + .seconds(5)
    var last: Tick?
    for number in 0..<1_000 {
      let jitter = Duration.milliseconds(number * 7919 % 37)
      let stamp = clock.stamp(measured: start + AudioBlock.duration * number + jitter)
      if let last { #expect(stamp - last == AudioBlock.duration) }
      last = stamp
    }
    // The device was silent for 105 ms: the clock goes on by whole packets.
    let late = clock.stamp(measured: start + AudioBlock.duration * 1_000 + .milliseconds(105))
    #expect(late - (last ?? .zero) == .milliseconds(110))
  }
}
