public import Foundation

/// Notified of a call's changes, on the delivery queue. All methods are optional.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/acscalldelegate)
public protocol CallDelegate: NSObjectProtocol {
  func call(_ call: Call, didChangeState args: PropertyChangedEventArgs)
  func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs)
  func call(_ call: Call, didChangeId args: PropertyChangedEventArgs)
  func call(_ call: Call, didUpdateLocalVideoStreams args: LocalVideoStreamsUpdatedEventArgs)
  func call(_ call: Call, didChangeMuteState args: PropertyChangedEventArgs)
  func call(_ call: Call, didUpdateOutgoingAudioState args: PropertyChangedEventArgs)
  func call(_ call: Call, didChangeTotalParticipantCount args: PropertyChangedEventArgs)
  func call(_ call: Call, didUpdateIncomingAudioState args: PropertyChangedEventArgs)
  func call(_ call: Call, didGetMutedByOthers args: PropertyChangedEventArgs)
  func call(_ call: Call, didUpdateStartTime args: PropertyChangedEventArgs)
  func call(_ call: Call, didChangeRole args: PropertyChangedEventArgs)
}

extension CallDelegate {
  public func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) {}
  public func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) {}
  public func call(_ call: Call, didChangeId args: PropertyChangedEventArgs) {}
  public func call(_ call: Call, didUpdateLocalVideoStreams args: LocalVideoStreamsUpdatedEventArgs) {}
  public func call(_ call: Call, didChangeMuteState args: PropertyChangedEventArgs) {}
  public func call(_ call: Call, didUpdateOutgoingAudioState args: PropertyChangedEventArgs) {}
  public func call(_ call: Call, didChangeTotalParticipantCount args: PropertyChangedEventArgs) {}
  public func call(_ call: Call, didUpdateIncomingAudioState args: PropertyChangedEventArgs) {}
  public func call(_ call: Call, didGetMutedByOthers args: PropertyChangedEventArgs) {}
  public func call(_ call: Call, didUpdateStartTime args: PropertyChangedEventArgs) {}
  public func call(_ call: Call, didChangeRole args: PropertyChangedEventArgs) {}
}
