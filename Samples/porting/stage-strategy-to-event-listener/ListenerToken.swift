// Tokens of layers for a VideoSDK meeting (`koine port --to event-listener`): the same file for every app.
import Foundation

extension ListenerCall {
  private struct Answer: Decodable { let token, meetingId, participantId, name: String }
  private static func answer(_ token: String) -> Answer? {
    try? JSONDecoder().decode(Answer.self, from: Data(token.utf8))
  }
  static func reads(_ token: String) -> Bool { answer(token) != nil }
  /// - Parameter token: what the app's server answers, as JSON: `{"token": …, "meetingId": …, "participantId": …, "name": …}`.
  convenience init?(token: String, isMicrophoneOn: Bool = false) {
    guard let answer = Self.answer(token) else { return nil }
    self.init(
      room: answer.meetingId, credential: answer.token, participantID: answer.participantId, name: answer.name,
      isMicrophoneOn: isMicrophoneOn, isCameraOn: false)
  }
}
