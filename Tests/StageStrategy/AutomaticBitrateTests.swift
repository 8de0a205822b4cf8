import AmazonIVSBroadcast
import Foundation
import Koine
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineTestSupport
import Testing

/// The bitrate of a broadcast to an RTMP server, in real time. A relay in front of the server reads what the broadcast sends.
@Suite struct AutomaticBitrateTests {
  private let world: World

  init() {
    MediaFiles.register()
    Devices.register(camera: "noisy") { _ throws(DeviceError) in NoisyCamera() }
    world = World(
      backend: EmbeddedBackend(), delivery: Delivery(queue: DispatchQueue(label: "delivery")),
      devices: DefaultDevices(camera: "noisy"))
  }

  private func session(
    initial: Int, maximum: Int, _ change: (IVSVideoConfiguration) -> Void
  ) throws -> IVSBroadcastSession {
    let configuration = IVSPresets.configurations().basicLandscape()
    let video = configuration.video
    try video.setSize(CGSize(width: 320, height: 180))
    try video.setTargetFramerate(15)
    try video.setInitialBitrate(initial)
    try video.setMinBitrate(100_000)
    try video.setMaxBitrate(maximum)
    change(video)
    return try World.$current.withValue(world) {
      try IVSBroadcastSession(
        configuration: configuration, descriptors: IVSPresets.devices().frontCamera(), delegate: nil)
    }
  }

  private struct Packet {
    let time: Double
    let size: Int
  }

  /// The packets of the video in a file.
  private func packets(of file: String) async throws -> [Packet] {
    try await Command(
      "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time,size", "-of", "csv=p=0", file
    ).run().split(separator: "\n").compactMap { line in
      let fields = line.split(separator: ",")
      guard fields.count >= 2, let time = Double(fields[0]), let size = Int(fields[1]) else { return nil }
      return Packet(time: time, size: size)
    }
  }

  /// In bit/s.
  private func rate(_ packets: [Packet], in times: Range<Double>) -> Double {
    Double(packets.filter { times.contains($0.time) }.reduce(0) { $0 + $1.size }) * 8
      / (times.upperBound - times.lowerBound)
  }

  /// A server that takes 400 kbit/s of a broadcast that begins with 1.5 Mbit/s.
  @Test(arguments: [true, false]) func bitrateFollowsAServerThatReadsSlowly(isAutomatic: Bool) async throws {
    let folder = try Folder()
    let broadcast = try session(initial: 1_500_000, maximum: 2_000_000) { $0.useAutoBitrate = isAutomatic }
    #expect(broadcast.listAttachedDevices().count == 1)
    let file = folder.file("received.flv")
    try await RTMPServer.receiving(into: file) { address in
      let url = try #require(URL(string: address))
      let relay = try SlowRelay(to: try #require(url.port), bytesPerSecond: 50_000)
      defer { relay.stop() }
      try broadcast.start(
        with: try #require(URL(string: "rtmp://127.0.0.1:\(relay.port)/live")), streamKey: url.lastPathComponent)
      try await Task.sleep(for: .seconds(16))
      broadcast.stop()
    }
    let packets = try await packets(of: file)
    let end = try #require(packets.last?.time)
    let beginning = rate(packets, in: 0..<1.5)
    #expect(beginning > 900_000, "it begins with the initial bitrate: \(beginning)")
    if isAutomatic {
      #expect(end > 12, "the stream keeps up with its time: \(end) s of 16 s")
      let late = rate(packets, in: end - 4..<end)
      #expect((100_000..<420_000).contains(late), "as much as the server takes, at most: \(late)")
      let frames = packets.count { $0.time >= end - 4 }
      #expect(frames > 40, "frames are smaller, and not fewer: \(frames) in 4 s")
    } else {
      #expect(end < 9, "what the server has not taken in time is missing: \(end) s of 16 s")
      let late = rate(packets, in: end - 2..<end)
      #expect(late > 900_000, "\(late)")
    }
  }

  /// A server that takes everything, and two broadcasts that begin with 500 kbit/s.
  @Test func bitrateRisesFasterWithTheProfileOfFastIncrease() async throws {
    let folder = try Folder()
    let profiles: [IVSVideoConfiguration.AutomaticBitrateProfile] = [.fastIncrease, .conservative]
    let broadcasts = try profiles.map { profile in
      try session(initial: 500_000, maximum: 2_000_000) { $0.autoBitrateProfile = profile }
    }
    try await RTMPServer.receiving(into: folder.file("fast.flv")) { fast in
      try await RTMPServer.receiving(into: folder.file("slow.flv")) { slow in
        let relays = try [fast, slow].map { address in
          try SlowRelay(to: try #require(URL(string: address)?.port), bytesPerSecond: nil)
        }
        defer { for relay in relays { relay.stop() } }
        for (broadcast, relay) in zip(broadcasts, relays) {
          try broadcast.start(
            with: try #require(URL(string: "rtmp://127.0.0.1:\(relay.port)/live")), streamKey: "key")
        }
        // In bit/s, with the 96 kbit/s of the audio.
        func rates() async throws -> [Double] {
          let before = relays.map(\.received)
          let start = ContinuousClock.now
          try await Task.sleep(for: .seconds(2))
          let duration = (ContinuousClock.now - start) / .seconds(1)
          return zip(relays.map(\.received), before).map { Double($0 - $1) * 8 / duration }
        }
        let first = try await rates()
        #expect(first[0] < 800_000, "\(first)")
        var last = first
        for _ in 0..<30 where last[0] < 900_000 { last = try await rates() }
        #expect(last[0] >= 900_000, "it rises while the server takes everything: \(last)")
        #expect(last[1] < last[0] * 0.75, "the other one rises later: \(last)")
        for broadcast in broadcasts { broadcast.stop() }
      }
    }
  }
}

/// 320×180 at 15 frames per second, which no encoder makes small.
private final class NoisyCamera: Koine.VideoSource, Sendable {
  let format = VideoFormat(width: 320, height: 180, framesPerSecond: 15)
  private let pool = FramePool()
  private let run = Lock(0)
  private static let pictures: [[UInt8]] = {
    var seed: UInt32 = 1
    return (0..<16).map { _ in
      [UInt8](unsafeUninitializedCapacity: 320 * 180 * 3 / 2) { buffer, count in
        count = buffer.count
        for index in 0..<count {
          seed = seed &* 1_664_525 &+ 1_013_904_223  // Numerical Recipes' generator
          buffer[index] = 96 + UInt8(seed >> 26)
        }
      }
    }
  }()

  init() { _ = Self.pictures }  // not first when the broadcast runs

  func start(on lane: Lane, deliver: @escaping @Sendable (Koine.VideoFrame) -> Void) {
    let run = run.withLock { run in
      run += 1
      return run
    }
    next(0, run, at: lane.scheduler.now, on: lane, deliver)
  }

  func stop() { run.withLock { $0 += 1 } }

  private func next(
    _ index: Int, _ run: Int, at time: Tick, on lane: Lane, _ deliver: @escaping @Sendable (Koine.VideoFrame) -> Void
  ) {
    lane.post(at: time) { [weak self] in
      guard let self, self.run.withLock({ $0 }) == run else { return }
      let picture = Self.pictures[index % Self.pictures.count].withUnsafeBytes {
        Koine.VideoFrame.from(i420: $0, width: 320, height: 180, captured: lane.scheduler.now, pool: self.pool)
      }
      if let picture { deliver(picture) }
      next(index + 1, run, at: time + .nanoseconds(1_000_000_000 / 15), on: lane, deliver)
    }
  }
}
