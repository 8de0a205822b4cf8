import KoineBase
import KoineJSONCodec

/// The secrets by which back ends sign their requests, as the file of `koine serve --api-credentials` has them.
package struct APICredentials: Sendable, Codable, Equatable {
  package struct AWSKey: Sendable, Codable, Equatable {
    package var accessKeyId: String
    package var secretAccessKey: String
    /// Twelve digits.
    package var account: String?

    package init(accessKeyId: String, secretAccessKey: String, account: String? = nil) {
      (self.accessKeyId, self.secretAccessKey, self.account) = (accessKeyId, secretAccessKey, account)
    }
  }

  package struct AzureResource: Sendable, Codable, Equatable {
    /// The GUID in the ids of the resource's users.
    package var resource: String
    /// In base64: a primary one and, where there is one, a secondary one.
    package var accessKeys: [String]

    package init(resource: String, accessKeys: [String]) { (self.resource, self.accessKeys) = (resource, accessKeys) }
  }

  package struct VideoSDKKey: Sendable, Codable, Equatable {
    package var apiKey: String
    package var secret: String

    package init(apiKey: String, secret: String) { (self.apiKey, self.secret) = (apiKey, secret) }
  }

  package var aws: [AWSKey]
  package var azure: [AzureResource]
  package var videosdk: [VideoSDKKey]
  /// Of Koine's own API, which links rooms: its callers reach the rooms of all vendors.
  package var koine: [AWSKey]

  package init(
    aws: [AWSKey] = [], azure: [AzureResource] = [], videosdk: [VideoSDKKey] = [], koine: [AWSKey] = []
  ) {
    (self.aws, self.azure, self.videosdk, self.koine) = (aws, azure, videosdk, koine)
  }

  package init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    aws = try members.decodeIfPresent([AWSKey].self, forKey: .aws) ?? []
    azure = try members.decodeIfPresent([AzureResource].self, forKey: .azure) ?? []
    videosdk = try members.decodeIfPresent([VideoSDKKey].self, forKey: .videosdk) ?? []
    koine = try members.decodeIfPresent([AWSKey].self, forKey: .koine) ?? []
  }

  /// Reads a file of credentials.
  /// - Throws: `APICredentialsError` if it is not JSON of this form, or a credential is incomplete. The text does not contain secrets.
  package init(json: [UInt8]) throws(APICredentialsError) {
    do { self = try JSONCodec.decode(APICredentials.self, from: json, limits: .init(depth: 6, size: 1 << 20)) } catch {
      throw APICredentialsError(description: "not a file of credentials: \(Self.place(of: error))")
    }
    try check()
  }

  private func check() throws(APICredentialsError) {
    for (name, keys) in [("aws", aws), ("koine", koine)] {
      for key in keys where !(1...128).contains(key.accessKeyId.utf8.count) || key.secretAccessKey.isEmpty {
        throw APICredentialsError(description: "an entry of '\(name)' has no access key or no secret")
      }
      guard Set(keys.map(\.accessKeyId)).count == keys.count else {
        throw APICredentialsError(description: "two entries of '\(name)' have the same access key")
      }
    }
    for key in aws + koine {
      guard key.account.map({ $0.utf8.count == 12 && $0.utf8.allSatisfy { (48...57).contains($0) } }) ?? true else {
        throw APICredentialsError(description: "the account of '\(key.accessKeyId)' is not a number of 12 digits")
      }
    }
    for resource in azure {
      guard Identifiers.isGUID(resource.resource) else {
        throw APICredentialsError(description: "'\(resource.resource)' in 'azure' is not a GUID")
      }
      guard !resource.accessKeys.isEmpty,
        resource.accessKeys.allSatisfy({ Base64.decode($0.utf8).map { $0.count >= 16 } ?? false })
      else {
        throw APICredentialsError(
          description: "the access keys of '\(resource.resource)' are not base64 of at least 16 bytes")
      }
    }
    for key in videosdk where key.apiKey.isEmpty || key.secret.utf8.count < 32 {
      throw APICredentialsError(description: "an entry of 'videosdk' has no API key, or a secret under 32 characters")
    }
  }

  /// The member where decoding failed, without its value.
  private static func place(of error: any Error) -> String {
    guard let error = error as? DecodingError else { return "no JSON" }
    let path: [any CodingKey] =
      switch error {
      case .keyNotFound(let key, let context): context.codingPath + [key]
      case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
        context.codingPath
      @unknown default: []
      }
    return path.isEmpty ? "no JSON" : "at " + path.map(\.stringValue).joined(separator: ".")
  }

  /// Credentials for each vendor with fresh secrets, as `koine credentials` writes them.
  package static func make() -> APICredentials {
    APICredentials(
      aws: [
        AWSKey(
          accessKeyId: "AKIA" + Identifiers.random(16, of: Identifiers.capitals),
          secretAccessKey: Identifiers.random(40, of: Identifiers.letters), account: "000000000000")
      ],
      azure: [
        AzureResource(
          resource: Identifiers.randomGUID(),
          accessKeys: (0..<2).map { _ in Base64.encode((0..<64).map { _ in UInt8.random(in: 0...255) }) })
      ],
      videosdk: [
        VideoSDKKey(apiKey: Identifiers.randomGUID(), secret: Identifiers.random(64, of: Identifiers.hexDigits))
      ],
      koine: [
        AWSKey(
          accessKeyId: "KOINE" + Identifiers.random(15, of: Identifiers.capitals),
          secretAccessKey: Identifiers.random(40, of: Identifiers.letters))
      ])
  }

  package var json: [UInt8] { (try? JSONCodec.encode(self)) ?? [] }
}

/// Why a file of credentials cannot be used.
package struct APICredentialsError: Error, Hashable, CustomStringConvertible {
  package let description: String
}

/// Which requests the APIs believe.
package enum APIAccess: Sendable {
  /// Requests that one of these credentials has signed.
  case credentials(APICredentials)
  /// Every request with a well-formed signature. The signature is not checked.
  case open
  /// None: the APIs would mint tokens for everyone who reaches the port.
  case closed
}
