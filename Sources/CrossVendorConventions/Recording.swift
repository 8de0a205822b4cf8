public import Foundation
public import Koine

/// A request to a co-located recording service. Its payload is lines of text: the number of participants to be shown with the words of
/// the look, then the destinations. A service that writes to a folder of its own ignores file destinations.
public struct OutputRequest: Hashable, Sendable {
  /// The largest number of destinations in one request.
  public static let destinationLimit = 8

  /// The number of participants that are shown at a time, 1...100.
  public var shownParticipants: Int
  public var destinations: [URL]
  /// How the output looks.
  public var look = OutputLook()

  public init(shownParticipants: Int, destinations: [URL]) {
    (self.shownParticipants, self.destinations) = (shownParticipants, destinations)
  }

  /// - Returns: nil for a payload that is no request.
  public init?(_ payload: [UInt8]) {
    let lines = String(decoding: payload, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    let words = lines.first?.split(separator: " ") ?? []
    guard let count = words.first.flatMap({ Int($0) }), count > 0, lines.count <= Self.destinationLimit + 1,
      let look = OutputLook(words: words.dropFirst())
    else { return nil }
    self.look = look
    destinations = lines.dropFirst().compactMap { URL(string: String($0)) }
    shownParticipants = min(count, 100)
    guard destinations.count == lines.count - 1 else { return nil }
  }

  public var payload: [UInt8] {
    let head = ([String(shownParticipants)] + look.words).joined(separator: " ")
    return Array(([head] + destinations.map(\.absoluteString)).joined(separator: "\n").utf8)
  }
}

/// A report of a co-located recording service: the stage of an output, and its destination, while that is known.
public struct RecorderStatus: Hashable, Sendable {
  public enum Stage: String, Sendable {
    case starting, started, playable, stopping, stopped
    /// Another server of a cluster has the room. Its service goes on with the output in another file. `started` follows.
    case interrupted
    /// To the participant that requested the output: it has not begun.
    case failed
    /// To the participant that requested the output: it broke off.
    case broken
    /// To the participant that requested the output: its end could not be written.
    case unfinished
  }

  public var stage: Stage
  /// Empty where it is not known.
  public var destination: String

  public init(_ stage: Stage, destination: String = "") { (self.stage, self.destination) = (stage, destination) }

  /// - Parameter services: the names of services in the room (`Session.services`). A message of any other sender is a participant's.
  /// - Returns: nil unless the message is a recording service's own.
  public init?(_ message: ReceivedMessage, from services: [String]) {
    guard Convention.recordingServices.contains(message.topic), message.sender == message.topic,
      services.contains(message.sender)
    else { return nil }
    // An empty payload withdraws the service's report: the service is not there any more.
    self.init(payload: message.payload.isEmpty ? Array(Stage.stopped.rawValue.utf8) : message.payload)
  }

  /// - Returns: nil for a payload that is no report.
  public init?(payload: [UInt8]) {
    let words = String(decoding: payload, as: UTF8.self).split(separator: " ", maxSplits: 1)
    guard let stage = words.first.flatMap({ Stage(rawValue: String($0)) }) else { return nil }
    self.init(stage, destination: words.count > 1 ? String(words[1]) : "")
  }

  public var text: String { destination.isEmpty ? stage.rawValue : "\(stage.rawValue) \(destination)" }
}

extension Session {
  /// The outputs that the co-located recording service has under way, by their names in `Convention.recordingServices`.
  public var recorderStatus: [String: RecorderStatus] {
    let outputs = serviceStatus.filter { Convention.recordingServices.contains($0.key) }
    return outputs.compactMapValues { RecorderStatus(payload: $0) }.filter { $0.value.stage.isUnderWay }
  }
}

extension RecorderStatus.Stage {
  fileprivate var isUnderWay: Bool {
    switch self {
    case .starting, .started, .playable, .stopping, .interrupted: true
    case .stopped, .failed, .broken, .unfinished: false
    }
  }
}
