import CallModel
import CompilerFacts
import KoinePorting
import SwiftSyntax

/// What of the call agent style porting.json cannot say: delegates, options, features of a call, and completion handlers.
enum CallAgentReader: StyleReader {
  static let style = Style.callAgent
  static let roles: [String: KeptProperty.Role] = [
    "Call": .call, "RemoteParticipant": .participant, "RemoteVideoStream": .track,
  ]
  static let helpers = [KoineHelper.file] + CallAgentHelper.files
  /// Objects that stay objects in the new layer: they are compared by identity there, too.
  static let objects: Set<String> = [
    "Call", "CallAgent", "IncomingCall", "LocalVideoStream", "VideoStreamRenderer", "DataChannelReceiver",
    "ScreenShareOutgoingVideoStream",
  ]

  static let factsOfObjects: Set<Fact> = [
    .ring, .callsChanged, .ringEnded, .channelOpened, .channelMessage, .shareChanged, .viewFailed, .firstFrame,
  ]

  static let factsOfDelegates: Set<Fact> = [.muted, .streamsChanged]

  static func value(of symbols: [String]) -> String? { nil }

  static func reading(of symbol: String) -> Reading? {
    if emptyOptions.contains(symbol) { return .lost(symbol: symbol, instead: "the options of a call have all in one") }
    if teams.contains(where: symbol.hasPrefix) {
      return .lost(symbol: symbol, instead: "meetings of Teams are reached in the call agent style only")
    }
    return words[symbol].map { .word($0) }
  }

  private static let teams = ["TeamsMeeting", "JoinTeamsMeetingLocator"]

  private static let emptyOptions: Set<String> = [
    "OutgoingAudioOptions.init()", "OutgoingVideoOptions.init()", "IncomingVideoOptions.init()", "AudioOptions.init()",
  ]
  /// Options of options, by the properties that hold them: what the call's options call them.
  private static let parts = [
    "CallOptions.outgoingAudioOptions": "audio", "CallOptions.audioOptions": "audio",
    "CallOptions.outgoingVideoOptions": "sent",
  ]
  private static let madeParts: Set<String> = [
    "OutgoingAudioOptions.init()", "OutgoingVideoOptions.init()", "AudioOptions.init()",
  ]

