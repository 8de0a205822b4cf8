import CallModel
import CompilerFacts
import KoinePorting
import SwiftSyntax

/// What of the stage strategy style porting.json cannot say: the strategy's questions, the renderer, streams with their devices, and
/// errors with numbers.
enum StageReader: StyleReader {
  static let style = Style.stageStrategy
  static let helpers = StageHelper.files
  static let objects: Set<String> = ["IVSStageStream", "IVSLocalStageStream", "IVSRemoteStageStream"]
  static let roles: [String: KeptProperty.Role] = [
    "IVSStage": .call, "IVSParticipantInfo": .participant, "IVSStageStream": .track,
  ]

  private static let options = "IVSLocalStageStreamVideoConfiguration."
  private static let layers = "the SDK decides on the layers"
  private static let camera = "Machine.Device"
  private static let subscription = "streams come with their subscription, and go with it"
  private static let audioManager = "echo is cancelled without it"
  private static let errors = "`handle` gets the errors of the stage and of devices"
  private static let readings: [String: Reading] = [
    "IVSStage": .code("RoomStage"), "IVSStage.join()": .word("RoomStage.join"),
    "IVSStage.leave()": .word("RoomStage.leave"),
    "IVSStage.session": .word("RoomStage.session"), "IVSDeviceDescriptor.friendlyName": .word("Machine.Device.name"),
    "IVSStage.addRenderer(_:)": .registration(of: .ofCall, isOn: true),
    "IVSStage.remove(_:)": .registration(of: .ofCall, isOn: false),
    "IVSStage.errorDelegate": .lost(symbol: "IVSStage.errorDelegate", instead: errors),
    "StageDevice.errorDelegate": .lost(symbol: "StageDevice.errorDelegate", instead: errors),
    "IVSErrorSource.errorDelegate": .lost(symbol: "IVSErrorSource.errorDelegate", instead: errors),
    "IVSErrorSource": .code("Track.Kind?"),
    "IVSParticipantInfo": .code("Participant"),
    "IVSParticipantCapability": .code("Set<ParticipantPermission>"),
    "IVSParticipantCapability.publish": .word("ParticipantPermission.camera"),
    "IVSParticipantCapability.subscribe": .word("ParticipantPermission.subscribe"),
    "IVSStageConnectionState": .code("SessionState"),
    // Streams, and their devices: in the common layer a stream is both.
    "IVSStageStream": .code("RoomStream"), "IVSLocalStageStream": .code("RoomStream"),
    "IVSRemoteStageStream": .code("RoomStream"), "IVSImageDevice": .code("RoomStream"),
    "IVSAudioDevice": .code("RoomStream"), "IVSStageStream.device": .word("self"),
    "IVSDeviceDescriptor.urn": .word("Track.ID.description"),
    "IVSLocalStageStream.init(device:)": .word("RoomStream.init(device:)"),
    "IVSLocalStageStream.init(device:configuration:)": .word("RoomStream.init(device:configuration:)"),
    "IVSLocalStageStream.init(device:config:)": .word("RoomStream.init(device:config:)"),
    "IVSLocalStageStream.setMuted(_:)": .word("RoomStream.setMuted"),
    "IVSImageDevice.previewView(with:)": .word("RoomStream.makeView"),
    "IVSImageDevice.previewView()": .word("RoomStream.makeView"),
    "IVSImagePreviewView": .code("VideoView"),
    "IVSBroadcastConfiguration.AspectMode": .code("UIView.ContentMode"),
    "IVSBroadcastConfiguration.AspectMode.fit": .word("UIView.ContentMode.scaleAspectFit"),
    "IVSBroadcastConfiguration.AspectMode.fill": .word("UIView.ContentMode.scaleAspectFill"),
    "IVSAudioDevice.setStatsCallback(_:)": .word("RoomStream.setLevelHandler"),
    "IVSAudioDeviceStats": .code("Float"), "IVSAudioDeviceStats.rms": .word("self"),
    "IVSParticipantPublishState": .code("Bool"), "IVSParticipantPublishState.published": .code("true"),
    "IVSParticipantPublishState.notPublished": .code("false"),
    "IVSParticipantPublishState.attemptingPublish": .lost(
      symbol: "IVSParticipantPublishState.attemptingPublish", instead: "`true` comes when the streams are published"),
    "IVSParticipantSubscribeState": .lost(symbol: "IVSParticipantSubscribeState", instead: subscription),
    "IVSStageSubscribeType": .code("Set<Track.Kind>"), "IVSStageSubscribeType.none": .code("[]"),
    "IVSStageSubscribeType.audioOnly": .code("[.microphone, .screenSound]"),
    "IVSStageSubscribeType.audioVideo": .code("Set(Track.Kind.allCases)"),
    // Devices.
    "IVSDeviceDiscovery": .code("Machine.Device.Type"), "IVSDeviceDiscovery.init()": .code("Machine.Device.self"),
    "IVSCamera": .code(camera), "IVSMicrophone": .code(camera), "IVSDevice": .code(camera),
    "IVSMultiSourceDevice": .code(camera), "IVSDeviceDescriptor": .code(camera),
    "IVSDevicePosition": .code("Machine.Attachment"), "IVSDevicePosition.USB": .word("Machine.Attachment.usb"),
    "IVSDevicePosition.AUX": .word("Machine.Attachment.wired"),
    "IVSCustomImageSource": .code("VideoFeed"), "IVSCustomImageSource.onSampleBuffer(_:)": .word("RoomFeed.push"),
    "MicrophoneDevice.isEchoCancellationEnabled": .lost(
      symbol: "IVSMicrophone.isEchoCancellationEnabled", instead: audioManager),
    "IVSStageAudioManager.setPreset(_:)": .lost(symbol: "IVSStageAudioManager.setPreset(_:)", instead: audioManager),
    "IVSStageAudioManager": .lost(symbol: "IVSStageAudioManager", instead: audioManager),
    // Configurations.
    "IVSLocalStageStreamConfiguration": .code("VideoPublishOptions"),
    "IVSLocalStageStreamConfiguration.init()": .word("VideoPublishOptions.init()"),
    "IVSLocalStageStreamConfiguration.video": .word("self"),
    "IVSLocalStageStreamVideoConfiguration": .code("VideoPublishOptions"),
    "IVSLocalStageStreamVideoConfiguration.init()": .word("VideoPublishOptions.init()"),
    options + "simulcast": .lost(symbol: options + "simulcast", instead: layers),
    "IVSSimulcastConfiguration.enabled": .lost(symbol: "IVSSimulcastConfiguration.enabled", instead: layers),
    options + "degradationPreference": .lost(symbol: options + "degradationPreference", instead: "the SDK decides"),
    // Errors.
    "IVSBroadcastErrorDomain": .code("RoomFault.domain"), "IVSBroadcastError": .code("RoomFault"),
    "IVSBroadcastErrorIsFatalKey": .code("RoomFault.isFatalKey"),
    "IVSBroadcastError.deviceNotFound": .word("RoomFault.device"),
    "IVSBroadcastResultDescriptionErrorKey": .code("NSLocalizedDescriptionKey"),
  ]

