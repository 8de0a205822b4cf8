/// What layers over the common layer need beside `Session` if the app was written in the stage strategy style.
enum StageHelper {
  static let files = [
    LayerHelper(fileName: "RoomStage.swift", typeNames: ["RoomStage"], source: stage),
    LayerHelper(fileName: "RoomStream.swift", typeNames: ["RoomStream", "RoomFault"], source: streams),
  ]

  private static let stage = #"""
    // What layers need beside `Session` that `koine port --to koine` writes of apps in the stage strategy style: the same for
    // every app.
    import Foundation
    import Koine
    import KoineBackends
    import KoineTokens

    /// A session that publishes and receives what the app decides. Its events report participants while they publish, and the tracks that
    /// are received or published.
    final class RoomStage: @unchecked Sendable {  // used on the main queue only, where the session's events arrive
      private(set) var session: Session
      var handler: ((SessionEvent, RoomStage) -> Void)?
      /// The others, while they publish.
      private(set) var participants: [Participant] = []
      private var streams: [Track.ID: RoomStream] = [:], sent: [RoomStream] = [], wanted: [Participant.ID: Set<Track.Kind>] = [:]
      private var isPublishing = false, isOver = false, observation: Observation?
      private let expiry: NumericDate?

      /// - Throws: if the token, a stage's or one of Koine's, does not name a room and a participant.
      init(token: String) throws {
        let text = try? JSONWebToken.parse(token), stage = try? text?.claims(as: IVSStageToken.self)
        let claims = stage?.admission ?? (try? text?.claims(as: KoineToken.self))?.admission
        guard let claims, let room = claims.room, let id = claims.participantID else { throw RoomFault.token.error("no token") }
        let names = [claims.attributes["username"], claims.attributes["name"], claims.displayName, claims.externalID, id]
        let name = names.compactMap { $0 }.first { !$0.isEmpty } ?? id, world = try Backends.world(room: room, participant: id)
        let request = JoinRequest(room: room, credential: token, participantID: id, name: name, attributes: claims.attributes)
        session = Session(request, in: world, options: SessionOptions(subscribesToEverything: false))
        expiry = claims.expiry
      }
      func join() throws {
        if let expiry, expiry <= .ofSystemClock() { throw RoomFault.expired.error("the token has expired") }
        if isOver { session = Session(session.request, in: session.world, options: SessionOptions(subscribesToEverything: false)) }
        isOver = false
        observation = session.observe { [weak self] in self?.receive($0) }
        session.join { _ in }  // the events report how it goes
      }
      func leave() { end(.left) }
      func stream(_ track: Track) -> RoomStream? { streams[track.id] }
      private func report(_ event: SessionEvent) { handler?(event, self) }


      private func receive(_ event: SessionEvent) {
        switch event {
        case .participantJoined, .participantLeft: break  // see `update`
        case .streamAdded(_, let owner), .streamRemoved(_, let owner): if !owner.isLocal { update(owner) }
        case .stateChanged(.ended(let reason)): end(reason)
        case .streamPublished(let track): for event in [event, .streamAdded(track, session.localParticipant)] { report(event) }
        case .publishFailed(let track, _):
          sent.removeAll { $0.id == track.id }
          for event in [.streamRemoved(track, session.localParticipant), event] { report(event) }
        case .streamMuted(let track, _):
          streams[track.id]?.track.isMuted = track.isMuted
          report(event)
        case .attributesChanged(let participant):
          guard let index = participants.firstIndex(where: { $0.id == participant.id }) else { return }
          participants[index] = participant
          report(event)
        case .levelsChanged(let levels):
          for stream in streams.values where stream.kind == .microphone { levels[stream.id.participant].map { stream.levelHandler?(Float($0)) } }
        default: report(event)
        }
      }
      private func end(_ reason: EndReason) {
        guard !isOver else { return }
        isOver = true
        for participant in participants { update(participant) }
        publish(nil)
        report(.stateChanged(.ended(reason)))
        observation?.cancel()
        session.leave {}
      }

