import AzureCommunicationCalling
import AzureCommunicationCommon
import Foundation

/// One app of the call-agent style, written over the vendor's API alone. Keep it until its trace has been read.
public final class CallAgentField: NSObject, CallDelegate, RemoteParticipantDelegate, @unchecked Sendable {
  public let trace: FieldTrace
  private let client = CallClient()
  private var agent: CallAgent?
  private var call: Call?

  public init(_ who: String, scenario: String = "leave.seen") {
    trace = FieldTrace(scenario: scenario, who: who, style: "call-agent")
  }

  /// Enters a group call. The delegate is set by the code that goes on after `await`, as in the vendor's quickstart.
  public func join(token: String, group: UUID) async throws {
    let credential = try CommunicationTokenCredential(token: token)
    let agent = try await client.createCallAgent(userCredential: credential, options: CallAgentOptions())
    self.agent = agent
    let call = try await agent.join(with: GroupCallLocator(groupId: group), joinCallOptions: JoinCallOptions())
    call.delegate = self
    self.call = call
    trace.told("asked", "the call is \(call.state) when its delegate is set")
  }

  public func mute() async throws { try await call?.mute() }

  /// - Parameter releasing: whether call and agent are released at once.
  public func leave(releasing: Bool) {
    trace.call {
      call?.hangUp(options: HangUpOptions()) { [trace] error in
        trace.told("answered", of: error.map { "\($0)" }, "leave")
      }
    }
    guard releasing else { return }
    (call, agent) = (nil, nil)
  }

  /// Releases everything without leaving.
  public func release() { (call, agent) = (nil, nil) }

  // MARK: Callbacks

  public func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) {
    switch call.state {
    case .connected: trace.told("connected")
    // Whether the reason is known when the end begins.
    case .disconnecting:
      trace.told("ended", "disconnecting, \(call.callEndReason.code)/\(call.callEndReason.subcode)")
    case .disconnected:
      trace.told("ended", "disconnected, \(call.callEndReason.code)/\(call.callEndReason.subcode)")
    default: break
    }
  }

  public func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) {
    for participant in args.addedParticipants {
      participant.delegate = self
      let isThere = call.remoteParticipants.contains { $0.identifier.rawId == participant.identifier.rawId }
      trace.told("joined", of: participant.identifier.rawId, agrees: isThere)
    }
    for participant in args.removedParticipants {
      let isThere = call.remoteParticipants.contains { $0.identifier.rawId == participant.identifier.rawId }
      trace.told("left", of: participant.identifier.rawId, agrees: !isThere)
    }
  }

  public func remoteParticipant(
    _ participant: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs
  ) {
    trace.told(participant.isMuted ? "muted" : "unmuted", of: participant.identifier.rawId)
  }

  public func remoteParticipant(
    _ participant: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs
  ) {
    for _ in args.addedRemoteVideoStreams { trace.told("pictureOn", of: participant.identifier.rawId) }
    for _ in args.removedRemoteVideoStreams { trace.told("pictureOff", of: participant.identifier.rawId) }
  }
}
