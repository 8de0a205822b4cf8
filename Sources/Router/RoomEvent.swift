package import KoineSignaling

/// What happens in the rooms of a router, for a registry that keeps the history of rooms: in order, and without hidden participants.
package struct RoomEvent: Hashable, Sendable {
  package enum Change: Hashable, Sendable {
    /// The participant has entered the room.
    case joined(Participant)
    /// The participant has left for good. A participant on its way back has not left.
    case left(EndReason)
    /// The participant publishes a track of this kind from now on, or publishes it no longer.
    case published(Track.Kind, isOn: Bool)
    /// The participant receives tracks of another one from now on, or receives none of them any longer.
    case subscribed(to: Participant.ID, isOn: Bool)
    /// The participant has been refused at the door. Its id is empty if its credential has not been accepted, or if the credential
    /// and the join name none.
    case refused(Failure)
    /// The participant has brought a new credential, which the room has accepted. `before`: the grants of the former one.
    case renewed(externalID: String?, attributes: [String: String], Grants, before: Grants)
    /// The co-located recorder has reported what becomes of a recording, to all participants or to the command that asked for it: in
    /// the words that it sends to the room, which begin with the stage, as `started`. `participant` is empty. Comes once for each name
    /// by which participants have come to the room.
    case recorder(RecordingOrder.Kind, status: String, output: RoomService.Output?)
  }

  /// The name under which the participant has come, or wants to come.
  package var room: String
  /// Tells the room from rooms of the same name before and after it; empty for a participant that is refused.
  package var epoch: String
  package var participant: Participant.ID
  /// Whose back end has issued the participant's credential, as `Grants.issuer`.
  package var issuer: String?
  package var change: Change

  package init(
    room: String, epoch: String, participant: Participant.ID, issuer: String? = nil, _ change: Change
  ) {
    (self.room, self.epoch, self.participant, self.change) = (room, epoch, participant, change)
    self.issuer = issuer
  }
}
