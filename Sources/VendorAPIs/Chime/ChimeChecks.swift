import KoineTokens

/// Checks of the service's limits. Each throws `BadRequestException`.
enum ChimeChecks {
  static func fail(_ text: String) -> AWSError { AWSError(400, "BadRequestException", text) }

  private static func text(
    _ value: String?, _ name: String, _ length: ClosedRange<Int>, isRequired: Bool = false,
    where isAllowed: (Unicode.Scalar) -> Bool = { _ in true }
  ) throws(AWSError) {
    guard let value else {
      if isRequired {
        throw fail(
          "1 validation error detected: Value null at '\(name)' failed to satisfy constraint: Member must not be null")
      }
      return
    }
    guard length.contains(value.unicodeScalars.count) else {
      throw fail(
        "1 validation error detected: Value at '\(name)' failed to satisfy constraint: "
          + "Member must have length between \(length.lowerBound) and \(length.upperBound)")
    }
    guard value.unicodeScalars.allSatisfy(isAllowed) else {
      throw fail(
        "1 validation error detected: Value at '\(name)' failed to satisfy constraint: Member has characters that are not allowed"
      )
    }
  }

  private static func isTokenScalar(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == "-" || scalar == "_")
  }

  private static let marks = Set("-_&@+=,(){}[]/«».:|'\"#".unicodeScalars)

  /// `[-_&@+=,(){}\[\]\/«».:|'"#a-zA-Z0-9À-ÿ\s]*`
  private static func isExternalScalar(_ scalar: Unicode.Scalar) -> Bool {
    marks.contains(scalar) || ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
      || ("0"..."9").contains(scalar) || ("À"..."ÿ").contains(scalar) || scalar.properties.isWhitespace
  }

  static func externalID(_ value: String?, _ name: String, isRequired: Bool) throws(AWSError) {
    try text(value, name, 2...64, isRequired: isRequired, where: isExternalScalar)
    if value?.lowercased().hasPrefix("aws:") == true {
      throw fail("Value at '\(name)' begins with the reserved prefix 'aws:'")
    }
  }

  /// The regions that the service offers for media.
  static let mediaRegions: Set<String> = [
    "af-south-1", "ap-northeast-1", "ap-northeast-2", "ap-south-1", "ap-southeast-1", "ap-southeast-2", "ca-central-1",
    "eu-central-1", "eu-north-1", "eu-south-1", "eu-west-1", "eu-west-2", "eu-west-3", "sa-east-1", "us-east-1",
    "us-east-2", "us-west-1", "us-west-2", "us-gov-east-1", "us-gov-west-1",
  ]

  static func check(_ request: ChimeCreateMeeting) throws(AWSError) {
    try text(request.ClientRequestToken, "clientRequestToken", 2...64, isRequired: true, where: isTokenScalar)
    try externalID(request.ExternalMeetingId, "externalMeetingId", isRequired: false)
    try text(request.MeetingHostId, "meetingHostId", 2...64)
    if let region = request.MediaRegion {
      guard mediaRegions.contains(region) else { throw fail("'\(region)' is no media region") }
    }
    if request.PrimaryMeetingId != nil {
      throw AWSError(400, "UnsupportedOperation", "PrimaryMeetingId: meetings are not replicated here")
    }
    if let ids = request.TenantIds, !ids.isEmpty {
      guard ids.count <= 5 else { throw fail("Value at 'tenantIds' has more than 5 members") }
      for id in ids { try text(id, "tenantIds", 2...256) }
    }
    try check(request.Tags ?? [])
    try check(request.MeetingFeatures)
  }

  static func check(_ tags: [ChimeTag]) throws(AWSError) {
    guard tags.count <= 50 else { throw AWSError(400, "TooManyTagsException", "more than 50 tags") }
    for tag in tags {
      try text(tag.Key, "tags.key", 1...128)
      try text(tag.Value, "tags.value", 0...256)
    }
    guard Set(tags.map(\.Key)).count == tags.count else { throw fail("Value at 'tags' has a key twice") }
  }

  private static func check(_ features: ChimeJoinInfo.Features?) throws(AWSError) {
    guard let features else { return }
    func one(of allowed: [String], _ value: String?, _ name: String) throws(AWSError) {
      guard value.map({ allowed.contains($0) }) ?? true else {
        throw fail(
          "Value at '\(name)' failed to satisfy constraint: Member must be one of \(allowed.joined(separator: ", "))")
      }
    }
    try one(of: ["AVAILABLE", "UNAVAILABLE"], features.echoReduction, "meetingFeatures.audio.echoReduction")
    try one(of: ["None", "HD", "FHD"], features.videoMaxResolution, "meetingFeatures.video.maxResolution")
    try one(of: ["None", "FHD", "UHD"], features.contentMaxResolution, "meetingFeatures.content.maxResolution")
    if let count = features.attendeeMaxCount {
      let isLarge = features.videoMaxResolution == "FHD" || features.contentMaxResolution == "UHD"
      let limit = isLarge ? 25 : 250
      guard (1...limit).contains(count) else {
        throw fail("Value at 'meetingFeatures.attendee.maxCount' is not between 1 and \(limit)")
      }
    }
  }

  /// - Returns: the capabilities of a request, or the defaults in a meeting with these features.
  static func capabilities(
    _ request: ChimeCapabilities?, in features: ChimeJoinInfo.Features?
  ) throws(AWSError) -> ChimeJoinInfo.Capabilities {
    let hasVideo = features?.videoMaxResolution != "None"
    let hasContent = features?.contentMaxResolution != "None"
    guard let request else {
      return ChimeJoinInfo.Capabilities(
        audio: .sendReceive, video: hasVideo ? .sendReceive : hasContent ? .receive : .none,
        content: hasContent ? .sendReceive : .none)
    }
    func direction(_ value: String?, _ name: String) throws(AWSError) -> ChimeJoinInfo.Capabilities.Direction {
      guard let value else {
        throw fail(
          "1 validation error detected: Value null at 'capabilities.\(name)' failed to satisfy constraint: Member must not be null"
        )
      }
      guard let direction = ChimeJoinInfo.Capabilities.Direction(rawValue: value) else {
        throw fail(
          "1 validation error detected: Value '\(value.prefix(64))' at 'capabilities.\(name)' failed to satisfy constraint: "
            + "Member must satisfy enum value set: [SendReceive, Send, Receive, None]")
      }
      return direction
    }
    let capabilities = ChimeJoinInfo.Capabilities(
      audio: try direction(request.Audio, "audio"), video: try direction(request.Video, "video"),
      content: try direction(request.Content, "content"))
    guard hasVideo || capabilities.video == .none else {
      throw fail("Video capability must be None in a meeting without video")
    }
    guard hasContent || capabilities.content == .none else {
      throw fail("Content capability must be None in a meeting without content")
    }
    if capabilities.content.receives, !capabilities.video.receives {
      throw fail("Content capability cannot receive unless Video capability receives")
    }
    return capabilities
  }
}
