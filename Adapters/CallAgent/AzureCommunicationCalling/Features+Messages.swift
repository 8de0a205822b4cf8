import CrossVendorConventions
public import Foundation
import Koine

// Features that carry an app's own bytes and text.

// MARK: Data channels

/// Priority of a data channel's messages. While messages of several senders of a call wait, those of senders with high priority go first.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-data-channel)
public enum DataChannelPriority: Int, Sendable {
  case normal, high
}

/// Whether all messages of a data channel arrive. A message of a lossy channel that has waited for more than a second before it could be
/// sent is dropped; its sequence number is missing at the receiver. A message of a durable channel waits as long as it must. Messages that
/// were sent arrive in order on both.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-data-channel)
public enum DataChannelReliability: Int, Sendable {
  case lossy, durable
}

/// Options of a data channel sender, as they are when the sender is made.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-data-channel)
public final class DataChannelSenderOptions: NSObject {
  /// Nought: one is chosen.
  public var channelId: Int32 = 0
  /// The pace of the sender: messages that come faster wait. 0: as fast as the room takes them.
  public var bitrateInKbps: Int32 = 0
  public var priority = DataChannelPriority.normal
  public var reliability = DataChannelReliability.lossy
  /// The receivers of the channel's messages; empty for all participants.
  public var participants: [any CommunicationIdentifier] = []
}

/// A message that a data channel receiver has received.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-data-channel)
public final class DataChannelMessage: NSObject, Sendable {
  /// From one, of one sender on one channel.
  public let sequenceNumber: Int64
  public let data: Data
  init(_ sequenceNumber: Int64, _ data: Data) { (self.sequenceNumber, self.data) = (sequenceNumber, data) }
}

/// Counts messages.
final class MessageCount: Sendable {
  private let value = Lock(0)
  var total: Int { value.withLock { $0 } }
  func add() { value.withLock { $0 += 1 } }
}

/// The local participant's end of a data channel: sends messages to chosen participants or to all.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-data-channel)
public final class DataChannelSender: NSObject, @unchecked Sendable {  // everything mutable sits in `current`
  private struct State {
    var recipients: [any CommunicationIdentifier]
    var sent: Int64 = 0
    var isClosed = false
  }
  /// Bytes in front of the app's: the kind, the sequence number, and the time in milliseconds by the sender's clock.
  static let header = 13
  /// What a message of the room holds, less our header.
  static let limit = 64 * 1024 - header

  public let channelId: Int32
  public var maxMessageSizeInBytes: Int32 { Int32(Self.limit) }
  private let current: Lock<State>
  private weak let session: Session?
  private let count: MessageCount
  /// Nil if the call is over.
  private let pacer: DataChannelPacer?
  private let channel: DataChannelPacer.Channel

  init(_ options: DataChannelSenderOptions, in session: Session?, _ pacer: DataChannelPacer?, count: MessageCount) {
    (self.count, self.pacer) = (count, pacer)
    channel = DataChannelPacer.Channel(
      bitrate: options.bitrateInKbps > 0 ? Int(options.bitrateInKbps) * 1_000 : nil,
      isHigh: options.priority == .high, isLossy: options.reliability == .lossy)
    channelId = options.channelId == 0 ? Int32.random(in: 1_000...Int32.max) : options.channelId
    current = Lock(State(recipients: options.participants))
    self.session = session
  }

  /// A message is dropped if it is larger than the limit, if the channel or the call is over, or if 4,096 messages or 16 MiB of the call's
  /// channels wait already. Standard error tells so, because the vendor's method has no other way.
  public func sendMessage(data: Data) {
    guard data.count <= Self.limit else { return NoEffect.complain("a data channel's message is over the limit") }
    let next = current.withLock { current -> (Int64, [any CommunicationIdentifier])? in
      guard !current.isClosed else { return nil }
      current.sent += 1
      return (current.sent, current.recipients)
    }
    guard let (number, recipients) = next, let pacer, let session else { return Self.complainOfEnd() }
    let receivers = recipients.isEmpty ? nil : session.participants(recipients)
    let isAccepted = pacer.add(data.count + Self.header, on: channel, isLossy: channel.isLossy) { [self] in
      guard pass(0, number, data, to: receivers) else { return Self.complainOfEnd() }
      count.add()
    }
    if !isAccepted { NoEffect.complain("a data channel's message was not sent: too many wait") }
  }

