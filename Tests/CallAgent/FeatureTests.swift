import CrossVendorConventions
import AzureCommunicationCalling
import Koine
import KoineEmbeddedBackend
import struct KoineSignaling.RoomService
import Testing

/// Three participants in a group call: the actions of one through a feature are reported to the others.
struct FeatureTests {
  private struct Group {
    let telephone: Telephone
    let people: [(agent: CallAgent, recorder: Recorder)]
    func call(_ index: Int) throws -> Call { try #require(people[index].recorder.call) }
  }

  private func group() async throws -> Group {
    let telephone = try Telephone()
    let place = GroupCallLocator(groupId: UUID())
    var people: [(agent: CallAgent, recorder: Recorder)] = []
    for user in ["ana", "ben", "eva"] {
      let (agent, recorder) = try await telephone.agent(user)
      agent.join(with: place, joinCallOptions: nil) { recorder.take($0, $1) }
      people.append((agent, recorder))
    }
    await telephone.run(.seconds(1))
    return Group(telephone: telephone, people: people)
  }

  @Test func raisedHandsAreListedInOrderAndLowered() async throws {
    let group = try await group()
    let hears = FeatureRecorder()
    let hands = try group.call(0).feature(Features.raisedHands)
    hands.delegate = hears
    #expect(try hands === group.call(0).feature(RaiseHandCallFeature.self))
    try group.call(2).feature(Features.raisedHands).raiseHand { _ in }
    await group.telephone.run(.milliseconds(200))
    try group.call(1).feature(Features.raisedHands).raiseHand { _ in }
    await group.telephone.run(.milliseconds(200))
    #expect(hands.raisedHands.map(\.identifier.rawId) == ["8:acs:eva", "8:acs:ben"])
    #expect(hands.raisedHands.map(\.order) == [1, 2])
    hands.lowerHands(participants: [identity("eva")]) { _ in }
    await group.telephone.run(.milliseconds(300))
    #expect(hands.raisedHands.map(\.identifier.rawId) == ["8:acs:ben"])
    try group.call(2).feature(Features.raisedHands).raiseHand { _ in }
    await group.telephone.run(.milliseconds(300))
    let raised: [RaisedHand] = hands.raisedHands
    #expect(raised.map(\.identifier.rawId) == ["8:acs:ben", "8:acs:eva"])
    try group.call(2).feature(Features.raisedHands).lowerHand { _ in }
    await group.telephone.run(.milliseconds(300))
    #expect(hands.raisedHands.map(\.identifier.rawId) == ["8:acs:ben"])
    hands.lowerAllHands { _ in }
    await group.telephone.run(.milliseconds(300))
    #expect(hands.raisedHands.isEmpty)
    #expect(
      hears.words == [
        "hand 8:acs:eva", "hand 8:acs:ben", "no hand 8:acs:eva", "hand 8:acs:eva", "no hand 8:acs:eva",
        "no hand 8:acs:ben",
      ])
  }

  @Test func spotlightListsNamedParticipants() async throws {
    let group = try await group()
    let hears = FeatureRecorder()
    let light = try group.call(2).feature(Features.spotlight)
    light.delegate = hears
    try group.call(0).feature(Features.spotlight).spotlight(identifiers: [identity("ana"), identity("ben")]) { _ in }
    await group.telephone.run(.milliseconds(300))
    let lit: [SpotlightedParticipant] = light.spotlightedParticipants
    #expect(lit.map(\.identifier.rawId) == ["8:acs:ana", "8:acs:ben"])
    light.cancelSpotlights(identifiers: [identity("ben")]) { _ in }
    await group.telephone.run(.milliseconds(300))
    #expect(light.spotlightedParticipants.map(\.identifier.rawId) == ["8:acs:ana"])
    light.cancelAllSpotlights { _ in }
    await group.telephone.run(.milliseconds(300))
    #expect(light.spotlightedParticipants.isEmpty)
    #expect(light.maxSpotlightedParticipants == 7)
    let refusal = Lock<Int?>(nil)
    light.spotlight(identifiers: []) { error in refusal.withLock { $0 = (error as NSError?)?.code } }
    await group.telephone.run(.milliseconds(50))
    #expect(refusal.withLock { $0 } == CallingCommunicationErrors.spotlightParticipantEmptyList.rawValue)
    #expect(hears.words.last == "spotlight + -8:acs:ana")
  }

