import CrossVendorConventions
public import Foundation
import Koine

/// A feature of a call beyond audio and video. A call has at most one of each kind, created at the first request for
/// it.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscallfeature)
public class CallFeature: NSObject, @unchecked Sendable {  // subclasses lock their mutable state
  public let name: String
  weak let call: Call?
  let delivery: Delivery

  required init(_ call: Call) {
    self.call = call
    delivery = call.delivery
    name = String(describing: Self.self)
    super.init()
    callStarted()
  }

  /// Reads the initial state, before the first event.
  func callStarted() {}

  /// On the delivery queue, until the call is over.
  func handle(_ event: SessionEvent) {}

  /// On the delivery queue, before the call is told to be over.
  func callEnded() {}
}

extension Call {
  /// In the order of their names.
  var features: [CallFeature] { current.withLock { $0.features.values.sorted { $0.name < $1.name } } }

  /// The call's feature of this kind; the same one each time.
  public func feature<F: CallFeature>(_ feature: F.Type) -> F {
    if let made = current.withLock({ $0.features[ObjectIdentifier(feature)] }) as? F { return made }
    let new = F(self)
    return current.withLock { current in
      if let made = current.features[ObjectIdentifier(feature)] as? F { return made }
      current.features[ObjectIdentifier(feature)] = new
      return new
    }
  }
}

/// The kinds of call features, for `Call.feature(_:)`.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscallfeature)
public enum Features {
  public static var recording: RecordingCallFeature.Type { RecordingCallFeature.self }
  public static var transcription: TranscriptionCallFeature.Type { TranscriptionCallFeature.self }
  public static var dominantSpeakers: DominantSpeakersCallFeature.Type { DominantSpeakersCallFeature.self }
  public static var raisedHands: RaiseHandCallFeature.Type { RaiseHandCallFeature.self }
  public static var spotlight: SpotlightCallFeature.Type { SpotlightCallFeature.self }
  public static var dataChannel: DataChannelCallFeature.Type { DataChannelCallFeature.self }
  public static var realTimeText: RealTimeTextCallFeature.Type { RealTimeTextCallFeature.self }
  public static var capabilities: CapabilitiesCallFeature.Type { CapabilitiesCallFeature.self }
  public static var survey: SurveyCallFeature.Type { SurveyCallFeature.self }
  public static var mediaStatistics: MediaStatisticsCallFeature.Type { MediaStatisticsCallFeature.self }
  public static var localUserDiagnostics: LocalUserDiagnosticsCallFeature.Type { LocalUserDiagnosticsCallFeature.self }
}

/// A weak reference under a lock: features' delegates.
final class Listener<Delegate>: @unchecked Sendable {  // a lock
  private struct Weak { weak var it: AnyObject? }
  private let held = Lock(Weak())
  var it: Delegate? {
    get { held.withLock { $0.it } as? Delegate }
    set { held.withLock { $0.it = newValue.map { $0 as AnyObject } } }
  }
}

// MARK: Recording

/// Notified on the delivery queue when the recording of the call starts or stops.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsrecordingcallfeaturedelegate)
public protocol RecordingCallFeatureDelegate: NSObjectProtocol {
  func recordingCallFeature(
    _ recordingCallFeature: RecordingCallFeature, didChangeRecordingState args: PropertyChangedEventArgs)
}

extension RecordingCallFeatureDelegate {
  public func recordingCallFeature(
    _ recordingCallFeature: RecordingCallFeature, didChangeRecordingState args: PropertyChangedEventArgs
  ) {}
}

/// Whether a participant or a recorder reports that it records the call, in any vendor's style.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsrecordingcallfeature)
public final class RecordingCallFeature: CallFeature, @unchecked Sendable {  // everything mutable is locked
  private let listener = Listener<any RecordingCallFeatureDelegate>()
  private let active = Lock(false)