  private static func complainOfEnd() {
    NoEffect.complain("a data channel's message was not sent: the channel or the call is over")
  }

  public func setParticipants(participants: [any CommunicationIdentifier]) {
    current.withLock { $0.recipients = participants }
  }

  /// Messages that wait are sent before the end.
  public func closeSender() {
    let last = current.withLock { current -> (Int64, [any CommunicationIdentifier])? in
      guard !current.isClosed else { return nil }
      current.isClosed = true
      return (current.sent, current.recipients)
    }
    guard let (number, recipients) = last, let session else { return }
    let receivers = recipients.isEmpty ? nil : session.participants(recipients)
    _ = pacer?.add(Self.header, on: channel, isLossy: false) { [self] in _ = pass(1, number, Data(), to: receivers) }
  }

  /// - Parameter receivers: nil: all participants.
  private func pass(_ kind: UInt8, _ number: Int64, _ data: Data, to receivers: [Koine.Participant.ID]?) -> Bool {
    guard let session else { return false }
    let time = session.world.backend.scheduler.now.nanoseconds / 1_000_000
    let bytes =
      [kind] + (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
      + (0..<4).map { UInt8(truncatingIfNeeded: time >> (24 - 8 * $0)) } + data
    let message = DataMessage(topic: Convention.channel + String(channelId), payload: bytes, to: receivers)
    return (try? session.send(message)) != nil
  }
}

/// Notified on the delivery queue of a receiver's messages and of its end.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-data-channel)
public protocol DataChannelReceiverDelegate: NSObjectProtocol {
  func dataChannelReceiver(
    _ dataChannelReceiver: DataChannelReceiver, didReceiveMessage args: PropertyChangedEventArgs)
  func dataChannelReceiver(_ dataChannelReceiver: DataChannelReceiver, didClose args: PropertyChangedEventArgs)
}

extension DataChannelReceiverDelegate {
  public func dataChannelReceiver(
    _ dataChannelReceiver: DataChannelReceiver, didReceiveMessage args: PropertyChangedEventArgs
  ) {}
  public func dataChannelReceiver(
    _ dataChannelReceiver: DataChannelReceiver, didClose args: PropertyChangedEventArgs
  ) {}
}

/// Receives the messages of one remote participant's channel. It keeps the newest 1,000 messages until the app reads
/// them.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-data-channel)
public final class DataChannelReceiver: NSObject, @unchecked Sendable {  // everything mutable is locked
  private static let limit = 1_000
  public let channelId: Int32
  public var senderIdentifier: any CommunicationIdentifier { ParticipantIdentifiers.identifier(of: sender) }
  private let sender: Koine.Participant.ID
  private let waiting = Lock<[DataChannelMessage]>([])
  private let listener = Listener<any DataChannelReceiverDelegate>()

  init(_ channelId: Int32, from sender: Koine.Participant.ID) { (self.channelId, self.sender) = (channelId, sender) }

  public weak var delegate: (any DataChannelReceiverDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  /// The oldest that waits; nil when there is none.
  public func receiveMessage() -> DataChannelMessage? {
    waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
  }

  func receive(_ message: DataChannelMessage) {
    waiting.withLock { waiting in
      if waiting.count == Self.limit { waiting.removeFirst() }
      waiting.append(message)
    }
    delegate?.dataChannelReceiver(self, didReceiveMessage: PropertyChangedEventArgs())
  }

  func close() { delegate?.dataChannelReceiver(self, didClose: PropertyChangedEventArgs()) }
}

/// The receiver that a remote participant's first message on a channel created.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-data-channel)
public final class DataChannelReceiverCreatedEventArgs: NSObject {
  public let receiver: DataChannelReceiver
  init(_ receiver: DataChannelReceiver) { self.receiver = receiver }
}

/// Notified on the delivery queue of new data channel receivers.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-data-channel)
public protocol DataChannelCallFeatureDelegate: NSObjectProtocol {
  func dataChannelCallFeature(
    _ dataChannelCallFeature: DataChannelCallFeature, didCreateReceiver args: DataChannelReceiverCreatedEventArgs)
}

extension DataChannelCallFeatureDelegate {
  public func dataChannelCallFeature(
    _ dataChannelCallFeature: DataChannelCallFeature, didCreateReceiver args: DataChannelReceiverCreatedEventArgs
  ) {}
}

/// Messages between the participants of a call, by channels.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-data-channel)
public final class DataChannelCallFeature: CallFeature, @unchecked Sendable {  // everything mutable is locked
  private struct Key: Hashable {
    let sender: Koine.Participant.ID
    let channel: Int32
  }
  private let listener = Listener<any DataChannelCallFeatureDelegate>()
  private let receivers = Lock<[Key: DataChannelReceiver]>([:])
  private let arrivals = Lock(ArrivalJitter())
  private let pacer = Lock<DataChannelPacer?>(nil)
  /// Messages of the app, for media statistics.
  let sent = MessageCount(), received = MessageCount()

