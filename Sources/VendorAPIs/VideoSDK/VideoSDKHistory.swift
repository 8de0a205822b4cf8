import KoineBase
import KoineMedia
import KoineRouter
import KoineSignaling

// Sessions, participants and recordings of rooms are written as the rooms report them.

extension VideoSDKAPI {
  func observe(_ event: RoomEvent, at now: APITime) async {
    switch event.change {
    case .joined(let participant):
      // A room that no back end has made belongs to the key whose participants are in it.
      guard let apiKey = live.apiKey(ofRoom: event.room) ?? event.issuer else { return }
      await joined(participant.id, participant.name, event.room, apiKey, at: now)
    case .left: await left(event, at: now)
    case .recorder(.file, let status, let output): await recorded(status, output, event.room, at: now)
    case .recorder, .published, .subscribed, .refused, .renewed: break
    }
  }

  private func joined(_ id: String, _ name: String, _ roomID: String, _ apiKey: String, at now: APITime) async {
    let new = makeID()
    let place = place(of: roomID, apiKey)
    let history = history(of: place)
    let isRecorded = live.live(roomID) == nil ? await hasSpace(for: place) : true
    let current = live.withLive(roomID) { live -> VideoSDKLiveRooms.Live? in
      var current =
        live ?? VideoSDKLiveRooms.Live(session: new, apiKey: apiKey, start: now, isRecorded: isRecorded)
      guard current.apiKey == apiKey else { return nil }
      current.order += 1
      current.participants.insert(id)
      live = current
      return current
    }
    guard let current else { return }
    if current.session == new, isRecorded {
      await history.record { () throws(RegistryError) in
        _ = try await context.registry.create(
          VideoSDKSessionPlace.key(session: new), place, expiry: history.expiry(at: now))
      }
      for dropped in await history.begin(new, of: place.place, at: now) {
        await history.record { () throws(RegistryError) in
          try await context.registry.delete(VideoSDKSessionPlace.key(session: dropped))
        }
      }
    }
    if current.isRecorded {
      let limit = min(context.settings.eventsPerParticipant, place.isUnmade ? 100 : .max)
      let visit = VideoSDKVisit(id: id, name: name, order: current.order)
      let isFull = await hasSpaceForVisit(in: place) == false
      await history.change(id, in: current.session, of: place.place, at: now, new: isFull ? nil : visit) { visit in
        if let last = visit.stays.last, last.end == nil { return false }
        visit.stays.append(.init(start: now))
        visit.stays.removeFirst(max(visit.stays.count - limit, 0))
        return true
      }
    }
    if current.session == new { await autoStart(roomID, apiKey) }
  }

  /// Whether the history of a room that has no session now may be written. A back end makes as many rooms as it likes, but apps name
  /// rooms that no back end has made.
  private func hasSpace(for place: VideoSDKSessionPlace) async -> Bool {
    guard place.isUnmade else { return true }
    let limit = context.settings.unmadeRoomsPerKey
    do throws(RegistryError) {
      let key = history.sessionsKey(place.place)
      guard try await context.registry.store.get(key) == nil else { return true }
      let prefix = history.sessionsKey(VideoSDKSessionPlace.beginning(unmadeOf: place.apiKey))
      guard try await context.registry.store.count(prefix: prefix, limit: limit) >= limit else { return true }
    } catch { return true }
    if live.mayReportLack(of: place.apiKey, at: context.clock()) {
      context.log(
        "the history of room \(LogText(place.roomID)) is not kept: of rooms that no back end has made, \(limit) are "
          + "for each API key (said once an hour)")
    }
    return false
  }

  private func hasSpaceForVisit(in place: VideoSDKSessionPlace) async -> Bool {
    guard place.isUnmade else { return true }
    let limit = context.settings.unmadeVisitsPerKey
    let prefix = history.visitPrefix(ofPlaces: VideoSDKSessionPlace.beginning(unmadeOf: place.apiKey))
    return ((try? await context.registry.store.count(prefix: prefix, limit: limit)) ?? 0) < limit
  }