  static func reading(of symbol: String) -> Reading? {
    if let reading = readings[symbol] { return reading }
    return switch symbol.split(separator: ".").last {
    case "setPreferredInputSource(_:)", "setPreferredInputSource(_:onComplete:)": .word("RoomDevice.choose")
    default: nil
    }
  }

  static func difference(of symbol: String, in target: Style) -> String? {
    switch (symbol, target) {
    case (_, .koine), (_, .stageStrategy): nil
    case ("IVSParticipantInfo.attributes", _):
      "only the participant's name, under `name` and `username`; nothing else of the token's"
    case ("IVSStageSubscribeType.none", .meetingSession), ("IVSStageSubscribeType.none", .callAgent):
      "no video; the sound of all participants comes mixed, so this one is heard"
    case ("IVSAudioDeviceStats.rms", .eventListener), ("IVSAudioDeviceStats.rms", .callAgent):
      "−20 dB for the one active speaker, silence for all others"
    case ("IVSAudioDeviceStats.rms", _): "the five steps of a meeting's volumes, in decibels"
    // Its callback has the error beside it.
    case ("IVSStageConnectionState.disconnected", .meetingSession):
      "a removal and a closed room have the same status code in a meeting: the error is 1026 for both"
    case ("IVSStageConnectionState.disconnected", .callAgent):
      "a full room and a refused token have the same code in a call: the error is 1026 for both"
    default: nil
    }
  }

  /// What the token permits with a participant is what it permits with all.
  nonisolated(unsafe) private static let capabilities = Structure(.written, inVendors: .inHelper) { use in  // no state
    if use.isOfVendor { return use.writer.code("RoomStage").text + ".capabilities" }
    return use.call.map { "(\($0).session.permissions ?? Set(ParticipantPermission.allCases))" }
  }

