import CrossVendorConventions
import AzureCommunicationCalling
import Foundation
import Koine
import KoineEmbeddedBackend
import Testing

/// Values read inside a callback stay the same until the next callback: each change has its callback, and each callback comes
/// after its change.
struct ReadingTests {
  /// Reads everything in each callback of a call and its participants.
  private final class Reader: NSObject, CallDelegate, RemoteParticipantDelegate, @unchecked Sendable {
    private let state = Lock((readings: [String: String](), faults: [String](), callbacks: 0))
    private weak var call: Call?

    var faults: [String] { state.withLock { $0.faults } }
    var callbacks: Int { state.withLock { $0.callbacks } }

    func follow(_ call: Call) {
      self.call = call
      state.withLock { $0.readings = Self.read(call) }
      call.delegate = self
    }

    private static func read(_ call: Call) -> [String: String] {
      var all = [
        "state": "\(call.state)", "end": "\(call.callEndReason.code)", "start": "\(call.startTime)",
        "count": "\(call.totalParticipantCount)", "muted": "\(call.isMuted)", "deaf": "\(call.isIncomingAudioMuted)",
        "own video": "\(call.localVideoStreams.count)",
        "remotes": call.remoteParticipants.map(\.identifier.rawId).sorted().joined(separator: " "),
      ]
      for remote in call.remoteParticipants {
        let name = remote.identifier.rawId
        all[name + " state"] = "\(remote.state)"
        all[name + " muted"] = "\(remote.isMuted)"
        all[name + " name"] = remote.displayName
        all[name + " speaking"] = "\(remote.isSpeaking)"
        all[name + " videos"] = remote.incomingVideoStreams.map { "\($0.id)" }.sorted().joined(separator: " ")
      }
      return all
    }

    /// - Parameters:
    ///   - properties: the properties that this callback announces.
    ///   - coming: participants that are new, or gone.
    private func compare(_ callback: String, _ properties: [String], coming: [RemoteParticipant] = []) {
      guard let call else { return }
      let now = Self.read(call)
      state.withLock { state in
        state.callbacks += 1
        for key in Set(now.keys).union(state.readings.keys) where now[key] != state.readings[key] {
          let isTold = properties.contains(key) || coming.contains { key.hasPrefix($0.identifier.rawId + " ") }
          if !isTold {
            state.faults.append("\(key): \(state.readings[key] ?? "–"), then \(now[key] ?? "–") in \(callback)")
          }
        }
        state.readings = now
      }
    }

    /// Between callbacks.
    func compareNow() { compare("none", []) }

