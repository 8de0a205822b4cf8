import Foundation
import Koine

// Events for a service that collects them. Here they go to a file, as lines of JSON in the form that the vendor's service takes
// (https://github.com/aws/amazon-chime-sdk-ios/blob/master/guides/event_ingestion.md).

/// Takes a meeting's events to where they are collected.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/EventReporter.html)
public protocol EventReporter: AnyObject {
  /// Any thread may call it.
  func report(event: SDKEvent)
  func start()
  func stop()
}

/// Makes the reporter of a meeting session.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/EventReporterFactory.html)
public protocol EventReporterFactory: AnyObject {
  /// Nil: events are not reported.
  func createEventReporter() -> (any EventReporter)?
}

/// Makes no reporter: a session with this factory reports no events.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/NoopEventReporterFactory.html)
public final class NoopEventReporterFactory: EventReporterFactory, Sendable {
  public init() {}
  public func createEventReporter() -> (any EventReporter)? { nil }
}

/// Makes reporters that write to the file that `ingestionUrl` names.
///
/// A `file:` URL is appended to, a line of JSON for each batch. Events are not uploaded to URLs of other schemes, because there is no
/// service to take them: the factory then makes no reporter, and writes a line to standard error, once in a process.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/DefaultMeetingEventReporterFactory.html)
public final class DefaultMeetingEventReporterFactory: EventReporterFactory {
  private let ingestionConfiguration: IngestionConfiguration
  private let logger: any Logger

  public init(ingestionConfiguration: IngestionConfiguration, logger: any Logger) {
    self.ingestionConfiguration = ingestionConfiguration
    self.logger = logger
  }

  public func createEventReporter() -> (any EventReporter)? {
    guard !ingestionConfiguration.disabled else { return nil }
    guard let url = URL(string: ingestionConfiguration.ingestionUrl), url.isFileURL else {
      NoEffect.ingestion.log()
      return nil
    }
    return FileEventReporter(url, ingestionConfiguration, logger, in: MeetingEnvironment())
  }
}

// MARK: Configuration

/// The kind of client that events come from.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/EventClientType.html)
public enum EventClientType: Int, CaseIterable, CustomStringConvertible, Sendable {
  case meet, chat
  public var description: String { ["Meet", "Chat"][rawValue] }
}

/// The client that events come from.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/EventClientConfiguration.html)
public protocol EventClientConfiguration {
  var type: EventClientType { get }
  var eventClientJoinToken: String { get }
  /// Written as the type of the events.
  var tag: String { get }
  /// Written as the metadata of the events.
  var metadataAttributes: [String: Any] { get }
}

/// An attendee of a meeting as the client that events come from.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/MeetingEventClientConfiguration.html)
public final class MeetingEventClientConfiguration: EventClientConfiguration {
  public let type = EventClientType.meet
  public let eventClientJoinToken: String
  public var tag = EventClientType.meet.description
  public var metadataAttributes: [String: Any]

  public init(eventClientJoinToken: String, meetingId: String, attendeeId: String) {
    self.eventClientJoinToken = eventClientJoinToken
    metadataAttributes = [
      EventAttributeName.meetingId.description: meetingId, EventAttributeName.attendeeId.description: attendeeId,
    ]
  }
}

/// Where events go, and when.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/IngestionConfiguration.html)
public final class IngestionConfiguration {
  public let clientConfiguration: any EventClientConfiguration
  /// A `file:` URL.
  public let ingestionUrl: String
  public let disabled: Bool
  /// The most events in one line, 1...100.
  public let flushSize: Int
  /// Events are written at this interval, in milliseconds, at least 300.
  public let flushIntervalMs: Int64
  /// A batch that cannot be written is tried again so many times, 1...3, and then dropped.
  public let retryCountLimit: Int

  init(
    _ client: any EventClientConfiguration, ingestionUrl: String, disabled: Bool, flushSize: Int,
    flushIntervalMs: Int64, retryCountLimit: Int
  ) {
    clientConfiguration = client
    self.ingestionUrl = ingestionUrl
    self.disabled = disabled
    self.flushSize = min(max(flushSize, 1), 100)
    self.flushIntervalMs = max(flushIntervalMs, 300)
    self.retryCountLimit = min(max(retryCountLimit, 1), 3)
  }
}

/// Builds the configuration of the ingestion of events.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/IngestionConfigurationBuilder.html)
public final class IngestionConfigurationBuilder {
  private var flushSize = 20
  private var flushIntervalMs: Int64 = 5_000
  private var retryCountLimit = 2

