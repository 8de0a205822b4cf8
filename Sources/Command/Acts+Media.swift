import Foundation
import Koine
import KoineComposition
import KoineEmbeddedBackend
import KoineSampleSupport
import KoineSimulatedNetwork

// Video and audio.

extension Acts {
  static func share(_ stage: Stage) async throws {
    let (ana, ben) = (try await stage.enter("ana"), try await stage.enter("ben"))
    try ana.publish(camera: Devices.camera("stamp:ana,320x180@15"))
    let screen = try ana.publish(
      camera: Devices.camera("pattern:640x360@5"), as: .screen, options: VideoPublishOptions(maximumFramesPerSecond: 5))
    try ana.publish(microphone: Devices.microphone("tone:300"), as: .screenSound)
    await stage.run(1)
    let (camera, share) = (Viewer(), Viewer())
    ben.attach(camera as any VideoSink, to: try stage.stream(.camera, of: "ana", seenBy: ben))
    ben.attach(share as any VideoSink, to: try stage.stream(.screen, of: "ana", seenBy: ben))
    ben.attach(share as any AudioSink, to: try stage.stream(.screenSound, of: "ana", seenBy: ben))
    await stage.run(4)
    stage.printLine(
      "Ben sees Ana's camera (\(camera.size), \(camera.pictures / 4) a second) and her share (\(share.size), \(share.pictures / 4) a second), and hears its sound"
    )
    try stage.expect(
      camera.size == "320x180" && share.size == "640x360" && share.takeLevel() > -40, "no share was seen")
    screen.unpublish()
    await stage.run(1)
    try stage.expect(ben.tiles.count { $0.kind == .screen } == 0, "the share is still there")
  }

  static func layers(_ stage: Stage) async throws {
    let (ana, ben) = (try await stage.enter("ana"), try await stage.enter("ben"))
    let lower = [
      VideoLayer(maximumWidth: 160, maximumHeight: 90, maximumBitrate: 80_000),
      VideoLayer(maximumWidth: 320, maximumHeight: 180, maximumBitrate: 200_000),
    ]
    try ana.publish(
      camera: Devices.camera("pattern:640x360@30"),
      options: VideoPublishOptions(maximumBitrate: 700_000, lowerLayers: lower, temporalLayers: 3))
    await stage.run(4)
    let stream = try stage.stream(.camera, of: "ana", seenBy: ben)
    let viewer = Viewer()
    ben.attach(viewer as any VideoSink, to: stream)
    await stage.run(1)
    for (wish, words, size) in [
      (LayerPreference(layer: 0), "the smallest layer", "160x90"),
      (LayerPreference(maximumHeight: 180), "no more rows than its 180", "320x180"),
      (LayerPreference(), "the best there is", "640x360"),
    ] {
      let asked = stage.world.backend.scheduler.now
      ben.setPreference(wish, for: stream)
      let isThere = await stage.world.run(until: { viewer.size == size }, limit: .seconds(2))
      stage.printLine(
        "Ben wants \(words), and sees \(viewer.size) after \(Int((stage.world.backend.scheduler.now - asked).inSeconds * 1_000)) ms"
      )
      try stage.expect(isThere, "\(words) did not come")
      await stage.run(1)
    }
    ben.pause(stream)
    await stage.run(4)
    let (sent, shown) = (
      await stage.figures(ana).streams.compactMap(\.outgoing).reduce(0) { $0 + $1.bytes }, viewer.pictures
    )
    await stage.run(2)
    let still = await stage.figures(ana).streams.compactMap(\.outgoing).reduce(0) { $0 + $1.bytes }
    stage.printLine("Ben pauses it: no receiver wants it, and Ana sends \((still - sent) * 4 / 1_000) kbit/s")
    try stage.expect(viewer.pictures == shown && still - sent < 2_000, "layers that no receiver wants are sent")
  }

  static func vp9(_ stage: Stage) async throws {
    let (ana, ben) = (try await stage.enter("ana"), try await stage.enter("ben"))
    try ana.publish(
      camera: Devices.camera("pattern:640x360@30"),
      options: VideoPublishOptions(codec: .vp9, maximumBitrate: 400_000, temporalLayers: 3))
    await stage.run(1)
    let viewer = Viewer()
    ben.attach(viewer as any VideoSink, to: try stage.stream(.camera, of: "ana", seenBy: ben))
    await stage.run(3)
    let before = viewer.pictures
    await stage.run(2)
    let quick = (viewer.pictures - before) / 2
    stage.backend.setNetwork(try NetworkSpec("delay=10ms,rate=250k"), of: "ben")
    await stage.run(8)
    let later = viewer.pictures
    await stage.run(4)
    let slow = (viewer.pictures - later) / 4
    stage.printLine("Ben sees \(viewer.size) in VP9, \(quick) pictures a second; over 250 kbit/s \(slow)")
    try stage.expect(quick >= 28 && slow >= 5, "VP9 did not come")
  }

