// What layers that `koine port` writes of the call agent style need for messages: the same file for every app.
import Foundation
import Koine

extension AgentCall {
  /// Empty once the call has ended.
  var others: [RoomParticipant] {
    guard let session, !session.state.isEnded else { return [] }
    return session.participants.map { RoomParticipant(call: self, last: $0) }
  }
  func channel(setup: CallSetup) -> RoomChannel { RoomChannel(self, setup: setup) }
  func setMuted(_ isMuted: Bool, completion: @escaping RoomDone) {
    setStream(kind: .microphone, isOn: !isMuted)
    session?.world.tell(completion)
  }
}

extension RoomTrack {
  var number: Int32 { (call as? AgentCall)?.number(of: track.id) ?? 0 }
  var isSent: Bool { call.participants[track.id.participant]?.sentTracks[track.id.track] != nil }
}

extension RoomParticipant {
  var isMuted: Bool { !sentTracks.values.contains { $0.kind == .microphone } }
  var isSpeaking: Bool { call.session?.dominantSpeaker == last.id }
  var state: AgentCallState { call.participants[last.id] == nil ? .ended : .connected }
  /// The videos that it sends; after it has left, the videos that it sent.
  var videos: [RoomTrack] {
    let tracks = (call.participants[last.id] ?? self).last.tracks.filter { $0.kind.isVideo && !$0.isMuted }
    return tracks.map { RoomTrack(call: call, track: $0) }
  }
}

/// Sends bytes to all. In front of them are their kind (0: the app's, 1: the end), a number, and the time in
/// milliseconds, as apps of the style have them.
final class RoomChannel {
  let limit = 64 * 1_024 - RoomChannel.header
  private static let header = 13, prefix = "koine.channel."
  private weak var call: AgentCall?
  private let topic: String
  private var sent: UInt64 = 0
  init(_ call: AgentCall, setup: CallSetup) {
    let number = setup.channel == 0 ? Int32.random(in: 1_000...Int32.max) : setup.channel
    (self.call, topic) = (call, Self.prefix + String(number))
  }
  func send(_ data: Data) {
    sent += 1
    pass(0, data)
  }
  func close() { pass(1, Data()) }
  private func pass(_ kind: UInt8, _ data: Data) {
    guard let session = call?.session else { return }
    let time = UInt32(truncatingIfNeeded: session.world.backend.scheduler.now.nanoseconds / 1_000_000)
    let head = withUnsafeBytes(of: sent.bigEndian) { Array($0) } + withUnsafeBytes(of: time.bigEndian) { Array($0) }
    try? session.send(DataMessage(topic: topic, payload: [kind] + head + data))
  }
  /// The channel of a message of the app's; nil for other messages.
  static func number(of message: ReceivedMessage) -> Int32? {
    guard message.topic.hasPrefix(prefix), message.payload.count >= header, message.payload[0] == 0 else { return nil }
    return Int32(message.topic.dropFirst(prefix.count))
  }
  static func data(of message: ReceivedMessage) -> Data { Data(message.payload[header...]) }
}

/// Messages of one sender on one channel.
final class RoomInbox: @unchecked Sendable {
  let channel: Int32, sender: String
  var handler: ((ReceivedMessage, RoomInbox) -> Void)?
  private var messages: [Data] = []
  init(channel: Int32, sender: String) { (self.channel, self.sender) = (channel, sender) }
  func next() -> Data? { messages.isEmpty ? nil : messages.removeFirst() }
  func receive(_ message: ReceivedMessage) {
    messages.append(RoomChannel.data(of: message))
    handler?(message, self)
  }
}
