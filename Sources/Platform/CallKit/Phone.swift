public import Dispatch
public import Foundation
public import Koine
import KoineAVFoundation

/// The system's part of calls on a machine: what the call screen shows, what the user does with it, VoIP pushes, and whether the app
/// runs (not Apple's).
///
///     let phone = room.machine(of: "Ana").phone
///     await room.until("it rings") { phone.ringingCall != nil }
///     phone.answer()
///     await room.until("the call is connected") { phone.activeCall != nil }
///
/// Each act of the user is a transaction that the app's `CXProvider` performs. The act returns at once; `run` and `until` let the
/// app perform it. An action that the app does not complete within `actionTime` fails. Any thread may call any method.
public final class Phone: Sendable {
  /// A call as the phone shows it.
  public struct Call: Sendable, Hashable, Identifiable {
    public enum State: String, Sendable, Hashable {
      /// An incoming call that has not been answered.
      case ringing
      /// An outgoing call that the app has not reported as connecting.
      case dialing
      /// An outgoing call that the app has reported as connecting.
      case connecting
      case connected
      case ended
    }

    /// The UUID that the app has given the call.
    public let id: UUID
    public let isOutgoing: Bool
    public internal(set) var state: State
    /// The name that the app has reported.
    public internal(set) var name: String?
    public internal(set) var handle: CXHandle?
    public internal(set) var hasVideo = false
    public internal(set) var isMuted = false
    public internal(set) var isOnHold = false
    /// The call with which it forms a group.
    public internal(set) var groupedWith: UUID?
    /// The digits whose tones the app has played.
    public internal(set) var digits = ""
    /// Whether the call has been connected.
    public internal(set) var hasConnected = false
    /// Nil until the call has ended.
    public internal(set) var endReason: EndReason?
  }

  /// Why a call has ended.
  public enum EndReason: String, Sendable, Hashable {
    /// The user of this phone ended it.
    case hungUp
    /// The user of this phone declined it.
    case declined
    /// The app reported a failure, or failed to start or answer the call.
    case failed
    /// The app reported that the other side ended it.
    case remoteEnded
    /// The app reported that it was not answered in time.
    case unanswered
    /// The app reported that another device answered it.
    case answeredElsewhere
    /// The app reported that another device declined it.
    case declinedElsewhere
    /// The app or its provider ended, or the call service was reset.
    case dropped

    init(_ reason: CXCallEndedReason) {
      self =
        switch reason {
        case .failed: .failed
        case .remoteEnded: .remoteEnded
        case .unanswered: .unanswered
        case .answeredElsewhere: .answeredElsewhere
        case .declinedElsewhere: .declinedElsewhere
        }
    }
  }

  /// An action that a provider was asked to perform.
  public struct Action: Sendable, Hashable, Identifiable {
    public enum Kind: Sendable, Hashable {
      case start, answer, end
      case setHeld(Bool)
      case setMuted(Bool)
      case setGroup(UUID?)
      case playDTMF(String)
    }
    public enum Outcome: String, Sendable, Hashable { case pending, fulfilled, failed, timedOut }
    /// The UUID of the action.
    public let id: UUID
    public let call: UUID
    public let kind: Kind
    public internal(set) var outcome = Outcome.pending
  }

  /// The time that an app has to complete an action. Apple publishes no figure; the value is Koine's.
  public static let actionTime = Duration.seconds(30)
  /// The time from the fulfilment of an action to the change of the audio session that follows from it.
  public static let audioDelay = Duration.milliseconds(100)

  struct Entry {
    var call: Call
    let owner: ObjectIdentifier
    /// An answer is being performed.
    var isAnswering = false
    /// The app has started or answered the call.
    var wantsAudio = false
    var supportsHolding = true, supportsGrouping = true, supportsUngrouping = true, supportsDTMF = true
  }

  private struct WeakProvider {
    weak var provider: CXProvider?
    let id: ObjectIdentifier
  }
  private struct WeakObserver { weak var observer: CXCallObserver? }

  private enum Audio: Equatable { case none, waiting, active(ObjectIdentifier) }