  @Test func recordingByRoomServiceIsReportedAsActive() async throws {
    let group = try await group()
    let room = try group.call(0).session.request.room
    let backend = try #require(group.telephone.world.backend as? EmbeddedBackend)
    backend.attend { RoomService(names: [Convention.recording]) { _ in } }
    let recording = try group.call(1).feature(Features.recording)
    let started = RecorderStatus(.started, destination: "file:///x.webm").text
    try group.call(0).session.send(DataMessage(topic: Convention.recording, payload: Array(started.utf8)))
    await group.telephone.run(.milliseconds(300))
    #expect(!recording.isRecordingActive, "only the recorder itself is believed")
    backend.send(.init(Array(started.utf8), as: Convention.recording, in: room))
    await group.telephone.run(.milliseconds(300))
    let others = try group.call(0).remoteParticipants.count
    #expect(recording.isRecordingActive && others == 2, "nobody sees who does it")
    backend.send(.init(Array("stopped".utf8), as: Convention.recording, stands: false, in: room))
    await group.telephone.run(.milliseconds(300))
    #expect(!recording.isRecordingActive)
  }

  @Test func recordingByParticipantIsReportedAsActive() async throws {
    let group = try await group()
    let hears = FeatureRecorder()
    let recording = try group.call(0).feature(Features.recording)
    recording.delegate = hears
    #expect(!recording.isRecordingActive)
    try group.call(1).session.setAttributes([Convention.recording: "1"])
    await group.telephone.run(.milliseconds(200))
    #expect(recording.isRecordingActive)
    #expect(try group.call(2).feature(Features.recording).isRecordingActive, "also for one who asks late")
    try group.call(1).hangUp(options: nil) { _ in }
    await group.telephone.run(.milliseconds(500))
    #expect(!recording.isRecordingActive)
    #expect(hears.words == ["recording true", "recording false"])
    #expect(try !group.call(0).feature(Features.transcription).isTranscriptionActive)
  }

  @Test func dominantSpeakersAreListedLatestFirst() async throws {
    let group = try await group()
    let hears = FeatureRecorder()
    let speakers = try group.call(0).feature(Features.dominantSpeakers)
    speakers.delegate = hears
    let closures = Lock(0)
    speakers.events.onDominantSpeakersChanged = { _ in closures.withLock { $0 += 1 } }
    for index in [0, 2] { try group.call(index).mute { _ in } }
    await group.telephone.run(.seconds(3))
    #expect(speakers.dominantSpeakersInfo.speakers.first?.rawId == "8:acs:ben")
    try group.call(1).mute { _ in }
    try group.call(2).unmute { _ in }
    await group.telephone.run(.seconds(5))
    #expect(speakers.dominantSpeakersInfo.speakers.map(\.rawId) == ["8:acs:eva", "8:acs:ben"])
    #expect(!hears.words.isEmpty)
    #expect(hears.words.allSatisfy { $0.hasPrefix("speakers") })
    #expect(closures.withLock { $0 } == hears.words.count)
  }

  @Test func dataChannelDeliversMessagesInOrder() async throws {
    let group = try await group()
    let hears = FeatureRecorder()
    let channel = try group.call(1).feature(Features.dataChannel)
    channel.delegate = hears
    let options = DataChannelSenderOptions()
    options.channelId = 7
    options.participants = [identity("ben")]
    let sender = try group.call(0).feature(Features.dataChannel).getDataChannelSender(options: options)
    for byte in 1...3 { sender.sendMessage(data: Data([UInt8(byte)])) }
    await group.telephone.run(.milliseconds(300))
    let receiver = try #require(hears.receiver)
    #expect(receiver.channelId == 7)
    #expect(receiver.senderIdentifier.rawId == "8:acs:ana")
    let messages: [DataChannelMessage] = (1...3).compactMap { _ in receiver.receiveMessage() }
    #expect(messages.map(\.sequenceNumber) == [1, 2, 3])
    #expect(messages.map { $0.data.first } == [1, 2, 3])
    #expect(receiver.receiveMessage() == nil)
    #expect(sender.maxMessageSizeInBytes > 60_000)

    let (evaHears, eva) = (FeatureRecorder(), try group.call(2).feature(Features.dataChannel))
    eva.delegate = evaHears
    sender.setParticipants(participants: [identity("eva")])
    sender.sendMessage(data: Data([4]))
    await group.telephone.run(.milliseconds(300))
    #expect(try #require(evaHears.receiver).receiveMessage()?.data == Data([4]))
    #expect(receiver.receiveMessage() == nil, "the messages go to Eva now")
    sender.setParticipants(participants: [identity("ben")])
    sender.closeSender()
    await group.telephone.run(.milliseconds(300))
    #expect(hears.words == ["channel 7", "message", "message", "message", "closed"])
  }

