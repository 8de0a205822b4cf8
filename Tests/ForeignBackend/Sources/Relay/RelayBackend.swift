import Foundation
public import Koine
import KoinePeer

/// Rooms of a `RoomService`, for every style of app.
public final class RelayBackend: Backend {
  public let scheduler: Scheduler
  public let capabilities: BackendCapabilities = [.dataMessages, .attributes]
  private let service: RoomService
  private let loop: PeerLoop

  /// With a service of its own, over loopback sockets in real time.
  public convenience init() {
    let loop = PeerLoop()
    self.init(RoomService(on: PeerLoop()), loop)
  }

  /// With a service of its own, in virtual time. The same seed gives the same call.
  public convenience init(virtual seed: UInt64) {
    let loop = PeerLoop(virtual: .virtual(), seed: seed)
    self.init(RoomService(on: loop), loop)
  }

  private init(_ service: RoomService, _ loop: PeerLoop) {
    (self.service, self.loop, scheduler) = (service, loop, loop.scheduler)
  }

  public func connect(_ request: JoinRequest, receiver: any LinkReceiver) -> any Link {
    let link = RelayLink(service, loop, receiver)
    link.join(request)
    return link
  }

  /// The service has no ringing: a signed-in identity cannot ring and is not rung.
  public func register(_ request: EndpointRequest, receiver: any EndpointReceiver) -> any EndpointLink {
    loop.post { _ in receiver.endpointDidChange(.registered) }
    return NoRinging(loop, receiver)
  }
}

private final class NoRinging: EndpointLink {
  private let loop: PeerLoop
  private let receiver: any EndpointReceiver

  init(_ loop: PeerLoop, _ receiver: any EndpointReceiver) { (self.loop, self.receiver) = (loop, receiver) }

  func ring(_ invitation: Ring, patience: Duration) {
    loop.post { [receiver] _ in
      for callee in invitation.callees {
        receiver.endpointDidChange(.answered(invitation.id, callee: callee, .unreachable))
      }
    }
  }

  func cancel(_ invitation: Ring.ID) {}
  func reply(_ reply: RingReply, to invitation: Ring.ID) {}
  func unregister() { loop.post { [receiver] _ in receiver.endpointDidChange(.ended(.left)) } }
}

/// One participant's connection to a room of the service.
///
/// `@unchecked Sendable`: everything mutable is touched on the loop only.
private final class RelayLink: Link, @unchecked Sendable {
  private let service: RoomService
  private let loop: PeerLoop
  private var receiver: (any LinkReceiver)?
  private var connection: RoomService.Connection?
  private var peer: PeerConnection?
  private var local: Participant?
  /// While the room's members arrive.
  private var others: [Participant]?
  /// The one simulcast layer that is sent, of the published tracks.
  private var layers: [Track.ID: Int] = [:]
  private var wanted: Set<Track.ID> = []
  private var sent = 0

  init(_ service: RoomService, _ loop: PeerLoop, _ receiver: any LinkReceiver) {
    (self.service, self.loop, self.receiver) = (service, loop, receiver)
  }

  func join(_ request: JoinRequest) {
    loop.post { [self] _ in
      connection = service.open { [weak self] text in
        self?.loop.post { [weak self] now in
          if let line = Line(parsing: text) { self?.handle(line, at: now) }
        }
      }
      peer = loop.connect { [weak self] _, event, _ in self?.handle(event) }
      peer?.perform { [self] media, _ in
        var line = Line(
          "join",
          [
            "room": request.room, "id": request.participantID, "name": request.name,
            "external": request.externalUserID, "credential": request.credential,
          ])
        line.set(request.attributes, prefix: "a.")
        line.set(media.localDescription)
        send(line)
      }
    }
  }

  private func send(_ line: Line) { if let connection { service.send(line.text, on: connection) } }

  private func post(_ work: @escaping @Sendable (RelayLink) -> Void) {
    loop.post { [self] _ in if receiver != nil { work(self) } }
  }

  private func report(_ event: LinkEvent) { receiver?.linkDidChange(event) }

  private func end(_ reason: EndReason) {
    report(.ended(reason))
    receiver = nil
    peer?.close()
    (peer, connection) = (nil, nil)
  }

  // MARK: What the session asks for

  func publish(_ track: Track, options: PublishOptions) {
    post { link in
      let top = options.layers.count - 1
      link.layers[track.id] = top
      if top > 0 { link.report(.layersWanted(track.id, [top])) }
      link.peer?.perform { media, _ in
        let one = PublishOptions(codec: options.codec, layers: [options.layers[top]])
        var line = Line(
          "publish", of: track.id, ["kind": track.kind.rawValue, "muted": track.isMuted ? "yes" : "no"])
        line.set(media.publish(track.id, options: one))
        link.send(line)
      }
    }
  }

  func unpublish(_ track: Track.ID) {
    post { link in
      guard link.layers.removeValue(forKey: track) != nil else { return }
      link.peer?.perform { media, _ in media.unpublish(track) }
      link.send(Line("unpublish", of: track))
    }
  }

  func setMuted(_ muted: Bool, _ track: Track.ID) {
    post { $0.send(Line("mute", of: track, ["on": muted ? "yes" : "no"])) }
  }