  static func rates(_ stage: Stage) async throws {
    let (ana, ben) = (try await stage.enter("ana"), try await stage.enter("ben"))
    try ana.publish(
      camera: Devices.camera("pattern:1280x720@30"), options: VideoPublishOptions(maximumBitrate: 2_500_000))
    stage.backend.setNetwork(try NetworkSpec("delay=20ms,rate=2M;10s:rate=500k;25s:rate=2M"), of: "ana")
    var now = 0.0
    for (second, least, most) in [(9.0, 1_200, 2_400), (14, 200, 550), (24, 300, 550), (36, 1_200, 2_400)] {
      await stage.run(second - now)
      now = second
      let estimate = await stage.figures(ana).availableBitrate / 1_000
      stage.printLine("\(Int(second)) s: Ana's path carries \(estimate) kbit/s")
      try stage.expect((least...most).contains(estimate), "expected \(least) to \(most)")
    }
    try stage.expect(ben.pathQuality(of: "ana").worse != .none, "Ana's path is lost")
  }

  static func speakers(_ stage: Stage) async throws {
    var voices: [(String, LocalStream)] = []
    var sessions: [Session] = []
    for name in ["ana", "ben", "cleo"] {
      let session = try await stage.enter(name)
      let voice = try session.publish(microphone: Devices.microphone("noise:\(sessions.count + 1)"))
      voice.setMuted(true)
      voices.append((name, voice))
      sessions.append(session)
    }
    let listener = try await stage.enter("dan")
    listener.observe { event in
      if case .dominantSpeakerChanged(let who?) = event { stage.printLine("now \(who) leads the conversation") }
    }
    for (name, voice) in voices {
      voice.setMuted(false)
      await stage.run(3)
      try stage.expect(
        listener.dominantSpeaker == name, "\(name) talks, but \(listener.dominantSpeaker ?? "nobody") leads")
      voice.setMuted(true)
      await stage.run(1)
    }
  }

  static func processing(_ stage: Stage) async throws {
    let (ana, ben) = (try await stage.enter("ana"), try await stage.enter("ben"))
    let voice = try ana.publish(
      microphone: Devices.microphone("fan"), options: AudioPublishOptions(processing: AudioProcessing.none))
    await stage.run(1)
    let ear = Viewer()
    ben.attach(ear as any AudioSink, to: try stage.stream(.microphone, of: "ana", seenBy: ben))
    await stage.run(1)
    _ = ear.takeLevel()
    await stage.run(4)
    let plain = ear.takeLevel()
    voice.setProcessing(AudioProcessing(cancelsEcho: true, noiseSuppression: .veryHigh))
    await stage.run(3)
    _ = ear.takeLevel()
    await stage.run(4)
    let clean = ear.takeLevel()
    stage.printLine(
      "Ana's fan is heard at \(Int(plain)) dBFS; with noise suppression, switched on while it runs, at \(Int(clean))")
    try stage.expect(clean < plain - 6, "the fan is as loud as before")
  }

  static func statistics(_ stage: Stage) async throws {
    let (ana, ben) = (try await stage.enter("ana"), try await stage.enter("ben"))
    try ana.publish(camera: Devices.camera("pattern:320x180@30"))
    try ana.publish(microphone: Devices.microphone("tone"))
    await stage.run(10)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let figures = await stage.figures(ben)
    for stream in figures.streams.compactMap(\.inboundRTP) {
      stage.printLine(String(decoding: try encoder.encode(stream), as: UTF8.self))
      try stage.expect(stream.packetsReceived > 100, "hardly anything was received")
    }
    let path = ben.pathQuality(of: "ana")
    stage.printLine(
      "Ana's path carries what she sends \(path.sending == .high ? "well" : "poorly"), what she receives \(path.receiving == .high ? "well" : "poorly")"
    )
  }

  static func record(_ stage: Stage) async throws {
    RoomRecorders.use(ComposingRecorder())
    var people: [Session] = []
    for name in ["ana", "ben", "cleo", "dan"] {
      let session = try await stage.enter(name)
      try session.publish(camera: Devices.camera("stamp:\(name),320x180@25"))
      try session.publish(microphone: Devices.microphone("tone:\(200 + name.utf8.count * 100)"))
      people.append(session)
    }
    defer { withExtendedLifetime(people) {} }  // a released session leaves the room
    let folder = stage.folder ?? FileManager.default.temporaryDirectory.path
    let file = URL(fileURLWithPath: folder).appendingPathComponent("koine-room.webm")
    var request = RecordingRequest(room: "demo")
    (request.width, request.height, request.framesPerSecond) = (640, 360, 25)
    let (world, asked) = (stage.world, request)
    let recording = try await stage.world.run {
      await Result.of { try await RoomRecorders.record(asked, to: file, in: world) }
    }.get()
    await stage.run(10)
    try await stage.world.run { await Result.of { try await recording.stop() } }.get()
    stage.printLine("four participants for ten seconds, recorded by a hidden participant: \(file.path)")
    try stage.expect(FileManager.default.fileExists(atPath: file.path), "there is no file")
    if stage.folder == nil { try? FileManager.default.removeItem(at: file) }
  }

