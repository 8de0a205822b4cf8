#sourceLocation(file: "Samples/apps/call-agent/ChatChannel.swift", line: 1)
import AzureCommunicationCalling
import Combine
import Foundation

/// The texts of a call, over its data channel: the calling SDK has no chat of its own.
final class ChatChannel: NSObject, ObservableObject, DataChannelCallFeatureDelegate, DataChannelReceiverDelegate {
  /// The lines as a person reads them.
  @Published private(set) var lines: [String] = []
  var nameOf: ((CommunicationIdentifier) -> String?)?

  private static let channelID: Int32 = 20
  private var sender: DataChannelSender?
  private var receivers: [DataChannelReceiver] = []

  func open(in call: Call) {
    let feature = call.feature(Features.dataChannel)
    feature.delegate = self
    let options = DataChannelSenderOptions()
    options.channelId = Self.channelID
    options.reliability = .durable
    sender = feature.getDataChannelSender(options: options)
    lines = []
  }

  func close() {
    sender?.closeSender()
    sender = nil
    receivers = []
  }

  /// - Returns: whether the text was sent.
  func send(_ text: String) -> Bool {
    let data = Data(text.utf8)
    guard let sender, !data.isEmpty, data.count <= sender.maxMessageSizeInBytes else { return false }
    sender.sendMessage(data: data)
    lines.append("You: \(text)")
    return true
  }

  func dataChannelCallFeature(
    _ dataChannelCallFeature: DataChannelCallFeature, didCreateReceiver args: DataChannelReceiverCreatedEventArgs
  ) {
    let receiver = args.receiver
    guard receiver.channelId == Self.channelID else { return }
    receiver.delegate = self
    onMain { [weak self] in
      self?.receivers.append(receiver)
      self?.read(receiver)
    }
  }

  func dataChannelReceiver(_ dataChannelReceiver: DataChannelReceiver, didReceiveMessage args: PropertyChangedEventArgs)
  {
    onMain { [weak self] in self?.read(dataChannelReceiver) }
  }

  private func read(_ receiver: DataChannelReceiver) {
    while let message = receiver.receiveMessage() {
      let name = nameOf?(receiver.senderIdentifier) ?? receiver.senderIdentifier.rawId
      lines.append("\(name): \(String(decoding: message.data, as: UTF8.self))")
    }
  }
}