  /// The receiving side of several channels: what each message was, in the order of arrival.
  private final class ChannelLog: NSObject, DataChannelCallFeatureDelegate, DataChannelReceiverDelegate,
    @unchecked Sendable
  {
    private let received = Lock<[(channel: Int32, number: Int64)]>([])
    private let receivers = Lock<[DataChannelReceiver]>([])
    func numbers(of channel: Int32) -> [Int64] {
      received.withLock { $0.filter { $0.channel == channel }.map(\.number) }
    }
    var channels: [Int32] { received.withLock { $0.map(\.channel) } }
    func dataChannelCallFeature(
      _ feature: DataChannelCallFeature, didCreateReceiver args: DataChannelReceiverCreatedEventArgs
    ) {
      args.receiver.delegate = self
      receivers.withLock { $0.append(args.receiver) }
    }
    func dataChannelReceiver(_ receiver: DataChannelReceiver, didReceiveMessage args: PropertyChangedEventArgs) {
      guard let message = receiver.receiveMessage() else { return }
      received.withLock { $0.append((receiver.channelId, message.sequenceNumber)) }
    }
  }

  private func sender(
    _ channel: Int32, of call: Call, kilobits: Int32 = 0, _ priority: DataChannelPriority = .normal,
    _ reliability: DataChannelReliability = .durable
  ) -> DataChannelSender {
    let options = DataChannelSenderOptions()
    (options.channelId, options.bitrateInKbps) = (channel, kilobits)
    (options.priority, options.reliability) = (priority, reliability)
    return call.feature(Features.dataChannel).getDataChannelSender(options: options)
  }

  /// A message of 500 bytes, with the 13 bytes in front of the app's, takes 500 ms at 8 kbit/s.
  @Test func dataChannelKeepsItsBitrate() async throws {
    let group = try await group()
    let log = ChannelLog()
    try group.call(1).feature(Features.dataChannel).delegate = log
    let (paced, free) = try (sender(1, of: group.call(0), kilobits: 8), sender(2, of: group.call(0)))
    for _ in 1...4 {
      paced.sendMessage(data: Data(count: 487))
      free.sendMessage(data: Data(count: 487))
    }
    var counts: [Int] = []
    for _ in 0..<4 {
      await group.telephone.run(.milliseconds(250))
      counts.append(log.numbers(of: 1).count)
      await group.telephone.run(.milliseconds(250))
    }
    #expect(counts == [1, 2, 3, 4])
    #expect(log.numbers(of: 1) == [1, 2, 3, 4])
    #expect(log.channels.prefix(5).filter { $0 == 2 }.count == 4, "a sender without a bitrate does not wait")
  }

  @Test func dataChannelDropsMessagesThatWaitTooLongOnlyIfItIsLossy() async throws {
    let group = try await group()
    let log = ChannelLog()
    try group.call(1).feature(Features.dataChannel).delegate = log
    let senders = try [
      sender(1, of: group.call(0), kilobits: 8, .normal, .lossy), sender(2, of: group.call(0), kilobits: 8),
    ]
    for sender in senders {
      for _ in 1...6 { sender.sendMessage(data: Data(count: 487)) }
    }
    await group.telephone.run(.seconds(4))
    #expect(log.numbers(of: 1) == [1, 2, 3], "the fourth would have waited for 1.5 s")
    #expect(log.numbers(of: 2) == [1, 2, 3, 4, 5, 6])
    senders[0].sendMessage(data: Data([7]))
    await group.telephone.run(.milliseconds(300))
    #expect(log.numbers(of: 1) == [1, 2, 3, 7], "the numbers of dropped messages are missing")
  }