  /// Symbols whose meaning is one of the helpers'.
  private static let words: [String: String] = [
    "CallClient": "RoomAgent", "CallClient.init()": "RoomAgent.init()", "CallAgent": "RoomAgent",
    "CallAgentOptions.init()": "CallSetup.init()", "CallAgentOptions.displayName": "CallSetup.name",
    "JoinCallOptions": "CallSetup", "JoinCallOptions.init()": "CallSetup.init()",
    "StartCallOptions": "CallSetup", "StartCallOptions.init()": "CallSetup.init()",
    "AcceptCallOptions": "CallSetup", "AcceptCallOptions.init()": "CallSetup.init()", "CallOptions": "CallSetup",
    "CallOptions.outgoingAudioOptions": "self", "CallOptions.outgoingVideoOptions": "self",
    "CallOptions.audioOptions": "self", "OutgoingAudioOptions": "CallSetup", "OutgoingVideoOptions": "CallSetup",
    "AudioOptions": "CallSetup", "AudioOptions.muted": "CallSetup.isMuted",
    "HangUpOptions": "CallSetup", "HangUpOptions.init()": "CallSetup.init()",
    "OutgoingAudioOptions.muted": "CallSetup.isMuted", "OutgoingVideoOptions.streams": "CallSetup.videos",
    "CallOptions.videoOptions": "CallSetup.video", "VideoOptions": "[RoomVideo]",
    "VideoOptions.localVideoStreams": "self",
    "CommunicationTokenCredential": "RoomCredential", "CommunicationTokenRefreshOptions": "RoomCredential",
    "CommunicationUserIdentifier": "String", "CommunicationUserIdentifier.identifier": "self",
    "UnknownIdentifier": "String", "UnknownIdentifier.identifier": "self",
    "PhoneNumberIdentifier": "String", "MicrosoftTeamsUserIdentifier": "String",
    "ParticipantState": "AgentCallState", "ParticipantState.idle": "AgentCallState.none",
    "ParticipantState.connecting": "AgentCallState.connecting", "ParticipantState.ringing": "AgentCallState.ringing",
    "ParticipantState.inLobby": "AgentCallState.inLobby", "ParticipantState.connected": "AgentCallState.connected",
    "ParticipantState.disconnected": "AgentCallState.ended", "RemoteParticipant.state": "RoomParticipant.state",
    "JoinMeetingLocator": "String", "RoomCallLocator": "String", "GroupCallLocator": "String",
    "Call": "AgentCall", "Call.id": "AgentCall.id", "Call.session": "AgentCall.session",
    "Call.isMuted": "AgentCall.isMuted", "Call.feature(_:)": "self",
    "Call.state": "AgentCall.state", "CallState": "AgentCallState",
    "CallState.none": "AgentCallState.none", "CallState.connecting": "AgentCallState.connecting",
    "CallState.ringing": "AgentCallState.ringing", "CallState.connected": "AgentCallState.connected",
    "CallState.inLobby": "AgentCallState.inLobby", "CallState.disconnecting": "AgentCallState.leaving",
    "CallState.disconnected": "AgentCallState.ended",
    "Call.callEndReason": "AgentCall.end", "CallEndReason.code": "AgentCall.code",
    "CallEndReason.subcode": "AgentCall.subcode", "Call.remoteParticipants": "AgentCall.others",
    "Call.isOutgoingAudioMuted": "AgentCall.isMuted",
    "DominantSpeakersCallFeature": "AgentCall", "DominantSpeakersCallFeature.dominantSpeakersInfo": "self",
    "DominantSpeakersInfo.speakers": "AgentCall.speakers",
    "ParticipantsUpdatedEventArgs": "(added: [RoomParticipant], removed: [RoomParticipant])",
    "ParticipantsUpdatedEventArgs.addedParticipants": "added",
    "ParticipantsUpdatedEventArgs.removedParticipants": "removed",
    "CallsUpdatedEventArgs": "(added: [AgentCall], removed: [AgentCall])",
    "CallsUpdatedEventArgs.addedCalls": "added", "CallsUpdatedEventArgs.removedCalls": "removed",
    "RemoteVideoStreamsEventArgs": "(added: [RoomTrack], removed: [RoomTrack])",
    "RemoteVideoStreamsEventArgs.addedRemoteVideoStreams": "added",
    "RemoteVideoStreamsEventArgs.removedRemoteVideoStreams": "removed",
    "IncomingCall": "IncomingRing",
    "RemoteParticipant": "RoomParticipant", "RemoteParticipant.isMuted": "RoomParticipant.isMuted",
    "RemoteParticipant.incomingVideoStreams": "RoomParticipant.videos",
    "RemoteParticipant.videoStreams": "RoomParticipant.videos",
    "RemoteParticipant.isSpeaking": "RoomParticipant.isSpeaking",
    "RemoteVideoStream": "RoomTrack", "CallVideoStream.id": "RoomTrack.number", "CallVideoStream.state": "self",
    "VideoStreamState.available": "RoomTrack.isSent", "VideoStreamState.started": "RoomTrack.isSent",
    "VideoStreamStateChangedEventArgs.stream": "self",
    "LocalVideoStream": "RoomVideo", "LocalVideoStream.source": "RoomVideo.device",
    "ScreenShareOutgoingVideoStream": "RoomVideo",
    "RawVideoFrameBuffer.init()": "RoomFrame.init()", "RawVideoFrameBuffer.buffer": "RoomFrame.buffer",
    "VideoStreamRenderer": "RoomRenderer", "VideoStreamRenderer.size": "RoomRenderer.size",
    "StreamSize.width": "RoomRenderer.width", "StreamSize.height": "RoomRenderer.height",
    "VideoStreamFormat.init()": "VideoFormat.init()",
    "RawOutgoingVideoStreamOptions.init()": "[VideoFormat].init()",
    "DataChannelCallFeature": "AgentCall", "DataChannelSender": "RoomChannel",
    "DataChannelSenderOptions.init()": "CallSetup.init()", "DataChannelSenderOptions.channelId": "CallSetup.channel",
    "DataChannelSender.maxMessageSizeInBytes": "RoomChannel.limit",
    "DataChannelReceiver": "RoomInbox", "DataChannelReceiver.channelId": "RoomInbox.channel",
    "DataChannelReceiver.senderIdentifier": "RoomInbox.sender",
    "DataChannelReceiverCreatedEventArgs": "RoomInbox", "DataChannelReceiverCreatedEventArgs.receiver": "self",
    "DataChannelMessage.data": "self",
    "CallingCommunicationErrors.noAudioPermission": "AgentFailure.microphoneDenied",
    "CallingCommunicationErrors.noVideoPermission": "AgentFailure.cameraDenied",
    "CallingCommunicationErrors.invalidTokenProvider": "AgentFailure.unauthorized",
    "CallingCommunicationErrors.noMultipleConnectionsWithSameIdentity": "AgentFailure.duplicate",
    "CallingCommunicationErrors.incomingCallAlreadyUnplaced": "AgentFailure.ended",
    "CallingCommunicationErrors.localVideoStreamSwitchSourceFailure": "AgentFailure.camera",
  ]
  static var helperWords: Set<String> {
    [
      "RoomAgent", "CallSetup", "AgentCall", "AgentCallState", "IncomingRing", "RoomParticipant", "RoomTrack",
      "RoomVideo",
      "RoomFrame", "RoomRenderer", "RoomChannel", "RoomInbox", "RoomCredential",
    ]
  }

  // MARK: Calls

  /// How a call of the style is written: another function with other labels.
  private struct Function {
    let name: String
    /// New labels by old ones: `_` for none, nil for an argument that has no counterpart.
    var labels: [String: String?] = [:]
    /// Arguments that come first.
    var first: [String] = []
    /// Labels of arguments that change nothing there.
    var left: Set<String> = []
    var share = Share.inHelper
  }

  private static let completion: [String: String?] = ["completionHandler": "completion"]
  private static func with(_ labels: [String: String?]) -> [String: String?] { labels.merging(completion) { $1 } }

