import Foundation
import Koine
public import Testing

/// Analyses the audio that an app plays, and finds the test tones in it.
public struct TestSpeaker: Sendable {
  private let person: String?
  private let room: TestRoom

  init(of person: String?, in room: TestRoom) { (self.person, self.room) = (person, room) }

  /// Whether this person's tone is to be heard now: within the last 250 ms.
  public func hears(_ name: String) -> Bool {
    let entry = room.people.entry(named: name)
    return Ears.sinks(at: room.id, person).contains { $0.hears(entry, among: room.people.all, at: room.now) }
  }

  /// Names of the people with audible tones now, in the order in which the test first named them.
  public var heard: [String] { room.people.all.map(\.name).filter(hears) }
  /// Whether the loudspeakers have played no audio within the last 250 ms.
  public var isSilent: Bool { !Ears.sinks(at: room.id, person).contains { $0.isSounding(at: room.now) } }
}

extension TestSpeaker: CustomTestStringConvertible {
  public var testDescription: String {
    let heard = heard.isEmpty ? "nobody" : heard.joined(separator: ", ")
    return "the loudspeaker\(person.map { " of \($0)" } ?? "") plays \(heard)"
  }
}

/// The loudspeakers that test rooms have given to apps, by `room/person`.
enum Ears {
  private struct WeakWatcher { weak var audioWatcher: AudioWatcher? }
  private struct State {
    var clocks: [String: Scheduler] = [:]
    var ears: [String: [WeakWatcher]] = [:]
  }
  private static let state = Lock(State())

  static func open(room: String, clock: Scheduler) { state.withLock { $0.clocks[room] = clock } }

  static func close(room: String) {
    state.withLock { state in
      state.clocks[room] = nil
      state.ears = state.ears.filter { !$0.key.hasPrefix(room + "/") }
    }
  }

  static func sink(at place: String) throws(DeviceError) -> AudioWatcher {
    let room = place.split(separator: "/").first.map(String.init) ?? ""
    guard let clock = state.withLock({ $0.clocks[room] }) else {
      throw .invalid(place, reason: "there is no such test room any more")
    }
    let audioWatcher = AudioWatcher(clock: clock)
    state.withLock { $0.ears[place, default: []].append(WeakWatcher(audioWatcher: audioWatcher)) }
    return audioWatcher
  }

  /// - Parameter person: id of the person; nil: the sinks of all people in the room.
  static func sinks(at room: String, _ person: String?) -> [AudioWatcher] {
    state.withLock { state in
      let places = person.map { ["\(room)/\($0)"] } ?? state.ears.keys.filter { $0.hasPrefix(room + "/") }
      return places.flatMap { state.ears[$0] ?? [] }.compactMap(\.audioWatcher)
    }
  }
}

/// Keeps the last 30 audio blocks that the loudspeaker has played.
final class AudioWatcher: AudioSink, Sendable {
  private struct ReceivedBlock: Sendable {
    let samples: [Int16]
    let at: Tick
  }

  private let clock: Scheduler
  private let blocks = Lock<[ReceivedBlock]>([])
  private static let memory = Duration.milliseconds(250)

  init(clock: Scheduler) { self.clock = clock }

  func play(_ block: AudioBlock) {
    let heard = ReceivedBlock(samples: block.with(channels: 1).samples, at: clock.now)
    blocks.withLock { blocks in
      blocks.append(heard)
      if blocks.count > 30 { blocks.removeFirst() }
    }
  }

  private func recent(at now: Tick) -> [ReceivedBlock] { blocks.withLock { $0 }.filter { now - $0.at <= Self.memory } }

  func isSounding(at now: Tick) -> Bool { recent(at: now).contains { $0.samples.contains { abs(Int($0)) > 200 } } }

  /// Looks in every tenth of a second on its own, where blocks follow each other closely, else block by block.
  func hears(_ person: People.Entry, among people: [People.Entry], at now: Tick) -> Bool {
    let heard = recent(at: now)
    guard let first = heard.first else { return false }
    let isSteady = heard.count >= 10 && heard[9].at - first.at < .milliseconds(150)
    if isSteady {
      let stretch = heard.suffix(10).flatMap(\.samples)
      return Self.amplitude(of: person.tone, in: stretch) > 600
    }
    return heard.contains { block in
      let own = Self.amplitude(of: person.tone, in: block.samples)
      // Each block is one talker's.
      return own > 600 && people.allSatisfy { Self.amplitude(of: $0.tone, in: block.samples) <= own }
    }
  }

  /// Goertzel's: of a sine of that frequency, 0...32767.
  private static func amplitude(of frequency: Double, in samples: [Int16]) -> Double {
    guard !samples.isEmpty else { return 0 }
    let coefficient = 2 * cos(2 * .pi * frequency / Double(AudioBlock.sampleRate))
    var (last, beforeLast) = (0.0, 0.0)
    samples.withUnsafeBufferPointer { samples in
      for sample in samples { (last, beforeLast) = (Double(sample) + coefficient * last - beforeLast, last) }
    }
    let power = last * last + beforeLast * beforeLast - coefficient * last * beforeLast
    return 2 * max(power, 0).squareRoot() / Double(samples.count)
  }
}
