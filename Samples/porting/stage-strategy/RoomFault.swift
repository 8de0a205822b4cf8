// What layers in the stage strategy style report as errors (`koine port --to koine`): the same for every app.
import Foundation
import Koine

/// Errors with the numbers that apps in the stage strategy style know.
enum RoomFault: Int {
  case token = 1000, expired = 1001, media = 1020, full = 1024, refused = 1026, closed = 1027
  case answer = 1203, lost = 1300, device = 10101

  static let domain = "RoomFault", isFatalKey = "isFatal"
  private static let faults: [Failure.Code: RoomFault] = [
    .unauthorized: .refused, .forbidden: .refused, .invalidParticipantID: .refused, .invalidRoom: .closed,
    .roomFull: .full, .unreachable: .lost, .notConnected: .lost, .ended: .lost, .device: .media,
  ]
  /// All errors but these are fatal, as in the SDK of stages.
  private var isFatal: Bool { ![.media, .full, .answer, .device].contains(self) }
  func error(_ message: String) -> NSError {
    let info: [String: Any] = [NSLocalizedDescriptionKey: message, Self.isFatalKey: isFatal]
    return NSError(domain: Self.domain, code: rawValue, userInfo: info)
  }
  static func error(of failure: Failure) -> NSError { (faults[failure.code] ?? .answer).error(failure.message) }
  static func error(of state: SessionState) -> NSError? {
    switch state {
    case .ended(.refused(let failure)): error(of: failure)
    case .ended(.lost): lost.error("the connection was lost")
    case .ended(.removed), .ended(.removedByService), .ended(.expired): refused.error("removed from the room")
    case .ended(.roomClosed), .ended(.roomClosedByService): closed.error("the room was closed")
    default: nil
    }
  }
}
