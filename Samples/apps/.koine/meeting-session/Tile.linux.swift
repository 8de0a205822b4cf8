#sourceLocation(file: "Samples/apps/meeting-session/Tile.swift", line: 1)
import AmazonChimeSDK
import Foundation

/// A video tile as the call screen shows it.
struct Tile: Identifiable {
  /// The app's own: the SDK may use a tile id again for a later tile.
  let id = UUID()
  /// The SDK keeps it up to date.
  let state: VideoTileState
}

/// A line of the chat.
struct ChatMessage: Equatable {
  let sender, text: String
  /// The server's time; nil for own messages, which the SDK does not send back.
  let timestampMs: Int64?
}