  /// Of functions with a completion handler, the form without one is asynchronous.
  private static let functions = handled.reduce(into: handled) { functions, entry in
    let (symbol, function) = entry
    guard symbol.hasSuffix("completionHandler:)") else { return }
    functions[symbol.replacing("completionHandler:)", with: ")")] = function
  }

  private static let handled: [String: Function] = [
    "CallClient.createCallAgent(userCredential:options:completionHandler:)": Function(
      name: "register", labels: with(["userCredential": "credential", "options": "setup"])),
    "CallClient.getDeviceManager(completionHandler:)": Function(name: "machine", labels: completion),
    "CallAgent.join(with:joinCallOptions:completionHandler:)": Function(
      name: "start", labels: with(["with": "room", "joinCallOptions": "setup"])),
    "CallAgent.startCall(participants:options:completionHandler:)": Function(
      name: "start", labels: with(["participants": "callees", "options": "setup"])),
    "IncomingCall.accept(options:completionHandler:)": Function(name: "accept", labels: with(["options": "setup"])),
    "IncomingCall.reject(completionHandler:)": Function(name: "decline", labels: completion),
    "Call.hangUp(options:completionHandler:)": Function(name: "hangUp", labels: with(["options": nil])),
    "Call.muteOutgoingAudio(completionHandler:)": Function(name: "setMuted", labels: completion, first: ["true"]),
    "Call.unmuteOutgoingAudio(completionHandler:)": Function(name: "setMuted", labels: completion, first: ["false"]),
    "Call.mute(completionHandler:)": Function(name: "setMuted", labels: completion, first: ["true"]),
    "Call.unmute(completionHandler:)": Function(name: "setMuted", labels: completion, first: ["false"]),
    "Call.startVideo(stream:completionHandler:)": Function(name: "start", labels: with(["stream": "_"])),
    "Call.stopVideo(stream:completionHandler:)": Function(name: "stop", labels: with(["stream": "_"])),
    "LocalVideoStream.init(camera:)": Function(name: "RoomVideo", labels: ["camera": "camera"]),
    "LocalVideoStream.switchSource(camera:completionHandler:)": Function(
      name: "choose", labels: with(["camera": "camera"])),
    "ScreenShareOutgoingVideoStream.init(videoStreamOptions:)": Function(
      name: "RoomVideo", labels: ["videoStreamOptions": "formats"]),
    "RawOutgoingVideoStream.send(frame:completionHandler:)": Function(name: "send", labels: with(["frame": "_"])),
    "VideoStreamRenderer.init(localVideoStream:)": Function(
      name: "RoomRenderer", labels: ["localVideoStream": "video"]),
    "VideoStreamRenderer.init(remoteVideoStream:)": Function(
      name: "RoomRenderer", labels: ["remoteVideoStream": "track"]),
    "VideoStreamRenderer.createView(withOptions:)": Function(name: "makeView", labels: ["withOptions": "_"]),
    "VideoStreamRenderer.createView()": Function(name: "makeView"),
    "VideoStreamRenderer.dispose()": Function(name: "dispose"),
    "DataChannelCallFeature.getDataChannelSender(options:)": Function(name: "channel", labels: ["options": "setup"]),
    "DataChannelSender.sendMessage(data:)": Function(name: "send", labels: ["data": "_"]),
    "DataChannelSender.closeSender()": Function(name: "close"),
    "DataChannelReceiver.receiveMessage()": Function(name: "next"),
    "CommunicationTokenCredential.init(token:)": Function(name: "RoomCredential", labels: ["token": "token"]),
    "CommunicationTokenCredential.init(withOptions:)": Function(
      name: "RoomCredential", labels: ["withOptions": "of"]),
    "CommunicationTokenRefreshOptions.init(initialToken:refreshProactively:tokenRefresher:)": Function(
      name: "RoomCredential", labels: ["initialToken": "initialToken", "tokenRefresher": "refresher"],
      left: ["refreshProactively"]),
  ]
  /// Calls that mean nothing besides their argument.
  private static let wrappers: Set<String> = [
    "RoomCallLocator.init(roomId:)", "CommunicationUserIdentifier.init(_:)", "CreateViewOptions.init(scalingMode:)",
    "VideoOptions.init(localVideoStreams:)", "createCommunicationIdentifier(fromRawId:)",
  ]

  static func text(of node: Syntax, _ renderer: LayerRenderer) throws(Unportable) -> String? {
    if let text = try CastPatterns.text(of: node, renderer) { return text }
    if let call = node.as(FunctionCallExprSyntax.self) { return try text(of: call, renderer) }
    if let sequence = node.as(SequenceExprSyntax.self), sequence.parent?.is(CodeBlockItemSyntax.self) == true {
      return try text(of: sequence, renderer)
    }
    if let chain = node.as(OptionalChainingExprSyntax.self) { return try text(of: chain, renderer) }
    if let loop = node.as(ForStmtSyntax.self) { return try text(of: loop, renderer) }
    if let type = node.as(IdentifierTypeSyntax.self) { return text(of: type, renderer) }
    if let name = node.as(DeclReferenceExprSyntax.self) { return text(of: name, renderer) }
    if let member = node.as(MemberAccessExprSyntax.self) { return try text(of: member, renderer) }
    return nil
  }

