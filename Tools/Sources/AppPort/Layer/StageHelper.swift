/// What layers over the common layer need beside `Session` if the app was written in the stage strategy style.
enum StageHelper {
  static let files = [
    LayerHelper(fileName: "RoomStage.swift", typeNames: ["RoomStage"], source: stage),
    LayerHelper(fileName: "RoomStream.swift", typeNames: ["RoomStream"], source: streams),
    LayerHelper(fileName: "RoomFault.swift", typeNames: ["RoomFault"], source: faults),
  ]

  private static let stage = #"""
    // What layers in the stage strategy style need beside `Session` (`koine port --to koine`): the same for every app.
    import Foundation
    import Koine
    import KoineBackends
    import KoineTokens

    /// A session that publishes and receives what the app decides. It reports participants while they publish, and no other tracks.
    final class RoomStage: @unchecked Sendable {  // used on the main queue only, where the session's events arrive
      private(set) var session: Session
      var handler: ((SessionEvent, RoomStage) -> Void)?
      private(set) var participants: [Participant] = []  // the others, while they publish
      private var streams: [Track.ID: RoomStream] = [:], sent: [RoomStream] = [], wanted: [String: Set<Track.Kind>] = [:]
      private var isPublishing = false, isOver = false, observation: Observation?
      private let expiry: NumericDate?
      /// - Throws: if the token, a stage's or one of Koine's, does not name a room and a participant.
      init(token: String) throws {
        let text = try? JSONWebToken.parse(token), stage = try? text?.claims(as: IVSStageToken.self)
        let claims = stage?.admission ?? (try? text?.claims(as: KoineToken.self))?.admission
        guard let claims, let room = claims.room, let id = claims.participantID else { throw RoomFault.token.error("none") }
        let (tags, world) = (claims.attributes, try Backends.world(room: room, participant: id))
        let name = [tags["username"], tags["name"], claims.displayName, claims.externalID].first { $0?.isEmpty == false }
        let shown = (name ?? nil) ?? id
        let join = JoinRequest(room: room, credential: token, participantID: id, name: shown, attributes: tags)
        (session, expiry) = (Session(join, in: world, options: .ofStage), claims.expiry)
      }
      func join() throws {
        if let expiry, expiry <= .ofSystemClock() { throw RoomFault.expired.error("the token has expired") }
        if isOver { (session, isOver) = (Session(session.request, in: session.world, options: .ofStage), false) }
        observation = session.observe { [weak self] in self?.receive($0) }
        session.join { _ in }  // the events report how it goes
      }
      func leave() { end(.left) }
      func stream(_ track: Track) -> RoomStream? { streams[track.id] }
      private func report(_ event: SessionEvent) { handler?(event, self) }
      private func receive(_ event: SessionEvent) {
        switch event {
        case .participantJoined: break  // see `update`
        case .participantLeft(let owner, _): update(owner, isSettled: true)
        case .streamAdded(_, let owner), .streamRemoved(_, let owner): if !owner.isLocal { update(owner, isSettled: false) }
        case .stateChanged(.ended(let reason)): end(reason)
        case .streamPublished(let track): [event, .streamAdded(track, session.localParticipant)].forEach(report)
        case .publishFailed(let track, _):
          sent.removeAll { $0.id == track.id }
          for event in [.streamRemoved(track, session.localParticipant), event] { report(event) }
          streams[track.id] = nil
        case .streamMuted(let track, _):
          streams[track.id]?.track.isMuted = track.isMuted
          report(event)
        case .attributesChanged(let participant):
          participants = participants.map { $0.id == participant.id ? participant : $0 }
          report(event)
        case .levelsChanged(let levels):
          for (id, one) in streams { levels[id.participant].map { one.levelHandler?(Float($0)) } }
        default: report(event)
        }
      }
      private func end(_ reason: EndReason) {
        guard !isOver else { return }
        isOver = true
        for participant in participants { update(participant, isSettled: true) }
        publish(nil)
        report(.stateChanged(.ended(reason)))
        observation?.cancel()
        session.leave {}
      }
      /// Publishes the first stream of video and of audio, and no others; nil: the local participant does not take part.
      func publish(_ wanted: (() -> [RoomStream])?) {
        if !isPublishing, wanted != nil { (isPublishing, _) = (true, report(.participantJoined(session.localParticipant))) }
        let all = wanted?() ?? [], new = [all.first { $0.kind.isVideo }, all.first { $0.kind.isAudio }].compactMap { $0 }
        for stream in sent where !new.contains(where: { $0 === stream }) {
          stream.unpublish()
          report(.streamRemoved(stream.track, session.localParticipant))
          streams[stream.id] = nil
        }
        for stream in new where !sent.contains(where: { $0 === stream }) {
          let failure = stream.publish(in: session), track = stream.track
          streams[track.id] = stream
          if let failure { session.world.delivery.deliver { [weak self] in self?.receive(.publishFailed(track, failure)) } }
        }
        sent = new
        if isPublishing, wanted == nil { report(.participantLeft(session.localParticipant, .left)) }
        isPublishing = isPublishing && wanted != nil
      }
      /// Receives these kinds of tracks of a participant, and no others.
      func receive(_ kinds: Set<Track.Kind>, of participant: Participant) {
        update(participant, isSettled: wanted.updateValue(kinds, forKey: participant.id) != nil)
      }
      private func update(_ owner: Participant, isSettled: Bool) {
        let tracks = isOver ? [] : session.participants.first { $0.id == owner.id }?.tracks ?? []
        let isKnown = participants.contains { $0.id == owner.id }
        if !isKnown, !tracks.isEmpty {
          participants.append(owner)
          return report(.participantJoined(owner))
        }
        let kept = tracks.filter { wanted[owner.id]?.contains($0.kind) == true }
        for track in kept where streams[track.id] == nil {
          streams[track.id] = RoomStream(track, in: session)
          session.subscribe(to: track.id)
        }
        guard isSettled else {
          let (lane, delivery) = (session.world.backend.scheduler.lane("stage"), session.world.delivery)
          lane.post(at: lane.scheduler.now + .milliseconds(10)) { [weak self] in  // those that come together are one report
            delivery.deliver { [weak self] in self?.update(owner, isSettled: true) }
          }
          return
        }
        for (id, stream) in streams where id.participant == owner.id && !kept.contains(where: { $0.id == id }) {
          session.unsubscribe(from: id)
          report(.streamRemoved(stream.track, owner))
          streams[id] = nil
        }
        for stream in kept.compactMap({ streams[$0.id] }) where !stream.isReported {
          stream.isReported = true
          report(.streamAdded(stream.track, owner))
        }
        guard isKnown, tracks.isEmpty else { return }
        (participants, wanted[owner.id]) = (participants.filter { $0.id != owner.id }, nil)
        report(.participantLeft(owner, .left))
      }
    }