  public weak var delegate: (any DataChannelCallFeatureDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  public func getDataChannelSender(options: DataChannelSenderOptions) -> DataChannelSender {
    let session = call?.session
    let pacer = pacer.withLock { pacer in
      if pacer == nil, let session { pacer = DataChannelPacer(on: session.world.backend.scheduler) }
      return pacer
    }
    return DataChannelSender(options, in: session, pacer, count: sent)
  }

  /// Nil until two messages of one sender have come.
  var jitter: Duration? { arrivals.withLock { $0.jitter } }

  override func callEnded() {
    pacer.withLock { $0 }?.close()
    close { _ in true }
  }

  /// No more will come.
  private func close(_ isOver: (Koine.Participant.ID) -> Bool) {
    let over = receivers.withLock { receivers in
      let over = receivers.filter { isOver($0.key.sender) }
      for key in over.keys { receivers[key] = nil }
      return over.sorted { ($0.key.sender, $0.key.channel) < ($1.key.sender, $1.key.channel) }.map(\.value)
    }
    for receiver in over { receiver.close() }
  }

  override func handle(_ event: SessionEvent) {
    if case .participantLeft(let participant, _) = event { close { $0 == participant.id } }
    guard case .messageReceived(let message) = event, message.topic.hasPrefix(Convention.channel),
      let channel = Int32(message.topic.dropFirst(Convention.channel.count)),
      message.payload.count >= DataChannelSender.header
    else { return }
    let key = Key(sender: message.sender, channel: channel)
    if message.payload[0] == 1 { receivers.withLock { $0.removeValue(forKey: key) }?.close() }
    guard message.payload[0] == 0 else { return }
    let number = message.payload[1..<9].reduce(Int64(0)) { $0 << 8 | Int64($1) }
    let (receiver, isNew) = receivers.withLock { receivers in
      if let receiver = receivers[key] { return (receiver, false) }
      let receiver = DataChannelReceiver(channel, from: message.sender)
      receivers[key] = receiver
      return (receiver, true)
    }
    if let now = call?.session.world.backend.scheduler.now {
      let sent = message.payload[9..<13].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      arrivals.withLock { $0.add(sent, from: message.sender, at: now, age: message.age) }
    }
    if isNew {
      delegate?.dataChannelCallFeature(self, didCreateReceiver: DataChannelReceiverCreatedEventArgs(receiver))
    }
    received.add()
    receiver.receive(DataChannelMessage(number, Data(message.payload[DataChannelSender.header...])))
  }
}

/// The variation of the messages' transit time, as RFC 3550, 6.4.1 and A.8 define it for packets.
private struct ArrivalJitter {
  /// Arrival less sending time of each sender's last message, in milliseconds.
  private var transits: [Koine.Participant.ID: UInt32] = [:]
  private(set) var jitter: Duration?

  /// - Parameters:
  ///   - sent: by the sender's clock, in milliseconds, modulo 2³².
  ///   - age: how long the room has kept the message, which is no transit.
  mutating func add(_ sent: UInt32, from sender: Koine.Participant.ID, at now: Tick, age: Duration) {
    let arrival = UInt32(truncatingIfNeeded: (now - age).nanoseconds / 1_000_000)
    let transit = arrival &- sent
    defer {
      if transits.count >= 1_000 { transits = [:] }  // senders that have left
      transits[sender] = transit
    }
    guard let last = transits[sender] else { return }
    // A jump of the sender's clock is no jitter.
    let difference = min(Int64(Int32(bitPattern: transit &- last).magnitude), 10_000)
    let old = jitter ?? .zero
    jitter = old + (.milliseconds(difference) - old) / 16
  }
}

// MARK: Text as it is typed

/// Whether a real-time text is still being typed or is final.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-with-real-time-text)
public enum RealTimeTextResultType: Int, Sendable {
  case partial, final
}

/// A real-time text with its sender, sequence id and times.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-with-real-time-text)
public final class RealTimeTextInfo: NSObject, @unchecked Sendable {  // constant
  public let sender: CallerInfo
  /// Counts a sender's texts; the parts of one have the same number.
  public let sequenceId: Int32
  public let text: String
  public let resultType: RealTimeTextResultType
  public let receivedTime = Date()
  public let updatedTime = Date()
  public let isLocal: Bool

