import KoineBase
import KoineRouter
import KoineSignaling

/// A browser's conversation, which outlives the lines that it is held on.
///
/// Breaks end here and the router hears nothing of them: what browser and router say to each other is not the same messages,
/// so each counts its own.
final class Browser: LineHolder {
  var hold: LineHold
  let end: BrowserEnd
  var conversation = Conversation<BrowserWord>()
  /// After a resumption: the number of the next message that is said again; nil: nothing is left to be.
  var repeating: Int?
  /// How long it is waited for when its line has broken.
  var grace = Duration.zero

  init(_ hold: LineHold) {
    self.hold = hold
    end = BrowserEnd(sessionID: String(hold.id.value))
  }

  /// Whether it has shown that it can come back.
  var isResumable: Bool { key != nil && conversation.isTold }
}

/// What a browser is told.
enum BrowserWord: CountedMessage {
  case message(ServerMessage)
  case answer(BrowserAnswer)

  var isCounted: Bool {
    switch self {
    case .message(let message): message.isCounted
    case .answer: true
    }
  }

  var weight: Int {
    switch self {
    case .message(let message): message.weight
    case .answer(let answer): answer.weight
    }
  }
}

extension BrowserMessage {
  var isCounted: Bool {
    switch self {
    case .other(let message): message.isCounted
    case .join, .offer: true
    }
  }
}