  static func structure(of symbol: String) -> Structure? {
    symbol == "IVSParticipantInfo.capabilities" ? capabilities : nil
  }

  /// Handlers that do nothing with the stage get the session.
  static func text(of node: Syntax, _ renderer: LayerRenderer) throws(Unportable) -> String? {
    if let text = try CastPatterns.text(of: node, renderer) { return text }
    if let member = node.as(MemberAccessExprSyntax.self), member.declName.baseName.text == "self",
      let type = member.base?.lastToken(viewMode: .sourceAccurate), let symbol = renderer.symbol(at: type),
      condition(ofType: symbol) != nil
    {
      // A type of the stage's that is one of several that the new layer's one type stands for.
      throw .unknown(symbol + ".self")
    }
    guard renderer.context.writer is KoineWriter, let type = node.as(IdentifierTypeSyntax.self),
      renderer.symbol(at: type.name) == "IVSStage",
      let parameter = type.parent?.as(FunctionParameterSyntax.self),
      let list = parameter.parent?.as(FunctionParameterListSyntax.self),
      let function = list.parent?.parent?.parent?.as(FunctionDeclSyntax.self),
      let index = list.enumerated().first(where: { $1.id == parameter.id })?.offset
    else { return nil }
    let handlers = renderer.source.occurrences(at: function.name).compactMap {
      renderer.context.model.handler($0.symbol.usr)
    }
    guard handlers.contains(where: { $0.unused.contains(index) }) else { return nil }
    renderer.mark(type.name, .written)
    return type.name.replaced(by: "Session")
  }

  static func fact(of symbol: String, type: String?) -> Fact? {
    guard symbol == "IVSStageRenderer.stage(_:participant:didChange:)" else { return nil }
    return type?.contains("IVSParticipantPublishState") == true ? .publishing : nil
  }

  static func instead(ofCallback symbol: String, type: String?) -> String? {
    if symbol.hasSuffix(".stage(_:subscribeConfigurationForParticipant:)") {
      return "the SDK decides on delays and the first layer"
    }
    return type?.contains("IVSParticipantSubscribeState") == true
      ? subscription : nil
  }

  private static let limits = [
    options + "setTargetFramerate(_:)": "maximumFramesPerSecond", options + "setMaxBitrate(_:)": "maximumBitrate",
    options + "setMinBitrate(_:)": "minimumBitrate",
  ]
  static let nonthrowing: Set<String> = Set(limits.keys).union([
    options + "setSize(_:)", "IVSImageDevice.previewView(with:)",
  ])

  static func text(
    of call: FunctionCallExprSyntax, _ symbol: String, _ renderer: LayerRenderer
  ) throws(Unportable) -> (text: String, share: Share)? {
    let base = call.calledExpression.as(MemberAccessExprSyntax.self)?.base
    let first = call.arguments.first?.expression
    let code = renderer.context.writer.code
    switch symbol {
    case "IVSStage.init(token:strategy:)":
      guard let first, call.arguments.last?.expression.as(DeclReferenceExprSyntax.self)?.baseName.text == "self",
        renderer.context.isInCallClass(Syntax(call), in: renderer.source)
      else { throw .unknown(symbol + " with another strategy than self") }
      return (code("RoomStage").text + "(token: \(try renderer.trimmed(first)))", .inHelper)
    case "IVSStage.refreshStrategy()":
      guard let base, renderer.context.isInCallClass(Syntax(call), in: renderer.source) else { throw .unknown(symbol) }
      // The function takes a stage that is not there, too: without the sign of the optional chain.
      let text = try renderer.trimmed(base)
      let stage = text.hasSuffix("?") ? String(text.dropLast()) : text
      return ("\(renderer.context.writer.free("decide"))(in: \(stage))", .written)
    case "IVSDevice.descriptor()", "StageDevice.descriptor()":
      guard let base else { return nil }
      return (try renderer.trimmed(base), .written)
    case "IVSDeviceDiscovery.init()": return code("Machine.Device.self")
    case "IVSDeviceDiscovery.listLocalDevices()":
      guard let base else { return nil }
      let list = try renderer.trimmed(base)
      return ((list.hasSuffix(".self") ? String(list.dropLast(5)) : list) + ".all", .inHelper)
    case "IVSDeviceDiscovery.createImageSource(withName:)":
      if let base { _ = try renderer.trimmed(base) }
      return code("VideoFeed(repeatingAfter: .milliseconds(100))")
    case options + "setSize(_:)":
      guard let base, let size = first?.as(FunctionCallExprSyntax.self),
        size.calledExpression.trimmedDescription == "CGSize",
        let width = size.arguments.first?.expression, let height = size.arguments.last?.expression
      else { throw .unknown(symbol + " with a size that is not made there") }
      let target = try renderer.trimmed(base)
      let values = (try renderer.trimmed(width), try renderer.trimmed(height))
      return ("(\(target).maximumWidth, \(target).maximumHeight) = (\(values.0), \(values.1))", .written)
    default:
      if let base, symbol.hasSuffix(".listAvailableInputSources()") {
        return ("\(try renderer.trimmed(base)).sources", .inHelper)
      }
      guard let base, let first, let limit = limits[symbol] else { return nil }
      return ("\(try renderer.trimmed(base)).\(limit) = \(try renderer.trimmed(first))", .written)
    }
  }

