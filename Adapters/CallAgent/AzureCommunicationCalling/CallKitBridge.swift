import AzureCommunicationCommon
import Foundation
import Koine
import KoineAVFoundation
import KoineCallKit

/// Reports the calls of agents with `CallKitOptions` to CallKit, and performs the actions of the phone's user on them. One for each
/// process of an app.
///
/// An act of the app, such as `mute`, is requested as an action, too, so that the call screen agrees with the SDK. `isMuted`, `isHeld`
/// and `isOver` of an entry tell the acts that are known to both sides.
final class CallKitBridge: NSObject, CXProviderDelegate, @unchecked Sendable {  // everything mutable sits in `state`
  private struct Entry {
    weak var incoming: IncomingCall?
    weak var call: Call?
    /// The answer of the user, while there is no incoming call or while it is being accepted.
    var answer: CXAnswerCallAction?
    /// The user has declined the call before there was an incoming call.
    var isDeclined = false
    var isMuted = false
    var isHeld = false
    /// The SDK has ended the call; the phone is told.
    var isOver = false
  }
  private struct State {
    var options: CallKitOptions
    var entries: [UUID: Entry] = [:]
  }

  private let provider: CXProvider
  private let controller = CXCallController()
  private let delivery: Delivery
  private let state: Lock<State>

  /// Keeps the bridge of a machine's app until the app is terminated.
  private final class Holder: Sendable { let bridge = Lock<CallKitBridge?>(nil) }

  /// The bridge of the world's app. Its options are replaced.
  static func of(_ world: World, _ options: CallKitOptions) -> CallKitBridge {
    let holder = world.machine.sharedObject { Holder() }
    if let known = holder.bridge.withLock({ $0 }) {
      known.use(options)
      return known
    }
    let made = World.$current.withValue(world) { CallKitBridge(options, delivery: world.delivery) }
    holder.bridge.withLock { $0 = made }
    world.machine.phone.onTermination { [weak holder] in
      let old = holder?.bridge.withLock { bridge in
        defer { bridge = nil }
        return bridge
      }
      withExtendedLifetime(old) {}  // released outside the lock
    }
    return made
  }

  private init(_ options: CallKitOptions, delivery: Delivery) {
    self.delivery = delivery
    state = Lock(State(options: options))
    provider = CXProvider(configuration: options.providerConfiguration)
    super.init()
    provider.setDelegate(self, queue: nil)
  }

  private func use(_ options: CallKitOptions) {
    state.withLock { $0.options = options }
    provider.configuration = options.providerConfiguration
  }

  private var options: CallKitOptions { state.withLock { $0.options } }
  /// Whether the app configures the audio session in the place of the SDK.
  var configuresAudio: Bool { options.configureAudioSession != nil }

  private func entry(_ id: UUID) -> Entry? { state.withLock { $0.entries[id] } }

  /// - Returns: false if there is no such entry.
  @discardableResult
  private func change(_ id: UUID, _ change: (inout Entry) -> Void) -> Bool {
    state.withLock { state in
      guard var entry = state.entries[id] else { return false }
      change(&entry)
      state.entries[id] = entry
      return true
    }
  }

  /// - Parameter refused: called on the delivery queue if the phone refuses the action.
  private func request(_ action: CXCallAction, refused: @escaping () -> Void = {}) {
    controller.requestTransaction(with: action) { error in
      guard let error else { return }
      NoEffect.complain("CallKit refuses \(type(of: action)): \(error)")
      refused()
    }
  }

  // MARK: Incoming calls

  private func update(_ caller: CallerInfo, hasVideo: Bool) -> CXCallUpdate {
    let options = options
    let info = options.provideRemoteInfo?(caller)
    let update = CXCallUpdate()
    update.localizedCallerName = info?.displayName ?? caller.displayName
    update.remoteHandle = info?.handle ?? CXHandle(type: .generic, value: caller.identifier.rawId)
    update.hasVideo = hasVideo
    update.supportsHolding = options.isCallHoldSupported
    (update.supportsGrouping, update.supportsUngrouping) = (false, false)
    return update
  }

  /// The app has got a push.
  func report(_ notification: PushNotificationInfo, _ completion: @escaping @Sendable ((any Error)?) -> Void) {
    let id = notification.callId
    let caller = CallerInfo(displayName: notification.fromDisplayName, identifier: notification.from)
    let update = update(caller, hasVideo: notification.incomingWithVideo)
    guard entry(id) == nil else {
      // The call rings already. The system asks for a report after each push, all the same.
      return provider.reportNewIncomingCall(with: id, update: update) { error in
        if case CXErrorCodeIncomingCallError.callUUIDAlreadyExists? = error {
          completion(nil)
        } else {
          completion(error)
        }
      }
    }
    report(id, update, Entry(), completion)
  }

