import CallKit
import Foundation
import KoineAVFoundation
import PushKit

/// An app with a provider of its own: it logs what the phone asks for, and fulfils it unless told otherwise.
final class PhoneApp: NSObject, CXProviderDelegate, CXCallObserverDelegate {
  let provider: CXProvider
  let controller = CXCallController()
  var log: [String] = []
  var fulfils = true
  var executes = false
  var held: [CXAction] = []

  init(groups: Int = 2) {
    let configuration = CXProviderConfiguration()
    configuration.maximumCallGroups = groups
    provider = CXProvider(configuration: configuration)
    super.init()
    provider.setDelegate(self, queue: nil)
    controller.callObserver.setDelegate(self, queue: nil)
  }

  func ring(_ id: UUID, from value: String = "bea") {
    let update = CXCallUpdate()
    update.remoteHandle = CXHandle(type: .generic, value: value)
    update.localizedCallerName = "Bea"
    provider.reportNewIncomingCall(with: id, update: update) { [self] error in
      log.append(error.map { "refused \(($0 as NSError).code)" } ?? "rings")
    }
  }

  private func note(_ text: String, _ action: CXAction) {
    log.append(text)
    if fulfils { action.fulfill() } else { held.append(action) }
  }

  func providerDidReset(_ provider: CXProvider) { log.append("reset") }
  func provider(_ provider: CXProvider, execute transaction: CXTransaction) -> Bool {
    if executes { log.append("execute \(transaction.actions.count)") }
    return executes
  }
  func provider(_ provider: CXProvider, perform action: CXStartCallAction) {
    note("start \(action.handle.value)", action)
  }
  func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) { note("answer", action) }
  func provider(_ provider: CXProvider, perform action: CXEndCallAction) { note("end", action) }
  func provider(_ provider: CXProvider, perform action: CXSetHeldCallAction) { note("hold \(action.isOnHold)", action) }
  func provider(_ provider: CXProvider, perform action: CXSetMutedCallAction) { note("mute \(action.isMuted)", action) }
  func provider(_ provider: CXProvider, perform action: CXSetGroupCallAction) { note("group", action) }
  func provider(_ provider: CXProvider, perform action: CXPlayDTMFCallAction) {
    note("digits \(action.digits)", action)
  }
  func provider(_ provider: CXProvider, timedOutPerforming action: CXAction) { log.append("timed out") }
  func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession) { log.append("activated") }
  func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession) { log.append("deactivated") }

  var changes: [CXCall] = []
  func callObserver(_ callObserver: CXCallObserver, callChanged call: CXCall) { changes.append(call) }
}
