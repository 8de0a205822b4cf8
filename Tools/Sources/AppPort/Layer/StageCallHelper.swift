/// What layers read from the stage strategy style need beside the call of a vendor's style: an app that decides what is sent and received.
/// Each style adds a file with its devices (`MeetingStageMedia.swift`).
enum StageCallHelper {
  static func files(for writer: VendorWriter.Type) -> [LayerHelper] {
    [
      LayerHelper(
        fileName: writer.prefix + "Stage.swift", typeNames: [writer.prefix + "Stage"], source: writer.filled(stage)),
      LayerHelper(
        fileName: writer.prefix + "StageStream.swift", typeNames: [], source: writer.filled(stream)),
    ]
  }

  private static let stage = #"""
    // What layers read from the stage strategy style need (`koine port --to ‹style›`): the same for every app.
    ‹import Foundation›

    /// A call that sends and receives what the app decides.
    final class ‹RoomStage›: @unchecked Sendable {  // used on the main queue only, where the SDK's callbacks arrive
      /// What a stage's token can deny: here, each participant may publish, and receive the others.
      enum Capability: Sendable, CaseIterable { case publish, subscribe }
      static let capabilities = Set(Capability.allCases)
      let call: ‹Session›
      var handler: ((Report, ‹RoomStage›) -> Void)?
      private(set) var participants: [‹Participant›] = [], isConnected = false
      private var streams: [String: [Stream]] = [:], sent: [Stream] = [], isPublishing = false
      private var wanted: [String: Set<‹Track.Kind›>] = [:], known: Set<String> = []

      init(token: String) throws {
        guard let call = ‹Session›(token: token) else { throw Fault.token.error("the token cannot be read") }
        self.call = call
      }
      func join() throws {
        call.handler = { [weak self] report, _ in self?.receive(report) }
        call.join()
      }
      func leave() { call.leave() }
      private func report(_ report: Report) { handler?(report, self) }

      private func receive(_ event: ‹Prefix›Report) {
        switch event {
        case .phaseChanged(.‹SessionState.ended›): end()
        case .phaseChanged(let phase):
          isConnected = phase == .‹SessionState.connected›
          let isConnecting = phase == .‹SessionState.reconnecting›
          report(.phaseChanged(isConnecting ? .‹SessionState.connecting› : phase, nil))
        case .personJoined(let person):
          participants.append(person)
          report(.personJoined(person))
        case .personLeft(let person):
          for stream in streams.removeValue(forKey: person.id) ?? [] { report(.streamRemoved(stream, person)) }
          (participants, wanted[person.id], _) = (participants.filter { $0 != person }, nil, known.remove(person.id))
          report(.personLeft(person))
        case .streamsKnown(let person):
          known.insert(person.id)
          update(person)
        case .streamAdded(_, let one), .streamRemoved(_, let one): update(one)
        case .levelsChanged(let levels):
          for (id, level) in levels {
            for stream in streams[id] ?? [] where stream.kind == .microphone { stream.levelHandler?(level) }
          }
        case .failed(let failure):
          if !call.isOver { failed(failure.kind) }
        default: break
        }
      }
      private func failed(_ kind: ‹Track.Kind›?) {
        let error = Fault.media.error("it is not sent")
        if kind != nil { report(.failed(kind, error)) }
        report(.failed(nil, error))
      }
      private func end() {
        isConnected = false
        publish(nil)
        report(.phaseChanged(.‹SessionState.ended›, call.fault))
      }

      /// Sends the first stream of video and of audio, and no others; nil: the local participant does not take part.
      func publish(_ wanted: (() -> [Stream])?) {
        let local = call.localParticipant
        if !isPublishing, wanted != nil { (isPublishing, _) = (true, report(.personJoined(local))) }
        let all = wanted?() ?? [], new = [all.first { $0.kind.isVideo }, all.first { $0.kind.isAudio }].compactMap { $0 }
        for stream in sent where !new.contains(where: { $0 === stream }) {
          stream.stop()
          report(.streamRemoved(stream, local))
        }
        let started = new.filter { stream in !sent.contains { $0 === stream } }
        sent = new
        for stream in started {
          stream.muteHandler = { [weak self] in self?.report(.streamMuted($0, local)) }
          if !stream.start(in: call) { failed(stream.kind) }
          report(.publishingChanged(local))
          report(.streamAdded(stream, local))
        }
        if isPublishing, wanted == nil { (isPublishing, _) = (false, report(.personLeft(local))) }
      }
      /// Receives these kinds of streams of a participant, and no others.
      func receive(_ kinds: Set<‹Track.Kind›>, of person: ‹Participant›) {
        wanted[person.id] = kinds
        call.receive(wanted)
        update(person)
      }
      private func update(_ one: ‹Participant›) { ‹Track.Kind›.allCases.forEach { update($0, of: one) } }
      private func update(_ kind: ‹Track.Kind›, of person: ‹Participant›) {
        guard let wanted = wanted[person.id], known.contains(person.id) else { return }
        let isSent = call.isSent(kind, by: person), old = streams[person.id]?.first { $0.kind == kind }
        guard wanted.contains(kind) else {
          streams[person.id]?.removeAll { $0 === old }
          return old.map { report(.streamRemoved($0, person)) } ?? ()
        }
        if let old, !isSent, kind == .screen {
          streams[person.id]?.removeAll { $0 === old }
          report(.streamRemoved(old, person))
        } else if let old, old.isMuted == isSent {
          old.isMuted = !isSent
          report(.streamMuted(old, person))
        } else if old == nil, kind != .screen || isSent {
          let stream = Stream(kind, of: person.id, in: call, isMuted: !isSent)
          streams[person.id, default: []].append(stream)
          report(.streamAdded(stream, person))
        }
      }
    }

