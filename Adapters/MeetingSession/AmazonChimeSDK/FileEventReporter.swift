import Foundation
import Koine

/// Appends events to a file, in batches, as lines of JSON. An event that ends a meeting is written at once with all before it.
final class FileEventReporter: EventReporter, @unchecked Sendable {  // everything mutable is in `state`
  private struct State {
    var waiting: [IngestionPayload] = []
    var isRunning = true
    /// A write is due.
    var isScheduled = false
    /// How often the first batch could not be written.
    var failures = 0

    mutating func remove(_ batch: [IngestionPayload]) {
      let ids = Set(batch.map(\.id))
      waiting.removeAll { ids.contains($0.id) }
      failures = 0
    }
  }

  /// The most events that wait; the oldest are dropped.
  private static let capacity = 1_000
  private let url: URL
  private let configuration: IngestionConfiguration
  private let logger: any Logger
  private let environment: MeetingEnvironment
  private let lane: Lane
  private let state = Lock(State())

  init(
    _ url: URL, _ configuration: IngestionConfiguration, _ logger: any Logger, in environment: MeetingEnvironment
  ) {
    self.url = url
    self.configuration = configuration
    self.logger = logger
    self.environment = environment
    lane = environment.lane.scheduler.lane("event reporter")
  }

  deinit { writeAll() }

  func start() {
    let isWaiting = state.withLock { state in
      state.isRunning = true
      return !state.waiting.isEmpty
    }
    if isWaiting { schedule(at: environment.now) }
  }

  /// Events that come while it is stopped wait until it is started again.
  func stop() {
    state.withLock { $0.isRunning = false }
    lane.post { [weak self] in self?.write() }
  }

  func report(event: SDKEvent) {
    let payload = IngestionPayload(event, id: UUID().uuidString, now: environment.timestampMs)
    let (isRunning, isFull) = state.withLock { state in
      state.waiting.append(payload)
      let isFull = state.waiting.count > Self.capacity
      if isFull { state.waiting.removeFirst() }
      return (state.isRunning, isFull)
    }
    if isFull { logger.error(msg: "an event was not written: too many wait") }
    guard isRunning else { return }
    let ends = [EventName.meetingEnded, .meetingFailed, .meetingStartFailed].contains { $0.description == event.name }
    if ends { lane.post { [weak self] in self?.write() } } else { schedule(at: nextTime) }
  }

  private var nextTime: Tick { environment.now + .milliseconds(configuration.flushIntervalMs) }

  private func schedule(at due: Tick) {
    let isFirst = state.withLock { state in
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    guard isFirst else { return }
    lane.post(at: due) { [weak self] in
      guard let self else { return }
      let isRunning = state.withLock { state in
        state.isScheduled = false
        return state.isRunning
      }
      if isRunning { write() }
    }
  }

  // MARK: On the lane

  private func write() { if !writeAll() { schedule(at: nextTime) } }

  /// - Returns: false where a batch could not be written.
  @discardableResult
  private func writeAll() -> Bool {
    while let batch = nextBatch() {
      do {
        try append(batch)
        state.withLock { $0.remove(batch) }
      } catch {
        let isDropped = state.withLock { state in
          state.failures += 1
          guard state.failures > configuration.retryCountLimit else { return false }
          state.remove(batch)
          return true
        }
        logger.error(msg: "\(batch.count) events were not written\(isDropped ? ", and are dropped" : ""): \(error)")
        return false
      }
    }
    return true
  }

  private func nextBatch() -> [IngestionPayload]? {
    state.withLock { state in
      state.waiting.isEmpty ? nil : Array(state.waiting.prefix(configuration.flushSize))
    }
  }

  private func append(_ batch: [IngestionPayload]) throws {
    let client = configuration.clientConfiguration
    let own = client.metadataAttributes.mapValues { AnyCodable($0) }
    let machine = Dictionary(
      uniqueKeysWithValues: DeviceAttributes.all.map { ($0.key.description, AnyCodable($0.value)) })
    let record = IngestionRecord(
      metadata: machine.merging(own) { _, new in new },
      events: [IngestionEvent(type: client.tag, metadata: own, payloads: batch)])
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let line = try encoder.encode(record) + [UInt8(ascii: "\n")]
    if !FileManager.default.fileExists(atPath: url.path) {
      try Data().write(to: url)
    }
    let file = try FileHandle(forWritingTo: url)
    defer { try? file.close() }
    _ = try file.seekToEnd()
    try file.write(contentsOf: line)
  }
}