  private func report(
    _ id: UUID, _ update: CXCallUpdate, _ entry: Entry, _ completion: @escaping @Sendable ((any Error)?) -> Void
  ) {
    state.withLock { $0.entries[id] = entry }
    provider.reportNewIncomingCall(with: id, update: update) { [weak self] error in
      if error != nil { self?.remove(id) }
      completion(error)
    }
  }

  private func remove(_ id: UUID) { state.withLock { $0.entries[id] = nil } }

  /// A call rings at an agent, perhaps after its push was reported.
  func rings(_ incoming: IncomingCall) {
    guard let id = UUID(uuidString: incoming.id) else { return }
    guard change(id, { $0.incoming = incoming }), let entry = entry(id) else {
      var entry = Entry()
      entry.incoming = incoming
      return report(id, update(incoming.callerInfo, hasVideo: incoming.isVideoEnabled), entry) { error in
        if let error { NoEffect.complain("CallKit refuses an incoming call: \(error)") }
      }
    }
    if entry.isDeclined {
      remove(id)
      incoming.reject { _ in }
    } else if let answer = entry.answer {
      // Once the app has the incoming call, too.
      delivery.deliver { [weak self] in self?.accept(incoming, answer) }
    }
  }

  /// The call has ended unanswered.
  func ended(_ incoming: IncomingCall, _ answer: Ring.State) {
    guard let id = UUID(uuidString: incoming.id), let entry = entry(id), entry.call == nil else { return }
    let reason: CXCallEndedReason =
      switch answer {
      case .unanswered: .unanswered
      case .handledElsewhere: .answeredElsewhere
      case .declined, .busy: .declinedElsewhere
      case .unreachable: .failed
      case .ringing, .accepted, .cancelled: .remoteEnded
      }
    isOver(id, reason)
  }

  /// The call of a push is over, or unknown.
  func isOver(_ id: UUID, _ reason: CXCallEndedReason = .remoteEnded) {
    guard let entry = entry(id) else { return }
    entry.answer?.fail()
    remove(id)
    provider.reportCall(with: id, endedAt: nil, reason: reason)
  }

  /// The app has rejected the call, or the phone's user has.
  func rejected(_ incoming: IncomingCall) {
    guard let id = UUID(uuidString: incoming.id), entry(id)?.isOver == false else { return }
    change(id) { $0.isOver = true }
    request(CXEndCallAction(call: id))
  }

  private func accept(_ incoming: IncomingCall, _ answer: CXAnswerCallAction) {
    if options.configureAudioSession?() != nil {
      answer.fail()  // which ends the call on the phone
      remove(answer.callUUID)
      return incoming.reject { _ in }  // decision: else the caller would hear it ring on
    }
    // The handler comes after `began(_:with:options:isAnswer:)`.
    incoming.accept(options: AcceptCallOptions()) { _, error in
      if error == nil { answer.fulfill() } else { answer.fail() }
    }
  }

  // MARK: Calls of the SDK

  /// A call begins: an outgoing one, or one that was accepted.
  func began(_ call: Call, with callees: [any CommunicationIdentifier], options: CallOptions?, isAnswer: Bool) {
    let id = call.callKitID
    if isAnswer {
      guard change(id, { entry in (entry.call, entry.isMuted) = (call, options?.startsMuted ?? false) }) else { return }
      if entry(id)?.answer == nil { request(CXAnswerCallAction(call: id)) }  // the app has accepted it
      return
    }
    var entry = Entry()
    entry.call = call
    state.withLock { $0.entries[id] = entry }
    let info = options?.callKitRemoteInfo
    let handle = info?.handle ?? CXHandle(type: .generic, value: callees.first?.rawId ?? call.session.request.room)
    let start = CXStartCallAction(call: id, handle: handle)
    start.isVideo = options?.pictures.isEmpty == false
    request(start) { [weak self, weak call] in  // such as one beyond `maximumCallGroups`
      self?.remove(id)
      call?.hangUp(options: nil) { _ in }
    }
    let update = CXCallUpdate()
    update.localizedCallerName = info?.displayName ?? handle.value
    update.supportsHolding = self.options.isCallHoldSupported
    (update.supportsGrouping, update.supportsUngrouping) = (false, false)
    provider.reportCall(with: id, updated: update)
  }

  /// On the delivery queue, before the app is told.
  func changed(_ call: Call) {
    let id = call.callKitID
    guard let entry = entry(id), entry.call === call else { return }
    switch call.state {
    case .connected: if call.direction == .outgoing { provider.reportOutgoingCall(with: id, connectedAt: nil) }
    case .disconnecting:
      guard !entry.isOver, call.current.withLock({ !$0.hangUps.isEmpty }) else { return }
      change(id) { $0.isOver = true }
      request(CXEndCallAction(call: id))  // the app hangs up
    case .disconnected:
      remove(id)
      entry.answer?.fail()
      if !entry.isOver { provider.reportCall(with: id, endedAt: nil, reason: Self.reason(call.callEndReason)) }
    default: break
    }
  }

