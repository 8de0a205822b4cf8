import Koine

extension NoEffect {
  private init(_ what: String, why: String) { self.init("AzureCommunicationCalling", what, why: why) }

  static let alternateCaller = NoEffect("alternateCallerId", why: "no telephone network is reached that would show it")
  static let analogGain = NoEffect(
    "OutgoingAudioFilters.analogAutomaticGainControlEnabled", why: "there is no analogue volume that software could set"
  )
  static let survey = NoEffect(
    "SurveyCallFeature.submit", why: "no service of a server collects surveys; `submittedSurveys` has them")
  static let captionsType = NoEffect(
    "CaptionsCallFeature.delegate", why: "the type of captions is always communicationCaptions")

  /// For what cannot be told to the app in any other way.
  static func complain(_ text: String) { complain("AzureCommunicationCalling", text) }
}