  private struct State {
    var entries: [Entry] = []
    var recents: [Call] = []
    var actions: [Action] = []
    var providers: [WeakProvider] = []
    var observers: [WeakObserver] = []
    var audio = Audio.none
    var isInDoNotDisturb = false
    var blocked: Set<String> = []
    /// Reports of incoming calls, refused ones too.
    var reports = 0
  }

  private let state = Lock(State())
  let app = Lock(AppState())
  let delivery: Delivery
  let lane: Lane
  private struct WeakMachine { weak var machine: Machine? }
  private let machineReference: Lock<WeakMachine>

  init(_ machine: Machine) {
    machineReference = Lock(WeakMachine(machine: machine))
    delivery = machine.delivery
    lane = machine.scheduler.lane("phone")
  }

  /// Nil once the machine is gone.
  var machine: Machine? { machineReference.withLock { $0.machine } }

  // MARK: What the phone shows

  /// Calls that have not ended, in the order in which they began.
  public var calls: [Call] { state.withLock { $0.entries.map(\.call) } }
  /// Ended calls, the latest last. Without the calls of providers with `includesCallsInRecents == false`.
  public var recents: [Call] { state.withLock { $0.recents } }
  /// The first call that rings; nil if no call rings.
  public var ringingCall: Call? { calls.first { $0.state == .ringing } }
  /// The connected call that is not on hold; nil if there is none.
  public var activeCall: Call? { calls.first { $0.state == .connected && !$0.isOnHold } }
  /// All actions that providers were asked to perform, in order.
  public var actions: [Action] { state.withLock { $0.actions } }

  /// Whether the phone refuses incoming calls with `filteredByDoNotDisturb`.
  public var isInDoNotDisturb: Bool { state.withLock { $0.isInDoNotDisturb } }
  /// Turns Do Not Disturb on or off.
  public func setDoNotDisturb(_ isOn: Bool) { state.withLock { $0.isInDoNotDisturb = isOn } }
  /// Refuses incoming calls from a handle with this value, with `filteredByBlockList`.
  public func block(_ handle: String) { state.withLock { _ = $0.blocked.insert(handle) } }

  // MARK: Acts of the user

  /// Answers a call. If another call is active, the phone puts it on hold in the same transaction. It ends that call instead if the call
  /// does not support holding, or if the provider's `maximumCallGroups` is reached.
  /// - Parameter id: nil: the first call that rings.
  /// - Returns: false if no such call rings, or its answer is already being performed.
  @discardableResult
  public func answer(_ id: UUID? = nil) -> Bool {
    let entries = state.withLock { $0.entries }
    guard
      let entry = entries.first(where: {
        $0.call.state == .ringing && !$0.isAnswering && (id == nil || $0.call.id == id)
      }), let provider = provider(entry.owner)
    else { return false }
    let others = entries.filter { $0.call.id != entry.call.id && ($0.call.state != .ringing || $0.isAnswering) }
    let hasSpace = Self.groups(of: others) < provider.configuration.maximumCallGroups
    let actions: [CXAction] = others.filter { !$0.call.isOnHold }.map { other in
      hasSpace && other.supportsHolding && other.call.state == .connected
        ? CXSetHeldCallAction(call: other.call.id, onHold: true) : CXEndCallAction(call: other.call.id)
    }
    perform(CXTransaction(actions: actions + [CXAnswerCallAction(call: entry.call.id)]))
    return true
  }

  /// Ends a call, or declines it while it rings.
  /// - Parameter id: nil: the active call, else the first call.
  /// - Returns: false if there is no such call.
  @discardableResult
  public func end(_ id: UUID? = nil) -> Bool { act(on: id) { CXEndCallAction(call: $0) } }

  /// Mutes or unmutes a call on the call screen.
  /// - Parameter id: nil: the active call, else the first call.
  /// - Returns: false if there is no such call.
  @discardableResult
  public func setMuted(_ isMuted: Bool, _ id: UUID? = nil) -> Bool {
    act(on: id) { CXSetMutedCallAction(call: $0, muted: isMuted) }
  }

