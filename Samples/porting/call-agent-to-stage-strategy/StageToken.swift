// Tokens of layers for a stage (`koine port --to stage-strategy`): the same file for every app.
import Foundation

extension StageCall {
  private struct Answer: Decodable { let token, stage, participantId, name: String }
  private static func answer(_ token: String) -> Answer? {
    try? JSONDecoder().decode(Answer.self, from: Data(token.utf8))
  }
  static func reads(_ token: String) -> Bool { answer(token) != nil }
  /// - Parameter token: what the app's server answers, as JSON: `{"token": …, "stage": …, "participantId": …, "name": …}`. A
  ///   participant token is opaque, so that the app does not read the rest from it.
  convenience init?(token: String, isMicrophoneOn: Bool = false) {
    guard let answer = Self.answer(token) else { return nil }
    self.init(
      credential: answer.token, participantID: answer.participantId, name: answer.name,
      isMicrophoneOn: isMicrophoneOn, isCameraOn: false)
    room = answer.stage
  }
  /// Whether it is the stage with this id of the app's server.
  func isIn(_ room: String) -> Bool { self.room == room }
}
