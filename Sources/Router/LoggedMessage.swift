import KoineBase
import KoineJSONCodec
import KoineLedger
import KoineSignaling

/// A data message that a room keeps, a service's report on a job, or the admission of a guest, as the content of an entry in the room's
/// log. JSON: a reader ignores fields that it does not know, and entries of a version above its own.
struct LoggedMessage: Equatable {
  /// Version 2 has reports on jobs, and version 3 admissions. Everything else is written as version 1, which earlier nodes read.
  static let version = 3
  /// The largest message with all its recipients.
  static let limits = JSONCodec.Limits(depth: 6, size: 4 * SignalingLimits.clientMessage, values: 100_000)

  var message: ReceivedMessage
  /// nil: the message is kept as long as the room exists.
  var lifetime: Duration?
  /// nil: the message is for all participants.
  var recipients: [DataHistory.Addressee]?
  /// Whether it stands in place of the earlier message of its topic.
  var isRetained = false
  /// What the message reports, if it is the report of a service.
  var report: Report?
  /// The admission of the guest `message.sender`, if the entry is no message.
  var admission: Admission?

  /// What a service's report says of a job.
  enum Report: Equatable {
    case underWay(RoomService.Job)
    case ended
  }

  /// The admission of a guest from the lobby.
  enum Admission: Equatable {
    /// The guest is in the room. `key` is the resumption key, with which the guest identifies itself at the next home of the room.
    case granted(key: String)
    /// The guest has left, or was removed.
    case ended
  }

  /// - Returns: nil if the message is too large for the log.
  var entry: LogEntry? {
    (try? JSONCodec.encode(self, limits: Self.limits)).map { LogEntry(order: message.order, content: $0) }
  }

  /// - Returns: nil for the content of a later version, and for bytes that are no message.
  init?(_ entry: LogEntry) {
    guard let message = try? JSONCodec.decode(LoggedMessage.self, from: entry.content, limits: Self.limits),
      message.message.order == entry.order
    else { return nil }
    self = message
  }

  init(
    _ message: ReceivedMessage, lifetime: Duration?, recipients: [DataHistory.Addressee]?, isRetained: Bool = false
  ) {
    (self.message, self.lifetime, self.recipients, self.isRetained) = (message, lifetime, recipients, isRetained)
  }

  init(_ message: ReceivedMessage, reporting report: Report) {
    self.init(message, lifetime: nil, recipients: nil)
    self.report = report
  }

  init(_ admission: Admission, of guest: Participant.ID, order: UInt64) {
    self.init(ReceivedMessage(sender: guest, topic: "", payload: [], order: order), lifetime: nil, recipients: nil)
    self.admission = admission
  }

  /// The job that the message reports on, if that has not ended.
  var job: RoomService.Job? { if case .underWay(let job) = report { job } else { nil } }
}

extension LoggedMessage: Codable {
  private enum CodingKeys: String, CodingKey {
    case version, message, recipients, isRetained, job, isEndOfJob, admitted, isEndOfAdmission
    case lifetime = "lifetimeMilliseconds"
  }

  private enum JobKeys: String, CodingKey { case sender, payload }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    guard try fields.decode(Int.self, forKey: .version) <= Self.version else {
      throw DecodingError.dataCorruptedError(forKey: .version, in: fields, debugDescription: "a later version")
    }
    self.init(
      try fields.decode(ReceivedMessage.self, forKey: .message),
      lifetime: try fields.decodeIfPresent(Int64.self, forKey: .lifetime).map { .milliseconds($0) },
      recipients: try fields.decodeIfPresent([DataHistory.Addressee].self, forKey: .recipients),
      isRetained: try fields.decodeIfPresent(Bool.self, forKey: .isRetained) ?? false)
    if try fields.decodeIfPresent(Bool.self, forKey: .isEndOfJob) ?? false { report = .ended }
    if let key = try fields.decodeIfPresent(String.self, forKey: .admitted) { admission = .granted(key: key) }
    if try fields.decodeIfPresent(Bool.self, forKey: .isEndOfAdmission) ?? false { admission = .ended }
    guard fields.contains(.job) else { return }
    let jobFields = try fields.nestedContainer(keyedBy: JobKeys.self, forKey: .job)
    guard let payload = Base64.decode(try jobFields.decode(String.self, forKey: .payload).utf8) else {
      throw DecodingError.dataCorruptedError(forKey: .payload, in: jobFields, debugDescription: "not base64")
    }
    report = .underWay(.init(sender: try jobFields.decode(String.self, forKey: .sender), payload: payload))
  }

  func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(admission != nil ? 3 : report != nil ? 2 : 1, forKey: .version)
    try fields.encode(message, forKey: .message)
    try fields.encodeIfPresent(lifetime.map { Int64($0.inWholeMilliseconds) }, forKey: .lifetime)
    try fields.encodeIfPresent(recipients, forKey: .recipients)
    if isRetained { try fields.encode(isRetained, forKey: .isRetained) }
    switch admission {
    case .granted(let key): try fields.encode(key, forKey: .admitted)
    case .ended: try fields.encode(true, forKey: .isEndOfAdmission)
    case nil: break
    }
    if report == .ended { try fields.encode(true, forKey: .isEndOfJob) }
    guard let job else { return }
    var jobFields = fields.nestedContainer(keyedBy: JobKeys.self, forKey: .job)
    try jobFields.encode(job.sender, forKey: .sender)
    try jobFields.encode(Base64.encode(job.payload), forKey: .payload)
  }
}
