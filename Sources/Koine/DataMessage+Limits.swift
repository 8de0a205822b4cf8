import KoineSignaling

// Limits of messages that a room can read. The room would never acknowledge a message beyond these limits, and the client
// would retransmit it forever.

extension DataMessage {
  func check() throws(Failure) {
    guard payload.count <= SignalingLimits.payload else {
      throw Failure(.tooLarge, "a message carries at most 65,536 bytes, not \(payload.count)")
    }
    guard topic.utf8.count <= SignalingLimits.topic else {
      throw Failure(.tooLarge, "a topic has at most \(SignalingLimits.topic) bytes, not \(topic.utf8.count)")
    }
    let recipients = recipients ?? []
    guard recipients.count <= SignalingLimits.recipients else {
      throw Failure(.tooLarge, "a message has at most \(SignalingLimits.recipients) recipients")
    }
    guard recipients.allSatisfy({ $0.utf8.count <= SignalingLimits.name }) else {
      throw Failure(.tooLarge, "a participant's id has at most \(SignalingLimits.name) bytes")
    }
  }
}