  public init() {}

  public func setFlushSize(flushSize: Int) -> IngestionConfigurationBuilder {
    self.flushSize = flushSize
    return self
  }

  public func setFlushIntervalMs(flushIntervalMs: Int64) -> IngestionConfigurationBuilder {
    self.flushIntervalMs = flushIntervalMs
    return self
  }

  public func setRetryCountLimit(retryCountLimit: Int) -> IngestionConfigurationBuilder {
    self.retryCountLimit = retryCountLimit
    return self
  }

  /// - Parameter clientConiguration: spelt so by the vendor.
  public func build(
    disabled: Bool = false, ingestionUrl: String, clientConiguration: any EventClientConfiguration
  ) -> IngestionConfiguration {
    IngestionConfiguration(
      clientConiguration, ingestionUrl: ingestionUrl, disabled: disabled, flushSize: flushSize,
      flushIntervalMs: flushIntervalMs, retryCountLimit: retryCountLimit)
  }
}

// MARK: What is written

/// A value of JSON.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/AnyCodable.html)
public struct AnyCodable: Codable, @unchecked Sendable {  // holds strings, numbers and truth values only
  /// A `String`, `Bool`, `Int64` or `Double`; nil: null.
  public let value: Any?

  /// - Parameter value: anything that is neither text, number nor truth value is kept as its description.
  public init(_ value: Any?) {
    self.value =
      switch value {
      case nil: nil
      case let text as String: text
      case let flag as Bool: flag
      case let number as Int: Int64(number)
      case let number as Int64: number
      case let number as Double: number
      case let number as Float: Double(number)
      case let other?: "\(other)"
      }
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      value = nil
    } else if let flag = try? container.decode(Bool.self) {
      value = flag
    } else if let number = try? container.decode(Int64.self) {
      value = number
    } else if let number = try? container.decode(Double.self) {
      value = number
    } else {
      value = try container.decode(String.self)
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch value {
    case let flag as Bool: try container.encode(flag)
    case let number as Int64: try container.encode(number)
    case let number as Double: try container.encode(number)
    case let text as String: try container.encode(text)
    default: try container.encodeNil()
    }
  }
}

/// A batch of events: one line of the file.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/IngestionRecord.html)
public final class IngestionRecord: Codable, Sendable {
  /// Of the machine and the attendee.
  public let metadata: [String: AnyCodable?]
  public let events: [IngestionEvent]

  public init(metadata: [String: AnyCodable?], events: [IngestionEvent]) {
    self.metadata = metadata
    self.events = events
  }
}

/// Events of one client.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/IngestionEvent.html)
public final class IngestionEvent: Codable, Sendable {
  public let type: String
  public let metadata: [String: AnyCodable?]
  public let payloads: [IngestionPayload]
  /// Of the form of the payloads.
  public let version: Int

  private enum CodingKeys: String, CodingKey {
    case type, metadata, payloads
    case version = "v"
  }

  public convenience init(type: String, metadata: [String: AnyCodable?], payloads: [IngestionPayload]) {
    self.init(type: type, metadata: metadata, payloads: payloads, version: 1)
  }

  public init(type: String, metadata: [String: AnyCodable?], payloads: [IngestionPayload], version: Int) {
    self.type = type
    self.metadata = metadata
    self.payloads = payloads
    self.version = version
  }
}

/// One event. Its attributes have the meaning of those of `EventAttributeName`; times and durations are in milliseconds.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/IngestionPayload.html)
public final class IngestionPayload: Codable, Sendable {
  public let name: String
  /// When it happened, in milliseconds since 1970.
  public let ts: Int64
  /// Different for each event.
  public let id: String?
  public let maxVideoTileCount: Int?
  public let meetingStartDurationMs: Int64?
  public let meetingReconnectDurationMs: Int64?
  public let meetingDurationMs: Int64?
  public let meetingErrorMessage: String?
  public let meetingStatus: String?
  public let poorConnectionCount: Int?
  public let retryCount: Int?
  public let videoInputErrorMessage: String?
  public let audioInputErrorMessage: String?
  public let signalingDroppedErrorMessage: String?
  public let contentShareErrorMessage: String?
  public let appState: String?
  public let batteryLevel: Float?
  public let batteryState: String?
  public let voiceFocusErrorMessage: String?
  public let audioDeviceType: String?
  public let videoDeviceType: String?
  public let lowPowerModeEnabled: Bool?
  public let videoInterruptionReason: String?
  public let iceGatheringDurationMs: Int64?
  public let signalingOpenDurationMs: Int64?
  public let networkConnectionType: String?
  public let ttl: Int64?