      /// Publishes the first stream of video and of audio, and no others; nil: the local participant does not take part.
      func publish(_ wanted: (() -> [RoomStream])?) {
        guard wanted != nil || isPublishing else { return }
        if !isPublishing { (isPublishing, _) = (true, report(.participantJoined(session.localParticipant))) }
        let all = wanted?() ?? [], new = [all.first { $0.kind.isVideo }, all.first { $0.kind.isAudio }].compactMap { $0 }
        for stream in sent where !new.contains(where: { $0 === stream }) {
          stream.unpublish()
          report(.streamRemoved(stream.track, session.localParticipant))
          streams[stream.id] = nil
        }
        let before = sent
        sent = new
        for stream in new where !before.contains(where: { $0 === stream }) {
          do {
            try stream.publish(in: session)
            streams[stream.id] = stream
          } catch {
            sent.removeAll { $0 === stream }
            session.world.delivery.deliver { [weak self, track = stream.track] in
              self?.report(.publishFailed(track, error as? Failure ?? Failure(.device, "\(error)")))
            }
          }
        }
        if wanted == nil { (isPublishing, _) = (false, report(.participantLeft(session.localParticipant, .left))) }
      }
      /// Receives these kinds of tracks of a participant, and no others.
      func receive(_ kinds: Set<Track.Kind>, of participant: Participant) {
        wanted[participant.id] = kinds
        update(participant)
      }
      private func update(_ owner: Participant) {
        let tracks = isOver ? [] : session.participants.first { $0.id == owner.id }?.tracks ?? [], kinds = wanted[owner.id] ?? []
        if !tracks.isEmpty, !participants.contains(where: { $0.id == owner.id }) {
          participants.append(owner)
          report(.participantJoined(owner))
        }
        for (id, stream) in streams where id.participant == owner.id && !tracks.contains(where: { $0.id == id && kinds.contains($0.kind) }) {
          session.unsubscribe(from: id)
          report(.streamRemoved(stream.track, owner))
          streams[id] = nil
        }
        for track in tracks where kinds.contains(track.kind) && streams[track.id] == nil {
          streams[track.id] = RoomStream(track, in: session)
          session.subscribe(to: track.id)
          report(.streamAdded(track, owner))
        }
        guard tracks.isEmpty, participants.contains(where: { $0.id == owner.id }) else { return }
        (participants, wanted[owner.id]) = (participants.filter { $0.id != owner.id }, nil)
        report(.participantLeft(owner, .left))
      }
    }

    """#

  private static let streams = #"""
    // The streams, devices and errors of layers that `koine port --to koine` writes of apps in the stage strategy style: the same for every
    // app.
    import CoreMedia
    import CoreVideo
    import Foundation
    import Koine
    import KoineBackends
    import UIKit

    /// A track that is received, or that the app can publish.
    @dynamicMemberLookup final class RoomStream: Equatable {
      var track: Track
      private(set) var levelHandler: ((Float) -> Void)?
      private weak var session: Session?
      private var local: LocalStream?
      private let options: VideoPublishOptions, feed: VideoFeed?
      subscript<Value>(dynamicMember path: KeyPath<Track, Value>) -> Value { track[keyPath: path] }

      init(_ track: Track, in session: Session?, options: VideoPublishOptions = VideoPublishOptions(), feed: VideoFeed? = nil) {
        (self.track, self.session, self.options, self.feed) = (track, session, options, feed)
      }
      convenience init(device: Machine.Device, configuration: VideoPublishOptions = VideoPublishOptions()) {
        let kind = device.kind == .camera ? Track.Kind.camera : .microphone
        self.init(Track(id: Track.ID(participant: "", track: device.id), kind: kind), in: nil, options: configuration)
      }
      convenience init(device: VideoFeed, config: VideoPublishOptions) {
        let track = Track(id: Track.ID(participant: "", track: UUID().uuidString), kind: .camera)
        self.init(track, in: nil, options: config, feed: device)
      }

