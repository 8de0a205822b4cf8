import Koine

extension Recorded {
  private init(_ what: String, why: String) { self.init("AzureCommunicationCalling", what, why: why) }

  static let diagnostics = Recorded("CallClientOptions.diagnostics", why: "nothing here reports to anybody")
  static let alternateCaller = Recorded("alternateCallerId", why: "no telephone network is reached that would show it")
  static let push = Recorded(
    "CallAgent.registerPushNotifications", why: "there is no push service; calls ring over the agent's connection")
  static let transcription = Recorded("TranscriptionCallFeature.delegate", why: "nothing turns speech into text")
  static let channelOptions = Recorded(
    "DataChannelSenderOptions", why: "messages go at once and arrive, in order; only id and participants count")

  /// For what cannot be told to the app in any other way.
  static func complain(_ text: String) { complain("AzureCommunicationCalling", text) }
}
