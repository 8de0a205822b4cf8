import AzureCommunicationCalling
import Foundation
import Testing

// Captions and transcription, with their exact signatures as of 2.15.

struct CallAgentCaptions {
  @Test func captions() {
    let _: CaptionsCallFeature.Type = Features.captions
    let _: CallFeature.Type = CaptionsCallFeature.self
    let _: ReferenceWritableKeyPath<CaptionsCallFeature, (any CaptionsCallFeatureDelegate)?> =
      \CaptionsCallFeature.delegate
    let _: (CaptionsCallFeature) -> (@escaping (CallCaptions?, (any Error)?) -> Void) -> Void =
      CaptionsCallFeature.getCaptions(completionHandler:)
    let _: NSObject.Type = CallCaptions.self
    let _: KeyPath<CallCaptions, [String]> = \CallCaptions.supportedSpokenLanguages
    let _: KeyPath<CallCaptions, Bool> = \CallCaptions.isEnabled
    let _: KeyPath<CallCaptions, CaptionsType> = \CallCaptions.type
    let _: KeyPath<CallCaptions, String> = \CallCaptions.activeSpokenLanguage
    let _: (CallCaptions) -> (StartCaptionsOptions?, @escaping ((any Error)?) -> Void) -> Void =
      CallCaptions.startCaptions(options:completionHandler:)
    let _: (CallCaptions) -> (StartCaptionsOptions?, @escaping ((any Error)?) -> Void) -> Void =
      CallCaptions.startCaptions(startCaptionsOptions:completionHandler:)
    let _: (CallCaptions) -> (@escaping ((any Error)?) -> Void) -> Void = CallCaptions.stopCaptions(completionHandler:)
    let _: (CallCaptions) -> (String, @escaping ((any Error)?) -> Void) -> Void =
      CallCaptions.set(spokenLanguage:completionHandler:)
    let _: () -> StartCaptionsOptions = StartCaptionsOptions.init
    let _: ReferenceWritableKeyPath<StartCaptionsOptions, String> = \StartCaptionsOptions.spokenLanguage
    let _: CallCaptions.Type = CommunicationCaptions.self
    let _: ReferenceWritableKeyPath<CommunicationCaptions, (any CommunicationCaptionsDelegate)?> =
      \CommunicationCaptions.delegate
    let _: KeyPath<CommunicationCaptionsReceivedEventArgs, CallerInfo> = \CommunicationCaptionsReceivedEventArgs.speaker
    let _: KeyPath<CommunicationCaptionsReceivedEventArgs, String> = \CommunicationCaptionsReceivedEventArgs.spokenText
    let _: KeyPath<CommunicationCaptionsReceivedEventArgs, String> =
      \CommunicationCaptionsReceivedEventArgs.spokenLanguage
    let _: KeyPath<CommunicationCaptionsReceivedEventArgs, CaptionsResultType> =
      \CommunicationCaptionsReceivedEventArgs.resultType
    let _: KeyPath<CommunicationCaptionsReceivedEventArgs, Date> = \CommunicationCaptionsReceivedEventArgs.timestamp
    #expect([CaptionsResultType.partial, .final].map(\.rawValue) == [0, 1])
    #expect([CaptionsType.teamsCaptions, .communicationCaptions].map(\.rawValue) == [0, 1])
  }

  /// Never run: it has only to compile.
  private func captionsProtocols(
    _ captionsCallFeatureDelegate: any CaptionsCallFeatureDelegate,
    _ communicationCaptionsDelegate: any CommunicationCaptionsDelegate
  ) {
    let _: (CaptionsCallFeature, PropertyChangedEventArgs) -> Void =
      captionsCallFeatureDelegate.captionsCallFeature(_:didChangeActiveCaptionsType:)
    let _: (CommunicationCaptions, PropertyChangedEventArgs) -> Void =
      communicationCaptionsDelegate.communicationCaptions(_:didChangeActiveSpokenLanguageState:)
    let _: (CommunicationCaptions, PropertyChangedEventArgs) -> Void =
      communicationCaptionsDelegate.communicationCaptions(_:didChangeCaptionsEnabledState:)
    let _: (CommunicationCaptions, CommunicationCaptionsReceivedEventArgs) -> Void =
      communicationCaptionsDelegate.communicationCaptions(_:didReceiveCaptions:)
  }
}