  /// Puts a connected call on hold, or resumes it. When a call is resumed, the phone puts the active call on hold.
  /// - Parameter id: nil: the active call, else the first call.
  /// - Returns: false if there is no such call, or it does not support holding.
  @discardableResult
  public func setOnHold(_ isOnHold: Bool, _ id: UUID? = nil) -> Bool {
    guard let entry = entry(id), entry.supportsHolding, entry.call.state == .connected else { return false }
    var actions: [CXAction] = [CXSetHeldCallAction(call: entry.call.id, onHold: isOnHold)]
    if !isOnHold, let active = activeCall, active.id != entry.call.id {
      actions.insert(CXSetHeldCallAction(call: active.id, onHold: true), at: 0)
    }
    perform(CXTransaction(actions: actions))
    return true
  }

  /// Taps digits on the keypad of the call screen.
  /// - Parameter id: nil: the active call, else the first call.
  /// - Returns: false if there is no such call, or it does not support tones.
  @discardableResult
  public func play(_ digits: String, _ id: UUID? = nil) -> Bool {
    guard let entry = entry(id), entry.supportsDTMF else { return false }
    perform(CXTransaction(action: CXPlayDTMFCallAction(call: entry.call.id, digits: digits, type: .singleTone)))
    return true
  }

  /// Calls the handle of an ended call. The provider that had the call, else the app's first provider, is asked to start it.
  ///
  /// On iOS the app gets an `INStartCallIntent` and requests the action itself. There is no Intents here.
  /// - Returns: the new call's UUID; nil if the call has no handle, or no provider is there.
  @discardableResult
  public func callBack(_ call: Call) -> UUID? {
    guard let handle = call.handle, providers.contains(where: { !$0.isInvalid }) else { return nil }
    let action = CXStartCallAction(call: UUID(), handle: handle)
    action.isVideo = call.hasVideo
    return request(CXTransaction(action: action)) == nil ? action.callUUID : nil
  }

  /// Restarts the call service: all calls are dropped, and providers are told by `providerDidReset(_:)`.
  public func reset() {
    for call in calls { end(call.id, .dropped) }
    for provider in providers { provider.call { $1.providerDidReset($0) } }
  }

  private func act(on id: UUID?, _ make: (UUID) -> CXCallAction) -> Bool {
    guard let entry = entry(id) else { return false }
    perform(CXTransaction(action: make(entry.call.id)))
    return true
  }

  private func entry(_ id: UUID?) -> Entry? {
    let entries = state.withLock { $0.entries }
    if let id { return entries.first { $0.call.id == id } }
    return entries.first { $0.call.state == .connected && !$0.call.isOnHold } ?? entries.first
  }

  private static func groups(of entries: [Entry]) -> Int {
    let calls = Set(entries.map(\.call.id))
    return entries.count { entry in entry.call.groupedWith.map { !calls.contains($0) } ?? true }
  }

  // MARK: Providers and observers

  func add(_ provider: CXProvider) {
    state.withLock { $0.providers.append(WeakProvider(provider: provider, id: provider.id)) }
  }

  func add(_ observer: CXCallObserver) {
    state.withLock { state in
      state.observers.removeAll { $0.observer == nil }
      state.observers.append(WeakObserver(observer: observer))
    }
  }

  func removeProvider(_ id: ObjectIdentifier) {
    let calls = state.withLock { state in
      state.providers.removeAll { $0.id == id }
      return state.entries.filter { $0.owner == id }.map(\.call.id)
    }
    for call in calls { end(call, .dropped) }
  }

  private var providers: [CXProvider] { state.withLock { $0.providers.compactMap(\.provider) } }
  private func provider(_ id: ObjectIdentifier) -> CXProvider? { providers.first { $0.id == id } }

  /// For authors of platform modules: runs `body` on the queue of the app, or on the delivery queue if the app has given none.
  public func deliver(on queue: DispatchQueue?, _ body: @escaping @Sendable () -> Void) {
    delivery.deliver { [delivery] in
      if let queue, queue !== delivery.queue { queue.async(execute: body) } else { body() }
    }
  }