  /// An initializer as a value: `cameras.map(LocalVideoStream.init(camera:))`.
  private static func text(
    of member: MemberAccessExprSyntax, _ renderer: LayerRenderer
  ) throws(Unportable) -> String? {
    if renderer.symbol(at: member.declName.baseName) == "IncomingVideoStream.isAvailable", let base = member.base {
      renderer.mark(member.declName.baseName, .inHelper)
      return try renderer.render(Syntax(base)) + member.period.description
        + member.declName.baseName.replaced(by: "isSent")
    }
    if let length = kinds[renderer.symbol(at: member.declName.baseName) ?? ""], let base = member.base {
      renderer.mark(member.declName.baseName, .written)
      let value = try renderer.trimmed(base)
      let text =
        value.hasSuffix("?")
        ? "\(value.dropLast()).map { String($0.dropFirst(\(length))) }" : "String(\(value).dropFirst(\(length)))"
      return member.leadingTrivia.description + text + member.trailingTrivia.description
    }
    guard let names = member.declName.argumentNames, let base = member.base,
      let function = renderer.symbol(at: member.declName.baseName).flatMap({ functions[$0] }),
      function.name.first?.isUppercase == true
    else { return nil }
    let labels = names.arguments.map { function.labels[$0.name.text] ?? nil }
    guard !labels.contains(nil) else { return nil }
    renderer.markAll(in: base, function.share)
    renderer.mark(member.declName.baseName, function.share)
    return member.leadingTrivia.description + name(of: function, renderer) + ".init("
      + labels.map { "\($0!):" }.joined() + ")" + member.trailingTrivia.description
  }

  // MARK: Identifiers

  /// What raw ids of telephones, and of users of Teams, begin with.
  private static let (phone, teamsUser) = ("4:", "8:orgid:")
  /// Properties with the rest of a raw id, by the length of its beginning.
  private static let kinds = [
    "PhoneNumberIdentifier.phoneNumber": phone.count, "MicrosoftTeamsUserIdentifier.userId": teamsUser.count,
  ]

  /// Identifiers are texts in the new layer, as `rawId` has them: those of telephones and of Teams begin with their kind.
  static func condition(ofType symbol: String) -> String? {
    switch symbol {
    case "CommunicationUserIdentifier": ".prefix(\(phone.count)) != \"\(phone)\""
    case "PhoneNumberIdentifier": ".hasPrefix(\"\(phone)\")"
    case "MicrosoftTeamsUserIdentifier": ".hasPrefix(\"\(teamsUser)\")"
    case "UnknownIdentifier": ".isEmpty"
    default: nil
    }
  }

  static func text(
    ofCast value: String, to symbol: String, isTest: Bool, from type: String?
  ) throws(Unportable) -> (text: String, share: Share)? {
    condition(ofType: symbol).map { (cast(value, where: $0, isTest), .written) }
  }

  static func difference(of symbol: String, in target: Style) -> String? {
    switch symbol {
    case "RemoteParticipant.isSpeaking": "true for the one participant that leads the conversation"
    case "CommunicationTokenRefreshOptions.init(initialToken:refreshProactively:tokenRefresher:)":
      "a new token is asked for once, when the user signs in"
    default: nil
    }
  }

  // MARK: Streams

  /// `for case let stream as RemoteVideoStream in participant.incomingVideoStreams` without the cast: the helper's list has
  /// one type.
  private static func text(of loop: ForStmtSyntax, _ renderer: LayerRenderer) throws(Unportable) -> String? {
    guard let keyword = loop.caseKeyword,
      let list = loop.sequence.as(MemberAccessExprSyntax.self)?.declName.baseName,
      renderer.symbol(at: list) == "RemoteParticipant.incomingVideoStreams",
      let binding = loop.pattern.as(ValueBindingPatternSyntax.self),
      let cast = binding.pattern.as(ExpressionPatternSyntax.self)?.expression.as(SequenceExprSyntax.self),
      let name = cast.elements.first?.as(PatternExprSyntax.self)?.pattern,
      let type = cast.elements.last?.lastToken(viewMode: .sourceAccurate),
      renderer.symbol(at: type) == "RemoteVideoStream"
    else { return nil }
    renderer.mark(type, .inHelper)
    let start = loop.forKeyword.description + keyword.leadingTrivia.description
    let pattern = name.trimmedDescription + type.trailingTrivia.description
    var text = start + pattern
    var isAfterPattern = false
    for child in loop.children(viewMode: .sourceAccurate) {
      if isAfterPattern { text += try renderer.render(child) }
      if child.id == loop.pattern.id { isAfterPattern = true }
    }
    return text
  }

