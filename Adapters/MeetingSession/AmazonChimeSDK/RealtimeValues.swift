public import Foundation
import Koine

/// An attendee of the meeting. Two values with the same attendee id are equal.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/AttendeeInfo.html)
public final class AttendeeInfo: Hashable, Comparable, CustomStringConvertible, Sendable {
  public let attendeeId: String
  public let externalUserId: String

  public init(attendeeId: String, externalUserId: String) {
    self.attendeeId = attendeeId
    self.externalUserId = externalUserId
  }

  public static func == (a: AttendeeInfo, b: AttendeeInfo) -> Bool { a.attendeeId == b.attendeeId }
  public static func < (a: AttendeeInfo, b: AttendeeInfo) -> Bool { a.attendeeId < b.attendeeId }
  public func hash(into hasher: inout Hasher) { hasher.combine(attendeeId) }
  public var description: String { attendeeId }
}

/// Whether an attendee is in the meeting.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/RealtimeObserver.html)
public enum AttendeeStatus: Int, CaseIterable, CustomStringConvertible, Sendable {
  case joined = 1
  case left, dropped
  public var description: String { ["joined", "left", "dropped"][rawValue - 1] }
}

/// Volume of an attendee's audio.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/VolumeLevel.html)
public enum VolumeLevel: Int, CaseIterable, CustomStringConvertible, Sendable {
  case muted = -1
  case notSpeaking, low, medium, high
  public var description: String { ["muted", "notSpeaking", "low", "medium", "high"][rawValue + 1] }

  /// - Parameter level: in dBov, as the room measures it. Speech at a desk has −30 to −20, a quiet room less than −55.
  init(level: Int) {
    switch level {
    case ..<(-55): self = .notSpeaking
    case ..<(-40): self = .low
    case ..<(-25): self = .medium
    default: self = .high
    }
  }
}

/// Quality of an attendee's connection.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/SignalStrength.html)
public enum SignalStrength: Int, CaseIterable, CustomStringConvertible, Sendable {
  case none, low, high
  public var description: String { ["none", "low", "high"][rawValue] }
}

/// An attendee with a changed volume.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/VolumeUpdate.html)
public final class VolumeUpdate: Sendable {
  public let attendeeInfo: AttendeeInfo
  public let volumeLevel: VolumeLevel

  public init(attendeeInfo: AttendeeInfo, volumeLevel: VolumeLevel) {
    self.attendeeInfo = attendeeInfo
    self.volumeLevel = volumeLevel
  }
}

/// An attendee with a changed signal strength.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/SignalUpdate.html)
public final class SignalUpdate: Sendable {
  public let attendeeInfo: AttendeeInfo
  public let signalStrength: SignalStrength

  public init(attendeeInfo: AttendeeInfo, signalStrength: SignalStrength) {
    self.attendeeInfo = attendeeInfo
    self.signalStrength = signalStrength
  }
}

/// A message that another attendee sent on a topic. If `throttled`, a message of the local attendee that exceeded the rate
/// limit and was not sent.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/DataMessage.html)
public final class DataMessage: Sendable {
  /// When the room received the message, in milliseconds since 1970; never decreases from message to message.
  public let timestampMs: Int64
  public let topic: String
  public let data: Data
  public let senderAttendeeId: String
  public let senderExternalUserId: String
  public let throttled: Bool

  public init(
    topic: String, data: Data, senderAttendeeId: String, senderExternalUserId: String, timestampMs: Int64,
    throttled: Bool
  ) {
    self.topic = topic
    self.data = data
    self.senderAttendeeId = senderAttendeeId
    self.senderExternalUserId = senderExternalUserId
    self.timestampMs = timestampMs
    self.throttled = throttled
  }

  /// Nil unless it is UTF-8.
  public func text() -> String? { String(data: data, encoding: .utf8) }
  /// Nil unless it is a JSON array or object.
  public func fromJSON() -> Any? { try? JSONSerialization.jsonObject(with: data) }
}

/// Metrics that are measured once a second.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/ObservableMetric.html)
public enum ObservableMetric: Int, CustomStringConvertible, Sendable {
  case audioReceivePacketLossPercent, audioSendPacketLossPercent
  /// In bit/s, as are all of bit rate and bandwidth.
  case videoAvailableSendBandwidth, videoAvailableReceiveBandwidth
  case videoSendBitrate, videoSendPacketLossPercent, videoSendFps, videoSendRttMs
  case videoReceiveBitrate, videoReceivePacketLossPercent
  case contentShareVideoSendBitrate, contentShareVideoSendPacketLossPercent, contentShareVideoSendFps
  case contentShareVideoSendRttMs

  public var description: String {
    [
      "audioReceivePacketLossPercent", "audioSendPacketLossPercent", "videoAvailableSendBandwidth",
      "videoAvailableReceiveBandwidth", "videoSendBitrate", "videoSendPacketLossPercent", "videoSendFps",
      "videoSendRttMs", "videoReceiveBitrate", "videoReceivePacketLossPercent", "contentShareVideoSendBitrate",
      "contentShareVideoSendPacketLossPercent", "contentShareVideoSendFps", "contentShareVideoSendRttMs",
    ][rawValue]
  }

  public var isContentShareMetric: Bool { description.hasPrefix("contentShare") }
}

// MARK: Content share

/// The source of a content share. The app starts and stops the video source itself.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/ContentShareSource.html)
public final class ContentShareSource {
  public var videoSource: (any VideoSource)?
  public init() {}
}

/// The reason why a content share ended.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/ContentShareStatus.html)
public final class ContentShareStatus: Sendable {
  public let statusCode: ContentShareStatusCode
  public init(statusCode: ContentShareStatusCode) { self.statusCode = statusCode }
}

/// Whether a content share ended regularly or failed.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/ContentShareStatusCode.html)
public enum ContentShareStatusCode: Int, CustomStringConvertible, Sendable {
  case ok, videoServiceFailed
  public var description: String { ["ok", "videoServiceFailed"][rawValue] }
}
