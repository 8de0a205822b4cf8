import AVFoundation
import AmazonIVSBroadcast
import Combine
import UIKit

/// Owns the stage, answers its strategy's questions, and publishes the facts that its renderer tells.
///
/// There is no chat: a stage of this generation carries no messages. An app that wants one takes the vendor's separate
/// chat SDK, with a room and a token of its own.
final class StageModel: NSObject, ObservableObject, @unchecked Sendable {  // used on the main thread
  @Published private(set) var phase = StagePhase.idle
  @Published private(set) var members: [Member] = []
  @Published private(set) var tiles: [Tile] = []
  @Published private(set) var isMuted = false
  @Published private(set) var isCameraOff = false
  @Published private(set) var isUsingBackCamera = false
  @Published private(set) var isSharing = false
  @Published private var deviceProblem: String?
  @Published private var networkProblem: String?

  private let devices = LocalDevices()
  private let recorder: (any ScreenRecorder)?
  private var stage: IVSStage?
  private var token: String?
  private var isLeaving = false
  private var isInBackground = false
  private var share: ScreenShare?

  /// In the order of joining.
  private var participants: [IVSParticipantInfo] = []
  private var streams: [String: [IVSStageStream]] = [:]
  private var meter = SpeakerMeter()

  /// - Parameter recorder: nil: the screen cannot be shared.
  init(recorder: (any ScreenRecorder)? = nil) {
    self.recorder = recorder
    super.init()
    devices.camera?.errorDelegate = self
    devices.microphone?.errorDelegate = self
    isMuted = devices.isMuted
    isCameraOff = devices.isCameraOff
    deviceProblem = devices.problem
  }

  /// A problem that does not end the call. A device that fails is also an error of the stage, which says less.
  var notice: String? { deviceProblem ?? networkProblem }

  // MARK: - Actions of the user

  /// The SDK does not ask by itself.
  func requestAccess() {
    for type in [AVMediaType.audio, .video] where AVCaptureDevice.authorizationStatus(for: type) == .notDetermined {
      AVCaptureDevice.requestAccess(for: type) { isGranted in
        guard !isGranted else { return }
        let problem = type == .audio ? StageText.microphoneDenied : StageText.cameraDenied
        DispatchQueue.main.async { [weak self] in self?.deviceProblem = problem }
      }
    }
  }

  func join(token: String) {
    guard !phase.isInCall else { return }
    self.token = token
    isLeaving = false
    deviceProblem = devices.problem
    phase = .connecting
    do {
      let stage = try IVSStage(token: token, strategy: self)
      stage.errorDelegate = self
      stage.addRenderer(self)
      self.stage = stage
      try stage.join()
    } catch {
      end(StageText.text(for: error))
    }
  }

  /// After the connection was lost: a stage that has ended with an error is replaced by a new one.
  func rejoin() { token.map(join) }

  func leave() {
    isLeaving = true
    stage?.leave()
  }

  func toggleMute() {
    devices.isMuted.toggle()
    isMuted = devices.isMuted
  }

  func toggleCamera() {
    devices.isCameraOff.toggle()
    isCameraOff = devices.isCameraOff
  }

  func switchCamera() {
    devices.switchCamera { [weak self] problem in
      guard let self else { return }
      deviceProblem = problem
      isUsingBackCamera = devices.cameraPosition == .back
    }
  }

  func toggleShare() {
    do {
      share = share == nil ? try recorder.map { try ScreenShare(recorder: $0) } : nil
    } catch {
      deviceProblem = StageText.text(for: error)
    }
    isSharing = share != nil
    stage?.refreshStrategy()
  }

  /// The SDK does not stop publishing by itself when the app goes to the background.
  func moveToBackground(_ isInBackground: Bool) {
    self.isInBackground = isInBackground
    stage?.refreshStrategy()
  }

  /// The view that shows the picture of a tile.
  func makePreview(of tile: Tile) -> UIView? {
    let stream = streams[tile.memberID]?.first { $0.device.descriptor().urn == tile.id }
    guard let device = stream?.device as? IVSImageDevice else { return nil }
    return try? device.previewView(with: tile.isShare ? .fit : .fill)
  }

  // MARK: - Facts

  private func end(_ reason: String) {
    stage = nil
    share = nil
    isSharing = false
    networkProblem = nil
    participants = []
    streams = [:]
    meter = SpeakerMeter()
    refresh()
    phase = .ended(reason)
  }

  private func refresh() {
    members = participants.map(member)
    tiles = participants.flatMap(tiles)
  }

