import KoineRouter

// Events of stages, of the type "IVS Stage Update".
//
// Source: "Using Amazon EventBridge with IVS Real-Time Streaming" of the IVS Real-Time user guide.

extension IVSAPI {
  private struct Detail: Encodable {
    var session_id: String
    var event_name: String
    var event_time: String
    var user_id: String
    var participant_id: String
  }

  /// Publishing of a participant has begun or ended.
  func sendUpdate(_ isPublished: Bool, _ event: RoomEvent, at now: APITime) {
    guard context.events.forms.contains(.aws),
      let (session, user, arn) = live.withLive(
        event.room,
        { live in live.map { ($0.session, $0.userIDs[event.participant] ?? "", $0.arn) } })
    else { return }
    let scope = arn.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false).map(String.init)
    guard scope.count == 6 else { return }
    let detail = Detail(
      session_id: session, event_name: isPublished ? "Participant Published" : "Participant Unpublished",
      event_time: now.iso8601Seconds, user_id: user, participant_id: event.participant)
    let update = EventBridgeEvent(
      id: context.identifiers.requestID(), detailType: "IVS Stage Update", source: "aws.ivs", account: scope[4],
      time: now.iso8601Seconds, region: scope[3], resources: [arn], detail: detail)
    context.send(update, name: detail.event_name, room: event.room)
  }
}