  @Test func waitingDataChannelMessagesOfHighPriorityGoFirst() async throws {
    let group = try await group()
    let log = ChannelLog()
    try group.call(1).feature(Features.dataChannel).delegate = log
    let (normal, high) = try (sender(1, of: group.call(0)), sender(2, of: group.call(0), .high))
    for _ in 1...400 { normal.sendMessage(data: Data([1])) }
    for _ in 1...5 { high.sendMessage(data: Data([2])) }
    high.closeSender()
    await group.telephone.run(.seconds(3))
    #expect(log.numbers(of: 1) == Array(1...400))
    #expect(log.numbers(of: 2) == Array(1...5))
    let first = try #require(log.channels.firstIndex(of: 2))
    #expect((300..<310).contains(first), "after the messages that did not have to wait: \(first)")
    #expect(log.channels[first..<first + 5].allSatisfy { $0 == 2 })
  }

  @Test func realTimeTextDeliversPartialAndFinalText() async throws {
    let group = try await group()
    let (own, other) = (FeatureRecorder(), FeatureRecorder())
    let (text, begin) = (try group.call(0).feature(Features.realTimeText), Date())
    text.delegate = own
    try group.call(1).feature(Features.realTimeText).delegate = other
    try text.send(text: "Hel", finalized: false)
    try text.send(text: "Hello")
    try text.send(text: "!")
    await group.telephone.run(.milliseconds(300))
    #expect(other.words == ["Ana 1 Hel partial", "Ana 1 Hello final", "Ana 2 ! final"])
    #expect(own.words == other.words)
    let infos: [RealTimeTextInfo] = other.texts
    #expect(infos.map(\.sequenceId) == [1, 1, 2])
    let types: [RealTimeTextResultType] = [.partial, .final, .final]
    #expect(infos.map(\.resultType) == types)
    #expect(infos.map(\.isLocal) == [false, false, false])
    #expect(own.texts.map(\.isLocal) == [true, true, true])
    let times = infos.flatMap { [$0.receivedTime, $0.updatedTime] }
    #expect(times.allSatisfy { (begin...Date()).contains($0) })
    #expect(zip(infos, infos.dropFirst()).allSatisfy { $0.receivedTime <= $1.receivedTime })
    #expect(throws: (any Error).self) { try text.send(text: String(repeating: "x", count: 20_000)) }
  }

