import AmazonIVSBroadcast
import Foundation

/// One app of the stage style, written over the vendor's API alone. Keep it until its trace has been read.
public final class StageField: NSObject, IVSStageStrategy, IVSStageRenderer, @unchecked Sendable {
  public let trace: FieldTrace
  private var stage: IVSStage?
  private var streams: [IVSLocalStageStream] = []

  public init(_ who: String, scenario: String = "leave.seen") {
    trace = FieldTrace(scenario: scenario, who: who, style: "stage-strategy")
  }

  public func join(token: String) throws {
    let devices = IVSDeviceDiscovery().listLocalDevices()
    for case let camera as any IVSCamera in devices {
      let sources = camera.listAvailableInputSources().map {
        "\($0.position.rawValue)\($0.isDefault ? " default" : "")"
      }
      trace.told("asked", "input sources: \(sources.joined(separator: ", "))")
    }
    streams = devices.map { IVSLocalStageStream(device: $0) }
    let stage = try IVSStage(token: token, strategy: self)
    stage.addRenderer(self)
    self.stage = stage
    try trace.call { try stage.join() }
  }

  public func mute() { for stream in streams where stream.device is any IVSAudioDevice { stream.setMuted(true) } }

  /// - Parameter releasing: whether the stage is released at once.
  public func leave(releasing: Bool) {
    trace.call { stage?.leave() }
    trace.told("answered", "leave")
    if releasing { release() }
  }

  /// Releases everything, without leaving unless that has been done.
  public func release() { (stage, streams) = (nil, []) }

  // MARK: Strategy

  public func stage(
    _ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo
  ) -> [IVSLocalStageStream] { streams }
  public func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool { true }
  public func stage(
    _ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo
  ) -> IVSStageSubscribeType { .audioVideo }

  // MARK: Callbacks

  public func stage(_ stage: IVSStage, didChange connectionState: IVSStageConnectionState, withError error: Error?) {
    switch connectionState {
    case .connected: trace.told("connected")
    case .disconnected: trace.told("ended", error.map { "\(($0 as NSError).code)" } ?? "no error")
    default: break
    }
  }
  public func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {
    trace.told("joined", of: participant.participantId)
  }
  public func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) {
    trace.told("left", of: participant.participantId)
  }
  public func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didAdd streams: [IVSStageStream]
  ) {
    for stream in streams where stream.device is any IVSImageDevice {
      trace.told("pictureOn", of: participant.participantId)
    }
  }
  public func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didRemove streams: [IVSStageStream]
  ) {
    for stream in streams where stream.device is any IVSImageDevice {
      trace.told("pictureOff", of: participant.participantId)
    }
  }
  public func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didChangeMutedStreams streams: [IVSStageStream]
  ) {
    for stream in streams where stream.device is any IVSAudioDevice {
      trace.told(stream.isMuted ? "muted" : "unmuted", of: participant.participantId)
    }
  }
}
