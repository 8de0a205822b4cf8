import CrossVendorConventions
public import Foundation
import Koine

// Features by which people in a call tell each other something.

// MARK: Hands

/// A raised hand: its participant and its position in the order of hands.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsraisedhand)
public final class RaisedHand: NSObject, @unchecked Sendable {  // constant; identifiers are
  /// From one, in the order of raising.
  public let order: Int32
  public let identifier: any CommunicationIdentifier
  init(_ order: Int32, _ id: String) {
    (self.order, identifier) = (order, ParticipantIdentifiers.identifier(of: id))
  }
}

/// The participant that raised its hand.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsraisedhandchangedeventargs)
public final class RaisedHandChangedEventArgs: NSObject {
  public let identifier: any CommunicationIdentifier
  init(_ id: String) { identifier = ParticipantIdentifiers.identifier(of: id) }
}

/// The participant with the lowered hand.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsloweredhandchangedeventargs)
public final class LoweredHandChangedEventArgs: NSObject {
  public let identifier: any CommunicationIdentifier
  init(_ id: String) { identifier = ParticipantIdentifiers.identifier(of: id) }
}

/// Notified on the delivery queue of raised and lowered hands.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsraisehandcallfeaturedelegate)
public protocol RaiseHandCallFeatureDelegate: NSObjectProtocol {
  func raiseHandCallFeature(
    _ raiseHandCallFeature: RaiseHandCallFeature, didRaiseHand args: RaisedHandChangedEventArgs)
  func raiseHandCallFeature(
    _ raiseHandCallFeature: RaiseHandCallFeature, didLowerHand args: LoweredHandChangedEventArgs)
}

extension RaiseHandCallFeatureDelegate {
  public func raiseHandCallFeature(
    _ raiseHandCallFeature: RaiseHandCallFeature, didRaiseHand args: RaisedHandChangedEventArgs
  ) {}
  public func raiseHandCallFeature(
    _ raiseHandCallFeature: RaiseHandCallFeature, didLowerHand args: LoweredHandChangedEventArgs
  ) {}
}

/// Raised hands: the participants that ask to speak.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsraisehandcallfeature)
public final class RaiseHandCallFeature: CallFeature, @unchecked Sendable {  // everything mutable is locked
  private let listener = Listener<any RaiseHandCallFeatureDelegate>()
  private let hands = Lock(Marked(Convention.hand))

  public weak var delegate: (any RaiseHandCallFeatureDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  public var raisedHands: [RaisedHand] {
    let raised = hands.withLock { $0.values.sorted { ($0.value, $0.key) < ($1.value, $1.key) } }
    return raised.enumerated().map { RaisedHand(Int32(clamping: $0.offset + 1), $0.element.key) }
  }

  public func raiseHand(completionHandler: @escaping ((any Error)?) -> Void) {
    let next = hands.withLock { ($0.values.values.max() ?? 0) + 1 }
    complete(completionHandler) { $0.setAttribute(Convention.hand, to: String(next)) }
  }

  public func lowerHand(completionHandler: @escaping ((any Error)?) -> Void) {
    complete(completionHandler) { $0.setAttribute(Convention.hand, to: nil) }
  }

  public func lowerAllHands(completionHandler: @escaping ((any Error)?) -> Void) {
    lowerHands(participants: raisedHands.map(\.identifier), completionHandler: completionHandler)
  }

  public func lowerHands(
    participants: [any CommunicationIdentifier], completionHandler: @escaping ((any Error)?) -> Void
  ) {
    complete(completionHandler) { try $0.ask($0.session.participants(participants), Convention.lowerHand) }
  }

  nonisolated(nonsending) public func raiseHand() async throws {
    try await completion { raiseHand(completionHandler: $0) }
  }
  nonisolated(nonsending) public func lowerHand() async throws {
    try await completion { lowerHand(completionHandler: $0) }
  }
  nonisolated(nonsending) public func lowerAllHands() async throws {
    try await completion { lowerAllHands(completionHandler: $0) }
  }
  nonisolated(nonsending) public func lowerHands(participants: [any CommunicationIdentifier]) async throws {
    try await completion { lowerHands(participants: participants, completionHandler: $0) }
  }

  override func callStarted() { if let call { _ = hands.withLock { $0.read(call.session) } } }

  override func handle(_ event: SessionEvent) {
    guard let call, Marked.mayChange(by: event) else { return }
    let (added, removed) = hands.withLock { $0.read(call.session) }
    for id in added { delegate?.raiseHandCallFeature(self, didRaiseHand: RaisedHandChangedEventArgs(id)) }
    for id in removed { delegate?.raiseHandCallFeature(self, didLowerHand: LoweredHandChangedEventArgs(id)) }
  }
}

// MARK: Spotlight

/// A participant in the spotlight.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsspotlightedparticipant)
public final class SpotlightedParticipant: NSObject, @unchecked Sendable {  // constant; identifiers are
  public let identifier: any CommunicationIdentifier
  init(_ id: String) { identifier = ParticipantIdentifiers.identifier(of: id) }
}

/// The participants that entered or left the spotlight.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsspotlightchangedeventargs)
public final class SpotlightChangedEventArgs: NSObject {
  public let added: [SpotlightedParticipant]
  public let removed: [SpotlightedParticipant]
  init(_ added: [String], _ removed: [String]) {
    (self.added, self.removed) = (added.map(SpotlightedParticipant.init), removed.map(SpotlightedParticipant.init))
  }
}

/// Notified on the delivery queue of changes of the spotlight.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsspotlightcallfeaturedelegate)
public protocol SpotlightCallFeatureDelegate: NSObjectProtocol {
  func spotlightCallFeature(
    _ spotlightCallFeature: SpotlightCallFeature, didChangeSpotlight args: SpotlightChangedEventArgs)
}

extension SpotlightCallFeatureDelegate {
  public func spotlightCallFeature(
    _ spotlightCallFeature: SpotlightCallFeature, didChangeSpotlight args: SpotlightChangedEventArgs
  ) {}
}

/// Spotlight: the participants that are highlighted for the whole call.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsspotlightcallfeature)
public final class SpotlightCallFeature: CallFeature, @unchecked Sendable {  // everything mutable is locked
  private let listener = Listener<any SpotlightCallFeatureDelegate>()
  private let lit = Lock(Marked(Convention.spotlight))

