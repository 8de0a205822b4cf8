import AmazonIVSBroadcast
import Foundation
import Koine
import KoineTokens
import KoineUIKit

/// Written in the stage-strategy style.
@MainActor
final class StageDriver: NSObject, Driver {
  let style = Style.stage
  let id: Koine.Participant.ID
  let name: String
  private var stage: IVSStage?
  private let token: String
  private let world: World
  private var streams: [IVSLocalStageStream] = []
  private var isPublishingPicture = true
  private var sightings = Sightings()
  private(set) var mirror: VideoView?
  private(set) var isConnected = false
  private(set) var isOver = false
  let heard: [String] = []

  init(name: String, room: String, in world: World) throws {
    self.name = name
    self.world = world
    id = name.lowercased()
    token = try StageToken(
      participantID: id, stage: room, userID: name, attributes: ["name": name], issued: .ofSystemClock()
    ).signed(with: SigningKey(generating: .p384))
  }

  var session: Session? { stage?.session }
  var others: [Seen] { sightings.seen }

  func join() throws {
    try World.$current.withValue(world) {
      for device in IVSDeviceDiscovery().listLocalDevices() {
        if let camera = device as? any IVSCamera { mirror = camera.previewView() }
        streams.append(IVSLocalStageStream(device: device))
      }
      let stage = try IVSStage(token: token, strategy: self)
      self.stage = stage
      stage.addRenderer(self)
      try stage.join()
    }
  }

  func leave() { stage?.leave() }

  func setMicrophoneMuted(_ isMuted: Bool) {
    streams.first { $0.device is any IVSMicrophone }?.setMuted(isMuted)
  }

  func setCameraOn(_ isOn: Bool) {
    isPublishingPicture = isOn
    stage?.refreshStrategy()
  }

  func say(_ text: String) -> Bool { false }
}

extension StageDriver: @preconcurrency IVSStageStrategy {
  func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo)
    -> [IVSLocalStageStream]
  {
    streams.filter { isPublishingPicture || !($0.device is any IVSImageDevice) }
  }

  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { true }

  func stage(_ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo) -> IVSStageSubscribeType {
    .audioVideo
  }
}

extension StageDriver: @preconcurrency IVSStageRenderer {
  func stage(_ stage: IVSStage, didChange connectionState: IVSStageConnectionState, withError error: (any Error)?) {
    if connectionState == .disconnected { isOver = isConnected || error != nil }
    isConnected = connectionState == .connected
  }

  func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {
    guard !participant.isLocal else { return }
    let name = participant.attributes["name"] ?? participant.userId
    sightings.add(participant.participantId, Sighting(name: name, isMicrophoneMuted: true))
  }

  func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) {
    sightings.remove(participant.participantId)
  }

  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didAdd streams: [IVSStageStream]) {
    guard !participant.isLocal else { return }
    let id = participant.participantId
    for stream in streams {
      if let image = stream.device as? any IVSImageDevice {
        let view = image.previewView()
        sightings.change(id) {
          $0.view = view
          $0.hasPicture = !stream.isMuted
        }
      } else if let audio = stream.device as? any IVSAudioDevice {
        sightings.change(id) { $0.isMicrophoneMuted = stream.isMuted }
        audio.setStatsCallback { [weak self] stats in
          guard stats.rms > -45 else { return }
          MainActor.assumeIsolated { self?.sightings.change(id) { $0.hasSpoken = true } }
        }
      }
    }
  }

  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didRemove streams: [IVSStageStream]) {
    guard !participant.isLocal else { return }
    for stream in streams {
      sightings.change(participant.participantId) {
        if stream.device is any IVSImageDevice { $0.hasPicture = false } else { $0.isMicrophoneMuted = true }
      }
    }
  }

  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChangeMutedStreams streams: [IVSStageStream]) {
    guard !participant.isLocal else { return }
    for stream in streams {
      sightings.change(participant.participantId) {
        if stream.device is any IVSImageDevice {
          $0.hasPicture = !stream.isMuted
        } else {
          $0.isMicrophoneMuted = stream.isMuted
        }
      }
    }
  }
}