  public init(
    name: String, ts: Int64, id: String? = nil, maxVideoTileCount: Int? = nil, meetingStartDurationMs: Int64? = nil,
    meetingReconnectDurationMs: Int64? = nil, meetingDurationMs: Int64? = nil, meetingErrorMessage: String? = nil,
    meetingStatus: String? = nil, poorConnectionCount: Int? = nil, retryCount: Int? = nil,
    videoInputErrorMessage: String? = nil, audioInputErrorMessage: String? = nil,
    signalingDroppedErrorMessage: String? = nil, contentShareErrorMessage: String? = nil, appState: String? = nil,
    batteryLevel: Float? = nil, batteryState: String? = nil, voiceFocusErrorMessage: String? = nil,
    audioDeviceType: String? = nil, videoDeviceType: String? = nil, lowPowerModeEnabled: Bool? = nil,
    videoInterruptionReason: String? = nil, iceGatheringDurationMs: Int64? = nil, signalingOpenDurationMs: Int64? = nil,
    networkConnectionType: String? = nil, ttl: Int64? = nil
  ) {
    self.name = name
    self.ts = ts
    self.id = id
    self.maxVideoTileCount = maxVideoTileCount
    self.meetingStartDurationMs = meetingStartDurationMs
    self.meetingReconnectDurationMs = meetingReconnectDurationMs
    self.meetingDurationMs = meetingDurationMs
    self.meetingErrorMessage = meetingErrorMessage
    self.meetingStatus = meetingStatus
    self.poorConnectionCount = poorConnectionCount
    self.retryCount = retryCount
    self.videoInputErrorMessage = videoInputErrorMessage
    self.audioInputErrorMessage = audioInputErrorMessage
    self.signalingDroppedErrorMessage = signalingDroppedErrorMessage
    self.contentShareErrorMessage = contentShareErrorMessage
    self.appState = appState
    self.batteryLevel = batteryLevel
    self.batteryState = batteryState
    self.voiceFocusErrorMessage = voiceFocusErrorMessage
    self.audioDeviceType = audioDeviceType
    self.videoDeviceType = videoDeviceType
    self.lowPowerModeEnabled = lowPowerModeEnabled
    self.videoInterruptionReason = videoInterruptionReason
    self.iceGatheringDurationMs = iceGatheringDurationMs
    self.signalingOpenDurationMs = signalingOpenDurationMs
    self.networkConnectionType = networkConnectionType
    self.ttl = ttl
  }

  /// - Parameter id: different for each event.
  convenience init(_ event: SDKEvent, id: String, now: Int64) {
    func value<Value>(_ name: EventAttributeName) -> Value? { event.eventAttributes[name] as? Value }
    func text(_ name: EventAttributeName) -> String? { event.eventAttributes[name].map { "\($0)" } }
    self.init(
      name: event.name, ts: value(.timestampMs) ?? now, id: id,
      maxVideoTileCount: value(.maxVideoTileCount),
      meetingStartDurationMs: value(.meetingStartDurationMs),
      meetingReconnectDurationMs: value(.meetingReconnectDurationMs),
      meetingDurationMs: value(.meetingDurationMs),
      meetingErrorMessage: text(.meetingErrorMessage),
      meetingStatus: text(.meetingStatus),
      poorConnectionCount: value(.poorConnectionCount),
      retryCount: value(.retryCount),
      videoInputErrorMessage: text(.videoInputError),
      audioInputErrorMessage: text(.audioInputError),
      signalingDroppedErrorMessage: text(.signalingDroppedError),
      contentShareErrorMessage: text(.contentShareError),
      appState: text(.appState),
      batteryLevel: value(.batteryLevel),
      batteryState: text(.batteryState),
      voiceFocusErrorMessage: text(.voiceFocusError),
      audioDeviceType: text(.audioDeviceType),
      videoDeviceType: text(.videoDeviceType),
      lowPowerModeEnabled: value(.lowPowerModeEnabled),
      videoInterruptionReason: text(.videoInterruptionReason),
      iceGatheringDurationMs: value(.iceGatheringDurationMs),
      signalingOpenDurationMs: value(.signalingOpenDurationMs),
      networkConnectionType: text(.networkConnectionType))
  }
}
