package import Koine
package import KoineBase
package import KoineSignaling

/// An endpoint's side of its registration.
package final class RoomEndpointLink: EndpointLink, Sendable {
  package let number: Int
  private let host: any LinkHost

  package init(number: Int, host: any LinkHost) {
    self.number = number
    self.host = host
  }

  package func ring(_ invitation: Invitation, patience: Duration) {
    host.say(
      .ring(
        Ring(
          id: invitation.id, room: invitation.room, to: invitation.callees, hasVideo: invitation.hasVideo,
          timeoutSeconds: patience.inSeconds)), from: number)
  }

  package func cancel(_ invitation: Invitation.ID) { host.say(.cancelRing(id: invitation), from: number) }

  package func reply(_ reply: InvitationReply, to invitation: Invitation.ID) {
    let answer: RingState =
      switch reply {
      case .accept: .accepted
      case .decline: .declined
      case .busy: .busy
      }
    host.say(.answerRing(id: invitation, answer), from: number)
  }

  package func unregister() { host.dismiss(number) }
}

/// A signed-in identity's own end: signalling only. Touched on the loop only.
package final class EndpointEnd: ClientEnd {
  private let request: EndpointRequest
  private let receiver: any EndpointReceiver

  package init(_ request: EndpointRequest, receiver: any EndpointReceiver) {
    self.request = request
    self.receiver = receiver
    super.init()
    send(.register(Register(identity: request.identity, name: request.name, credential: request.credential)))
  }

  package override func tell(_ failure: SessionError) { receiver.endpointDidChange(.failed(failure)) }
  package override func tellEnd(_ reason: Koine.EndReason) { receiver.endpointDidChange(.ended(reason)) }

  package override func hear(_ message: ServerMessage, at now: Tick) {
    switch message {
    case .registered: receiver.endpointDidChange(.registered)
    case .refused(let failure): end(.refused(SessionError(failure)))
    case .incomingRing(let ring):
      receiver.endpointDidChange(
        .invited(
          Invitation(
            id: ring.id, room: ring.room, caller: ring.from, callerName: ring.fromName, callees: ring.to,
            hasVideo: ring.hasVideo, isIncoming: true)))
    case .ringEnded(let id, let state):
      receiver.endpointDidChange(.answered(id, callee: nil, Invitation.Answer(state)))
    case .ringProgress(let progress):
      receiver.endpointDidChange(
        .answered(progress.id, callee: progress.identity, Invitation.Answer(progress.state)))
    case .failed(_, let failure): receiver.endpointDidChange(.failed(SessionError(failure)))
    default: break  // of rooms
    }
  }
}

extension Invitation.Answer {
  init(_ state: RingState) {
    switch state {
    case .ringing: self = .ringing
    case .accepted: self = .accepted
    case .declined: self = .declined
    case .busy: self = .busy
    case .unanswered: self = .unanswered
    case .unreachable: self = .unreachable
    case .cancelled: self = .cancelled
    case .handledElsewhere: self = .handledElsewhere
    }
  }
}
