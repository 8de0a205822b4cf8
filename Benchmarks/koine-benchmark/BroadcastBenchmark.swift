import Dispatch
import Foundation
import Koine
import KoineBase
import KoineCodecs
import KoineComposition
import KoineEmbeddedBackend
import KoineMediaFiles

/// A call of five participants. One of them, the host, broadcasts the other four as one video of 1280×720 with one audio track.
/// The four publishers replay a clip in which hands are clapped. The host publishes a camera and a microphone of its own,
/// decodes the four publishers, composes, encodes and writes. All participants and the router run in this process.
struct BroadcastBenchmark {
  let seconds: Int
  private static let people = 4

  func run() throws -> Report {
    MediaFiles.register()
    let source = SyncTestSource()
    let clip = try RecordedClip(camera: source, microphone: source, bitrate: 700_000, seconds: 8)
    let backend = EmbeddedBackend()
    let world = World(backend: backend, delivery: Delivery(queue: DispatchQueue(label: "delivery")))
    let session = Session(JoinRequest(room: "stage", name: "host"), in: world)
    let stage = Tiles(session, Composition(width: 1_280, height: 720, in: world))
    try session.publish(camera: Devices.camera("pattern:640x360@30"))
    try session.publish(microphone: Devices.microphone("tone"))
    session.join { _ in }
    // One after the other, so that each is told from the others: with each the way is of another length.
    let others = (0..<Self.people).map {
      ClipPublisher("guest\($0)", room: "stage", clip, backend, shift: SyncTestSource.turn * $0)
    }
    for _ in 0..<1_000 where stage.count < 2 * Self.people { Thread.sleep(forTimeInterval: 0.01) }
    guard stage.count == 2 * Self.people else { throw BenchmarkError("not everybody came in") }
    Thread.sleep(forTimeInterval: 4)

    let alone = cores(over: Double(max(seconds / 4, 4)))
    var rows = [Row("cores taken by the call alone", alone, "")]
    for (name, ending) in [("VP8 and Opus (.webm)", "webm"), ("H.264 and AAC (.mp4)", "mp4")] {
      rows += try broadcast(stage.composition, into: ending, called: name, besides: alone)
    }
    session.leave {}
    for person in others { person.leave() }
    Thread.sleep(forTimeInterval: 0.2)
    return Report(
      benchmark: "broadcast: 1280×720@30 of \(Self.people) tiles and voices, beside the call, in real time", rows: rows)
  }

  private func cores(over seconds: Double) -> Double {
    let (start, before) = (ContinuousClock().now, CPU.process)
    Thread.sleep(forTimeInterval: seconds)
    return (CPU.process - before) / (ContinuousClock().now - start).inSeconds
  }

  private func broadcast(
    _ composition: Composition, into ending: String, called name: String, besides alone: Double
  ) throws -> [Row] {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("koine-\(UUID().uuidString).\(ending)")
    defer { try? FileManager.default.removeItem(at: url) }
    let output = try BroadcastOutputs.make(for: url)
    let failures = Lock<[String]>([])
    let broadcast = try Broadcast(
      of: composition, to: output,
      onFailure: { error in
        failures.withLock { $0.append("\(error)") }
      })
    let cores = cores(over: Double(seconds))
    try broadcast.stop()
    if let failure = failures.withLock({ $0.first }) { throw BenchmarkError(failure) }
    let file = try Probe(url.path)
    let offsets = try SyncTestSource.offsets(in: url.path, seconds: Double(seconds) - 0.5)
    guard !offsets.isEmpty else { throw BenchmarkError("no clap is seen and heard in \(name)") }
    let due = file.length * 30
    return [
      Row("\(name): cores taken by all of it, of \(ProcessInfo.processInfo.activeProcessorCount)", cores, "", aim: 2),
      Row("\(name): CPU per composed frame", (cores - alone) / 30 * 1_000, "ms"),
      Row("\(name): pictures in the file", Double(file.pictures), "of \(Int(due.rounded()))"),
      Row("\(name): pictures missing of 100", max(0, 100 - 100 * Double(file.pictures) / due), "", aim: 1),
      Row("\(name): longest time between two", file.longestGap * 1_000, "ms"),
      Row("\(name): claps seen and heard", Double(offsets.count), "of \(Self.people * seconds)"),
      Row("\(name): sound after picture, median", median(offsets), "ms"),
      Row("\(name): sound and picture apart, most", offsets.map { abs($0) }.max() ?? .nan, "ms", aim: 40),
      Row("\(name): what ffmpeg complains of", Double(file.complaints), "lines", aim: 0),
    ]
  }
}

/// Puts the video of each remote participant into one quarter of a composition, and adds the participant's audio.
private final class Tiles: Sendable {
  let composition: Composition
  private let attached = Lock(0)
  private let session: Session

  init(_ session: Session, _ composition: Composition) {
    (self.session, self.composition) = (session, composition)
    session.observe { [weak self] event in
      if case .streamAdded(let stream, let owner) = event, !owner.isLocal { self?.attach(stream, of: owner) }
    }
  }

  var count: Int { attached.withLock { $0 } }

  private func attach(_ stream: Track, of owner: Participant) {
    let number = Double(owner.id.last?.wholeNumberValue ?? 0)
    let (x, y) = (number.truncatingRemainder(dividingBy: 2) * 640, (number / 2).rounded(.down) * 360)
    composition.add(Slot(owner.id, x: x, y: y, width: 640, height: 360))
    if stream.kind.isVideo, let inlet = composition.pictureInput(owner.id) {
      session.attach(inlet as any VideoSink, to: stream.id)
    } else if let inlet = composition.soundInput(owner.id) {
      session.attach(inlet as any AudioSink, to: stream.id)
    }
    attached.withLock { $0 += 1 }
  }
}

/// The properties and complaints that ffprobe and ffmpeg report for a file.
private struct Probe {
  let pictures: Int
  /// In seconds.
  let length, longestGap: Double
  let complaints: Int

  init(_ path: String) throws {
    let times = try Self.lines([
      "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv=p=0", path,
    ]).compactMap { Double($0.split(separator: ",").first ?? "") }.sorted()
    guard let first = times.first, let last = times.last, times.count > 1 else {
      throw BenchmarkError("there are no pictures in \(path)")
    }
    pictures = times.count
    length = last - first + 1 / 30
    longestGap = zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? 0
    complaints = try Self.lines(["ffmpeg", "-v", "warning", "-i", path, "-f", "null", "-"]).count
  }

  /// What a command writes, complaints included.
  private static func lines(_ words: [String]) throws -> [String] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    let pipe = Pipe()
    (process.standardOutput, process.standardError) = (pipe, pipe)
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
  }
}