  public weak var delegate: (any SpotlightCallFeatureDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  public var maxSpotlightedParticipants: Int32 { 7 }
  public var spotlightedParticipants: [SpotlightedParticipant] {
    lit.withLock { $0.values.keys.sorted() }.map(SpotlightedParticipant.init)
  }

  public func spotlight(
    identifiers: [any CommunicationIdentifier], completionHandler: @escaping ((any Error)?) -> Void
  ) {
    let limit = Int(maxSpotlightedParticipants)
    let lit = Set(spotlightedParticipants.map(\.identifier.rawId) + identifiers.map(\.rawId))
    complete(completionHandler) { call in
      if identifiers.isEmpty {
        throw CallingCommunicationErrors.spotlightParticipantEmptyList.error("the list of participants is empty")
      }
      if lit.count > limit { throw CallingCommunicationErrors.maxSpotlightReached.error("at most \(limit) at once") }
      try call.ask(call.session.participants(identifiers), Convention.setSpotlight, "1")
    }
  }

  public func cancelSpotlights(
    identifiers: [any CommunicationIdentifier], completionHandler: @escaping ((any Error)?) -> Void
  ) {
    complete(completionHandler) { call in
      if identifiers.isEmpty {
        throw CallingCommunicationErrors.spotlightParticipantEmptyList.error("the list of participants is empty")
      }
      try call.ask(call.session.participants(identifiers), Convention.setSpotlight, "0")
    }
  }

  public func cancelAllSpotlights(completionHandler: @escaping ((any Error)?) -> Void) {
    let ids = lit.withLock { Array($0.values.keys) }
    complete(completionHandler) { try $0.ask(ids, Convention.setSpotlight, "0") }
  }

  nonisolated(nonsending) public func spotlight(identifiers: [any CommunicationIdentifier]) async throws {
    try await completion { spotlight(identifiers: identifiers, completionHandler: $0) }
  }
  nonisolated(nonsending) public func cancelSpotlights(identifiers: [any CommunicationIdentifier]) async throws {
    try await completion { cancelSpotlights(identifiers: identifiers, completionHandler: $0) }
  }
  nonisolated(nonsending) public func cancelAllSpotlights() async throws {
    try await completion { cancelAllSpotlights(completionHandler: $0) }
  }

  override func callStarted() { if let call { _ = lit.withLock { $0.read(call.session) } } }

  override func handle(_ event: SessionEvent) {
    guard let call, Marked.mayChange(by: event) else { return }
    let (added, removed) = lit.withLock { $0.read(call.session) }
    guard !added.isEmpty || !removed.isEmpty else { return }
    delegate?.spotlightCallFeature(self, didChangeSpotlight: SpotlightChangedEventArgs(added, removed))
  }
}

// MARK: What both lean on

/// The participants of a call that have a certain attribute, the local participant included.
struct Marked {
  private(set) var values: [Koine.Participant.ID: Int] = [:]
  private let name: String

