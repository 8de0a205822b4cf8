public import Foundation
import Koine

/// Something that a provider's app is to do. The app fulfils it or fails it before `timeoutDate`.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxaction)
open class CXAction: NSObject, @unchecked Sendable {  // everything mutable sits in `state`
  enum Outcome { case fulfilled, failed }
  private struct State {
    var outcome: Outcome?
    var timeoutDate = Date.distantFuture
    var completion: (@Sendable (CXAction, Outcome) -> Void)?
  }

  public let uuid = UUID()
  private let state = Lock(State())

  public override init() {}

  /// Whether the app has fulfilled or failed the action.
  public var isComplete: Bool { state.withLock { $0.outcome != nil } }
  /// When the action fails if the app has not completed it.
  public var timeoutDate: Date { state.withLock { $0.timeoutDate } }

  /// Reports that the app has done it. A second completion of an action has no effect.
  public func fulfill() { complete(.fulfilled) }
  /// Reports that the app could not do it. A second completion of an action has no effect.
  public func fail() { complete(.failed) }

  func begin(until date: Date, _ completion: @escaping @Sendable (CXAction, Outcome) -> Void) {
    state.withLock { ($0.timeoutDate, $0.completion) = (date, completion) }
  }

  /// - Returns: false if the action was complete before.
  @discardableResult
  func complete(_ outcome: Outcome) -> Bool {
    let (isFirst, completion) = state.withLock { state -> (Bool, (@Sendable (CXAction, Outcome) -> Void)?) in
      guard state.outcome == nil else { return (false, nil) }
      state.outcome = outcome
      defer { state.completion = nil }
      return (true, state.completion)
    }
    completion?(self, outcome)
    return isFirst
  }
}

/// An action of one call.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxcallaction)
open class CXCallAction: CXAction, @unchecked Sendable {
  public let callUUID: UUID
  public init(call callUUID: UUID) { self.callUUID = callUUID }
}

/// Begins an outgoing call.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxstartcallaction)
open class CXStartCallAction: CXCallAction, @unchecked Sendable {  // filled in before it is requested
  public var handle: CXHandle
  public var contactIdentifier: String?
  public var isVideo = false

  public init(call callUUID: UUID, handle: CXHandle) {
    self.handle = handle
    super.init(call: callUUID)
  }

  /// As `fulfill()`.
  public func fulfill(withDateStarted dateStarted: Date) { fulfill() }
}

/// Answers an incoming call.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxanswercallaction)
open class CXAnswerCallAction: CXCallAction, @unchecked Sendable {
  /// As `fulfill()`.
  public func fulfill(withDateConnected dateConnected: Date) { fulfill() }
}

/// Ends a call, or declines it.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxendcallaction)
open class CXEndCallAction: CXCallAction, @unchecked Sendable {
  /// As `fulfill()`.
  public func fulfill(withDateEnded dateEnded: Date) { fulfill() }
}

/// Puts a call on hold, or resumes it.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxsetheldcallaction)
open class CXSetHeldCallAction: CXCallAction, @unchecked Sendable {  // filled in before it is requested
  public var isOnHold: Bool
  public init(call callUUID: UUID, onHold: Bool) {
    isOnHold = onHold
    super.init(call: callUUID)
  }
}

/// Mutes or unmutes the microphone of a call.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxsetmutedcallaction)
open class CXSetMutedCallAction: CXCallAction, @unchecked Sendable {  // filled in before it is requested
  public var isMuted: Bool
  public init(call callUUID: UUID, muted: Bool) {
    isMuted = muted
    super.init(call: callUUID)
  }
}

/// Puts a call into the group of another call, or takes it out of its group.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxsetgroupcallaction)
open class CXSetGroupCallAction: CXCallAction, @unchecked Sendable {  // filled in before it is requested
  /// Nil: the call leaves its group.
  public var callUUIDToGroupWith: UUID?
  public init(call callUUID: UUID, callUUIDToGroupWith: UUID?) {
    self.callUUIDToGroupWith = callUUIDToGroupWith
    super.init(call: callUUID)
  }
}

/// Plays the tones of digits to the other side.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxplaydtmfcallaction)
open class CXPlayDTMFCallAction: CXCallAction, @unchecked Sendable {  // filled in before it is requested
  public enum ActionType: Int, Sendable { case singleTone = 1, softPause, hardPause }
  public var digits: String
  public var type: ActionType
  public init(call callUUID: UUID, digits: String, type: ActionType) {
    (self.digits, self.type) = (digits, type)
    super.init(call: callUUID)
  }
}

/// Actions that belong together.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxtransaction)
public final class CXTransaction: NSObject, @unchecked Sendable {  // the actions are locked
  public let uuid = UUID()
  private let held: Lock<[CXAction]>

  public override convenience init() { self.init(actions: []) }
  public convenience init(action: CXAction) { self.init(actions: [action]) }
  public init(actions: [CXAction]) { held = Lock(actions) }

  public var actions: [CXAction] { held.withLock { $0 } }
  /// Whether all its actions are complete.
  public var isComplete: Bool { actions.allSatisfy(\.isComplete) }
  public func addAction(_ action: CXAction) { held.withLock { $0.append(action) } }
}