  private static func text(of call: FunctionCallExprSyntax, _ renderer: LayerRenderer) throws(Unportable) -> String? {
    let member = call.calledExpression.as(MemberAccessExprSyntax.self)
    guard let token = member?.declName.baseName ?? call.calledExpression.as(DeclReferenceExprSyntax.self)?.baseName,
      let symbol = renderer.symbol(at: token)
    else { return nil }
    try checkMessages(symbol, renderer)
    if wrappers.contains(symbol), call.arguments.count == 1, let argument = call.arguments.first {
      renderer.mark(token, .written)
      return call.leadingTrivia.description + (try renderer.trimmed(argument.expression))
        + call.trailingTrivia.description
    }
    if symbol == "GroupCallLocator.init(groupId:)", let argument = call.arguments.first {
      // The room of a group is named like its UUID, in lower case.
      renderer.mark(token, .written)
      let identifier = try renderer.trimmed(argument.expression)
      return call.leadingTrivia.description + "\(identifier).uuidString.lowercased()" + call.trailingTrivia.description
    }
    if symbol == "Call.feature(_:)", let base = member?.base {
      guard let name = call.arguments.first?.expression.lastToken(viewMode: .sourceAccurate),
        let feature = renderer.symbol(at: name), features.contains(feature)
      else { throw .unknown("the feature \(call.arguments.trimmedDescription)") }
      try checkMessages(feature, renderer)
      renderer.mark(token, .written)
      renderer.markAll(in: call.arguments, .written)
      return call.leadingTrivia.description + (try renderer.trimmed(base)) + call.trailingTrivia.description
    }
    if symbol == "CallingCommunicationErrors.init(rawValue:)", let argument = call.arguments.first?.expression {
      guard let error = errorOfCode(argument) else { throw .unknown("\(symbol) of a number that is no error's") }
      renderer.mark(token, .written)
      return call.leadingTrivia.description + renderer.context.writer.failure(of: error)
        + call.trailingTrivia.description
    }
    if madeParts.contains(symbol), call.arguments.isEmpty, !isPartInPlace(call, renderer) {
      renderer.mark(token, .inHelper)
      return call.leadingTrivia.description + renderer.context.writer.name(of: "CallSetup").text + "()"
        + call.trailingTrivia.description
    }
    guard let function = functions[symbol] else { return nil }
    var arguments = function.first
    for argument in call.arguments where !function.left.contains(argument.label?.text ?? "_") {
      guard let label = function.labels[argument.label?.text ?? "_"] else {
        throw .unknown("\(symbol) with the argument '\(argument.label?.text ?? "_")'")
      }
      guard let label else {
        // Options that say nothing, or how the call ends.
        let options = argument.expression.as(FunctionCallExprSyntax.self)
        if options?.arguments.isEmpty ?? argument.expression.is(NilLiteralExprSyntax.self) {
          renderer.markAll(in: argument.expression, .dropped)
        } else {
          arguments.append("setup: \(try renderer.trimmed(argument.expression))")
        }
        continue
      }
      let text = try renderer.trimmed(argument.expression)
      arguments.append(label == "_" ? text : "\(label): \(text)")
    }
    renderer.mark(token, function.share)
    var text = call.leadingTrivia.description
    if let base = member?.base { text += (try renderer.trimmed(base)) + "." }
    text += name(of: function, renderer)
    let closure = try call.trailingClosure.map { closure throws(Unportable) in try renderer.trimmed(closure) }
    if closure == nil || !arguments.isEmpty { text += "(\(arguments.joined(separator: ", ")))" }
    if let closure { text += " " + closure }
    return text + call.trailingTrivia.description
  }

  /// - Throws: if it is of data channels, and the target has no messages.
  private static func checkMessages(_ symbol: String, _ renderer: LayerRenderer) throws(Unportable) {
    guard neededWord(of: symbol) != nil,
      case .lost(let symbol, let instead) = renderer.context.table.reading(of: symbol)
    else {
      return
    }
    throw .lost(symbol: symbol, instead: instead)
  }
  static func neededWord(of symbol: String) -> String? {
    symbol.hasPrefix("DataChannel") || symbol == "Features.dataChannel" ? "ReceivedMessage" : nil
  }

  /// A function's name, or the type's whose initializer it is.
  private static func name(of function: Function, _ renderer: LayerRenderer) -> String {
    let isType = function.name.first?.isUppercase == true
    return isType ? renderer.context.writer.name(of: function.name).text : function.name
  }

  private static let features: Set<String> = ["Features.dataChannel", "Features.dominantSpeakers"]

  /// The error whose number an expression is: `(error as NSError).code`, or a constant with that value.
  private static func errorOfCode(_ expression: ExprSyntax) -> String? {
    if let member = expression.as(MemberAccessExprSyntax.self), member.declName.baseName.text == "code",
      let tuple = member.base?.as(TupleExprSyntax.self), tuple.elements.count == 1,
      let sequence = tuple.elements.first?.expression.as(SequenceExprSyntax.self), sequence.elements.count == 3,
      let value = sequence.elements.first
    {
      return value.trimmedDescription
    }
    guard let name = expression.as(DeclReferenceExprSyntax.self)?.baseName.text else { return nil }
    var node = expression.parent
    while let current = node {
      for item in current.as(CodeBlockItemListSyntax.self) ?? [] {
        for binding in item.item.as(VariableDeclSyntax.self)?.bindings ?? [] {
          guard binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text == name,
            let value = binding.initializer?.value, !value.is(DeclReferenceExprSyntax.self)
          else { continue }
          return errorOfCode(value)
        }
      }
      node = current.parent
    }
    return nil
  }

