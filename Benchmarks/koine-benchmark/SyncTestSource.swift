import Koine
import KoineEmbeddedBackend
import KoineMediaFiles

/// A camera and a microphone before which hands are clapped: light and loud for a tenth of each second, so that it can be
/// measured in a file how far sound and pictures are apart.
final class SyncTestSource: VideoSource, AudioSource, Sendable {
  let format = VideoFormat(width: 640, height: 360, framesPerSecond: 30)
  let channels = 1
  private let frames: (dark: [VideoFrame], light: [VideoFrame])
  private let run = Lock(true)

  init() {
    let pool = FramePool(limit: 0)
    func scene(_ light: Int) -> [VideoFrame] {
      (0..<30).map { number in
        pool.make(width: 640, height: 360, captured: .zero) { planes in
          for y in 0..<360 {
            for x in 0..<640 {
              planes.y[y * planes.lumaStride + x] = UInt8(light + ((x * 3 + number * 4) ^ (y * 2)) % 48)
            }
          }
          for index in 0..<planes.chromaStride * 180 { (planes.u[index], planes.v[index]) = (118, 138) }
        }
      }
    }
    frames = (scene(30), scene(170))
  }

  private static func claps(_ at: Duration) -> Bool {
    let place = at.nanoseconds % 1_000_000_000
    return place >= 500_000_000 && place < 600_000_000
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) {
    picture(0, lane.scheduler.now, lane, deliver)
  }

  private func picture(
    _ number: Int, _ start: Tick, _ lane: Lane, _ deliver: @escaping @Sendable (VideoFrame) -> Void
  ) {
    let time = Duration.nanoseconds(Int64(number) * 1_000_000_000 / 30)
    lane.post(at: start + time) { [weak self] in
      guard let self, run.withLock({ $0 }) else { return }
      let scene = Self.claps(time) ? frames.light : frames.dark
      deliver(scene[number % scene.count].with(captured: start + time))
      picture(number + 1, start, lane, deliver)
    }
  }

  func start(on lane: Lane, deliver: @escaping @Sendable (AudioBlock) -> Void) {
    sound(.zero, lane.scheduler.now, lane, deliver)
  }

  private func sound(
    _ time: Duration, _ start: Tick, _ lane: Lane, _ deliver: @escaping @Sendable (AudioBlock) -> Void
  ) {
    lane.post(at: start + time) { [weak self] in
      guard let self, run.withLock({ $0 }) else { return }
      var block = AudioBlock(captured: start + time)
      let loud: Int16 = Self.claps(time) ? 7_000 : 200  // a voice is never quite silent
      for index in block.samples.indices { block.samples[index] = index % 48 < 24 ? loud : -loud }
      deliver(block)
      sound(time + AudioBlock.duration, start, lane, deliver)
    }
  }

  func stop() { run.withLock { $0 = false } }

  /// Between two people's claps, where four clap in turns.
  static let turn = Duration.milliseconds(240)

  /// How far the claps of a file are heard after they are seen, in milliseconds each, by the file's own times: each in the
  /// middle of a quarter of the picture, at its own time of each second.
  static func offsets(in path: String, seconds: Double) throws -> [Double] {
    MediaFiles.register()
    let scheduler = Scheduler.virtual()
    let start = scheduler.now
    let (seen, heard) = (Lock<[Double]>([]), Lock<[Double]>([]))
    let wasLight = Lock([false, false, false, false])
    let camera = try Devices.camera("file:\(path)")
    try camera.start(on: scheduler.lane("pictures")) { frame in
      let isLight = frame.withPlanes { planes in
        (0..<4).map { quarter in
          let x = planes.width / 4 + (quarter % 2) * planes.width / 2
          let y = planes.height / 4 + (quarter / 2) * planes.height / 2
          return planes.y[y * planes.lumaStride + x] > 130
        }
      }
      let isNew = wasLight.withLock { was in
        defer { was = isLight }
        return zip(isLight, was).contains { $0 && !$1 }
      }
      if isNew { seen.withLock { $0.append((frame.captured - start).inMilliseconds) } }
    }
    let microphone = try Devices.microphone("file:\(path)")
    let lastLoud = Lock(-1_000.0)
    try microphone.start(on: scheduler.lane("sound")) { block in
      for (index, sample) in block.samples.enumerated() where abs(Int(sample)) > 3_000 {
        let at = (block.captured - start).inMilliseconds + Double(index / block.channels) / 48
        let isNew = lastLoud.withLock { last in
          defer { last = at }
          return at - last > 60
        }
        if isNew { heard.withLock { $0.append(at) } }
      }
    }
    scheduler.advance(to: start + .nanoseconds(Int64(seconds * 1e9)))
    camera.stop()
    microphone.stop()
    let flashes = seen.withLock { $0 }
    return heard.withLock { $0 }.compactMap { beep in
      flashes.map { beep - $0 }.min { abs($0) < abs($1) }.flatMap { abs($0) < 120 ? $0 : nil }
    }
  }
}