  static func text(
    ofCast value: String, to symbol: String, isTest: Bool, from type: String?
  ) throws(Unportable) -> (text: String, share: Share)? {
    if type?.hasSuffix("IVSErrorSource") == true {
      guard isTest else { throw .unknown("\(symbol) of an error's source") }
      if symbol == "IVSDevice" || symbol == "IVSMultiSourceDevice" { return ("\(value) != nil", .written) }
      guard let kind = kind(ofSource: symbol) else { throw .unknown("\(symbol) of an error's source") }
      return ("\(value) == \(kind)", .written)
    }
    return condition(ofType: symbol).map { (cast(value, where: $0, isTest), .written) }
  }

  static func condition(ofType symbol: String) -> String? {
    switch symbol {
    case "IVSImageDevice": ".kind.isVideo"
    case "IVSAudioDevice": ".kind.isAudio"
    case "IVSCamera": ".kind == .camera"
    case "IVSMicrophone": ".kind == .microphone"
    default: nil
    }
  }

  /// The source of an error is the kind of its stream in the new layer; of the stage's own errors, it is nil.
  static func kind(ofSource symbol: String) -> String? {
    switch symbol {
    case "IVSStage": "nil"
    case "IVSCamera", "IVSImageDevice": ".camera"
    case "IVSMicrophone", "IVSAudioDevice": ".microphone"
    default: nil
    }
  }

  /// Types of devices that are not a stream's in the new layer.
  private static let ownDevices: Set<String> = ["IVSDevice", "IVSCamera", "IVSMicrophone", "IVSMultiSourceDevice"]

  /// `stream.device === camera`: a stream is its device, too, but not the one that it was made with.
  static func comparison(
    _ value: ExprSyntax, _ sign: ExprSyntax, _ other: ExprSyntax, _ renderer: LayerRenderer
  ) throws(Unportable) -> String? {
    guard let sign = sign.as(BinaryOperatorExprSyntax.self), ["===", "!==", "==", "!="].contains(sign.operator.text)
    else { return nil }
    func member(_ expression: ExprSyntax) -> MemberAccessExprSyntax? {
      let member = expression.as(MemberAccessExprSyntax.self)
      return member.flatMap { renderer.symbol(at: $0.declName.baseName) == "IVSStageStream.device" ? $0 : nil }
    }
    let (left, right) = (member(value), member(other))
    guard (left == nil) != (right == nil), let base = (left ?? right)?.base,
      let type = renderer.type(of: left == nil ? value : other)?.split(separator: ".").last,
      ownDevices.contains(String(type))
    else { return nil }
    let text = try [value, other].map { side throws(Unportable) in
      guard let member = member(side) else { return try renderer.render(Syntax(side)) }
      renderer.mark(member.declName.baseName, .inHelper)
      return side.leadingTrivia.description + (try renderer.trimmed(base)) + ".device" + side.trailingTrivia.description
    }
    let operation = renderer.context.writer.equality(sign.operator.text) ?? sign.operator.text
    return text[0] + sign.operator.replaced(by: operation) + text[1]
  }

  // MARK: Facts

