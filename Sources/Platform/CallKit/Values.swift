public import Foundation

/// A means by which a call's participant can be reached: a phone number, an email address, or other text.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxhandle)
public final class CXHandle: NSObject, NSCopying, Sendable {
  public enum HandleType: Int, Sendable { case generic = 1, phoneNumber, emailAddress }

  public let type: HandleType
  public let value: String

  public init(type: HandleType, value: String) { (self.type, self.value) = (type, value) }

  public func copy(with zone: NSZone? = nil) -> Any { self }
  public func isEqual(to handle: CXHandle) -> Bool { type == handle.type && value == handle.value }
  public override func isEqual(_ object: Any?) -> Bool { (object as? CXHandle).map(isEqual(to:)) ?? false }
  public override var hash: Int { value.hashValue }
}

/// New information about a call. A property that the app does not set leaves the call as it is.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxcallupdate)
public final class CXCallUpdate: NSObject, NSCopying, @unchecked Sendable {  // filled in before it is reported
  struct Values {
    var remoteHandle: CXHandle?
    var localizedCallerName: String?
    var supportsHolding, supportsGrouping, supportsUngrouping, supportsDTMF, hasVideo: Bool?
  }
  var values = Values()

  public override init() {}

  public var remoteHandle: CXHandle? {
    get { values.remoteHandle }
    set { values.remoteHandle = newValue }
  }
  public var localizedCallerName: String? {
    get { values.localizedCallerName }
    set { values.localizedCallerName = newValue }
  }
  /// True unless set.
  public var supportsHolding: Bool {
    get { values.supportsHolding ?? true }
    set { values.supportsHolding = newValue }
  }
  /// True unless set.
  public var supportsGrouping: Bool {
    get { values.supportsGrouping ?? true }
    set { values.supportsGrouping = newValue }
  }
  /// True unless set.
  public var supportsUngrouping: Bool {
    get { values.supportsUngrouping ?? true }
    set { values.supportsUngrouping = newValue }
  }
  /// True unless set.
  public var supportsDTMF: Bool {
    get { values.supportsDTMF ?? true }
    set { values.supportsDTMF = newValue }
  }
  /// False unless set.
  public var hasVideo: Bool {
    get { values.hasVideo ?? false }
    set { values.hasVideo = newValue }
  }

  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = CXCallUpdate()
    copy.values = values
    return copy
  }
}

/// The abilities of a provider, and how the phone shows its calls.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxproviderconfiguration)
public final class CXProviderConfiguration: NSObject, NSCopying, @unchecked Sendable {  // a provider keeps a copy
  /// The app's name.
  public let localizedName: String?
  /// Kept: no ringtone sounds here, and no icon is drawn.
  public var ringtoneSound: String?
  /// Kept: no icon is drawn here.
  public var iconTemplateImageData: Data?
  /// The largest number of groups of calls. 2 unless set.
  public var maximumCallGroups = 2
  /// The largest number of calls in a group. 5 unless set.
  public var maximumCallsPerCallGroup = 5
  /// Whether `Phone.recents` gets the provider's calls.
  public var includesCallsInRecents = true
  public var supportsVideo = false
  public var supportedHandleTypes: Set<CXHandle.HandleType> = []

  public override convenience init() { self.init(localizedName: ProcessInfo.processInfo.processName) }
  public init(localizedName: String) { self.localizedName = localizedName }

  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = CXProviderConfiguration(localizedName: localizedName ?? "")
    (copy.ringtoneSound, copy.iconTemplateImageData) = (ringtoneSound, iconTemplateImageData)
    (copy.maximumCallGroups, copy.maximumCallsPerCallGroup) = (maximumCallGroups, maximumCallsPerCallGroup)
    (copy.includesCallsInRecents, copy.supportsVideo) = (includesCallsInRecents, supportsVideo)
    copy.supportedHandleTypes = supportedHandleTypes
    return copy
  }
}

/// Why a call has ended, as its provider reports it.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxcallendedreason)
public enum CXCallEndedReason: Int, Sendable {
  case failed = 1, remoteEnded, unanswered, answeredElsewhere, declinedElsewhere
}

public let CXErrorDomain = "com.apple.CallKit.error"
public let CXErrorDomainIncomingCall = "com.apple.CallKit.error.incomingcall"
public let CXErrorDomainRequestTransaction = "com.apple.CallKit.error.requesttransaction"

/// Why an incoming call could not be reported.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxerrorcodeincomingcallerror)
public struct CXErrorCodeIncomingCallError: CustomNSError, Hashable, Sendable {
  public enum Code: Int, Sendable {
    case unknown = 0, unentitled, callUUIDAlreadyExists, filteredByDoNotDisturb, filteredByBlockList
    public static func ~= (code: Code, error: any Error) -> Bool {
      (error as? CXErrorCodeIncomingCallError)?.code == code
    }
  }
  public let code: Code
  public init(_ code: Code) { self.code = code }

  public static var errorDomain: String { CXErrorDomainIncomingCall }
  public var errorCode: Int { code.rawValue }
  public static var unknown: Code { .unknown }
  public static var unentitled: Code { .unentitled }
  public static var callUUIDAlreadyExists: Code { .callUUIDAlreadyExists }
  public static var filteredByDoNotDisturb: Code { .filteredByDoNotDisturb }
  public static var filteredByBlockList: Code { .filteredByBlockList }
}

/// Why a transaction was refused.
///
/// [Apple's page](https://developer.apple.com/documentation/callkit/cxerrorcoderequesttransactionerror)
public struct CXErrorCodeRequestTransactionError: CustomNSError, Hashable, Sendable {
  public enum Code: Int, Sendable {
    case unknown = 0, unentitled, unknownCallProvider, emptyTransaction, unknownCallUUID, callUUIDAlreadyExists
    case invalidAction, maximumCallGroupsReached
    public static func ~= (code: Code, error: any Error) -> Bool {
      (error as? CXErrorCodeRequestTransactionError)?.code == code
    }
  }
  public let code: Code
  public init(_ code: Code) { self.code = code }

  public static var errorDomain: String { CXErrorDomainRequestTransaction }
  public var errorCode: Int { code.rawValue }
  public static var unknown: Code { .unknown }
  public static var unentitled: Code { .unentitled }
  public static var unknownCallProvider: Code { .unknownCallProvider }
  public static var emptyTransaction: Code { .emptyTransaction }
  public static var unknownCallUUID: Code { .unknownCallUUID }
  public static var callUUIDAlreadyExists: Code { .callUUIDAlreadyExists }
  public static var invalidAction: Code { .invalidAction }
  public static var maximumCallGroupsReached: Code { .maximumCallGroupsReached }
}
