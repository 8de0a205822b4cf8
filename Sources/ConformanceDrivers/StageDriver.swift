import AmazonIVSBroadcast
import Foundation
import Koine
import KoineBase
import KoineConformanceKit
import KoineUIKit

/// Written in the stage-strategy style.
@MainActor
final class StageDriver: NSObject, KoineDriver {
  let style = Style.stageStrategy.rawValue
  let id: String
  let name: String
  let recorder: Recorder
  let inexpressible: [Ability: String] = [
    .messages: "a stage of this generation carries no messages",
    .history: "a stage of this generation carries no messages",
    .layers: "the room chooses the layer by the receiver's path",
    .tokenRoom: "the token is what says which stage",
    .share: "a stage knows no screen beside a camera",
    .pausing: "the vendor has no pause; the strategy states the wanted streams",
    .ringing: "the vendor has no calls between people, only stages",
  ]
  private var stage: IVSStage?
  private let token: String
  private let world: World
  private var streams: [IVSLocalStageStream] = []
  private var isPublishingPicture = true
  private var interests: [String: Interest] = [:]
  /// The URN of each participant's camera, by participant id. Any further video stream of the participant is a screen share.
  private var cameras: [String: String] = [:]
  private var participants: [IVSParticipantInfo] = []
  private var remoteStreams: [IVSStageStream] = []
  private let sightings: ObservedParticipants
  private(set) var mirror: VideoView?
  private(set) var isConnected = false
  private(set) var isOver = false

  private var observesAtOnce = true

  init(_ context: DriverContext) throws {
    name = context.name
    world = context.world
    id = name.lowercased()
    recorder = context.recorder
    // Leaving tears the stage down before it returns, as the vendor's does.
    recorder.mayComeInside = [.ended, .left, .pictureOff, .shareOff, .muted]
    sightings = ObservedParticipants(recorder)
    token = try Credentials.stage(context.room, id, name, context.credential)
  }

  var session: Session? { stage?.session }
  var others: [ObservedParticipant] { sightings.seen }
  func view(of id: String) -> VideoView? { sightings.view(of: id) }

  func join() throws {
    try World.$current.withValue(world) {
      if stage == nil {
        for device in IVSDeviceDiscovery().listLocalDevices() {
          if let camera = device as? any IVSCamera { mirror = camera.previewView() }
          streams.append(IVSLocalStageStream(device: device))
        }
        let stage = try IVSStage(token: token, strategy: self)
        self.stage = stage
        if observesAtOnce { stage.addRenderer(self) }
      }
      try recorder.calling { try stage?.join() }
    }
  }

  func joinObservingLate() throws {
    observesAtOnce = false
    try join()
    Task { @MainActor in stage?.addRenderer(self) }
  }

  func leave() { recorder.calling { stage?.leave() } }

  func setMicrophoneMuted(_ isMuted: Bool) {
    recorder.calling { streams.first { $0.device is any IVSMicrophone }?.setMuted(isMuted) }
  }

  func muteFromAnotherThread(_ isMuted: Bool) async {
    let microphone = streams.first { $0.device is any IVSMicrophone }
    await onAnotherThread { microphone?.setMuted(isMuted) }
  }

  func setCameraOn(_ isOn: Bool) {
    isPublishingPicture = isOn
    recorder.calling { stage?.refreshStrategy() }
  }

  func want(_ interest: Interest, from id: String) {
    interests[id] = interest
    recorder.calling { stage?.refreshStrategy() }
  }

  func endCallbacks(of end: CallEnd) -> [Set<String>] { [["participantDidLeave"], ["disconnected"]] }

  func observeEnd(_ handler: @escaping @MainActor (String) -> Void) -> @MainActor () -> Void {
    let renderer = EndRenderer(handler)
    stage?.remove(self)
    stage?.addRenderer(renderer)
    stage?.addRenderer(self)
    return { [weak stage] in stage?.remove(renderer) }
  }

  var readings: [String: String] {
    var all: [String: String] = [:]
    for participant in participants {
      all["participant \(participant.participantId) user"] = participant.userId
      all["participant \(participant.participantId) attributes"] =
        "\(participant.attributes.sorted { $0.key < $1.key })"
    }
    for stream in remoteStreams { all["stream \(stream.device.descriptor().urn) muted"] = "\(stream.isMuted)" }
    return all
  }

  private func callback(_ name: String, of streams: [IVSStageStream]) {
    recorder.callback(name, changes: streams.map { "stream \($0.device.descriptor().urn)" })
  }

  func forget() {
    stage = nil
    (participants, remoteStreams) = ([], [])
    streams = []
    mirror = nil
  }
}

