// What layers read from the call agent style need for messages (`koine port --to meeting-session`): the same for every app.
import AmazonChimeSDK
import Foundation

extension MeetingAgent {
  /// Sends bytes to all: texts as they are, other bytes in Base64 on a topic beside.
  final class Channel: @unchecked Sendable {
    let limit = MeetingCall.messageLimit / 4 * 3
    private weak var call: Call?
    private let topic: String
    fileprivate static let texts = "channel-", bytes = "bytes-"
    fileprivate init(_ call: Call, _ number: Int32) {
      (self.call, topic) = (call, "\(number == 0 ? Int32.random(in: 1_000...Int32.max) : number)")
      for prefix in [Self.texts, Self.bytes] { call.session.observe(topic: prefix + topic) }
    }
    func send(_ data: Data) {
      let text = String(data: data, encoding: .utf8), bytes = data.base64EncodedString()
      call?.session.send(text: text ?? bytes, topic: (text == nil ? Self.bytes : Self.texts) + topic)
    }
    func close() {
      for prefix in [Self.texts, Self.bytes] { call?.session.stopObserving(topic: prefix + topic) }
    }
  }

  /// Messages of one sender on a channel for which the app has a sender of its own.
  final class Inbox: @unchecked Sendable {
    let channel: Int32, sender: String
    var handler: ((MeetingMessage, Inbox) -> Void)?
    private var messages: [Data] = []
    init(channel: Int32, sender: String) { (self.channel, self.sender) = (channel, sender) }
    func next() -> Data? { messages.isEmpty ? nil : messages.removeFirst() }
    fileprivate func receive(_ data: Data, _ message: MeetingMessage) {
      messages.append(data)
      handler?(message, self)
    }
  }
}

extension MeetingAgent.Call {
  func channel(setup: MeetingAgent.Setup) -> MeetingAgent.Channel { MeetingAgent.Channel(self, setup.channel) }
  func receive(_ message: MeetingMessage) {
    let (topic, isBytes) = (message.topic, message.topic.hasPrefix(MeetingAgent.Channel.bytes))
    let prefix = isBytes ? MeetingAgent.Channel.bytes : MeetingAgent.Channel.texts
    guard message.senderID != session.localParticipant.id, topic.hasPrefix(prefix),
      let number = Int32(topic.dropFirst(prefix.count)),
      let data = isBytes ? Data(base64Encoded: message.text) : Data(message.text.utf8)
    else { return }
    let sender = message.senderID, key = "\(sender) \(number)", known = inboxes[key]
    let inbox = known ?? MeetingAgent.Inbox(channel: number, sender: sender)
    inboxes[key] = inbox
    if known == nil { inboxHandler?(inbox, self) }
    inbox.receive(data, message)
  }
}