  // MARK: Reports of providers

  func ring(_ id: UUID, _ update: CXCallUpdate.Values, _ provider: CXProvider) -> CXErrorCodeIncomingCallError? {
    let problem = state.withLock { state -> CXErrorCodeIncomingCallError.Code? in
      state.reports += 1
      if state.entries.contains(where: { $0.call.id == id }) { return .callUUIDAlreadyExists }
      if state.isInDoNotDisturb { return .filteredByDoNotDisturb }
      if let handle = update.remoteHandle, state.blocked.contains(handle.value) { return .filteredByBlockList }
      var entry = Entry(call: Call(id: id, isOutgoing: false, state: .ringing), owner: provider.id)
      entry.apply(update)
      state.entries.append(entry)
      return nil
    }
    if let problem { return CXErrorCodeIncomingCallError(problem) }
    changed(id)
    return nil
  }

  /// The number of incoming calls that were reported, refused ones too.
  var reports: Int { state.withLock { $0.reports } }

  func update(_ id: UUID, _ update: CXCallUpdate.Values, by provider: CXProvider) {
    change(id, of: provider) { $0.apply(update) }
  }

  func reportOutgoing(_ id: UUID, _ new: Call.State, by provider: CXProvider) {
    change(id, of: provider) { entry in
      guard entry.call.isOutgoing, [.dialing, .connecting].contains(entry.call.state) else { return }
      entry.call.state = new
      entry.call.hasConnected = new == .connected
    }
  }

  func reportEnd(of id: UUID, _ reason: EndReason, by provider: CXProvider) {
    guard state.withLock({ $0.entries.contains { $0.call.id == id && $0.owner == provider.id } }) else { return }
    end(id, reason)
  }

  // MARK: Transactions

  /// - Returns: why the transaction is refused; nil once a provider was asked to perform it.
  func request(_ transaction: CXTransaction) -> CXErrorCodeRequestTransactionError? {
    guard !transaction.actions.isEmpty else { return CXErrorCodeRequestTransactionError(.emptyTransaction) }
    for action in transaction.actions {
      if let problem = problem(of: action) { return CXErrorCodeRequestTransactionError(problem) }
    }
    perform(transaction)
    return nil
  }

  private func problem(of action: CXAction) -> CXErrorCodeRequestTransactionError.Code? {
    guard let action = action as? CXCallAction, !action.isComplete else { return .invalidAction }
    let entries = state.withLock { $0.entries }
    let entry = entries.first { $0.call.id == action.callUUID }
    if action is CXStartCallAction {
      guard let provider = providers.first(where: { !$0.isInvalid }) else { return .unknownCallProvider }
      if entry != nil { return .callUUIDAlreadyExists }
      return Self.groups(of: entries) < provider.configuration.maximumCallGroups ? nil : .maximumCallGroupsReached
    }
    guard let entry else { return .unknownCallUUID }
    let isPossible =
      switch action {
      case is CXAnswerCallAction: entry.call.state == .ringing && !entry.isAnswering
      case is CXSetHeldCallAction: entry.call.state == .connected && entry.supportsHolding
      case is CXPlayDTMFCallAction: entry.supportsDTMF
      case let group as CXSetGroupCallAction:
        group.callUUIDToGroupWith.map { other in entry.supportsGrouping && entries.contains { $0.call.id == other } }
          ?? entry.supportsUngrouping
      default: true
      }
    return isPossible ? nil : .invalidAction
  }

  /// Asks the providers of the calls to perform the actions.
  private func perform(_ transaction: CXTransaction) {
    let timeout = lane.scheduler.now + Self.actionTime
    var groups: [(provider: CXProvider, actions: [CXAction])] = []
    for case let action as CXCallAction in transaction.actions {
      guard let provider = begin(action, until: timeout) else {
        action.fail()
        continue
      }
      if let index = groups.firstIndex(where: { $0.provider === provider }) {
        groups[index].actions.append(action)
      } else {
        groups.append((provider, [action]))
      }
    }
    if groups.count == 1 { return groups[0].provider.perform(transaction) }
    for group in groups { group.provider.perform(CXTransaction(actions: group.actions)) }
  }