  init(_ sender: CallerInfo, _ sequenceId: Int32, _ text: String, isFinal: Bool, isLocal: Bool) {
    (self.sender, self.sequenceId, self.text, self.isLocal) = (sender, sequenceId, text, isLocal)
    resultType = isFinal ? .final : .partial
  }
}

/// The real-time text that an event reports.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-with-real-time-text)
public final class RealTimeTextInfoReceivedEventArgs: NSObject {
  public let info: RealTimeTextInfo
  init(_ info: RealTimeTextInfo) { self.info = info }
}

/// Notified on the delivery queue of received real-time texts.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-with-real-time-text)
public protocol RealTimeTextCallFeatureDelegate: NSObjectProtocol {
  func realTimeTextCallFeature(
    _ realTimeTextCallFeature: RealTimeTextCallFeature, didReceiveInfo args: RealTimeTextInfoReceivedEventArgs)
}

extension RealTimeTextCallFeatureDelegate {
  public func realTimeTextCallFeature(
    _ realTimeTextCallFeature: RealTimeTextCallFeature, didReceiveInfo args: RealTimeTextInfoReceivedEventArgs
  ) {}
}

/// Real-time text: participants see text while it is typed.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/azure/communication-services/quickstarts/voice-video-calling/get-started-with-real-time-text)
public final class RealTimeTextCallFeature: CallFeature, @unchecked Sendable {  // everything mutable is locked
  /// Largest text, in UTF-8 bytes. The vendor publishes no limit.
  private static let limit = 10_000
  private let listener = Listener<any RealTimeTextCallFeatureDelegate>()
  private let sequence = Lock<Int32>(1)

  public weak var delegate: (any RealTimeTextCallFeatureDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  public func send(text: String) throws { try send(text: text, finalized: true) }

  /// Sends the whole text so far. The delegate is called for it on the sending client, too.
  public func send(text: String, finalized: Bool) throws {
    guard text.utf8.count <= Self.limit else {
      throw CallingCommunicationErrors.realTimeTextContentTooLong.error("at most \(Self.limit) bytes")
    }
    guard let call else { throw CallingCommunicationErrors.callFeatureExtensionNotFound.error("the call is gone") }
    let number = sequence.withLock { sequence in
      defer { if finalized { sequence &+= 1 } }
      return sequence
    }
    let bytes = [finalized ? 1 : 0] + (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } + text.utf8
    try call.session.send(DataMessage(topic: Convention.text, payload: bytes))
    let own = call.session.localParticipant
    let sender = CallerInfo(displayName: own.name, identifier: ParticipantIdentifiers.identifier(of: own.id))
    call.delivery.deliver { [weak self] in self?.notifyDelegate(sender, number, text, finalized, isLocal: true) }
  }

  override func handle(_ event: SessionEvent) {
    guard case .messageReceived(let message) = event, message.topic == Convention.text, message.payload.count >= 5,
      let call
    else { return }
    let sender = call.session.participants.first { $0.id == message.sender }
    notifyDelegate(
      CallerInfo(
        displayName: sender?.name ?? "", identifier: ParticipantIdentifiers.identifier(of: message.sender)),
      message.payload[1..<5].reduce(Int32(0)) { $0 << 8 | Int32($1) },
      String(decoding: message.payload[5...], as: UTF8.self), message.payload[0] == 1, isLocal: false)
  }

  private func notifyDelegate(_ sender: CallerInfo, _ number: Int32, _ text: String, _ isFinal: Bool, isLocal: Bool) {
    let info = RealTimeTextInfo(sender, number, text, isFinal: isFinal, isLocal: isLocal)
    delegate?.realTimeTextCallFeature(self, didReceiveInfo: RealTimeTextInfoReceivedEventArgs(info))
  }
}