      var video: RoomStream? { track.kind.isVideo ? self : nil }
      var audio: RoomStream? { track.kind.isAudio ? self : nil }
      /// In dBov, several times a second.
      func setLevelHandler(_ handler: ((Float) -> Void)?) { levelHandler = handler }
      func setMuted(_ isMuted: Bool) {
        track.isMuted = isMuted
        local?.setMuted(isMuted)
      }
      func makeView(with mode: UIView.ContentMode = .scaleAspectFit) -> VideoView {
        let view = VideoView(frame: .zero)
        view.contentMode = mode
        session?.attach(view, to: track.id)
        return view
      }

      func publish(in session: Session) throws {
        let machine = session.world.machine
        let local: LocalStream
        if track.kind == .microphone {
          local = try session.publish(microphone: machine.makeMicrophone())
        } else {
          let source: any VideoSource = try feed ?? machine.makeCamera()
          var options = options  // sizes are meant for a camera that is held upright
          if (source.format.width > source.format.height) != (options.maximumWidth > options.maximumHeight) {
            (options.maximumWidth, options.maximumHeight) = (options.maximumHeight, options.maximumWidth)
          }
          local = try session.publish(camera: source, options: options)
        }
        if track.isMuted { local.setMuted(true) }
        (self.local, self.session, track) = (local, session, Track(id: local.id, kind: track.kind, isMuted: track.isMuted))
      }
      func unpublish() {
        local?.unpublish()
        local = nil
      }
      static func == (one: RoomStream, other: RoomStream) -> Bool { one === other }
    }

    extension Machine.Device {
      /// The camera and the microphone that are in use.
      static var all: [Machine.Device] {
        guard let machine = (try? Backends.world())?.machine else { return [] }
        return [Machine.Kind.camera, .microphone].compactMap { machine.current($0) }
      }
      /// The devices that can be used in its place.
      var sources: [Machine.Device] { (try? Backends.world())?.machine.devices(kind) ?? [] }
      func choose(_ source: Machine.Device, completion: ((any Error)?) -> Void = { _ in }) {
        let isChosen = (try? Backends.world())?.machine.choose(source.id) == true
        completion(isChosen ? nil : RoomFault.device.error("there is no \(source.name)"))
      }
    }

    extension VideoFeed {
      /// Publishes a picture; on any thread.
      func push(_ buffer: CMSampleBuffer) {
        guard let now = (try? Backends.world())?.backend.scheduler.now else { return }
        if let frame = CMSampleBufferGetImageBuffer(buffer)?.videoFrame(captured: now) { push(frame) }
      }
    }

    extension VideoPublishOptions {
      mutating func setSize(_ size: CGSize) { (maximumWidth, maximumHeight) = (Int(size.width), Int(size.height)) }
    }

    /// Errors with the numbers that apps in the stage strategy style know.
    enum RoomFault: Int {
      case token = 1000, expired = 1001, media = 1020, full = 1024, refused = 1026, closed = 1027, answer = 1203, lost = 1300
      case device = 10101

      static let domain = "RoomFault"
      private static let faults: [Failure.Code: RoomFault] = [
        .unauthorized: .refused, .forbidden: .refused, .invalidParticipantID: .refused, .invalidRoom: .closed,
        .roomFull: .full, .unreachable: .lost, .notConnected: .lost, .ended: .lost, .device: .media,
      ]
      func error(_ message: String) -> NSError {
        NSError(domain: Self.domain, code: rawValue, userInfo: [NSLocalizedDescriptionKey: message])
      }
      static func error(of failure: Failure) -> NSError { (faults[failure.code] ?? .answer).error(failure.message) }
      static func error(of state: SessionState) -> NSError? {
        switch state {
        case .ended(.refused(let failure)): error(of: failure)
        case .ended(.lost): lost.error("the connection was lost")
        case .ended(.removed), .ended(.removedByService), .ended(.expired): refused.error("removed from the room")
        case .ended(.roomClosed), .ended(.roomClosedByService): closed.error("the room was closed")
        default: nil
        }
      }
    }

    """#
}
