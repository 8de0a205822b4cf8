public import Foundation

/// An identity that calls can reach: a user, a phone number or an app.
///
/// [Vendor reference](https://azure.github.io/azure-sdk-for-ios/AzureCommunicationCommon/Protocols/CommunicationIdentifier.html)
public protocol CommunicationIdentifier: NSObjectProtocol {
  /// Unique over all kinds. Two identifiers with equal raw ids stand for the same identity.
  var rawId: String { get }
  var kind: IdentifierKind { get }
}

/// Kind of an identifier. Kinds are compared by object identity.
///
/// [Vendor reference](https://azure.github.io/azure-sdk-for-ios/AzureCommunicationCommon/Classes/IdentifierKind.html)
public final class IdentifierKind: NSObject, Sendable {
  public static let communicationUser = IdentifierKind(rawValue: "communicationUser")
  public static let phoneNumber = IdentifierKind(rawValue: "phoneNumber")
  public static let microsoftTeamsUser = IdentifierKind(rawValue: "microsoftTeamsUser")
  public static let microsoftTeamsApp = IdentifierKind(rawValue: "microsoftTeamsApp")
  public static let teamsExtensionUser = IdentifierKind(rawValue: "teamsExtensionUser")
  public static let unknown = IdentifierKind(rawValue: "unknown")

  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// A Communication Services user. Two instances with equal ids are not equal, as in the vendor's SDK: compare `rawId`.
///
/// [Vendor reference](https://azure.github.io/azure-sdk-for-ios/AzureCommunicationCommon/Classes/CommunicationUserIdentifier.html)
public final class CommunicationUserIdentifier: NSObject, CommunicationIdentifier, Sendable {
  public let identifier: String
  public var rawId: String { identifier }
  public var kind: IdentifierKind { .communicationUser }

  public init(_ identifier: String) { self.identifier = identifier }
}

/// An identifier of a kind that this version does not know.
///
/// [Vendor reference](https://azure.github.io/azure-sdk-for-ios/AzureCommunicationCommon/Classes/UnknownIdentifier.html)
public final class UnknownIdentifier: NSObject, CommunicationIdentifier, Sendable {
  public let identifier: String
  public var rawId: String { identifier }
  public var kind: IdentifierKind { .unknown }

  public init(_ identifier: String) { self.identifier = identifier }
}

/// A phone number in E.164 format.
///
/// [Vendor reference](https://azure.github.io/azure-sdk-for-ios/AzureCommunicationCommon/Classes/PhoneNumberIdentifier.html)
public final class PhoneNumberIdentifier: NSObject, CommunicationIdentifier, Sendable {
  public let phoneNumber: String
  public let rawId: String
  public var kind: IdentifierKind { .phoneNumber }

  public init(phoneNumber: String, rawId: String? = nil) {
    self.phoneNumber = phoneNumber
    self.rawId = rawId ?? "4:" + phoneNumber
  }

  public var isAnonymous: Bool { phoneNumber == "anonymous" }
  /// What tells several legs of one number apart: the text after the last `_`, unless that begins or ends the number.
  public var assertedId: String? {
    guard !isAnonymous, let mark = rawId.lastIndex(of: "_"), rawId[..<mark] != "4:" else { return nil }
    let id = rawId[rawId.index(after: mark)...]
    return id.isEmpty ? nil : String(id)
  }

  public override func isEqual(_ object: Any?) -> Bool { (object as? PhoneNumberIdentifier)?.rawId == rawId }
  public override var hash: Int { rawId.hashValue }
}

/// The Microsoft cloud of a Teams identity.
///
/// [Vendor reference](https://azure.github.io/azure-sdk-for-ios/AzureCommunicationCommon/Classes/CommunicationCloudEnvironment.html)
public final class CommunicationCloudEnvironment: NSObject, Sendable {
  public static let Public = CommunicationCloudEnvironment(environmentValue: "public")
  public static let Dod = CommunicationCloudEnvironment(environmentValue: "dod")
  public static let Gcch = CommunicationCloudEnvironment(environmentValue: "gcch")

  private let value: String
  public init(environmentValue: String) { value = environmentValue }
  public func getEnvironmentValue() -> String { value }

  public override func isEqual(_ object: Any?) -> Bool { (object as? CommunicationCloudEnvironment)?.value == value }
  public override var hash: Int { value.hashValue }

  /// The word by which raw ids name the cloud.
  fileprivate var scope: String {
    switch value {
    case "dod": "dod"
    case "gcch": "gcch"
    default: "orgid"
    }
  }

  fileprivate convenience init(scope: Substring) {
    self.init(environmentValue: scope == "dod" || scope == "gcch" ? String(scope) : "public")
  }
}

/// A Teams user, or an anonymous visitor of a Teams meeting.
///
/// [Vendor reference](https://azure.github.io/azure-sdk-for-ios/AzureCommunicationCommon/Classes/MicrosoftTeamsUserIdentifier.html)
public final class MicrosoftTeamsUserIdentifier: NSObject, CommunicationIdentifier, Sendable {
  public let userId: String
  public let isAnonymous: Bool
  public let rawId: String
  public let cloudEnvironment: CommunicationCloudEnvironment
  public var cloudEnviroment: CommunicationCloudEnvironment { cloudEnvironment }
  public var kind: IdentifierKind { .microsoftTeamsUser }