  static func devices(_ stage: Stage) async throws {
    let machine = stage.world.machine
    machine.observe { event in
      switch event {
      case .routeChanged(let kind, _, let to, let reason):
        stage.printLine("the \(kind.rawValue) is now \(to?.name ?? "none") (\(reason))")
      case .interruptionBegan: stage.printLine("a telephone call takes the sound")
      case .interruptionEnded: stage.printLine("the telephone call is over")
      case .permissionChanged(let kind, let permission):
        stage.printLine("the owner says of \(kind.rawValue)s: \(permission)")
      default: break
      }
    }
    machine.plugIn(Machine.Device(id: "desk", kind: .microphone, name: "Desk", source: "tone:300"))
    let (ana, ben) = (try await stage.enter("ana"), try await stage.enter("ben"))
    try ana.publish(microphone: machine.makeMicrophone())
    await stage.run(1)
    let ear = Viewer()
    ben.attach(ear as any AudioSink, to: try stage.stream(.microphone, of: "ana", seenBy: ben))
    await stage.run(1)
    machine.plugIn(Machine.Device(id: "headset", kind: .microphone, name: "Headset", source: "silence"))
    await stage.run(1)
    _ = ear.takeLevel()
    await stage.run(1)
    try stage.expect(ear.takeLevel() < -60, "the headset's silence is not silent")
    machine.unplug("headset")
    await stage.run(1)
    _ = ear.takeLevel()
    await stage.run(1)
    try stage.expect(ear.takeLevel() > -40, "the desk's microphone is not heard again")
    machine.beginInterruption()
    await stage.run(1)
    _ = ear.takeLevel()
    await stage.run(1)
    try stage.expect(ear.takeLevel() < -60, "an interruption leaves the microphone on")
    machine.endInterruption()
    machine.setPermission(.denied, .camera)
    await stage.run(1)
    try stage.expect(machine.permission(.camera) == .denied, "the owner's word is not kept")
  }

  static func raw(_ stage: Stage) async throws {
    let (ana, ben) = (try await stage.enter("ana"), try await stage.enter("ben"))
    let (pictures, sound) = (VideoFeed(format: VideoFormat(width: 64, height: 36)), AudioFeed(sampleRate: 16_000))
    let chain = VideoChain([Turn()])
    try ana.publish(camera: chain.applied(to: pictures))
    try ana.publish(microphone: sound)
    await stage.run(1)
    let tap = VideoTap()
    let ear = Viewer()
    ben.attach(tap, to: try stage.stream(.camera, of: "ana", seenBy: ben))
    ben.attach(ear as any AudioSink, to: try stage.stream(.microphone, of: "ana", seenBy: ben))
    var taken = 0
    for number in 0..<60 {
      let bytes = [UInt8](repeating: UInt8(64 + number), count: PixelFormat.bgra.byteCount(width: 64, height: 36))
      if pictures.push(bytes, .bgra, width: 64, height: 36) == .taken { taken += 1 }
      _ = sound.push((0..<534).map { $0 % 40 < 20 ? Int16(9_000) : -9_000 })
      await stage.run(1.0 / 30)
    }
    guard let seen = tap.takeFrame() else { throw SampleExit(code: 69, "raw: nothing was pulled") }
    stage.printLine(
      "\(taken) pictures of BGRA and 2 s of 16 kHz sound were pushed; pulled: \(tap.statistics.rendered) pictures, turned \(seen.quarterTurns) quarters by an effect, as NV12 \(seen.bytes(.nv12).count) bytes"
    )
    stage.printLine("the feed waited for \(sound.statistics.starved) samples")
    try stage.expect(
      taken == 60 && seen.quarterTurns == 1 && ear.takeLevel() > -30, "the received media differ from the pushed media")
  }
}

/// A quarter turn, clockwise.
private final class Turn: VideoEffect, Sendable {
  func process(_ frame: VideoFrame) -> VideoFrame? { frame.with(quarterTurns: 1) }
}

extension Result where Failure == any Error, Success: Sendable {
  fileprivate static func of(_ work: () async throws -> Success) async -> Self {
    do { return .success(try await work()) } catch { return .failure(error) }
  }
}
