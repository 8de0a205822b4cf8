#sourceLocation(file: "Samples/apps/call-agent/CallText.swift", line: 1)
import AzureCommunicationCalling
import Foundation

/// Texts for states, errors and ends of calls.
enum CallText {
  static func ofPhase(_ phase: CallPhase) -> String {
    switch phase {
    case .signedOut: "Sign in to make calls."
    case .signingIn: "Signing in…"
    case .ready: "Ready for calls."
    case .inCall(.ringing): "Ringing…"
    case .inCall(.inLobby): "Waiting to be let in…"
    case .inCall(.connected): "In the call."
    case .inCall(.localHold), .inCall(.remoteHold): "On hold."
    case .inCall(.disconnecting), .inCall(.disconnected): "Leaving…"
    case .inCall: "Connecting…"
    }
  }

  /// - Parameter action: what the app has tried, as the beginning of a sentence: "Joining".
  static func ofError(_ error: Error?, during action: String) -> String {
    "\(action) has failed: \(error.map(reason) ?? "The service gives no reason.")"
  }

  private static func reason(_ error: Error) -> String {
    let code = (error as NSError).code
    switch CallingCommunicationErrors(rawValue: code) {
    case .noAudioPermission: return "Please allow the microphone in Settings."
    case .noVideoPermission: return "Please allow the camera in Settings."
    case .noAudioAndVideoPermission: return "Please allow the microphone and the camera in Settings."
    case .invalidTokenProvider: return "The sign-in data is not accepted. Please sign in again."
    case .noMultipleConnectionsWithSameIdentity: return "This user is signed in already."
    case .displayNameLengthLongerThanSupported: return "The name is too long."
    case .incomingCallAlreadyUnplaced: return "The caller has hung up."
    case .localVideoStreamSwitchSourceFailure: return "The camera does not start."
    default: return "\(error.localizedDescription) (\(code))"
    }
  }

  static func ofEnd(code: Int32, subcode: Int32) -> String {
    switch (code, subcode) {
    case (0, 5000), (0, 5300): "You were removed from the call."
    case (0, 5854): "You were not admitted to the call."
    case (0, _): "The call has ended."
    case (401, _): "The sign-in data is not accepted. Please sign in again."
    case (403, _): "The call is full, or you are not allowed to join it."
    case (404, _): "There is no such call."
    case (408, _), (481, _), (487, 10_004): "The call was not answered."
    case (480, _): "The person you call is not available."
    case (486, _): "The person you call is busy."
    case (487, _): "The call was cancelled."
    case (603, _): "The call was declined."
    case (410, _), (430, _), (490...498, _): "The connection was lost. Please check your network and call again."
    case (500...599, _): "The service has a problem. Please try again later."
    default: "The call ended unexpectedly (\(code)/\(subcode))."
    }
  }
}