  public init(
    userId: String, isAnonymous: Bool = false, rawId: String? = nil,
    cloudEnvironment: CommunicationCloudEnvironment = .Public
  ) {
    self.userId = userId
    self.isAnonymous = isAnonymous
    self.cloudEnvironment = cloudEnvironment
    self.rawId = rawId ?? (isAnonymous ? "8:teamsvisitor:" : "8:\(cloudEnvironment.scope):") + userId
  }

  public override func isEqual(_ object: Any?) -> Bool { (object as? MicrosoftTeamsUserIdentifier)?.rawId == rawId }
  public override var hash: Int { rawId.hashValue }
}

/// A Teams application, such as a call queue.
///
/// [Vendor reference](https://azure.github.io/azure-sdk-for-ios/AzureCommunicationCommon/Classes/MicrosoftTeamsAppIdentifier.html)
public final class MicrosoftTeamsAppIdentifier: NSObject, CommunicationIdentifier, @unchecked Sendable {
  public let appId: String
  public let cloudEnvironment: CommunicationCloudEnvironment
  /// May be set, as with the vendor; not while another thread reads it.
  public var rawId: String
  public var kind: IdentifierKind { .microsoftTeamsApp }

  public init(appId: String, cloudEnvironment: CommunicationCloudEnvironment = .Public) {
    self.appId = appId
    self.cloudEnvironment = cloudEnvironment
    rawId = "28:\(cloudEnvironment.scope):" + appId
  }

  public override func isEqual(_ object: Any?) -> Bool { (object as? MicrosoftTeamsAppIdentifier)?.rawId == rawId }
  public override var hash: Int { rawId.hashValue }
}

/// A Teams Phone user of a Communication Services resource.
///
/// [Vendor reference](https://azure.github.io/azure-sdk-for-ios/AzureCommunicationCommon/Classes/TeamsExtensionUserIdentifier.html)
public final class TeamsExtensionUserIdentifier: NSObject, CommunicationIdentifier, Sendable {
  public let userId: String
  public let tenantId: String
  public let resourceId: String
  public let cloudEnvironment: CommunicationCloudEnvironment
  public let rawId: String
  public var kind: IdentifierKind { .teamsExtensionUser }

  public init(
    userId: String, tenantId: String, resourceId: String, rawId: String? = nil,
    cloudEnvironment: CommunicationCloudEnvironment = .Public
  ) {
    (self.userId, self.tenantId, self.resourceId) = (userId, tenantId, resourceId)
    self.cloudEnvironment = cloudEnvironment
    let scope = cloudEnvironment.scope == "orgid" ? "acs" : cloudEnvironment.scope + "-acs"
    self.rawId = rawId ?? "8:\(scope):\(resourceId)_\(tenantId)_\(userId)"
  }

  public override func isEqual(_ object: Any?) -> Bool { (object as? TeamsExtensionUserIdentifier)?.rawId == rawId }
  public override var hash: Int { rawId.hashValue }
}

/// The identifier that a raw id stands for. A raw id of no known kind gives an `UnknownIdentifier`.
public func createCommunicationIdentifier(fromRawId rawId: String) -> any CommunicationIdentifier {
  if rawId.hasPrefix("4:") { return PhoneNumberIdentifier(phoneNumber: String(rawId.dropFirst(2)), rawId: rawId) }
  let parts = rawId.split(separator: ":")
  guard parts.count == 3 else { return UnknownIdentifier(rawId) }
  let id = String(parts[2])
  switch (parts[0], parts[1]) {
  case ("8", "teamsvisitor"): return MicrosoftTeamsUserIdentifier(userId: id, isAnonymous: true)
  case ("8", "orgid"), ("8", "dod"), ("8", "gcch"):
    return MicrosoftTeamsUserIdentifier(
      userId: id, rawId: rawId, cloudEnvironment: CommunicationCloudEnvironment(scope: parts[1]))
  case ("28", "orgid"), ("28", "dod"), ("28", "gcch"):
    return MicrosoftTeamsAppIdentifier(appId: id, cloudEnvironment: CommunicationCloudEnvironment(scope: parts[1]))
  case ("8", "acs"), ("8", "dod-acs"), ("8", "gcch-acs"):
    let words = id.split(separator: "_").map(String.init)
    guard words.count == 3 else { return CommunicationUserIdentifier(rawId) }
    return TeamsExtensionUserIdentifier(
      userId: words[2], tenantId: words[1], resourceId: words[0], rawId: rawId,
      cloudEnvironment: CommunicationCloudEnvironment(scope: parts[1].prefix { $0 != "-" }))
  case ("8", "spool"): return CommunicationUserIdentifier(rawId)
  default: return UnknownIdentifier(rawId)
  }
}