  // MARK: Options

  /// Whether empty options are made where they become a part of a call's options: the options have all in one.
  private static func isPartInPlace(_ call: FunctionCallExprSyntax, _ renderer: LayerRenderer) -> Bool {
    guard let elements = call.parent?.as(ExprListSyntax.self), elements.count == 3,
      let target = elements.first?.as(MemberAccessExprSyntax.self)
    else { return false }
    return renderer.symbol(at: target.declName.baseName).map { parts[$0] != nil } ?? false
  }

  /// `options.outgoingAudioOptions?.muted`: the options have all in one.
  private static func text(
    of chain: OptionalChainingExprSyntax, _ renderer: LayerRenderer
  ) throws(Unportable) -> String? {
    guard let member = chain.expression.as(MemberAccessExprSyntax.self),
      renderer.reading(at: member.declName.baseName) == .word("self"), let base = member.base,
      !base.is(OptionalChainingExprSyntax.self)
    else { return nil }
    return try renderer.render(Syntax(chain.expression))
  }

  /// A member of a participant's in an extension of its own: the helper's participant has it only by way of `self`.
  private static func text(of name: DeclReferenceExprSyntax, _ renderer: LayerRenderer) -> String? {
    guard name.parent?.as(MemberAccessExprSyntax.self)?.declName.id != name.id,
      name.parent?.is(KeyPathPropertyComponentSyntax.self) != true,
      case .word(let word)? = renderer.reading(at: name.baseName), word.hasPrefix("Participant.")
    else { return nil }
    let (text, share) = renderer.context.writer.name(of: word)
    renderer.mark(name.baseName, share)
    return name.baseName.replaced(by: "self." + text)
  }

  /// The arguments of a callback that have nothing in them.
  private static func text(of type: IdentifierTypeSyntax, _ renderer: LayerRenderer) -> String? {
    let name = renderer.symbol(at: type.name)
    guard name == "PropertyChangedEventArgs" || name == "VideoStreamStateChangedEventArgs" else { return nil }
    var node = type.parent
    while let current = node, !current.is(FunctionDeclSyntax.self) { node = current.parent }
    guard let token = node?.as(FunctionDeclSyntax.self)?.name,
      let handler = renderer.source.occurrences(at: token).lazy.compactMap({
        renderer.context.model.handler($0.symbol.usr)
      }).first
    else { return nil }
    let code =
      switch handler.fact {
      case .ringEnded: "Ring.State"
      case .channelMessage: "ReceivedMessage"
      case .shareChanged: "RoomVideo"
      case .streamChanged: "RoomTrack"
      default: "SessionEvent"
      }
    let (text, share) = renderer.context.writer.code(code)
    renderer.mark(type.name, share)
    return type.name.replaced(by: text)
  }

  // MARK: Assignments

  private static func text(of sequence: SequenceExprSyntax, _ renderer: LayerRenderer) throws(Unportable) -> String? {
    let elements = Array(sequence.elements)
    guard elements.count == 3, elements[1].is(AssignmentExprSyntax.self),
      let member = elements[0].as(MemberAccessExprSyntax.self), let base = member.base,
      let symbol = renderer.symbol(at: member.declName.baseName)
    else { return nil }
    try checkMessages(symbol, renderer)
    let token = member.declName.baseName
    let (before, after) = (sequence.leadingTrivia.description, sequence.trailingTrivia.description)
    if symbol == "VideoStreamFormat.resolution",
      let size = elements[2].as(MemberAccessExprSyntax.self)?.declName.baseName,
      let numbers = sizes[renderer.symbol(at: size) ?? ""]
    {
      renderer.mark(token, .written)
      renderer.mark(size, .written)
      let format = try renderer.trimmed(base)
      return before + "(\(format).width, \(format).height) = \(numbers)" + after
    }
    if let part = parts[symbol], !(elements[2].as(FunctionCallExprSyntax.self)?.arguments.isEmpty ?? false) {
      renderer.mark(token, .inHelper)
      return before + "\(try renderer.trimmed(base)).\(part) = \(try renderer.trimmed(elements[2]))" + after
    }
    if symbol.hasSuffix(".delegate"), elements[2].is(NilLiteralExprSyntax.self) {
      return before + (try end(of: symbol, try renderer.trimmed(base), sequence, renderer)) + after
    }
    let isSelf = elements[2].as(DeclReferenceExprSyntax.self)?.baseName.tokenKind == .keyword(.self)
    let isKept = symbol == "RemoteParticipant.delegate" && isKept(elements[2], renderer)
    guard symbol.hasSuffix(".delegate"), isSelf || isKept else { return nil }
    guard let text = try registration(symbol, try renderer.trimmed(base), sequence, renderer) else {
      throw .unknown(symbol)
    }
    return before + text + after
  }