    func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) {
      // The reason is known from the first of the two ending states on.
      compare("state \(call.state)", call.state == .disconnecting ? ["state", "end"] : ["state", "start"])
    }
    func call(_ call: Call, didUpdateStartTime args: PropertyChangedEventArgs) { compare("start", ["start", "state"]) }
    func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) {
      for participant in args.addedParticipants { participant.delegate = self }
      compare("participants", ["remotes"], coming: args.addedParticipants + args.removedParticipants)
    }
    func call(_ call: Call, didChangeTotalParticipantCount args: PropertyChangedEventArgs) {
      compare("count", ["count"])
    }
    func call(_ call: Call, didUpdateOutgoingAudioState args: PropertyChangedEventArgs) { compare("muted", ["muted"]) }
    func call(_ call: Call, didChangeMuteState args: PropertyChangedEventArgs) { compare("muted", ["muted"]) }
    func call(_ call: Call, didGetMutedByOthers args: PropertyChangedEventArgs) { compare("muted by others", []) }
    func call(_ call: Call, didUpdateIncomingAudioState args: PropertyChangedEventArgs) { compare("deaf", ["deaf"]) }
    func call(_ call: Call, didUpdateLocalVideoStreams args: LocalVideoStreamsUpdatedEventArgs) {
      compare("own video", ["own video"])
    }
    private func compare(_ remote: RemoteParticipant, _ property: String) {
      compare("\(remote.identifier.rawId) \(property)", [remote.identifier.rawId + " " + property])
    }
    func remoteParticipant(_ remote: RemoteParticipant, didChangeState args: PropertyChangedEventArgs) {
      compare(remote, "state")
    }
    func remoteParticipant(_ remote: RemoteParticipant, didChangeMuteState args: PropertyChangedEventArgs) {
      compare(remote, "muted")
    }
    func remoteParticipant(_ remote: RemoteParticipant, didChangeSpeakingState args: PropertyChangedEventArgs) {
      compare(remote, "speaking")
    }
    func remoteParticipant(_ remote: RemoteParticipant, didChangeDisplayName args: PropertyChangedEventArgs) {
      compare(remote, "name")
    }
    func remoteParticipant(_ remote: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs) {
      compare(remote, "videos")
    }
  }

  /// Random actions of remote participants.
  private final class Others {
    private let telephone: Telephone
    private let room: String
    private var sessions: [(session: Session, microphone: LocalStream, camera: LocalStream)] = []
    private var made = 0

    init(_ telephone: Telephone, _ room: String) { (self.telephone, self.room) = (telephone, room) }

    func act(_ random: inout SeededRandom) throws {
      let backend = telephone.world.backend as? EmbeddedBackend
      guard !sessions.isEmpty, random.next() % 6 > 0 else { return try come() }
      let index = Int(random.next() % UInt64(sessions.count))
      let one = sessions[index]
      switch random.next() % 8 {
      case 0: one.microphone.setMuted(!one.microphone.isMuted)
      case 1: one.camera.setMuted(!one.camera.isMuted)
      case 2: one.session.setAttributes([Convention.hold: "1"])
      case 3: one.session.setAttributes([:])
      case 4:
        one.session.leave {}
        sessions.remove(at: index)
      case 5: backend?.cutNetwork(of: "8:acs:ana", for: .milliseconds(Int64(random.next() % 3_000)))
      case 6: one.camera.unpublish()
      default:
        for participant in one.session.participants where participant.id == "8:acs:ana" {
          for stream in participant.tracks { one.session.mute(stream.id) }
        }
      }
    }

    func closeRoom() { sessions.first?.session.closeRoom() }

    private func come() throws {
      made += 1
      let session = Session(JoinRequest(room: room, participantID: "p\(made)", name: "P\(made)"), in: telephone.world)
      let microphone = try session.publish(microphone: Devices.microphone(made % 2 == 0 ? "tone" : "silence"))
      let camera = try session.publish(camera: Devices.camera("stamp:P,160x90@5"))
      session.join { _ in }
      sessions.append((session, microphone, camera))
    }
  }

  @Test(arguments: 1...6) func valuesChangeOnlyWithTheirCallback(seed: UInt64) async throws {
    let telephone = try Telephone()
    let group = UUID()
    let others = Others(telephone, group.uuidString.lowercased())
    var random = SeededRandom(seed: seed)
    try others.act(&random)
    await telephone.run(.milliseconds(500))
    let (ana, _) = try await telephone.agent("ana")
    let reader = Reader()
    let kept = Lock<Call?>(nil)
    ana.join(with: GroupCallLocator(groupId: group), joinCallOptions: nil) { call, _ in
      if let call { reader.follow(call) }
      kept.withLock { $0 = call }
    }
    for _ in 0..<60 {
      try others.act(&random)
      for _ in 0..<10 {
        await telephone.run(.milliseconds(Int64(random.next() % 40)))
        reader.compareNow()
      }
    }
    if seed % 2 == 0 {
      others.closeRoom()
    } else {
      try #require(telephone.world.backend as? EmbeddedBackend).remove("8:acs:ana", from: group.uuidString.lowercased())
    }
    await telephone.run(.seconds(2))
    reader.compareNow()
    #expect(reader.callbacks > 30)
    #expect(kept.withLock { $0?.state } == .disconnected)
    #expect(reader.faults.isEmpty, "\(Array(Set(reader.faults)).sorted().prefix(10).joined(separator: "\n"))")
  }
}
