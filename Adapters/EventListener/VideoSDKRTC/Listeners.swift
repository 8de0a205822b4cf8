/// Hears of a meeting, on the delivery queue (main unless the app chose otherwise). Implement what you need.
public protocol MeetingEventListener: AnyObject {
  func onMeetingJoined()
  func onMeetingLeft()
  func onParticipantJoined(_ participant: Participant)
  func onParticipantLeft(_ participant: Participant)
  func onSpeakerChanged(participantId: String?)
  func onSocketError(message: String)
  func onMeetingStateChanged(meetingState: MeetingState)
  func onError(error: VideoSDKError)
  /// Another microphone is in use, by choice or because one was plugged in or out.
  func onMicChanged(selectedDevice: String)
}

extension MeetingEventListener {
  public func onMeetingJoined() {}
  public func onMeetingLeft() {}
  public func onParticipantJoined(_ participant: Participant) {}
  public func onParticipantLeft(_ participant: Participant) {}
  public func onSpeakerChanged(participantId: String?) {}
  public func onSocketError(message: String) {}
  public func onMeetingStateChanged(meetingState: MeetingState) {}
  public func onError(error: VideoSDKError) {}
  public func onMicChanged(selectedDevice: String) {}
}

/// Hears of one participant's streams, on the delivery queue.
public protocol ParticipantEventListener {
  func onStreamEnabled(_ stream: MediaStream, forParticipant participant: Participant)
  func onStreamDisabled(_ stream: MediaStream, forParticipant participant: Participant)
}

extension ParticipantEventListener {
  public func onStreamEnabled(_ stream: MediaStream, forParticipant participant: Participant) {}
  public func onStreamDisabled(_ stream: MediaStream, forParticipant participant: Participant) {}
}

/// Who listens. Classes are held weakly and once; a value cannot be told apart from another, so it is held for good and
/// removing it does nothing.
struct Listeners<Listener> {
  private struct Entry {
    weak var object: AnyObject?
    let value: Listener?
  }

  private var entries: [Entry] = []

  mutating func add(_ listener: Listener) {
    entries.removeAll { $0.value == nil && $0.object == nil }
    guard type(of: listener as Any) is AnyClass else { return entries.append(Entry(object: nil, value: listener)) }
    let object = listener as AnyObject
    if !entries.contains(where: { $0.object === object }) { entries.append(Entry(object: object, value: nil)) }
  }

  mutating func remove(_ listener: Listener) {
    guard type(of: listener as Any) is AnyClass else { return }
    entries.removeAll { $0.object === (listener as AnyObject) }
  }

  var all: [Listener] { entries.compactMap { $0.value ?? ($0.object as? Listener) } }

  func contains(_ listener: Listener) -> Bool {
    guard type(of: listener as Any) is AnyClass else { return true }
    return entries.contains { $0.object === (listener as AnyObject) }
  }
}