    """#

  private static let streams = #"""
    // Streams and devices of layers in the stage strategy style (`koine port --to koine`): the same for every app.
    import CoreMedia
    import CoreVideo
    import Foundation
    import Koine
    import KoineBackends
    import UIKit

    /// A track that is received, or that the app can publish.
    @dynamicMemberLookup final class RoomStream: Equatable {
      var track: Track, isReported = false
      /// The device that it was made with, and its name.
      let device: Machine.Device?
      var name: String { device?.name ?? "" }
      private(set) var levelHandler: ((Float) -> Void)?
      private weak var session: Session?
      private var local: LocalStream?
      private let options: VideoPublishOptions, feed: VideoFeed?
      subscript<Value>(dynamicMember path: KeyPath<Track, Value>) -> Value { track[keyPath: path] }

      init(
        _ track: Track, in session: Session?, options: VideoPublishOptions = .init(), feed: VideoFeed? = nil,
        device: Machine.Device? = nil
      ) {
        (self.track, self.session, self.options, self.feed, self.device) = (track, session, options, feed, device)
      }
      convenience init(device: Machine.Device, configuration: VideoPublishOptions = VideoPublishOptions()) {
        let kind = device.kind == .camera ? Track.Kind.camera : .microphone
        let track = Track(id: Track.ID(participant: "", track: device.id), kind: kind)
        self.init(track, in: nil, options: configuration, device: device)
      }
      convenience init(device: Machine.Device, config: VideoPublishOptions) {
        self.init(device: device, configuration: config)
      }
      convenience init(device: VideoFeed, config: VideoPublishOptions = .init()) {
        let track = Track(id: Track.ID(participant: "", track: UUID().uuidString), kind: .camera)
        self.init(track, in: nil, options: config, feed: device)
      }
      static func == (one: RoomStream, other: RoomStream) -> Bool { one === other }
      /// In dBov, several times a second.
      func setLevelHandler(_ handler: ((Float) -> Void)?) { levelHandler = handler }
      /// The devices that it can come from.
      var sources: [Machine.Device] {
        (try? Backends.world())?.machine.devices(track.kind.isVideo ? .camera : .microphone) ?? []
      }
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
      /// - Returns: why it cannot be published; nil if it can.
      func publish(in session: Session) -> Failure? {
        do {
          let machine = session.world.machine
          let local =
            track.kind == .microphone
            ? try session.publish(microphone: machine.makeMicrophone(), options: AudioPublishOptions(bitrate: 64_000))
            : try publish(feed ?? machine.makeCamera(), in: session)
          if track.isMuted { local.setMuted(true) }
          (self.local, self.session) = (local, session)
          track = Track(id: local.id, kind: track.kind, isMuted: track.isMuted)
          return nil
        } catch { return error as? Failure ?? Failure(.device, "\(error)") }
      }
      /// Sizes are meant for a camera that is held upright.
      private func publish(_ source: any VideoSource, in session: Session) throws -> LocalStream {
        var options = options
        if (source.format.width > source.format.height) != (options.maximumWidth > options.maximumHeight) {
          (options.maximumWidth, options.maximumHeight) = (options.maximumHeight, options.maximumWidth)
        }
        return try session.publish(camera: source, options: options)
      }
      func unpublish() { local.take()?.unpublish() }
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

    extension SessionOptions { static let ofStage = Self(subscribesToEverything: false) }

    """#

  private static let faults = #"""
    // What layers in the stage strategy style report as errors (`koine port --to koine`): the same for every app.
    import Foundation
    import Koine

    /// Errors with the numbers that apps in the stage strategy style know.
    enum RoomFault: Int {
      case token = 1000, expired = 1001, media = 1020, full = 1024, refused = 1026, closed = 1027
      case answer = 1203, lost = 1300, device = 10101

      static let domain = "RoomFault", isFatalKey = "isFatal"
      private static let faults: [Failure.Code: RoomFault] = [
        .unauthorized: .refused, .forbidden: .refused, .invalidParticipantID: .refused, .invalidRoom: .closed,
        .roomFull: .full, .unreachable: .lost, .notConnected: .lost, .ended: .lost, .device: .media,
      ]
      /// All errors but these are fatal, as in the SDK of stages.
      private var isFatal: Bool { ![.media, .full, .answer, .device].contains(self) }
      func error(_ message: String) -> NSError {
        let info: [String: Any] = [NSLocalizedDescriptionKey: message, Self.isFatalKey: isFatal]
        return NSError(domain: Self.domain, code: rawValue, userInfo: info)
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
