import Foundation
import Koine

/// What is kept and can be read, but has no effect here. Says so once in a process, on standard error.
struct Recorded {
  let what: String
  let why: String
  private static let said = Lock<Set<String>>([])

  static let diagnostics = Recorded(what: "CallClientOptions.diagnostics", why: "nothing here reports to anybody")
  static let alternateCaller = Recorded(
    what: "alternateCallerId", why: "no telephone network is reached that would show it")
  static let push = Recorded(
    what: "CallAgent.registerPushNotifications",
    why: "there is no push service; calls ring over the agent's connection")
  static let transcription = Recorded(
    what: "TranscriptionCallFeature.delegate", why: "nothing turns speech into text")
  static let channelOptions = Recorded(
    what: "DataChannelSenderOptions", why: "messages go at once and arrive, in order; only id and participants count")

  func log() {
    guard Self.said.withLock({ $0.insert(what).inserted }) else { return }
    Self.complain("\(what) is kept without effect: \(why)")
  }

  /// For what cannot be told to the app in any other way.
  static func complain(_ text: String) {
    FileHandle.standardError.write(Data("AzureCommunicationCalling: \(text)\n".utf8))
  }
}
