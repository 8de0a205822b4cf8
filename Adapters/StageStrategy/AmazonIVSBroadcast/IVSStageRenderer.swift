public import Foundation

/// Notified of a stage's state on the delivery queue (main unless the app chose otherwise). Each event reaches all renderers
/// before the next event. All methods are optional.
///
/// For one participant, `participantDidJoin` is the first call and `participantDidLeave` the last. Renderers are notified only
/// of publishing participants.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSStageRenderer.html)
public protocol IVSStageRenderer: NSObjectProtocol {
  func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo)
  func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo)
  func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didChange publishState: IVSParticipantPublishState)
  func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didChange subscribeState: IVSParticipantSubscribeState)
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didAdd streams: [IVSStageStream])
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didRemove streams: [IVSStageStream])
  func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChangeMutedStreams streams: [IVSStageStream])
  /// - Parameter error: only for a move to `disconnected` that the app did not ask for.
  func stage(_ stage: IVSStage, didChange connectionState: IVSStageConnectionState, withError error: (any Error)?)
  /// Attributes have changed.
  func stage(_ stage: IVSStage, participantMetadataDidUpdate participant: IVSParticipantInfo)
  /// - Parameter adaption: whether the stage adapts the layer to the path; false while the strategy prefers one.
  func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, stream: IVSRemoteStageStream,
    didChangeStreamAdaption adaption: Bool)
  func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, stream: IVSRemoteStageStream,
    didChange layers: [IVSRemoteStageStreamLayer])
  /// Frames of another layer arrive, or a wanted layer has not come within 2 s.
  func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, stream: IVSRemoteStageStream,
    didSelect layer: IVSRemoteStageStreamLayer?, reason: IVSRemoteStageStream.LayerSelectedReason)
}

extension IVSStageRenderer {
  public func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {}
  public func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) {}
  public func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didChange publishState: IVSParticipantPublishState
  ) {}
  public func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didChange subscribeState: IVSParticipantSubscribeState
  ) {}
  public func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didAdd streams: [IVSStageStream]) {}
  public func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didRemove streams: [IVSStageStream]) {}
  public func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, didChangeMutedStreams streams: [IVSStageStream]
  ) {}
  public func stage(
    _ stage: IVSStage, didChange connectionState: IVSStageConnectionState, withError error: (any Error)?
  ) {}
  public func stage(_ stage: IVSStage, participantMetadataDidUpdate participant: IVSParticipantInfo) {}
  public func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, stream: IVSRemoteStageStream,
    didChangeStreamAdaption adaption: Bool
  ) {}
  public func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, stream: IVSRemoteStageStream,
    didChange layers: [IVSRemoteStageStreamLayer]
  ) {}
  public func stage(
    _ stage: IVSStage, participant: IVSParticipantInfo, stream: IVSRemoteStageStream,
    didSelect layer: IVSRemoteStageStreamLayer?, reason: IVSRemoteStageStream.LayerSelectedReason
  ) {}
}

/// The renderers of a stage, each held weakly and once, and the events that they have not received yet.
///
/// `drain` may be entered again from inside a callback (an app that leaves while it is told of something): the inner call
/// first finishes what the outer one had begun, so that every renderer hears everything in the same order.
/// Touched on the delivery queue, but for `renderers`, which is a lock.
final class RendererList: @unchecked Sendable {
  private struct Telling {
    var rest: ArraySlice<any IVSStageRenderer>
    let call: (any IVSStageRenderer) -> Void
  }

  private let renderers = WeakRenderers()
  private var tellings: [Telling] = []

  func add(_ renderer: any IVSStageRenderer) { renderers.add(renderer) }
  func remove(_ renderer: any IVSStageRenderer) { renderers.remove(renderer) }

  func notify(_ call: @escaping (any IVSStageRenderer) -> Void) {
    tellings.append(Telling(rest: renderers.all[...], call: call))
    drain()
  }

  private func drain() {
    while let telling = tellings.first {
      guard let renderer = telling.rest.first else {
        tellings.removeFirst()
        continue
      }
      tellings[0].rest.removeFirst()
      if renderers.contains(renderer) { telling.call(renderer) }
    }
  }
}