  /// Registers an action that begins, and its timeout.
  /// - Returns: the provider that has to perform it; nil if it has ended.
  private func begin(_ action: CXCallAction, until timeout: Tick) -> CXProvider? {
    let all = providers.filter { !$0.isInvalid }
    let owner = state.withLock { state -> ObjectIdentifier? in
      state.actions.append(Action(id: action.uuid, call: action.callUUID, kind: Self.kind(of: action)))
      if let action = action as? CXStartCallAction, let provider = all.first {
        var entry = Entry(call: Call(id: action.callUUID, isOutgoing: true, state: .dialing), owner: provider.id)
        (entry.call.handle, entry.call.hasVideo) = (action.handle, action.isVideo)
        state.entries.append(entry)
      }
      guard let index = state.entries.firstIndex(where: { $0.call.id == action.callUUID }) else { return nil }
      if action is CXAnswerCallAction { state.entries[index].isAnswering = true }
      return state.entries[index].owner
    }
    let alarm = lane.post(at: timeout) { [weak self, weak action] in
      guard let self, let action else { return }
      timeOut(action)
    }
    action.begin(until: date(of: timeout)) { [weak self] action, outcome in
      alarm.cancel()
      if let action = action as? CXCallAction { self?.completed(action, outcome) }
    }
    if action is CXStartCallAction { changed(action.callUUID) }
    return all.first { $0.id == owner }
  }

  private static func kind(of action: CXCallAction) -> Action.Kind {
    switch action {
    case is CXStartCallAction: .start
    case is CXAnswerCallAction: .answer
    case let action as CXSetHeldCallAction: .setHeld(action.isOnHold)
    case let action as CXSetMutedCallAction: .setMuted(action.isMuted)
    case let action as CXSetGroupCallAction: .setGroup(action.callUUIDToGroupWith)
    case let action as CXPlayDTMFCallAction: .playDTMF(action.digits)
    default: .end
    }
  }

  private func timeOut(_ action: CXCallAction) {
    let owner = state.withLock { $0.entries.first { $0.call.id == action.callUUID }?.owner }
    guard action.complete(.failed) else { return }
    setOutcome(.timedOut, of: action)
    guard let owner, let provider = provider(owner) else { return }
    provider.call { $1.provider($0, timedOutPerforming: action) }
  }

  private func setOutcome(_ outcome: Action.Outcome, of action: CXAction) {
    state.withLock { state in
      if let index = state.actions.firstIndex(where: { $0.id == action.uuid }) {
        state.actions[index].outcome = outcome
      }
    }
  }

  private func date(of tick: Tick) -> Date {
    let scheduler = lane.scheduler
    return scheduler.kind == .real
      ? Date(timeIntervalSinceNow: (tick - scheduler.now) / .seconds(1))
      : Date(timeIntervalSince1970: Double(tick.nanoseconds) / 1_000_000_000)
  }

  private func completed(_ action: CXCallAction, _ outcome: CXAction.Outcome) {
    setOutcome(outcome == .fulfilled ? .fulfilled : .failed, of: action)
    let id = action.callUUID
    guard outcome == .fulfilled else {
      if action is CXStartCallAction || action is CXAnswerCallAction { end(id, .failed) }
      return
    }
    if action is CXEndCallAction {
      let isRinging = state.withLock { $0.entries.first { $0.call.id == id }?.call.state == .ringing }
      return end(id, isRinging ? .declined : .hungUp)
    }
    change(id) { entry in
      switch action {
      case is CXStartCallAction: entry.wantsAudio = true
      case is CXAnswerCallAction:
        (entry.isAnswering, entry.wantsAudio) = (false, true)
        (entry.call.state, entry.call.hasConnected) = (.connected, true)
      case let action as CXSetHeldCallAction: entry.call.isOnHold = action.isOnHold
      case let action as CXSetMutedCallAction: entry.call.isMuted = action.isMuted
      case let action as CXSetGroupCallAction: entry.call.groupedWith = action.callUUIDToGroupWith
      case let action as CXPlayDTMFCallAction: entry.call.digits += action.digits
      default: break
      }
    }
  }