extension StageDriver: @preconcurrency IVSStageStrategy {
  func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo)
    -> [IVSLocalStageStream]
  {
    streams.filter { isPublishingPicture || !($0.device is any IVSImageDevice) }
  }

  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { true }

  func stage(_ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo) -> IVSStageSubscribeType {
    switch interests[participant.participantId] {
    case .sound: .audioOnly
    case .nothing: .none
    case .everything, nil: .audioVideo
    }
  }
}

extension StageDriver: @preconcurrency IVSStageRenderer {
  func stage(_ stage: IVSStage, didChange connectionState: IVSStageConnectionState, withError error: (any Error)?) {
    recorder.callback("connection")
    switch connectionState {
    case .connected:
      let hasReconnected = isConnected
      isConnected = true
      recorder.record(hasReconnected ? .reconnected : .connected)
    case .disconnected:
      recorder.endCallback("disconnected")
      isConnected = false
      isOver = true
      sightings.clear()
      recorder.record(.ended, of: nil, error.map { "\($0)" })
    case .connecting: if isConnected { recorder.record(.reconnecting) }
    @unknown default: break
    }
  }

  func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {
    participants.append(participant)
    recorder.callback("participantDidJoin", changes: ["participant \(participant.participantId)"])
    guard !participant.isLocal else { return }
    let name = participant.attributes["name"] ?? participant.userId
    sightings.joined(participant.participantId, name: name, isMuted: true, attributes: participant.attributes)
  }

  func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) {
    participants.removeAll { $0.participantId == participant.participantId }
    recorder.callback("participantDidLeave", changes: ["participant \(participant.participantId)"])
    guard !participant.isLocal else { return recorder.endCallback("participantDidLeave") }
    sightings.left(participant.participantId)
  }

  func stage(_ stage: IVSStage, participantMetadataDidUpdate participant: IVSParticipantInfo) {
    recorder.callback("participantMetadataDidUpdate", changes: ["participant \(participant.participantId)"])
  }

  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didAdd streams: [IVSStageStream]) {
    remoteStreams += streams
    callback("didAdd", of: streams)
    guard !participant.isLocal else { return }
    let id = participant.participantId
    for stream in streams where !isOver {  // the app may have left when notified of an earlier stream
      if let image = stream.device as? any IVSImageDevice {
        if cameras[id] != nil {
          sightings.shareOn(id, in: image.previewView())
        } else {
          cameras[id] = image.descriptor().urn
          if !stream.isMuted { sightings.pictureOn(id, in: image.previewView()) }
        }
      } else if let audio = stream.device as? any IVSAudioDevice {
        sightings.muted(id, stream.isMuted)
        audio.setStatsCallback { [weak self] stats in
          guard stats.rms > -45 else { return }
          MainActor.assumeIsolated { if self?.sightings.contains(id) == true { self?.sightings.spoke(id) } }
        }
      }
    }
  }

  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didRemove streams: [IVSStageStream]) {
    remoteStreams.removeAll { stream in streams.contains { $0 === stream } }
    callback("didRemove", of: streams)
    guard !participant.isLocal else { return }
    let id = participant.participantId
    for stream in streams {
      if !(stream.device is any IVSImageDevice) {
        sightings.muted(id, true)
      } else if cameras[id] != stream.device.descriptor().urn {
        sightings.shareOff(id)
      } else {
        cameras[id] = nil
        if !stream.isMuted { sightings.pictureOff(id) }
      }
    }
  }

  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChangeMutedStreams streams: [IVSStageStream]) {
    callback("didChangeMutedStreams", of: streams)
    guard !participant.isLocal else { return }
    for stream in streams {
      if let image = stream.device as? any IVSImageDevice {
        if stream.isMuted {
          sightings.pictureOff(participant.participantId)
        } else {
          sightings.pictureOn(participant.participantId, in: image.previewView())
        }
      } else {
        sightings.muted(participant.participantId, stream.isMuted)
      }
    }
  }
}

/// A further renderer, for the callbacks of the end.
@MainActor
private final class EndRenderer: NSObject {
  private let handler: @MainActor (String) -> Void
  init(_ handler: @escaping @MainActor (String) -> Void) { self.handler = handler }
}

extension EndRenderer: @preconcurrency IVSStageRenderer {
  func stage(_ stage: IVSStage, didChange connectionState: IVSStageConnectionState, withError error: (any Error)?) {
    if connectionState == .disconnected { handler("disconnected") }
  }
  func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) {
    if participant.isLocal { handler("participantDidLeave") }
  }
}
