/// Checks of the service's limits. Each throws `ValidationException`.
enum IVSChecks {
  /// Longest life of a token, in seconds.
  static let tokenSeconds: Int64 = 20_160 * 60

  static func fail(_ text: String) -> AWSError { AWSError(400, "ValidationException", text) }

  static func notFound(_ kind: String, _ id: String) -> AWSError {
    AWSError(404, "ResourceNotFoundException", "Resource: \(kind) \(id.prefix(160)) not found")
  }

  private static func isIDByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  /// `[a-zA-Z0-9-_]*`
  static func name(_ value: String?, _ member: String = "name") throws(AWSError) {
    guard let value else { return }
    guard value.utf8.count <= 128, value.utf8.allSatisfy({ isIDByte($0) || $0 == UInt8(ascii: "_") }) else {
      throw fail("\(member) must be at most 128 of [a-zA-Z0-9-_]")
    }
  }

  static func tags(_ tags: [String: String]?) throws(AWSError) {
    guard let tags else { return }
    guard tags.count <= 50 else { throw fail("more than 50 tags") }
    for (key, value) in tags {
      guard (1...128).contains(key.unicodeScalars.count), value.unicodeScalars.count <= 256 else {
        throw fail("a tag's key has 1 to 128 characters and its value at most 256")
      }
      guard !key.lowercased().hasPrefix("aws:") else { throw fail("a tag's key must not begin with aws:") }
    }
  }

  /// - Returns: the id in the ARN of a resource of this kind. Nil: the ARN has another account or region, where there is nothing.
  static func id(
    of kind: String, in arn: String?, _ member: String = "arn", caller: AWSCaller
  ) throws(AWSError) -> String? {
    guard let arn else { throw fail("\(member) is missing") }
    let parts = arn.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
    guard arn.utf8.count <= 128, parts.count == 6, parts[0] == "arn", parts[1] == "aws", parts[2] == "ivs",
      parts[5].hasPrefix(kind + "/"), case let id = parts[5].dropFirst(kind.utf8.count + 1), !id.isEmpty,
      id.utf8.allSatisfy(isIDByte)
    else { throw fail("\(member) is not the ARN of a \(kind)") }
    return parts[3] == caller.region && parts[4] == caller.account ? String(id) : nil
  }

  static func token(_ request: IVSTokenRequest) throws(AWSError) {
    guard request.duration.map({ (1...20_160).contains($0) }) ?? true else {
      throw fail("duration must be between 1 and 20160 minutes")
    }
    guard (request.userId?.unicodeScalars.count ?? 0) <= 128 else { throw fail("userId has over 128 characters") }
    let bytes = (request.attributes ?? [:]).reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    guard bytes <= 1_024 else { throw fail("attributes are over 1 KB") }
    let capabilities = request.capabilities ?? []
    guard capabilities.count <= 2, capabilities.allSatisfy({ $0 == "PUBLISH" || $0 == "SUBSCRIBE" }) else {
      throw fail("capabilities must be at most two of PUBLISH and SUBSCRIBE")
    }
  }

  static func participantID(_ id: String?) throws(AWSError) -> String {
    guard let id else { throw fail("participantId is missing") }
    guard (1...64).contains(id.utf8.count), id.utf8.allSatisfy({ isIDByte($0) || $0 == UInt8(ascii: "_") }) else {
      throw fail("participantId must be 1 to 64 of [a-zA-Z0-9-_]")
    }
    return id
  }

  static func sessionID(_ id: String?) throws(AWSError) -> String {
    guard let id, id.utf8.count == 16, id.hasPrefix("st-"), id.utf8.allSatisfy(isIDByte) else {
      throw fail("sessionId must be st- and 13 of [a-zA-Z0-9]")
    }
    return id
  }

  static func limit(_ maxResults: Int?, default number: Int = 50) throws(AWSError) -> Int {
    guard let maxResults else { return number }
    guard (1...100).contains(maxResults) else { throw fail("maxResults must be between 1 and 100") }
    return maxResults
  }

  /// The last id of the page before.
  static func nextToken(_ token: String?) throws(AWSError) -> String? {
    guard let token else { return nil }
    guard token.utf8.count <= 1_024, token.utf8.allSatisfy({ isIDByte($0) || $0 == UInt8(ascii: "_") }) else {
      throw fail("nextToken is not one of this list")
    }
    return token
  }

  /// The id behind which a page of a list begins.
  /// - Parameter list: what the list has, of which account and region. A token of another list is refused.
  static func nextToken(_ token: String?, of list: String) throws(AWSError) -> String? {
    guard let token = try nextToken(token) else { return nil }
    guard let cut = token.lastIndex(of: "_"), case let id = String(token[..<cut]), token == self.token(id, of: list)
    else { throw fail("nextToken is not one of this list") }
    return id
  }

  /// The token for the page of a list that begins behind an id. It stays valid when what has the id is deleted.
  static func token(_ id: String, of list: String) -> String {
    "\(id)_" + Digest.hex(Array(Digest.sha256(Array("\(list)/\(id)".utf8)).prefix(8)))
  }

  private static func isStorageARN(_ arn: String) -> Bool {
    let parts = arn.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
    let kind = "storage-configuration/"
    guard arn.utf8.count <= 128, parts.count == 6, parts[0...2] == ["arn", "aws", "ivs"], !parts[3].isEmpty,
      !parts[4].isEmpty, parts[5].hasPrefix(kind)
    else { return false }
    let id = parts[5].dropFirst(kind.utf8.count)
    return !id.isEmpty && id.utf8.allSatisfy(isIDByte)
  }

  static func recording(_ configuration: IVSRecordingConfiguration?) throws(AWSError) {
    guard let configuration else { return }
    guard let arn = configuration.storageConfigurationArn else { throw fail("storageConfigurationArn is missing") }
    guard arn.isEmpty || isStorageARN(arn) else {
      throw fail("storageConfigurationArn is not the ARN of a storage-configuration")
    }
    let thumbnails = configuration.thumbnailConfiguration
    guard (thumbnails?.storage ?? []).allSatisfy({ ["SEQUENTIAL", "LATEST"].contains($0) }),
      (thumbnails?.storage?.count ?? 0) <= 2
    else { throw fail("storage must be at most two of SEQUENTIAL and LATEST") }
    guard thumbnails?.recordingMode.map({ ["INTERVAL", "DISABLED"].contains($0) }) ?? true else {
      throw fail("recordingMode must be INTERVAL or DISABLED")
    }
    guard (configuration.mediaTypes ?? []).allSatisfy({ ["AUDIO_VIDEO", "AUDIO_ONLY", "NONE"].contains($0) }),
      (configuration.mediaTypes?.count ?? 0) <= 1
    else { throw fail("mediaTypes must be one of AUDIO_VIDEO, AUDIO_ONLY and NONE") }
    guard configuration.recordingReconnectWindowSeconds.map({ (0...300).contains($0) }) ?? true else {
      throw fail("recordingReconnectWindowSeconds must be between 0 and 300")
    }
    guard configuration.hlsConfiguration?.targetSegmentDurationSeconds.map({ (2...10).contains($0) }) ?? true else {
      throw fail("targetSegmentDurationSeconds must be between 2 and 10")
    }
    guard configuration.thumbnailConfiguration?.targetIntervalSeconds.map({ (1...86_400).contains($0) }) ?? true else {
      throw fail("targetIntervalSeconds must be between 1 and 86400")
    }
  }
}
