// Messages (`koine port --to call-agent`): the same file for every app.
import AzureCommunicationCalling
import Foundation

extension AzureCall: DataChannelCallFeatureDelegate, DataChannelReceiverDelegate {
  /// A data channel has a number instead of a topic: 1 to 65,535, made from the topic's letters (FNV-1a).
  static func channel(of topic: String) -> Int32 {
    Int32(topic.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 } % 65_535) + 1
  }
  func observe(topic: String) { topics.insert(topic) }
  func stopObserving(topic: String) { topics.remove(topic) }
  /// Messages of this call: a data channel keeps nothing for those that come later.
  func messages(topic: String) -> [AzureMessage] { messages.filter { $0.channel == Self.channel(of: topic) } }
  /// A data channel does not send a message back to its sender, and keeps none.
  func send(text: String, topic: String, isPersistent: Bool = false) {
    guard let call, hasEntered, !isOver else { return }
    let options = DataChannelSenderOptions(), data = Data(text.utf8)
    (options.channelId, options.reliability) = (Self.channel(of: topic), .durable)
    let sender = senders[topic] ?? call.feature(Features.dataChannel).getDataChannelSender(options: options)
    senders[topic] = sender
    guard data.count <= sender.maxMessageSizeInBytes else { return report(.failed(.message)) }
    sender.sendMessage(data: data)
    receive(text, on: options.channelId, from: localParticipant.id, name: localParticipant.name)
  }
  private func receive(_ text: String, on channel: Int32, from id: String, name: String) {
    let topic = topics.first { Self.channel(of: $0) == channel }
    let message = AzureMessage(
      id: UUID().uuidString, topic: topic ?? "channel \(channel)", senderID: id, senderName: name, text: text,
      channel: channel)
    messages.append(message)
    if topic != nil { report(.messageReceived(message)) }
  }
  func dataChannelCallFeature(
    _ dataChannelCallFeature: DataChannelCallFeature, didCreateReceiver args: DataChannelReceiverCreatedEventArgs
  ) {
    let receiver = args.receiver
    receiver.delegate = self
    onMain { call in
      call.receivers.append(receiver)
      call.read(receiver)
    }
  }
  func dataChannelReceiver(_ dataChannelReceiver: DataChannelReceiver, didReceiveMessage args: PropertyChangedEventArgs)
  {
    onMain { $0.read(dataChannelReceiver) }
  }
  func dataChannelReceiver(_ dataChannelReceiver: DataChannelReceiver, didClose args: PropertyChangedEventArgs) {
    onMain { call in call.receivers.removeAll { $0 === dataChannelReceiver } }
  }
  private func read(_ receiver: DataChannelReceiver) {
    while let message = receiver.receiveMessage() {
      if isOver { continue }
      let id = receiver.senderIdentifier.rawId, text = String(decoding: message.data, as: UTF8.self)
      receive(text, on: receiver.channelId, from: id, name: participants[id]?.name ?? id)
    }
  }
}