  // MARK: Changes

  private func change(_ id: UUID, of provider: CXProvider? = nil, _ change: (inout Entry) -> Void) {
    let isThere = state.withLock { state in
      guard let index = state.entries.firstIndex(where: { $0.call.id == id }) else { return false }
      guard provider == nil || state.entries[index].owner == provider?.id else { return false }
      change(&state.entries[index])
      return true
    }
    if isThere { changed(id) }
  }

  private func changed(_ id: UUID) {
    if let call = calls.first(where: { $0.id == id }) { notifyObservers(of: call) }
    updateAudio()
  }

  func end(_ id: UUID, _ reason: EndReason) {
    let owner = state.withLock { $0.entries.first { $0.call.id == id }?.owner }
    let isKept = owner.flatMap { provider($0) }?.configuration.includesCallsInRecents ?? true
    let ended = state.withLock { state -> Call? in
      guard let index = state.entries.firstIndex(where: { $0.call.id == id }) else { return nil }
      var call = state.entries.remove(at: index).call
      (call.state, call.endReason) = (.ended, reason)
      if isKept { state.recents.append(call) }
      return call
    }
    guard let ended else { return }
    notifyObservers(of: ended)
    updateAudio()
  }

  private func notifyObservers(of call: Call) {
    let observers = state.withLock { $0.observers.compactMap(\.observer) }
    for observer in observers { observer.callChanged(CXCall(call)) }
  }

  // MARK: The audio session

  /// The first call takes the audio at once. It flows when the session is activated for a call, after the audio delay.
  private func updateAudio() {
    let (isFirst, isDue) = state.withLock { state in
      let isFirst = state.audio == .none && !state.entries.isEmpty
      if isFirst { state.audio = .waiting }
      return (isFirst, state.audio != Self.audio(for: state.entries))
    }
    if isFirst { session?.setSystemCalls(.waiting) }
    if isDue {
      lane.post(at: lane.scheduler.now + Self.audioDelay) { [weak self] in self?.switchAudio() }
    }
  }

  private var session: AVAudioSession? { machine.map(AVAudioSession.of) }

  private static func audio(for entries: [Entry]) -> Audio {
    if let entry = entries.first(where: { $0.wantsAudio && !$0.call.isOnHold }) { return .active(entry.owner) }
    return entries.isEmpty ? .none : .waiting
  }

  private func switchAudio() {
    let (old, new) = state.withLock { state in
      defer { state.audio = Self.audio(for: state.entries) }
      return (state.audio, Self.audio(for: state.entries))
    }
    guard old != new, let session else { return }
    switch new {
    case .none: session.setSystemCalls(old == .waiting ? .none : .inactive)
    case .waiting: session.setSystemCalls(.waiting)
    case .active: session.setSystemCalls(.active)
    }
    if case .active(let owner) = old { provider(owner)?.call { $1.provider($0, didDeactivate: session) } }
    if case .active(let owner) = new { provider(owner)?.call { $1.provider($0, didActivate: session) } }
  }
}

extension Phone.Entry {
  mutating func apply(_ update: CXCallUpdate.Values) {
    call.handle = update.remoteHandle ?? call.handle
    call.name = update.localizedCallerName ?? call.name
    call.hasVideo = update.hasVideo ?? call.hasVideo
    supportsHolding = update.supportsHolding ?? supportsHolding
    supportsGrouping = update.supportsGrouping ?? supportsGrouping
    supportsUngrouping = update.supportsUngrouping ?? supportsUngrouping
    supportsDTMF = update.supportsDTMF ?? supportsDTMF
  }
}

extension Machine {
  /// The system's part of calls on this machine (not Apple's).
  public var phone: Phone { sharedObject { Phone(self) } }
}