  func send(_ frame: EncodedFrame, of track: Track.ID) {
    post { link in
      guard link.layers[track].map({ Int(frame.layer) == $0 }) == true else { return }
      link.peer?.perform { media, now in
        var frame = frame
        frame.layer = 0
        media.send(frame, of: track, at: now)
      }
    }
  }

  func subscribe(to track: Track.ID) {
    post { link in
      link.wanted.insert(track)
      link.send(Line("want", of: track))
    }
  }

  func unsubscribe(from track: Track.ID) {
    post { link in
      guard link.wanted.remove(track) != nil else { return }
      link.peer?.perform { media, _ in media.unsubscribe(from: track) }
      link.send(Line("unwant", of: track))
    }
  }

  func requestKeyFrame(of track: Track.ID) {
    post { $0.peer?.perform { media, now in media.requestKeyFrame(of: track, at: now) } }
  }

  func setPaused(_ paused: Bool, _ track: Track.ID) {
    post { $0.send(Line("pause", of: track, ["on": paused ? "yes" : "no"])) }
  }

  /// The service has one layer of each track.
  func setPreference(_ preference: LayerPreference, of track: Track.ID) {}

  func send(_ message: DataMessage) {
    post { link in
      link.sent += 1
      link.send(
        Line(
          "say",
          [
            "topic": message.topic, "payload": Data(message.payload).base64EncodedString(), "id": "\(link.sent)",
            "to": message.recipients?.joined(separator: "\n"),
          ]))
    }
  }

  func setAttributes(_ attributes: [String: String]) {
    post { link in
      var line = Line("attributes")
      line.set(attributes, prefix: "a.")
      link.send(line)
    }
  }

  private func refuse(_ what: String) {
    post { $0.report(.failed(Failure(.forbidden, "the relay cannot \(what)"))) }
  }

  func mute(_ stream: Track.ID) { refuse("mute participants") }
  func remove(_ participant: Participant.ID) { refuse("remove participants") }
  func answerKnock(of participant: Participant.ID, admitting: Bool) { refuse("have participants wait") }
  func closeRoom() { refuse("close rooms") }
  func renew(credential: String) {}

  func statistics(_ completion: @escaping @Sendable (MediaStatistics<Track.ID, Track.ID>) -> Void) {
    loop.post { [self] _ in
      guard let peer else { return completion(MediaStatistics()) }
      peer.perform { media, now in completion(media.statistics(at: now)) }
    }
  }

  func leave() {
    post { link in
      link.send(Line("leave"))
      link.end(.left)
    }
  }

  // MARK: What the service and the connection say

  private func handle(_ event: PeerMedia.Event) {
    switch event {
    case .connected: report(.mediaConnected)
    case .failed, .closed: if receiver != nil { end(.lost) }
    case .frame(let frame, let track): receiver?.linkDidReceive(frame, of: track)
    case .keyFrameRequested(let track, _): report(.keyFrameWanted(track, layer: layers[track] ?? 0))
    case .estimate(let bitrate, let loss): report(.estimate(bitrate: bitrate, loss: loss))
    }
  }

  private func handle(_ line: Line, at now: Tick) {
    guard receiver != nil else { return }
    switch line.verb {
    case "refused":
      end(.refused(Failure(Failure.Code(rawValue: line["code"] ?? "unauthorized"), line.text("why"))))
    case "welcome":
      local = participant(line)
      others = []
      guard let description = line.description else { return end(.lost) }
      peer?.perform { media, now in media.setRemote(description, at: now) }
    case "present": others?.append(participant(line))
    case "complete":
      guard let local, let others else { return }
      self.others = nil
      report(.joined(as: local, others: others))
    case "joined": report(.participantJoined(participant(line)))
    case "left":
      report(.participantLeft(line.text("participant"), DepartureReason(rawValue: line.text("reason")) ?? .removed))
    case "published": published(line)
    case "withdrawn":
      wanted.remove(line.track)
      let track = line.track
      peer?.perform { media, _ in media.unsubscribe(from: track) }
      report(.streamRemoved(line.track))
    case "muted": report(.streamMuted(line.track, line["on"] == "yes"))
    case "accepted": report(.published(line.track))
    case "stream":
      guard let parameters = line.parameters, wanted.contains(line.track) else { return }
      let track = line.track
      peer?.perform { media, _ in media.subscribe(to: track, as: parameters) }
    case "attributes": report(.attributesChanged(line.text("participant"), line.map("a.")))
    case "said":
      report(
        .message(
          ReceivedMessage(
            sender: line.text("participant"), topic: line.text("topic"),
            payload: Data(base64Encoded: line.text("payload")).map { [UInt8]($0) } ?? [], id: line.text("id"),
            order: UInt64(line.text("order")) ?? 0, isDirected: line["directed"] == "yes")))
    case "ended": end(line["reason"] == "duplicate" ? .duplicate : line["reason"] == "left" ? .left : .removed)
    default: break
    }
  }

  private func published(_ line: Line) {
    guard let kind = Track.Kind(rawValue: line.text("kind")) else { return }
    let track = Track(id: line.track, kind: kind, isMuted: line["muted"] == "yes")
    if let index = others?.firstIndex(where: { $0.id == line.text("participant") }) {
      others?[index].tracks.append(track)
    } else {
      report(.streamAdded(track))
    }
  }

  private func participant(_ line: Line) -> Participant {
    Participant(
      id: line.text("participant"), name: line.text("name"), externalUserID: line["external"],
      attributes: line.map("a."))
  }
}