  private func left(_ event: RoomEvent, at now: APITime) async {
    let ended = live.withLive(event.room) { live -> (live: VideoSDKLiveRooms.Live, isLast: Bool)? in
      guard var current = live, current.participants.remove(event.participant) != nil else { return nil }
      let isLast = current.participants.isEmpty
      live = isLast ? nil : current
      return (current, isLast)
    }
    guard let (current, isLast) = ended else { return }
    let place = place(of: event.room, current.apiKey)
    let history = history(of: place)
    if current.isRecorded {
      await history.change(event.participant, in: current.session, of: place.place, at: now) { visit in
        guard let last = visit.stays.indices.last, visit.stays[last].end == nil else { return false }
        visit.stays[last].end = now
        return true
      }
    }
    guard isLast else { return }
    // The recorder may have said nothing to a back end's request.
    live.withRecording(event.room) { if $0?.key == nil { $0 = nil } }
    guard current.isRecorded else { return }
    await history.end(current.session, of: place.place, at: now)
    // It is found by its id for as long as it is listed.
    await history.record { () throws(RegistryError) in
      try await context.registry.update(
        VideoSDKSessionPlace.self, VideoSDKSessionPlace.key(session: current.session),
        expiry: { _ in history.expiry(at: now) }, refusing: { $0 }
      ) { (_: inout VideoSDKSessionPlace) throws(RegistryError) in true }
    }
  }

  /// Starts what starts with each session of the room.
  private func autoStart(_ roomID: String, _ apiKey: String) async {
    guard let start = live.autoStart(of: roomID) else { return }
    let outputs: [(RecordingOrder.Kind, VideoSDKOutput?)] = [(.file, start.recording), (.playlist, start.hls)]
    for case (let kind, let output?) in outputs {
      guard let order = try? VideoSDKChecks.order(kind, output) else { continue }
      let result = await context.execute(
        .startRecording(order, room: roomID), for: apiKey, reason: "autoStartConfig")
      if case .failure(let error) = result {
        context.log("autoStartConfig of room \(roomID) has no effect: \(error.message)")
      }
    }
  }

  // MARK: Recordings

  private func recorded(_ status: String, _ output: RoomService.Output?, _ roomID: String, at now: APITime) async {
    switch status.split(separator: " ").first {
    case "started": await recordingStarted(roomID, at: now)
    case "stopped": await recordingStopped(output, roomID, at: now)
    case "failed", "broken", "unfinished":
      context.log("the recording of room \(LogText(roomID)) has not ended well: \(LogText(status))")
      live.withRecording(roomID) { if $0?.key == nil { $0 = nil } }
    default: break
    }
  }

  private func recordingStarted(_ roomID: String, at now: APITime) async {
    guard let session = live.live(roomID) else { return }
    var recording = VideoSDKRecording(
      id: makeID(), roomID: roomID, sessionID: session.session, apiKey: session.apiKey, created: now)
    let key = recording.key
    // The recorder repeats its report after it has lost the room and has come back.
    let asked = live.withRecording(roomID) { live -> VideoSDKLiveRooms.Recording? in
      guard live?.key == nil else { return nil }
      var current = live ?? VideoSDKLiveRooms.Recording()
      current.key = key
      live = current
      return current
    }
    guard let asked else { return }
    (recording.webhookURL, recording.awsDirPath) = (asked.webhookURL, asked.awsDirPath)
    let prefix = VideoSDKRecording.prefix(apiKey: session.apiKey, roomID: roomID)
    let limit = context.settings.recordingsPerRoom
    await history.record { [recording] () throws(RegistryError) in
      _ = try await context.registry.create(key, recording, expiry: history.expiry(at: now))
      let kept = try await context.registry.list(VideoSDKRecording.self, prefix: prefix, limit: limit + 100)
      for (key, _) in kept.dropLast(limit) { try await context.registry.delete(key) }
    }
  }

  private func recordingStopped(_ output: RoomService.Output?, _ roomID: String, at now: APITime) async {
    // A recording is shown as being made until its file is written down.
    defer { live.withRecording(roomID) { $0 = nil } }
    guard let key = live.withRecording(roomID, { $0?.key }) else { return }
    await history.record { () throws(RegistryError) in
      try await context.registry.update(
        VideoSDKRecording.self, key, expiry: { _ in history.expiry(at: now) }, refusing: { $0 }
      ) { (recording: inout VideoSDKRecording) throws(RegistryError) in
        guard recording.end == nil else { return false }
        recording.end = now
        recording.file = output.map {
          .init(url: $0.url, bytes: $0.bytes, seconds: $0.seconds, width: $0.width, height: $0.height)
        }
        return true
      }
    }
  }
}