  init(_ name: String) { self.name = name }

  static func mayChange(by event: SessionEvent) -> Bool {
    switch event {
    case .attributesChanged, .participantJoined, .participantLeft, .stateChanged: true
    default: false
    }
  }

  /// - Returns: the participants that have gained the attribute and the participants that have lost it, each sorted by id.
  mutating func read(_ session: Session) -> (added: [Koine.Participant.ID], removed: [Koine.Participant.ID]) {
    let people = session.state.isEnded ? [] : [session.localParticipant] + session.participants
    let new = people.reduce(into: [:]) { $0[$1.id] = $1.attributes[name].flatMap { Int($0) } }
    defer { values = new }
    return (new.keys.filter { values[$0] == nil }.sorted(), values.keys.filter { new[$0] == nil }.sorted())
  }
}

extension CallFeature {
  /// Does something in the room and calls the handler, on the delivery queue, with what came of it.
  func complete(_ completionHandler: @escaping ((any Error)?) -> Void, _ work: (Call) throws -> Void) {
    guard let call else {
      let handler = Handler(completionHandler)
      let error = CallingCommunicationErrors.callFeatureExtensionNotFound.error("the call is gone")
      return delivery.deliver { handler(error) }
    }
    do {
      guard [.connected, .localHold, .remoteHold].contains(call.state) else {
        throw CallingCommunicationErrors.signalingOperationFailed.error("the call is not connected")
      }
      try work(call)
      call.answer(completionHandler)
    } catch {
      call.answer(completionHandler, error as NSError)
    }
  }
}

extension Call {
  /// Sends a request that each of the participants carries out itself. If the local participant is among them, it obeys at once.
  func ask(_ ids: [Koine.Participant.ID], _ topic: String, _ text: String = "") throws {
    let own = session.localParticipant.id
    if ids.contains(own) { obey(topic, text) }
    let others = ids.filter { $0 != own }
    guard !others.isEmpty else { return }
    try session.send(DataMessage(topic: topic, payload: Array(text.utf8), to: others))
  }

  /// On the delivery queue.
  func heard(_ message: ReceivedMessage) {
    guard message.topic.hasPrefix(Convention.prefix) else { return }
    obey(message.topic, String(decoding: message.payload, as: UTF8.self))
  }

  private func obey(_ topic: String, _ text: String) {
    switch topic {
    case Convention.mute:
      guard !isMuted else { return }
      setMuted(true) { [weak self] _ in self?.tellMutedByOthers() }
    case Convention.lowerHand: setAttribute(Convention.hand, to: nil)
    case Convention.setSpotlight: setAttribute(Convention.spotlight, to: text == "1" ? "1" : nil)
    default: break  // for features
    }
  }

  /// On the delivery queue: the room reports that another participant has muted the local microphone.
  func mutedByRoom() {
    let hasChanged = current.withLock { current in
      guard current.microphone?.isMutedByOther == true, !current.isMuted else { return false }
      current.isMuted = true
      return true
    }
    guard hasChanged else { return }
    tellMicrophone()
    tellMutedByOthers()
  }

  /// Mutes all connected remote participants.
  public func muteAllRemoteParticipants(completionHandler: @escaping ((any Error)?) -> Void) {
    mute(remoteParticipants.filter { $0.state == .connected }.map(\.id), completionHandler)
  }

  nonisolated(nonsending) public func muteAllRemoteParticipants() async throws {
    try await completion { muteAllRemoteParticipants(completionHandler: $0) }
  }

  func mute(_ ids: [Koine.Participant.ID], _ completionHandler: @escaping ((any Error)?) -> Void) {
    do {
      guard [.connected, .localHold, .remoteHold].contains(state) else {
        throw CallingCommunicationErrors.muteOthersNotFound.error("the call is not connected")
      }
      try ask(ids, Convention.mute)
      // The room mutes the streams as well, even if a participant's app ignores the request.
      for participant in session.participants where ids.contains(participant.id) {
        for stream in participant.tracks where stream.kind == .microphone { session.mute(stream.id) }
      }
      answer(completionHandler)
    } catch {
      answer(completionHandler, error as NSError)
    }
  }
}
