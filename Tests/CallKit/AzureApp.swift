import AzureCommunicationCalling
import CallKit
import PushKit
import UIKit

/// An app of the call-agent style that is launched by pushes, as the vendor's guide has it. It signs in when it is launched.
final class AzureApp: NSObject, UIApplicationDelegate, PKPushRegistryDelegate, CallAgentDelegate {
  /// The SDK reports calls to CallKit.
  var usesCallKit = true
  var isCallHoldSupported = true
  var groups = 2
  var isRungByPushOnly = false
  var pushLifetime: TimeInterval?
  /// Configures the audio session in the place of the SDK.
  var configureAudioSession: (() -> (any Error)?)?
  /// The app reports the call of a push.
  var reportsPushes = true
  /// The app's provider; the SDK has its own.
  var own: PhoneApp?

  private(set) var launches = 0
  private(set) var isRegistered = false
  private(set) var pushes = 0
  private(set) var pushErrors: [Int] = []
  private(set) var incoming: IncomingCall?
  private(set) var incomingCount = 0
  private(set) var call: Call?
  private(set) var agent: CallAgent?
  private let token: String
  private let client = CallClient()
  private let registry = PKPushRegistry(queue: .main)
  private var waiting: [PushNotificationInfo] = []

  init(token: String) {
    self.token = token
    super.init()
  }

  @MainActor func application(
    _ application: UIApplication, didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    launches += 1
    signIn()
    registry.delegate = self
    registry.desiredPushTypes = [.voIP]
    return true
  }

  private func signIn() {
    guard let credential = try? CommunicationTokenCredential(token: token) else { return }
    let options = CallAgentOptions()
    options.displayName = "Ana"
    options.disableInternalPushForIncomingCall = isRungByPushOnly
    if let pushLifetime { options.pushNotificationTtl = pushLifetime }
    if usesCallKit { options.callKitOptions = callKitOptions() }
    client.createCallAgent(userCredential: credential, options: options) { [weak self] agent, _ in
      guard let self, let agent else { return }
      self.agent = agent
      agent.delegate = self
      register()
      for notification in waiting { handle(notification) }
      waiting = []
    }
  }

  private func callKitOptions() -> CallKitOptions {
    let options = CallKitOptions(with: CXProviderConfiguration())
    options.providerConfiguration.maximumCallGroups = groups
    options.configureAudioSession = configureAudioSession
    options.isCallHoldSupported = isCallHoldSupported
    options.provideRemoteInfo = { caller in
      let info = CallKitRemoteInfo()
      info.displayName = "Dr " + caller.displayName
      info.handle = CXHandle(type: .generic, value: caller.identifier.rawId)
      return info
    }
    return options
  }

  private func register() {
    guard let agent, let token = registry.pushToken(for: .voIP) else { return }
    agent.registerPushNotifications(deviceToken: token) { [weak self] in self?.isRegistered = $0 == nil }
  }

  private func handle(_ notification: PushNotificationInfo) {
    guard let agent else { return waiting.append(notification) }
    agent.handlePush(notification: notification) { [weak self] error in
      self?.pushErrors.append((error as NSError?)?.code ?? 0)
      guard error != nil, let own = self?.own else { return }
      own.provider.reportCall(with: notification.callId, endedAt: nil, reason: .remoteEnded)
    }
  }

  // MARK: PKPushRegistryDelegate

  func pushRegistry(_ registry: PKPushRegistry, didUpdate pushCredentials: PKPushCredentials, for type: PKPushType) {
    register()
  }

  func pushRegistry(
    _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
    completion: @escaping () -> Void
  ) {
    pushes += 1
    guard reportsPushes else { return completion() }
    let notification = PushNotificationInfo.fromDictionary(payload.dictionaryPayload)
    if let own {
      own.ring(notification.callId)
    } else {
      CallClient.reportIncomingCall(with: notification, callKitOptions: callKitOptions()) { _ in }
    }
    handle(notification)
    completion()
  }

  // MARK: CallAgentDelegate

  func callAgent(_ callAgent: CallAgent, didRecieveIncomingCall incomingCall: IncomingCall) {
    incoming = incomingCall
    incomingCount += 1
  }
  func callAgent(_ callAgent: CallAgent, didUpdateCalls args: CallsUpdatedEventArgs) {
    call = args.addedCalls.last ?? call
  }
}