  private func member(_ participant: IVSParticipantInfo) -> Member {
    let images = imageStreams(of: participant)
    let sounds = (streams[participant.participantId] ?? []).filter { $0.device is IVSAudioDevice }
    return Member(
      id: participant.participantId, name: name(of: participant), isLocal: participant.isLocal,
      isMuted: sounds.allSatisfy(\.isMuted), isCameraOff: images.first?.isMuted ?? true,
      isSharing: images.enumerated().contains { isShare($1, at: $0) },
      isSpeaking: meter.speaker == participant.participantId)
  }

  private func tiles(of participant: IVSParticipantInfo) -> [Tile] {
    imageStreams(of: participant).enumerated().map { index, stream in
      let isShare = isShare(stream, at: index)
      return Tile(
        id: stream.device.descriptor().urn, memberID: participant.participantId,
        caption: isShare ? "\(name(of: participant)) shares" : name(of: participant), isShare: isShare,
        isOff: stream.isMuted, isSpeaking: meter.speaker == participant.participantId)
    }
  }

  private func imageStreams(of participant: IVSParticipantInfo) -> [IVSStageStream] {
    (streams[participant.participantId] ?? []).filter { $0.device is IVSImageDevice }
  }

  /// Another participant's share is a picture beside the one that came first.
  private func isShare(_ stream: IVSStageStream, at index: Int) -> Bool {
    index > 0 || stream === share?.stream
  }

  private func name(of participant: IVSParticipantInfo) -> String {
    if let name = participant.attributes["name"], !name.isEmpty { return name }
    return participant.userId.isEmpty ? participant.participantId : participant.userId
  }
}

// MARK: - Strategy

extension StageModel: IVSStageStrategy {
  func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool {
    !isInBackground
  }

  func stage(
    _ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo
  ) -> [IVSLocalStageStream] {
    [share?.stream ?? devices.cameraStream, devices.microphoneStream].compactMap { $0 }
  }

  func stage(
    _ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo
  ) -> IVSStageSubscribeType {
    isInBackground ? .audioOnly : .audioVideo
  }
}

// MARK: - Renderer

extension StageModel: IVSStageRenderer {
  func stage(_ stage: IVSStage, didChange connectionState: IVSStageConnectionState, withError error: (any Error)?) {
    switch connectionState {
    case .connecting:
      phase = phase == .connected || phase == .reconnecting ? .reconnecting : .connecting
    case .connected:
      networkProblem = nil
      phase = .connected
    case .disconnected:
      if let error {
        end(StageText.text(for: error))
      } else {
        end(isLeaving ? StageText.left : StageText.replaced)
      }
    @unknown default:
      break
    }
  }

  func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {
    participants.append(participant)
    refresh()
  }

  func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) {
    participants.removeAll { $0.participantId == participant.participantId }
    streams[participant.participantId] = nil
    meter.measure(participant.participantId, rms: nil)
    refresh()
  }

  func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didChange publishState: IVSParticipantPublishState
  ) {
    if participant.isLocal && publishState == .published { networkProblem = nil }
  }

  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didAdd streams: [IVSStageStream]) {
    self.streams[participant.participantId, default: []] += streams
    if !participant.isLocal { streams.forEach { measure($0, of: participant) } }
    refresh()
  }

  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didRemove streams: [IVSStageStream]) {
    let urns = Set(streams.map { $0.device.descriptor().urn })
    self.streams[participant.participantId]?.removeAll { urns.contains($0.device.descriptor().urn) }
    if streams.contains(where: { $0.device is IVSAudioDevice }) { meter.measure(participant.participantId, rms: nil) }
    refresh()
  }

  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChangeMutedStreams streams: [IVSStageStream]) {
    if streams.contains(where: { $0.device is IVSAudioDevice && $0.isMuted }) {
      meter.measure(participant.participantId, rms: nil)
    }
    refresh()
  }

  func stage(_ stage: IVSStage, participantMetadataDidUpdate participant: IVSParticipantInfo) {
    refresh()
  }

  private func measure(_ stream: IVSStageStream, of participant: IVSParticipantInfo) {
    guard let device = stream.device as? IVSAudioDevice else { return }
    device.setStatsCallback { [weak self, weak stream] stats in
      guard let self, let stream, !stream.isMuted else { return }
      meter.measure(participant.participantId, rms: stats.rms)
      if members.first(where: \.isSpeaking)?.id != meter.speaker { refresh() }
    }
  }
}

// MARK: - Errors

extension StageModel: IVSErrorDelegate {
  /// On any thread.
  func source(_ source: any IVSErrorSource, didEmitError error: any Error) {
    let isCamera = source is IVSCamera
    let isMicrophone = source is IVSMicrophone
    DispatchQueue.main.async { [weak self] in
      guard let self else { return }
      if isCamera {
        deviceProblem = deviceProblem ?? StageText.cameraFails
      } else if isMicrophone {
        deviceProblem = deviceProblem ?? StageText.microphoneFails
      } else {
        networkProblem = StageText.text(for: error)
      }
    }
  }
}