  static func dispatch(_ model: CallModel, of type: String, _ writer: LayerWriter) -> String? {
    let calls = { (fact: Fact, values: [String]) in
      model.handlers.filter { $0.fact == fact }.map { handler in
        writer.call(handler, values.first == "stage" ? [Self.stage(of: handler)] + values.dropFirst() : values)
      }
    }
    let streams = "[track].compactMap(stage.stream)"
    let events: [(event: String, statements: [String])] = [
      (
        "stateChanged(let state)",
        calls(.state, ["stage", "state == .reconnecting ? .connecting : state", "RoomFault.error(of: state)"])
          + ["if state == .connected { \(writer.free("decide"))(in: stage) }"]
      ),
      (
        "participantJoined(let participant)",
        calls(.participantJoined, ["stage", "participant"])
          + (calls(.publishing, ["stage", "participant", "true"])
          + ["\(writer.free("decide"))(about: participant, in: stage)"]).map { "if !participant.isLocal { \($0) }" }
      ),
      (
        "participantLeft(let participant, _)",
        calls(.publishing, ["stage", "participant", "false"]) + calls(.participantLeft, ["stage", "participant"])
      ),
      (
        "attributesChanged(let participant)",
        updates(model, writer) + calls(.attributes, ["stage", "participant"])
      ),
      ("streamPublished", calls(.publishing, ["stage", "stage.session.localParticipant", "true"])),
      ("streamAdded(let track, let owner)", calls(.streamAdded, ["stage", "owner", streams])),
      ("streamRemoved(let track, let owner)", calls(.streamRemoved, ["stage", "owner", streams])),
      ("streamMuted(let track, let owner)", calls(.muted, ["stage", "owner", streams])),
      (
        "publishFailed(let track, let failure)",
        (calls(.failure, ["track.kind", "RoomFault.error(of: failure)"])).map { "if failure.code == .device { \($0) }" }
          + calls(.failure, ["nil", "RoomFault.error(of: failure)"])
      ),
      ("failed(let failure)", calls(.failure, ["nil", "RoomFault.error(of: failure)"])),
    ]
    var lines = [
      "extension \(type) {", "  /// Calls the functions above for what the stage reports.",
      "  private func \(writer.handleName)(_ event: SessionEvent, in stage: RoomStage) {", "    switch event {",
    ]
    for (event, statements) in events where !statements.isEmpty {
      lines += ["    case .\(event):"] + statements.map { "      " + $0 }
    }
    lines += ["    default: break", "    }", "  }"]
    lines += decisions(
      model, writer, when: "stage.session.state == .connected", local: "stage.session.localParticipant")
    lines += ["}", ""]
    return lines.joined(separator: "\n")
  }

  /// Participants are values in the common layer: the app's list gets the new one.
  private static func updates(_ model: CallModel, _ writer: LayerWriter) -> [String] {
    guard let list = model.kept(as: .participants) else { return [] }
    return [
      "if let index = \(list.name).firstIndex(where: { $0.id == participant.id }) { \(list.name)[index] = participant }"
    ]
  }

  /// What a handler gets as the stage.
  private static func stage(of handler: Handler) -> String {
    handler.unused.contains(0) ? "stage.session" : "stage"
  }

  /// The functions that publish and receive what the app's strategy says.
  static func decisions(
    _ model: CallModel, _ writer: LayerWriter, when isConnected: String, local: String
  ) -> [String] {
    let calls = { (fact: Fact, person: String) in
      model.handlers.first { $0.fact == fact }.map {
        writer.call($0, [writer is KoineWriter ? Self.stage(of: $0) : "stage", person])
      }
    }
    // A function that is not ported decides for nothing.
    let published = calls(.shouldPublish, "local").flatMap { isPublished in
      calls(.streamsToPublish, "local").map { "\(isPublished) ? { self.\($0) } : nil" }
    }
    let received = calls(.wantedMedia, "participant").map { "    stage.receive(\($0), of: participant)" }
    let decide = writer.free("decide")
    let stage = writer.code("RoomStage").text
    return [
      "", "  /// Publishes and receives what the functions above decide.",
      "  private func \(decide)(in stage: \(stage)?) {",
      "    guard let stage, \(isConnected) else { return }",
    ]
      + (published.map { ["    let local = \(local)", "    stage.publish(\($0))"] } ?? ["    stage.publish(nil)"]) + [
        "    for participant in stage.participants { \(decide)(about: participant, in: stage) }", "  }", "",
        "  private func \(decide)(about participant: \(writer.code("Participant").text), in stage: \(stage)) {",
      ] + (received.map { [$0] } ?? []) + ["  }"]
  }
}
