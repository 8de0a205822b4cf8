// Transcription by the service beside the router.

extension Session {
  /// Whether the room has a transcript service.
  public var canBeTranscribed: Bool { services.contains(TranscriptMessages.service) }

  /// The present state of the room's transcription.
  public var transcription: RoomTranscription { visible.transcription }

  /// Starts the transcription of the room for all participants. If the room is transcribed already, nothing changes.
  /// - Parameters:
  ///   - language: the spoken language as a BCP 47 tag, compared without regard to case. Nil: the transcriber's first language.
  ///   - completion: called once, on the delivery queue, after the room's state is `on`. The failure is `.noTranscriber`,
  ///     `.unknownLanguage`, `.forbidden` without the permission to record, `.notConnected` outside of a room, `.tooMany`, `.ended`, or
  ///     `.unreachable` without an answer within 30 s.
  public func startTranscription(
    language: String? = nil, completion: @escaping @Sendable (Result<Void, Failure>) -> Void
  ) {
    core.requestTranscription(.start, language: language) { completion($0.map { _ in }) }
  }

  /// Stops the transcription of the room for all participants. If the room is not transcribed, nothing changes.
  /// - Parameter completion: called once, on the delivery queue, after the room's state is `off`. It fails as `startTranscription` does.
  public func stopTranscription(completion: @escaping @Sendable (Result<Void, Failure>) -> Void) {
    core.requestTranscription(.stop) { completion($0.map { _ in }) }
  }

  /// Changes the spoken language of the running transcription for all participants. Open utterances end.
  /// - Parameter completion: called once, on the delivery queue, after `transcription` has the language. It fails as `startTranscription`
  ///   does, and with `.wrongState` if the room is not transcribed.
  public func setTranscriptionLanguage(
    _ language: String, completion: @escaping @Sendable (Result<Void, Failure>) -> Void
  ) {
    core.requestTranscription(.language, language: language) { completion($0.map { _ in }) }
  }

  /// Asks the transcript service for its languages.
  /// - Parameter completion: called once, on the delivery queue, with BCP 47 tags, the default first; empty: every tag is accepted. It
  ///   fails as `startTranscription` does, but needs no permission.
  public func transcriptionLanguages(completion: @escaping @Sendable (Result<[String], Failure>) -> Void) {
    core.requestTranscription(.query, completion)
  }

  /// Starts the transcription of the room for all participants, and returns once its state is `on`.
  /// - Throws: the failures of `startTranscription(language:completion:)`.
  public func startTranscription(language: String? = nil) async throws(Failure) {
    let outcome = await withCheckedContinuation { done in
      startTranscription(language: language) { done.resume(returning: $0) }
    }
    try outcome.get()
  }

  /// Stops the transcription of the room for all participants, and returns once its state is `off`.
  /// - Throws: the failures of `stopTranscription(completion:)`.
  public func stopTranscription() async throws(Failure) {
    let outcome = await withCheckedContinuation { done in stopTranscription { done.resume(returning: $0) } }
    try outcome.get()
  }
}

/// Requests to the transcript service that have no answer yet.
struct PendingTranscription {
  typealias Completion = @Sendable (Result<[String], Failure>) -> Void
  struct Entry {
    let completion: Completion
    let alarm: Alarm
  }
  /// Most requests of a session that wait for answers.
  static let limit = 64
  /// How long a request waits for its answer.
  static let patience = Duration.seconds(30)

  private var number = 0
  /// In the order of the requests.
  private var entries: [(id: String, entry: Entry)] = []

  var isFull: Bool { entries.count >= Self.limit }

  mutating func makeID() -> String {
    number += 1
    return String(number)
  }

  mutating func add(_ id: String, _ entry: Entry) { entries.append((id, entry)) }

  mutating func remove(_ id: String) -> Entry? {
    guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
    return entries.remove(at: index).entry
  }

  mutating func removeAll() -> [Entry] {
    defer { entries = [] }
    return entries.map(\.entry)
  }
}

extension SessionCore {
  func requestTranscription(
    _ action: TranscriptionRequest.Action, language: String? = nil,
    _ completion: @escaping PendingTranscription.Completion
  ) {
    lane.post { [self] in
      if let failure = obstacle(to: language) { return visible.deliver { completion(.failure(failure)) } }
      let id = pendingTranscription.makeID()
      let alarm = lane.post(at: scheduler.now + PendingTranscription.patience) { [weak self] in
        self?.answerTranscription(id, .failure(Failure(.unreachable, "the transcript service has not answered")))
      }
      pendingTranscription.add(id, .init(completion: completion, alarm: alarm))
      let request = TranscriptionRequest(id: id, action: action, language: language)
      link?.send(
        DataMessage(
          topic: TranscriptMessages.service, payload: TranscriptMessages.encode(request),
          to: [TranscriptMessages.service]))
    }
  }

  private func obstacle(to language: String?) -> Failure? {
    guard state == .connected || state == .reconnecting, link != nil else {
      return Failure(state.isEnded ? .ended : .notConnected, "a room is transcribed once it is entered")
    }
    guard visible.services.contains(TranscriptMessages.service) else {
      return Failure(.noTranscriber, "the room has no transcript service")
    }
    guard language?.utf8.count ?? 0 <= TranscriptMessages.tagLimit else {
      return Failure(.unknownLanguage, "a language's tag has at most \(TranscriptMessages.tagLimit) bytes")
    }
    guard !pendingTranscription.isFull else {
      return Failure(.tooMany, "at most \(PendingTranscription.limit) requests wait for an answer")
    }
    return nil
  }

  private func answerTranscription(_ id: String, _ result: Result<[String], Failure>) {
    guard let entry = pendingTranscription.remove(id) else { return }
    entry.alarm.cancel()
    visible.deliver { entry.completion(result) }
  }

  /// The requests have no answer any more: the room has ended, or has lost its memory.
  func failTranscriptionRequests(_ failure: Failure) {
    for entry in pendingTranscription.removeAll() {
      entry.alarm.cancel()
      visible.deliver { entry.completion(.failure(failure)) }
    }
  }

  /// - Returns: false for a message of another sender.
  func receiveTranscript(_ message: ReceivedMessage) -> Bool {
    guard message.sender == message.topic, visible.services.contains(message.sender) else { return false }
    switch message.sender {
    case TranscriptMessages.captions:
      if let sent = TranscriptMessages.decode(SentSegment.self, message.payload) {
        visible.post(.transcribed(sent.segment(on: scheduler)))
      }
    case TranscriptMessages.service: receiveReport(message)
    default: return false
    }
    return true
  }

  private func receiveReport(_ message: ReceivedMessage) {
    // An empty payload withdraws the status: the room has lost its memory.
    guard !message.payload.isEmpty else { return change(to: RoomTranscription.off) }
    guard let report = TranscriptMessages.decode(TranscriptionReport.self, message.payload) else { return }
    guard message.isDirected else {
      change(to: report.transcription)
      if let failure = report.failure { visible.post(.transcriptionFailed(failure)) }
      return
    }
    guard let id = report.id else { return }
    answerTranscription(id, report.failure.map { .failure($0) } ?? .success(report.languages ?? []))
  }

  private func change(to new: RoomTranscription) {
    guard transcription != new else { return }
    transcription = new
    visible.post(.transcriptionChanged(new))
  }
}
