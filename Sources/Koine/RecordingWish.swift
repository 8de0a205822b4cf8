package import Foundation

/// What somebody asks of the recorder beside the router: lines of text, the number of people to be seen first, then where
/// to. A recorder with a folder of its own, on another machine, does not look at the places of files.
package struct RecordingWish: Hashable, Sendable {
  /// Places of one wish.
  package static let limit = 8

  /// How many are seen at a time.
  package var people: Int
  package var places: [URL]

  package init(people: Int, places: [URL]) { (self.people, self.places) = (people, places) }

  /// - Returns: nil for what is no wish.
  package init?(_ payload: [UInt8]) {
    let lines = String(decoding: payload, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    guard let people = lines.first.flatMap({ Int($0) }), people > 0, lines.count <= Self.limit + 1 else { return nil }
    places = lines.dropFirst().compactMap { URL(string: String($0)) }
    self.people = min(people, 100)
    guard places.count == lines.count - 1 else { return nil }
  }

  package var payload: [UInt8] { Array(([String(people)] + places.map(\.absoluteString)).joined(separator: "\n").utf8) }
}

/// What the recorder beside the router says: a stage, and where to, while that is known.
package struct RecorderWords: Hashable, Sendable {
  package enum Stage: String, Sendable {
    case starting, started, playable, stopping, stopped
    /// Of one's own wish: it never began; it broke while it went on; its end could not be written.
    case failed, broken, unfinished
  }

  package var stage: Stage
  package var place: String

  package init(_ stage: Stage, place: String = "") { (self.stage, self.place) = (stage, place) }

  /// - Parameter attendants: names of the services beside the router, as the router tells them (`Session.attendants`). A
  ///   message of any other sender is a participant's, under any name.
  /// - Returns: nil unless the message is the recorder's own.
  package init?(_ message: ReceivedMessage, from attendants: [String]) {
    guard RoomWord.ofRecorder.contains(message.topic), message.sender == message.topic,
      attendants.contains(message.sender)
    else { return nil }
    guard !message.payload.isEmpty else {  // whoever has said so is there no more
      self.init(.stopped)
      return
    }
    let words = String(decoding: message.payload, as: UTF8.self).split(separator: " ", maxSplits: 1)
    guard let stage = words.first.flatMap({ Stage(rawValue: String($0)) }) else { return nil }
    self.init(stage, place: words.count > 1 ? String(words[1]) : "")
  }

  package var text: String { place.isEmpty ? stage.rawValue : "\(stage.rawValue) \(place)" }
}
