import AzureCommunicationCalling
import Foundation
import KoineAVFoundation
import KoineCallKit
import KoinePushKit
import Testing

/// CallKit and PushKit as apps write them.
@Suite struct CallKitAppSymbols {
  @Test func providerAndActionsHaveApplesSignatures() {
    let _: (CXProviderConfiguration) -> CXProvider = CXProvider.init(configuration:)
    let _: (CXProvider) -> ((any CXProviderDelegate)?, DispatchQueue?) -> Void = CXProvider.setDelegate(_:queue:)
    let _: (CXProvider) -> (UUID, CXCallUpdate, @escaping ((any Error)?) -> Void) -> Void =
      CXProvider.reportNewIncomingCall(with:update:completion:)
    let _: (CXProvider) -> (UUID, CXCallUpdate) -> Void = CXProvider.reportCall(with:updated:)
    let _: (CXProvider) -> (UUID, Date?, CXCallEndedReason) -> Void = CXProvider.reportCall(with:endedAt:reason:)
    let _: (CXProvider) -> (UUID, Date?) -> Void = CXProvider.reportOutgoingCall(with:startedConnectingAt:)
    let _: (CXProvider) -> (UUID, Date?) -> Void = CXProvider.reportOutgoingCall(with:connectedAt:)
    let _: (CXProvider) -> () -> Void = CXProvider.invalidate
    let _: KeyPath<CXProvider, [CXTransaction]> = \CXProvider.pendingTransactions
    let _: (CXProvider) -> (AnyClass, UUID) -> [CXCallAction] = CXProvider.pendingCallActions(of:withCall:)
    let _: (UUID, CXHandle) -> CXStartCallAction = CXStartCallAction.init(call:handle:)
    let _: (UUID) -> CXAnswerCallAction = CXAnswerCallAction.init(call:)
    let _: (UUID) -> CXEndCallAction = CXEndCallAction.init(call:)
    let _: (UUID, Bool) -> CXSetHeldCallAction = CXSetHeldCallAction.init(call:onHold:)
    let _: (UUID, Bool) -> CXSetMutedCallAction = CXSetMutedCallAction.init(call:muted:)
    let _: (UUID, UUID?) -> CXSetGroupCallAction = CXSetGroupCallAction.init(call:callUUIDToGroupWith:)
    let _: (UUID, String, CXPlayDTMFCallAction.ActionType) -> CXPlayDTMFCallAction =
      CXPlayDTMFCallAction.init(call:digits:type:)
    let _: (CXStartCallAction) -> (Date) -> Void = CXStartCallAction.fulfill(withDateStarted:)
    let _: (CXAnswerCallAction) -> (Date) -> Void = CXAnswerCallAction.fulfill(withDateConnected:)
    let _: (CXEndCallAction) -> (Date) -> Void = CXEndCallAction.fulfill(withDateEnded:)
    let _: (CXCallController) -> (CXTransaction, @escaping ((any Error)?) -> Void) -> Void =
      CXCallController.request(_:completion:)
    let _: (DispatchQueue?) -> PKPushRegistry = PKPushRegistry.init(queue:)
    let _: ReferenceWritableKeyPath<PKPushRegistry, Set<PKPushType>?> = \PKPushRegistry.desiredPushTypes
    let _: (PKPushRegistry) -> (PKPushType) -> Data? = PKPushRegistry.pushToken(for:)
    let _: (CXProviderConfiguration) -> CallKitOptions = CallKitOptions.init(with:)
    let _: ReferenceWritableKeyPath<CallAgentOptions, CallKitOptions?> = \CallAgentOptions.callKitOptions
    let _: ReferenceWritableKeyPath<CallOptions, CallKitRemoteInfo?> = \CallOptions.callKitRemoteInfo
  }

  @Test func errorsHaveApplesDomainsAndCodes() {
    let error: any Error = CXErrorCodeRequestTransactionError(.maximumCallGroupsReached)
    #expect((error as NSError).domain == "com.apple.CallKit.error.requesttransaction")
    #expect((error as NSError).code == 7)
    do { throw error } catch CXErrorCodeRequestTransactionError.maximumCallGroupsReached {} catch {
      Issue.record("\(error) is not caught by its code")
    }
    let filtered: any Error = CXErrorCodeIncomingCallError(.filteredByDoNotDisturb)
    #expect((filtered as NSError).domain == "com.apple.CallKit.error.incomingcall")
    #expect((filtered as NSError).code == 3)
    #expect(CXCallEndedReason.remoteEnded.rawValue == 2)
    #expect(PKPushType.voIP.rawValue == "PKPushTypeVoIP")
  }
}

/// A delegate without isolation, as Xcode's templates have it before Swift 6.
private final class Delegate: NSObject, CXProviderDelegate, CXCallObserverDelegate, PKPushRegistryDelegate {
  nonisolated func providerDidReset(_ provider: CXProvider) {}
  nonisolated func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) { action.fulfill() }
  nonisolated func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession) {}
  nonisolated func callObserver(_ callObserver: CXCallObserver, callChanged call: CXCall) {}
  nonisolated func pushRegistry(
    _ registry: PKPushRegistry, didUpdate pushCredentials: PKPushCredentials, for type: PKPushType
  ) {}
  nonisolated func pushRegistry(
    _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
    completion: @escaping () -> Void
  ) {
    let notification = PushNotificationInfo.fromDictionary(payload.dictionaryPayload)
    let options = CallKitOptions(with: CXProviderConfiguration())
    CallClient.reportIncomingCall(with: notification, callKitOptions: options) { _ in }
    completion()
  }
}

/// Calls by the async forms.
private func startCall(_ controller: CXCallController, _ provider: CXProvider) async throws {
  let id = UUID()
  try await controller.request(
    CXTransaction(action: CXStartCallAction(call: id, handle: CXHandle(type: .generic, value: "bea"))))
  try await controller.requestTransaction(with: CXEndCallAction(call: id))
  try await provider.reportNewIncomingCall(with: id, update: CXCallUpdate())
}