  private static func reason(_ reason: CallEndReason) -> CXCallEndedReason {
    switch reason {
    case .timedOut, .unanswered: .unanswered
    case .networkTrouble: .failed
    default: .remoteEnded
    }
  }

  /// On the delivery queue: the microphone was muted or unmuted.
  func muted(_ call: Call) {
    let isMuted = call.isMuted
    var isNews = false
    change(call.callKitID) { entry in
      isNews = entry.call === call && entry.isMuted != isMuted
      entry.isMuted = isMuted
    }
    if isNews { request(CXSetMutedCallAction(call: call.callKitID, muted: isMuted)) }
  }

  /// On the delivery queue: the app has put the call on hold or resumed it, or the phone's user has.
  func held(_ call: Call, _ isHeld: Bool) {
    var isNews = false
    change(call.callKitID) { entry in
      isNews = entry.call === call && entry.isHeld != isHeld
      entry.isHeld = isHeld
    }
    if isNews { request(CXSetHeldCallAction(call: call.callKitID, onHold: isHeld)) }
  }

  // MARK: Actions

  func providerDidReset(_ provider: CXProvider) {
    let entries = state.withLock { state in
      defer { state.entries = [:] }
      return state.entries
    }
    for entry in entries.values {
      entry.answer?.fail()
      if let call = entry.call { call.hangUp(options: nil) { _ in } } else { entry.incoming?.reject { _ in } }
    }
  }

  func provider(_ provider: CXProvider, perform action: CXStartCallAction) {
    guard entry(action.callUUID)?.call != nil, options.configureAudioSession?() == nil else {
      entry(action.callUUID)?.call?.hangUp(options: nil) { _ in }
      return action.fail()
    }
    action.fulfill()
    provider.reportOutgoingCall(with: action.callUUID, startedConnectingAt: nil)
    if entry(action.callUUID)?.call?.state == .connected {
      provider.reportOutgoingCall(with: action.callUUID, connectedAt: nil)
    }
  }

  func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) {
    guard let entry = entry(action.callUUID) else { return action.fail() }
    if entry.call != nil { return action.fulfill() }  // the app has accepted it
    change(action.callUUID) { $0.answer = action }
    if let incoming = entry.incoming { accept(incoming, action) }
  }

  func provider(_ provider: CXProvider, perform action: CXEndCallAction) {
    let id = action.callUUID
    guard let entry = entry(id), !entry.isOver else {
      remove(id)
      return action.fulfill()
    }
    change(id) { $0.isOver = true }
    if let call = entry.call {
      call.hangUp(options: nil) { _ in action.fulfill() }
    } else if let incoming = entry.incoming {
      entry.answer?.fail()
      incoming.reject { _ in action.fulfill() }
      remove(id)
    } else {
      change(id) { entry in
        (entry.isDeclined, entry.answer) = (true, nil)
      }
      action.fulfill()
    }
  }

  func provider(_ provider: CXProvider, perform action: CXSetMutedCallAction) {
    guard let call = entry(action.callUUID)?.call else { return action.fail() }
    change(action.callUUID) { $0.isMuted = action.isMuted }
    call.setMuted(action.isMuted) { error in if error == nil { action.fulfill() } else { action.fail() } }
  }

  func provider(_ provider: CXProvider, perform action: CXSetHeldCallAction) {
    guard let call = entry(action.callUUID)?.call else { return action.fail() }
    change(action.callUUID) { $0.isHeld = action.isOnHold }
    let done: ((any Error)?) -> Void = { error in if error == nil { action.fulfill() } else { action.fail() } }
    if action.isOnHold { call.hold(completionHandler: done) } else { call.resume(completionHandler: done) }
  }

  func provider(_ provider: CXProvider, perform action: CXPlayDTMFCallAction) {
    let tones = action.digits.compactMap(Self.tone)
    guard let call = entry(action.callUUID)?.call, tones.count == action.digits.count, let last = tones.last else {
      return action.fail()
    }
    for tone in tones.dropLast() { call.sendDtmf(tone: tone) { _ in } }
    call.sendDtmf(tone: last) { error in if error == nil { action.fulfill() } else { action.fail() } }
  }

  private static func tone(_ digit: Character) -> DtmfTone? {
    "0123456789*#ABCD".firstIndex(of: digit).flatMap { index in
      DtmfTone(rawValue: "0123456789*#ABCD".distance(from: "0123456789*#ABCD".startIndex, to: index))
    }
  }
}