  /// Whether an expression names an object that the call class keeps, and whose functions it calls.
  private static func isKept(_ value: ExprSyntax, _ renderer: LayerRenderer) -> Bool {
    guard let name = value.lastToken(viewMode: .sourceAccurate) else { return false }
    let usrs = renderer.source.occurrences(at: name).map(\.symbol.usr)
    return renderer.context.model.handlers.contains { $0.keeper.map { usrs.contains($0.usr) } ?? false }
  }

  private static let sizes = [
    "VideoStreamResolution.p1080": "(1920, 1080)", "VideoStreamResolution.p720": "(1280, 720)",
    "VideoStreamResolution.p540": "(960, 540)", "VideoStreamResolution.p480": "(848, 480)",
    "VideoStreamResolution.p360": "(640, 360)", "VideoStreamResolution.p270": "(480, 270)",
    "VideoStreamResolution.p240": "(424, 240)", "VideoStreamResolution.p180": "(320, 180)",
  ]

  // MARK: Delegates

  /// - Returns: what `base.delegate = self` becomes; nil if the class has no handlers that are known.
  private static func registration(
    _ symbol: String, _ base: String, _ node: SequenceExprSyntax, _ renderer: LayerRenderer
  ) throws(Unportable) -> String? {
    let token = node.elements.first!.as(MemberAccessExprSyntax.self)!.declName.baseName
    let context = renderer.context
    guard let owner = context.owner(of: Syntax(node), in: renderer.source) else { return nil }
    let handlers = context.model.handlers.filter { $0.owner == owner }
    func call(_ fact: Fact, _ values: String...) -> String? {
      handlers.first { $0.fact == fact }.map { context.writer.call($0, values) }
    }
    func assigned(_ property: String, _ parameters: String, _ call: String?) -> String? {
      call.map { "\(base).\(property) = { [weak self] \(parameters) in self?.\($0) }" }
    }
    /// One statement in a line.
    func joined(_ statements: [String?]) -> String? {
      let statements = statements.compactMap { $0 }
      let margin = node.leadingTrivia.description.split(separator: "\n").last.map { "\n" + $0 } ?? "; "
      return statements.isEmpty ? nil : statements.joined(separator: margin)
    }
    let ofCallClass: Set<String> = [
      "Call.delegate", "RemoteParticipant.delegate", "DominantSpeakersCallFeature.delegate", "DeviceManager.delegate",
    ]
    guard !ofCallClass.contains(symbol) || context.isInCallClass(Syntax(node), in: renderer.source) else {
      throw .unknown("\(symbol) in another class than \(context.callClass.name)")
    }
    var share = Share.inHelper
    let text: String?
    switch symbol {
    case "CallAgent.delegate":
      text = joined([
        assigned("handler", "ring, agent", call(.ring, "agent", "ring")),
        assigned("callsHandler", "calls, agent", call(.callsChanged, "agent", "calls")),
      ])
    case "IncomingCall.delegate": text = assigned("handler", "answer, ring", call(.ringEnded, "ring", "answer"))
    case "DataChannelCallFeature.delegate":
      text = assigned("inboxHandler", "inbox, call", call(.channelOpened, "call", "inbox"))
    case "DataChannelReceiver.delegate":
      text = assigned("handler", "message, inbox", call(.channelMessage, "inbox", "message"))
    case "ScreenShareOutgoingVideoStream.delegate", "LocalVideoStream.delegate":
      text = assigned("handler", "video", call(.shareChanged, "video", "video"))
    case "VideoStreamRenderer.delegate":
      text = joined([
        assigned("handler", "renderer", call(.viewFailed, "renderer")),
        assigned("frameHandler", "renderer", call(.firstFrame, "renderer")),
      ])
    case "Call.delegate":
      text = "\(base).agentHandler = { [weak self] event, call in self?.\(context.writer.handleName)(event, in: call) }"
    case "RemoteParticipant.delegate":
      let written = context.writer.registration(
        .ofParticipant, true, base, isOptional: base.hasSuffix("?"), topic: nil, isOnMainActor: false)
      (text, share) = (written.text, .written)
    case "DominantSpeakersCallFeature.delegate":
      (text, share) = ("\(context.writer.features).insert(\"dominantSpeakers\")", .written)
    case "DeviceManager.delegate":
      let machine = base.hasSuffix("?") ? String(base.dropLast()) : base
      let handle = "if let machine { self?.\(context.writer.handleName)(event, of: machine) }"
      let body = context.callClass.isOnMainActor ? "MainActor.assumeIsolated { \(handle) }" : handle
      let closure = "{ [weak self, weak machine = \(machine)] event in \(body) }"
      (text, share) = (handlers.contains { $0.fact == .camerasChanged } ? "\(base).observe \(closure)" : nil, .written)
    default: text = nil
    }
    if text != nil { renderer.mark(token, share) }
    return text
  }

  /// The handlers that `base.delegate = self` sets.
  private static let handlers = [
    "Call.delegate": ["agentHandler"], "CallAgent.delegate": ["handler", "callsHandler"],
    "IncomingCall.delegate": ["handler"], "DataChannelCallFeature.delegate": ["inboxHandler"],
    "DataChannelReceiver.delegate": ["handler"], "ScreenShareOutgoingVideoStream.delegate": ["handler"],
    "LocalVideoStream.delegate": ["handler"], "VideoStreamRenderer.delegate": ["handler", "frameHandler"],
  ]

