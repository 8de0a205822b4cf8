/// Mistakes that a team makes when it writes a new call layer. `NativeLayer` makes one of them on request.
enum Mistake: String, CaseIterable, Sendable {
  case muteInverted, muteOnlyShown, muteNotShown
  case wrongPerson, stalePerson
  case shareNotStopped, videoNotShown
  case messageTwice, messagesReversed, messageSentTwice
  case leaveNotAwaited, leaveForgotten
  case errorSwallowed, endReasonWrong, reconnectingNotShown
  case cameraNotReleased, layerKept, timerLeft, lateChange
}