  /// A native participant does not know this style's mute messages, so the router applies the mute.
  @Test func muteWorksBetweenCallAndNativeParticipant() async throws {
    let telephone = try Telephone()
    let (agent, recorder) = try await telephone.agent("ana")
    agent.join(with: RoomCallLocator(roomId: "mixed"), joinCallOptions: nil) { recorder.take($0, $1) }
    let native = Session(JoinRequest(room: "mixed", participantID: "native", name: "Native"), in: telephone.world)
    let voice = try native.publish(microphone: Devices.microphone("tone"))
    native.join { _ in }
    await telephone.run(.seconds(1))
    let call = try #require(recorder.call)
    call.muteAllRemoteParticipants { _ in }
    await telephone.run(.milliseconds(300))
    #expect(voice.isMutedByOther)
    #expect(call.remoteParticipants.first?.isMuted == true)
    func own() -> Track? { native.participants.first?.tracks.first { $0.kind == .microphone } }
    native.mute(try #require(own()).id)
    await telephone.run(.milliseconds(300))
    #expect(call.isMuted)
    #expect(recorder.words.contains("muted by others"))
    call.unmute { _ in }
    await telephone.run(.milliseconds(300))
    #expect(!call.isMuted)
    #expect(own()?.isMuted == false)
  }

  @Test func remoteParticipantsAreMutedByACall() async throws {
    let group = try await group()
    try group.call(0).muteAllRemoteParticipants { _ in }
    await group.telephone.run(.milliseconds(300))
    #expect(try group.call(1).isMuted && group.call(2).isMuted && !group.call(0).isMuted)
    #expect(group.people[1].recorder.words.contains("muted by others"))
    try group.call(1).unmute { _ in }
    await group.telephone.run(.milliseconds(300))
    let ben = try #require(try group.call(0).remoteParticipants.first { $0.identifier.rawId == "8:acs:ben" })
    #expect(!ben.isMuted)
    ben.mute { _ in }
    await group.telephone.run(.milliseconds(300))
    #expect(try ben.isMuted && group.call(1).isMuted)
  }

  @Test func featureOfEndedCallIsRefused() async throws {
    let telephone = try Telephone()
    let (agent, recorder) = try await telephone.agent("ana")
    agent.join(with: RoomCallLocator(roomId: "late"), joinCallOptions: nil) { recorder.take($0, $1) }
    await telephone.run(.milliseconds(500))
    let call = try #require(recorder.call)
    call.hangUp(options: nil) { _ in }
    await telephone.run(.milliseconds(500))
    let codes = Lock<[Int]>([])
    call.feature(Features.raisedHands).raiseHand { error in codes.withLock { $0.append((error as NSError?)?.code ?? 0) }
    }
    await telephone.run(.milliseconds(100))
    #expect(codes.withLock { $0 } == [CallingCommunicationErrors.signalingOperationFailed.rawValue])
  }
}

private final class FeatureRecorder: NSObject, RaiseHandCallFeatureDelegate, SpotlightCallFeatureDelegate,
  RecordingCallFeatureDelegate, DominantSpeakersCallFeatureDelegate, DataChannelCallFeatureDelegate,
  DataChannelReceiverDelegate, RealTimeTextCallFeatureDelegate, @unchecked Sendable
{
  private let heard = Lock<[String]>([])
  private let held = Lock<DataChannelReceiver?>(nil)
  private let received = Lock<[RealTimeTextInfo]>([])
  var texts: [RealTimeTextInfo] { received.withLock { $0 } }
  var words: [String] { heard.withLock { $0 } }
  var receiver: DataChannelReceiver? { held.withLock { $0 } }
  private func note(_ word: String) { heard.withLock { $0.append(word) } }

  func raiseHandCallFeature(_ feature: RaiseHandCallFeature, didRaiseHand args: RaisedHandChangedEventArgs) {
    note("hand \(args.identifier.rawId)")
  }
  func raiseHandCallFeature(_ feature: RaiseHandCallFeature, didLowerHand args: LoweredHandChangedEventArgs) {
    note("no hand \(args.identifier.rawId)")
  }
  func spotlightCallFeature(_ feature: SpotlightCallFeature, didChangeSpotlight args: SpotlightChangedEventArgs) {
    let (added, removed) = (args.added.map(\.identifier.rawId), args.removed.map(\.identifier.rawId))
    note("spotlight +\(added.joined()) -\(removed.joined())")
  }
  func recordingCallFeature(
    _ feature: RecordingCallFeature, didChangeRecordingState args: PropertyChangedEventArgs
  ) { note("recording \(feature.isRecordingActive)") }
  func dominantSpeakersCallFeature(
    _ feature: DominantSpeakersCallFeature, didChangeDominantSpeakers args: PropertyChangedEventArgs
  ) { note("speakers \(feature.dominantSpeakersInfo.speakers.count)") }
  func dataChannelCallFeature(
    _ feature: DataChannelCallFeature, didCreateReceiver args: DataChannelReceiverCreatedEventArgs
  ) {
    held.withLock { $0 = args.receiver }
    args.receiver.delegate = self
    note("channel \(args.receiver.channelId)")
  }
  func dataChannelReceiver(_ receiver: DataChannelReceiver, didReceiveMessage args: PropertyChangedEventArgs) {
    note("message")
  }
  func dataChannelReceiver(_ receiver: DataChannelReceiver, didClose args: PropertyChangedEventArgs) { note("closed") }
  func realTimeTextCallFeature(
    _ feature: RealTimeTextCallFeature, didReceiveInfo args: RealTimeTextInfoReceivedEventArgs
  ) {
    received.withLock { $0.append(args.info) }
    note("\(args.info.sender.displayName) \(args.info.sequenceId) \(args.info.text) \(args.info.resultType)")
  }
}