  /// What `base.delegate = nil` becomes.
  private static func end(
    of symbol: String, _ base: String, _ node: SequenceExprSyntax, _ renderer: LayerRenderer
  ) throws(Unportable) -> String {
    let token = node.elements.first!.as(MemberAccessExprSyntax.self)!.declName.baseName
    let context = renderer.context
    if let handlers = handlers[symbol] {
      renderer.mark(token, .inHelper)
      let margin = node.leadingTrivia.description.split(separator: "\n").last.map { "\n" + $0 } ?? "; "
      return handlers.map { "\(base).\($0) = nil" }.joined(separator: margin)
    }
    guard context.isInCallClass(Syntax(node), in: renderer.source) else {
      throw .unknown("\(symbol) in another class than \(context.callClass.name)")
    }
    switch symbol {
    case "RemoteParticipant.delegate":
      renderer.mark(token, .written)
      return context.writer.registration(
        .ofParticipant, false, base, isOptional: base.hasSuffix("?"), topic: nil, isOnMainActor: false
      ).text
    case "DominantSpeakersCallFeature.delegate":
      renderer.mark(token, .written)
      return "\(context.writer.features).remove(\"dominantSpeakers\")"
    default: throw .unknown(symbol)
    }
  }

  /// The functions that get the session's events and the machine's.
  static func dispatch(_ model: CallModel, of type: String, _ writer: LayerWriter) -> String? {
    func calls(_ fact: Fact, _ values: String...) -> [String] {
      model.handlers.filter { $0.fact == fact }.map { writer.call($0, values) }
    }
    var lines = [
      "extension \(type) {", "  /// Calls the functions above for what the session reports.",
      "  private func \(writer.handleName)(_ event: SessionEvent, in call: AgentCall) {",
    ]
    let owner = "RoomParticipant(call: call, last: owner)"
    // The style's lists have streams while they are sent.
    let tracks = "[RoomTrack(call: call, track: track)]"
    for (change, isAdded) in [("added: \(tracks), removed: []", true), ("added: [], removed: \(tracks)", false)] {
      let calls = calls(.streamsChanged, owner, "(\(change))")
      if calls.isEmpty { continue }
      let patterns =
        isAdded
        ? ".streamAdded(let track, let owner) where !track.isMuted, .streamMuted(let track, let owner) where !track.isMuted"
        : ".streamRemoved(let track, let owner) where !track.isMuted, .streamMuted(let track, let owner) where track.isMuted"
      lines += [
        "    switch event {", "    case \(patterns):",
        "      if track.kind.isVideo, \(writer.followed).contains(owner.id) { \(calls.joined(separator: "; ")) }",
        "    default: break", "    }",
      ]
    }
    lines.append("    switch event {")
    func add(_ pattern: String, _ calls: [String]) {
      if !calls.isEmpty { lines += ["    case \(pattern):"] + calls.map { "      " + $0 } }
    }
    let participants = "[RoomParticipant(call: call, last: participant)]"
    add(
      ".participantJoined(let participant)",
      calls(.participantsChanged, "call", "(added: \(participants), removed: [])"))
    add(
      ".participantLeft(let participant, _)",
      calls(.participantsChanged, "call", "(added: [], removed: \(participants))"))
    let streams = calls(.streamChanged, owner, "RoomTrack(call: call, track: track)")
    let mutes = calls(.muted, owner, "event")
    if !streams.isEmpty || !mutes.isEmpty {
      lines += [
        "    case .streamAdded(let track, let owner), .streamRemoved(let track, let owner), .streamMuted(let track, let owner):",
        "      guard \(writer.followed).contains(owner.id) else { break }",
      ]
      if !mutes.isEmpty { lines.append("      if track.kind == .microphone { \(mutes.joined(separator: "; ")) }") }
      if !streams.isEmpty { lines.append("      if track.kind.isVideo { \(streams.joined(separator: "; ")) }") }
    }
    add(
      ".dominantSpeakerChanged where \(writer.features).contains(\"dominantSpeakers\")",
      calls(.speaker, "call", "event"))
    lines += ["    default: break", "    }"]
    lines += calls(.microphoneMuted, "call", "event").map { "    if call.hasNewMute { \($0) }" }
    lines += calls(.state, "call", "event").map { "    if call.hasNewState { \($0) }" }
    lines.append("  }")
    let added = calls(.camerasChanged, "machine", "(added: [device], removed: [])")
    let removed = calls(.camerasChanged, "machine", "(added: [], removed: [device])")
    if !added.isEmpty {
      lines += [
        "", "  private func \(writer.handleName)(_ event: Machine.Event, of machine: Machine) {", "    switch event {",
        "    case .plugged(let device) where device.kind == .camera: \(added.joined(separator: "; "))",
        "    case .unplugged(let device) where device.kind == .camera: \(removed.joined(separator: "; "))",
        "    default: break", "    }", "  }",
      ]
    }
    return (lines + ["}", ""]).joined(separator: "\n")
  }
}
