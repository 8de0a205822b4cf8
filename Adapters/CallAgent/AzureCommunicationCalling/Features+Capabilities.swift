public import Foundation
import Koine

/// Role of a participant in a call or room.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public enum CallParticipantRole: Int, Sendable {
  case uninitialized, attendee, consumer, presenter, organizer, coOrganizer
}

extension CallParticipantRole {
  /// A participant that may moderate is a presenter, one that may publish media an attendee, any other one a consumer. Rooms have no
  /// organizers.
  init(_ permissions: Set<ParticipantPermission>?) {
    guard let permissions else {
      self = .uninitialized
      return
    }
    self =
      permissions.contains(.moderate)
      ? .presenter : permissions.isDisjoint(with: [.microphone, .camera, .screen]) ? .consumer : .attendee
  }

  /// A role as the room tells it. The vendor's SDK for iOS has no collaborator: one is an attendee that may share its screen.
  init(attribute: String?) {
    self =
      switch attribute {
      case "presenter": .presenter
      case "collaborator", "attendee": .attendee
      case "consumer": .consumer
      default: .uninitialized
      }
  }
}

extension Call {
  /// The local participant's role, by its permissions in the room; `uninitialized` before they are known.
  public var callParticipantRole: CallParticipantRole { current.withLock { $0.role } }

  /// On the delivery queue: the permissions may have changed.
  func updateRole() {
    let new = CallParticipantRole(session.permissions)
    let hasChanged = current.withLock { current in
      defer { current.role = new }
      return current.role != new
    }
    guard hasChanged else { return }
    let args = PropertyChangedEventArgs()
    delegate?.call(self, didChangeRole: args)
    events.onRoleChanged?(args)
  }
}

/// An action that a participant may take.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public enum ParticipantCapabilityType: Int, Sendable, CaseIterable {
  case turnVideoOn, unmuteMicrophone, shareScreen, removeParticipant, hangUpForEveryone, addTeamsUser
  case addCommunicationUser, addPhoneNumber, manageLobby, spotlightParticipant, removeParticipantSpotlight
  case blurBackground, customBackground, startLiveCaptions, raiseHand, muteOthers
}

/// Why capabilities have changed.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public enum CapabilitiesChangedReason: Int, Sendable {
  case roleChanged, userPolicyChanged, meetingDetailsChanged
}

/// Why a capability is permitted or not.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public enum CapabilityResolutionReason: Int, Sendable {
  case capable, callTypeRestricted, userPolicyRestricted, roleRestricted, meetingRestricted, featureNotSupported
  case notInitialized, notCapable
}

/// Whether the local participant may take an action, and why not.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class ParticipantCapability: NSObject, Sendable {
  public let type: ParticipantCapabilityType
  public let isAllowed: Bool
  public let reason: CapabilityResolutionReason

  fileprivate init(_ type: ParticipantCapabilityType, _ reason: CapabilityResolutionReason) {
    (self.type, self.reason, isAllowed) = (type, reason, reason == .capable)
  }
}

/// The capabilities that have changed, with the reason.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class CapabilitiesChangedEventArgs: NSObject {
  public let changedCapabilities: [ParticipantCapability]
  public let reason: CapabilitiesChangedReason

  init(_ changedCapabilities: [ParticipantCapability], _ reason: CapabilitiesChangedReason) {
    (self.changedCapabilities, self.reason) = (changedCapabilities, reason)
  }
}

/// Notified on the delivery queue of changes of the capabilities call feature.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public protocol CapabilitiesCallFeatureDelegate: NSObjectProtocol {
  func capabilitiesCallFeature(
    _ capabilitiesCallFeature: CapabilitiesCallFeature, didChangeCapabilities args: CapabilitiesChangedEventArgs)
}

extension CapabilitiesCallFeatureDelegate {
  public func capabilitiesCallFeature(
    _ capabilitiesCallFeature: CapabilitiesCallFeature, didChangeCapabilities args: CapabilitiesChangedEventArgs
  ) {}
}

/// Closures for the changes of the capabilities call feature, called on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class CapabilitiesCallFeatureEvents: NSObject, @unchecked Sendable {  // the closure is locked
  @EventClosure public var onCapabilitiesChanged: ((CapabilitiesChangedEventArgs) -> Void)?
  public func removeAll() { onCapabilitiesChanged = nil }
}

/// What the local participant may do, by its permissions in the room. Before the room is entered, the reason of every capability is
/// `notInitialized`.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class CapabilitiesCallFeature: CallFeature, @unchecked Sendable {  // everything mutable is locked
  private struct State {
    var reasons: [ParticipantCapabilityType: CapabilityResolutionReason] = [:]
    var role = CallParticipantRole.uninitialized
  }

  public let events = CapabilitiesCallFeatureEvents()
  private let listener = Listener<any CapabilitiesCallFeatureDelegate>()
  private let state = Lock(State())

  public weak var delegate: (any CapabilitiesCallFeatureDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  /// All capabilities, in the order of their types.
  public var capabilities: [ParticipantCapability] {
    let reasons = state.withLock { $0.reasons }
    return ParticipantCapabilityType.allCases.map { ParticipantCapability($0, reasons[$0] ?? .notInitialized) }
  }

  override func callStarted() { _ = read() }

  override func handle(_ event: SessionEvent) {
    switch event {
    case .stateChanged(.connected), .permissionsChanged: break
    default: return
    }
    let (changed, reason) = read()
    guard !changed.isEmpty else { return }
    let args = CapabilitiesChangedEventArgs(changed, reason)
    delegate?.capabilitiesCallFeature(self, didChangeCapabilities: args)
    events.onCapabilitiesChanged?(args)
  }

  /// - Returns: the capabilities that have changed, in the order of their types.
  private func read() -> ([ParticipantCapability], CapabilitiesChangedReason) {
    guard let call else { return ([], .roleChanged) }
    let permissions = call.session.permissions
    let role = CallParticipantRole(permissions)
    let reasons = ParticipantCapabilityType.allCases.map { ($0, $0.reason(with: permissions)) }
    return state.withLock { state in
      let changed = reasons.filter { $1 != state.reasons[$0] ?? .notInitialized }
      let reason = state.role == role ? CapabilitiesChangedReason.userPolicyChanged : .roleChanged
      state.role = role
      state.reasons = Dictionary(uniqueKeysWithValues: reasons)
      return (changed.map { ParticipantCapability($0, $1) }, reason)
    }
  }
}

extension ParticipantCapabilityType {
  /// - Parameter permissions: nil: not known yet.
  fileprivate func reason(with permissions: Set<ParticipantPermission>?) -> CapabilityResolutionReason {
    guard let permissions else { return .notInitialized }
    func requiring(_ needed: ParticipantPermission...) -> CapabilityResolutionReason {
      permissions.isSuperset(of: needed) ? .capable : .roleRestricted
    }
    return switch self {
    case .turnVideoOn: requiring(.camera)
    case .unmuteMicrophone: requiring(.microphone)
    case .shareScreen: requiring(.screen)
    case .removeParticipant, .hangUpForEveryone: requiring(.moderate)
    // Requests by message, which the room takes from moderators.
    case .spotlightParticipant, .removeParticipantSpotlight, .muteOthers: requiring(.moderate, .data)
    case .manageLobby: requiring(.admit)
    // Everyone may ring others and raise a hand. Numbers are rung as users are: there is no telephone network.
    case .addCommunicationUser, .addPhoneNumber, .raiseHand: .capable
    case .addTeamsUser, .blurBackground, .customBackground, .startLiveCaptions: .featureNotSupported
    }
  }
}
