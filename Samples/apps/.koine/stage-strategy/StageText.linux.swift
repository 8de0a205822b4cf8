#sourceLocation(file: "Samples/apps/stage-strategy/StageText.swift", line: 1)
import AmazonIVSBroadcast
import Foundation

/// Says the SDK's errors in words for the screen.
enum StageText {
  static let left = "You have left the stage."
  static let replaced = "You have joined this stage on another device."
  static let oneCamera = "This device has no other camera."
  static let noCamera = "This device has no camera."
  static let noMicrophone = "This device has no microphone."
  static let cameraDenied = "Allow the camera in Settings to be seen."
  static let microphoneDenied = "Allow the microphone in Settings to be heard."
  static let cameraFails = "The camera does not start: others do not see you."
  static let microphoneFails = "The microphone does not start: others do not hear you."

  static func text(for error: any Error) -> String {
    let error = error as NSError
    guard error.domain == IVSBroadcastErrorDomain else { return error.localizedDescription }
    switch error.code {
    case 1000: return "This is not a token for a stage."
    case 1001: return "The token has expired. Ask the host for a new one."
    case 1020, 1021, 1022: return "The media connection cannot be set up. The app tries again."
    case 1024: return "The stage is full."
    case 1026: return "The host does not let you in, or has removed you."
    case 1027: return "The host has closed the stage."
    case 1201, 1202, 1203: return "The stage does not answer as it should. Try again later."
    case 1300: return "The connection to the stage is lost."
    case 1400: return "The media connection is lost. The app tries again."
    case IVSBroadcastError.deviceNotFound.rawValue: return "The device is not there any more."
    default:
      let description = error.userInfo[IVSBroadcastResultDescriptionErrorKey] as? String
      return "\(description ?? error.localizedDescription) (\(error.code))"
    }
  }
}