    """#

  private static let stream = #"""
    // Streams, settings and errors of layers read from the stage strategy style (`koine port --to ‹style›`): the same for every app.
    ‹import Foundation UIKit›

    extension ‹RoomStage› {
      /// What a stage reports. Streams stay while they are muted.
      enum Report {
        case phaseChanged(‹SessionState›, (any Error)?), failed(‹Track.Kind›?, any Error)
        case personJoined(‹Participant›), personLeft(‹Participant›)
        case streamAdded(Stream, ‹Participant›), streamRemoved(Stream, ‹Participant›)
        case streamMuted(Stream, ‹Participant›), publishingChanged(‹Participant›)
      }

      /// A stream that is received, or that the app can send.
      final class Stream: Equatable, @unchecked Sendable {  // used on the main queue only
        let kind: ‹Track.Kind›
        private(set) var owner = "", id = UUID().uuidString
        var isMuted = false
        private(set) var levelHandler: ((Float) -> Void)?
        /// Called when the app mutes or unmutes a stream that is sent.
        var muteHandler: ((Stream) -> Void)?
        private weak var call: ‹Session›?
        /// The device that it was made with.
        private(set) var device: Device?
        var name: String { device?.name ?? "" }
        private var feed: Feed?, options = Video(), isSent = false

        init(_ kind: ‹Track.Kind›, of person: String, in call: ‹Session›, isMuted: Bool) {
          (self.kind, self.call, self.isMuted) = (kind, call, isMuted)
          (owner, id) = (person, "\(person) \(kind)")
        }
        init(device: Device, configuration: Video = Video()) {
          (kind, self.device, options) = (device.kind, device, configuration)
        }
        convenience init(device: Device, config: Video) { self.init(device: device, configuration: config) }
        init(device: Feed, config: Video = Video()) { (kind, feed, options) = (.camera, device, config) }

        static func == (one: Stream, other: Stream) -> Bool { one === other }
        /// The devices that it can come from.
        var sources: [Device] { Device.all.first { $0.kind == kind }?.sources ?? [] }
        /// In dBov.
        func setLevelHandler(_ handler: ((Float) -> Void)?) { levelHandler = handler }
        func setMuted(_ isMuted: Bool) {
          self.isMuted = isMuted
          guard isSent else { return }
          send(!isMuted)
          muteHandler?(self)
        }
        func makeView(with mode: UIView.ContentMode = .scaleAspectFit) -> ‹VideoView› {
          let view = ‹VideoView›(frame: .zero)
          view.‹UIView.contentMode› = mode
          call?.show(view, kind, of: owner)
          return view
        }
        /// - Returns: whether the user has allowed the device.
        func start(in call: ‹Session›) -> Bool {
          (self.call, isSent, owner) = (call, true, call.localParticipant.id)
          device?.call = call
          return isMuted || send(true)
        }
        func stop() {
          isSent = false
          send(false)
        }
        @discardableResult private func send(_ isOn: Bool) -> Bool {
          call?.send(kind, isOn: isOn, device, feed, options) ?? true
        }
      }

      /// What an app wants of its video. The SDK decides what it keeps to.
      struct Video {
        var minimumBitrate = 0, maximumBitrate = 900_000, maximumFramesPerSecond = 15
        var maximumWidth = 360, maximumHeight = 640
      }

      /// Errors with the numbers that apps in the stage strategy style know.
      enum Fault: Int {
        case token = 1000, media = 1020, full = 1024, refused = 1026, closed = 1027
        case answer = 1203, lost = 1300, device = 10101

        static let domain = "‹RoomStage›.Fault", isFatalKey = "isFatal"
        /// All errors but these are fatal, as in the SDK of stages.
        private var isFatal: Bool { ![.media, .full, .answer, .device].contains(self) }
        func error(_ message: String) -> NSError {
          let info: [String: Any] = [NSLocalizedDescriptionKey: message, Self.isFatalKey: isFatal]
          return NSError(domain: Self.domain, code: rawValue, userInfo: info)
        }
      }
    }

    """#
}