  public var isRecordingActive: Bool { active.withLock { $0 } }
  public weak var delegate: (any RecordingCallFeatureDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  override func callStarted() {
    let isActive = isRecorded
    active.withLock { $0 = isActive }
  }

  private var isRecorded: Bool {
    guard let session = call?.session else { return false }
    if session.recorderStatus[Convention.recording] != nil { return true }
    return ([session.localParticipant] + session.participants).contains { $0.attributes[Convention.recording] != nil }
  }

  override func handle(_ event: SessionEvent) {
    switch event {
    case .attributesChanged, .participantJoined, .participantLeft, .stateChanged, .messageReceived: break
    default: return
    }
    let isActive = isRecorded
    let hasChanged = active.withLock { active in
      defer { active = isActive }
      return active != isActive
    }
    if hasChanged { delegate?.recordingCallFeature(self, didChangeRecordingState: PropertyChangedEventArgs()) }
  }
}

// MARK: Speakers

/// Notified on the delivery queue when the dominant speakers change.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsdominantspeakerscallfeaturedelegate)
public protocol DominantSpeakersCallFeatureDelegate: NSObjectProtocol {
  func dominantSpeakersCallFeature(
    _ dominantSpeakersCallFeature: DominantSpeakersCallFeature,
    didChangeDominantSpeakers args: PropertyChangedEventArgs)
}

extension DominantSpeakersCallFeatureDelegate {
  public func dominantSpeakersCallFeature(
    _ dominantSpeakersCallFeature: DominantSpeakersCallFeature,
    didChangeDominantSpeakers args: PropertyChangedEventArgs
  ) {}
}

/// Closures for the changes of the dominant speakers call feature, called on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class DominantSpeakersCallFeatureEvents: NSObject, @unchecked Sendable {  // the closure is locked
  @EventClosure public var onDominantSpeakersChanged: ((PropertyChangedEventArgs) -> Void)?
  public func removeAll() { onDominantSpeakersChanged = nil }
}

/// The latest dominant speakers of a call, at most five, the latest first.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsdominantspeakersinfo)
public final class DominantSpeakersInfo: NSObject, Sendable {
  /// Remote participants in the order in which they last were the dominant speaker, the latest first; at most five.
  public var speakers: [any CommunicationIdentifier] { ids.map(ParticipantIdentifiers.identifier) }
  public let lastUpdated: Date
  fileprivate let ids: [Koine.Participant.ID]

  fileprivate init(_ ids: [Koine.Participant.ID], _ lastUpdated: Date) {
    (self.ids, self.lastUpdated) = (ids, lastUpdated)
  }
}

/// The dominant speakers among the remote participants, as the room measures them.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acsdominantspeakerscallfeature)
public final class DominantSpeakersCallFeature: CallFeature, @unchecked Sendable {  // everything mutable is locked
  private let listener = Listener<any DominantSpeakersCallFeatureDelegate>()
  public let events = DominantSpeakersCallFeatureEvents()
  private let info = Lock(DominantSpeakersInfo([], Date()))
  /// Most speakers in the list; apps do not show more.
  private static let limit = 5

  public var dominantSpeakersInfo: DominantSpeakersInfo { info.withLock { $0 } }
  public weak var delegate: (any DominantSpeakersCallFeatureDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  override func callStarted() {
    if let speaker = call?.session.dominantSpeaker { _ = update { [speaker] + $0 } }
  }

  override func handle(_ event: SessionEvent) {
    let hasChanged =
      switch event {
      case .dominantSpeakerChanged(let speaker?): update { ids in [speaker] + ids.filter { $0 != speaker } }
      case .participantLeft(let participant, _): update { ids in ids.filter { $0 != participant.id } }
      default: false
      }
    guard hasChanged else { return }
    let args = PropertyChangedEventArgs()
    delegate?.dominantSpeakersCallFeature(self, didChangeDominantSpeakers: args)
    events.onDominantSpeakersChanged?(args)
  }

  private func update(_ change: ([Koine.Participant.ID]) -> [Koine.Participant.ID]) -> Bool {
    let own = call?.session.localParticipant.id
    return info.withLock { info in
      let ids = Array(change(info.ids).filter { $0 != own }.prefix(Self.limit))
      guard ids != info.ids else { return false }
      info = DominantSpeakersInfo(ids, Date())
      return true
    }
  }
}
