import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import PocketSphinxTranscriber
import Testing

/// A synthesised voice speaks in a room, and another participant reads the text.
@Suite struct RecognitionTests {
  @Test func wordsOfSynthesisedVoiceReachTheOtherParticipant() async throws {
    let world = World(
      backend: EmbeddedBackend(virtual: 1), delivery: Delivery(queue: DispatchQueue(label: "delivery")),
      devices: DefaultDevices())
    TranscriptionService.serve(world, with: PocketSphinxTranscriber())
    let ana = Session(JoinRequest(room: "tea", participantID: "ana", name: "Ana"), in: world)
    let ben = Session(JoinRequest(room: "tea", participantID: "ben", name: "Ben"), in: world)
    let (rate, samples) = try Voice.speak("one two three four five six seven")
    let microphone = AudioFeed(sampleRate: rate, capacity: .seconds(20))
    try ana.publish(microphone: microphone)
    for session in [ana, ben] { session.join { _ in } }
    await world.run(for: .seconds(1))
    let segments = Lock<[TranscriptSegment]>([])
    ben.observe { if case .transcribed(let segment) = $0 { segments.withLock { $0.append(segment) } } }
    ben.startTranscription(language: "en-US") { _ in }
    await world.run(for: .seconds(1))
    #expect(ben.transcription.state == .on)
    let spoken = world.backend.scheduler.now
    #expect(microphone.push(samples) == samples.count)
    await world.run(for: .seconds(8))
    let final = segments.withLock { $0.filter(\.isFinal) }
    let text = final.map(\.text).joined(separator: " ")
    let heard = Set(text.split(separator: " ").map(String.init))
    let wanted: Set = ["one", "two", "three", "four", "five", "six", "seven"]
    #expect(heard.intersection(wanted).count >= 4, "recognised: \(text)")
    #expect(segments.withLock { $0.contains { !$0.isFinal } })
    #expect(final.allSatisfy { $0.participant == "ana" })
    let first = try #require(final.first)
    #expect(first.start > spoken - .seconds(1))
    #expect(first.end > first.start)
    #expect(first.end < spoken + .seconds(8))
    #expect(!first.words.isEmpty)
    #expect(first.words.allSatisfy { $0.start >= first.start && $0.end > $0.start })
  }

  @Test func missingModelIsReportedToTheRoom() async throws {
    let world = World(
      backend: EmbeddedBackend(virtual: 1), delivery: Delivery(queue: DispatchQueue(label: "delivery")),
      devices: DefaultDevices())
    let nothing = PocketSphinxTranscriber.Model(acoustic: "/none", language: "/none", dictionary: "/none")
    TranscriptionService.serve(world, with: PocketSphinxTranscriber(nothing))
    let ana = Session(JoinRequest(room: "tea", participantID: "ana", name: "Ana"), in: world)
    try ana.publish(microphone: Devices.microphone("tone"))
    ana.join { _ in }
    await world.run(for: .seconds(1))
    let failures = Lock<[String]>([])
    ana.observe { if case .transcriptionFailed(let failure) = $0 { failures.withLock { $0.append(failure.message) } } }
    ana.startTranscription { _ in }
    await world.run(for: .seconds(2))
    #expect(failures.withLock { $0.count } == 1)
    #expect(failures.withLock { $0.first }?.contains("cannot load the model") == true)
  }
}

/// The voice of espeak-ng.
private enum Voice {
  struct NoVoice: Error {}

  /// - Returns: the sample rate in Hz, and mono samples.
  static func speak(_ text: String) throws -> (rate: Int, samples: [Int16]) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["espeak-ng", "-v", "en-us", "-s", "130", "--stdout", text]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let bytes = [UInt8](output.fileHandleForReading.readDataToEndOfFile())
    process.waitUntilExit()
    // A header of 44 bytes: the rate is at 24. (RIFF WAVE, as espeak-ng writes it.)
    guard bytes.count > 44 else { throw NoVoice() }
    let rate = (24..<28).reversed().reduce(0) { $0 << 8 | Int(bytes[$1]) }
    let samples = stride(from: 44, to: bytes.count - 1, by: 2).map {
      Int16(truncatingIfNeeded: Int(bytes[$0]) | Int(bytes[$0 + 1]) << 8)
    }
    return (rate, samples)
  }
}
