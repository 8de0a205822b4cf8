import Koine

/// The layers of remote video streams: what is wanted of the room, and what renderers and delegates are told.
extension StageSession {
  /// A layer that has not come for so long counts as unavailable.
  private static let layerPatience = Duration.seconds(2)

  /// Before the subscription: which layer comes first.
  func chooseInitialLayer(of stream: Track, _ remote: RemoteParticipant) {
    guard stream.layers.count > 1 else { return }
    let isLowest = remote.initialLayer == .lowestQuality
    session.setPreference(LayerPreference(layer: isLowest ? 0 : stream.layers.count - 1), for: stream.id)
  }

  /// After `didAdd`.
  func announceLayers(of stream: IVSRemoteStageStream, _ remote: RemoteParticipant) {
    guard !isOver, stream.hasSeveralLayers else { return }
    tellLayers(of: stream, remote)
    askForLayer(of: stream, remote)
  }

  private func tellLayers(of stream: IVSRemoteStageStream, _ remote: RemoteParticipant) {
    let layers = stream.layers
    notifyRenderers { $1.stage($0, participant: remote.info, stream: stream, didChange: layers) }
    (stream.delegate as? any IVSRemoteStageStreamDelegate)?.stream(stream, didChange: layers)
  }

  func askForLayer(of stream: IVSRemoteStageStream, _ remote: RemoteParticipant) {
    guard !isOver, stream.hasSeveralLayers, remote.told.contains(where: { $0 === stream }) else { return }
    let wish = ask { $1.stage($0, participant: remote.info, preferredLayerFor: stream) } ?? nil
    let change = stream.prefer(wish)
    guard !isOver, change.isNew else { return }
    // Before the first frame the initial layer is under way; adaptation begins after it.
    if stream.preferred != nil || stream.selectedLayer != nil { applyPreference(of: stream) }
    if change.changesAdaption {
      let adapts = stream.preferred == nil
      notifyRenderers { $1.stage($0, participant: remote.info, stream: stream, didChangeStreamAdaption: adapts) }
      (stream.delegate as? any IVSRemoteStageStreamDelegate)?.stream(stream, didChangeAdaption: adapts)
    }
    if stream.isPreferredReceived {
      if stream.selectedLayer != nil { tellSelection(of: stream, remote) }
    } else {
      checkPreference(of: stream, remote)
    }
  }

  private func applyPreference(of stream: IVSRemoteStageStream) {
    session.setPreference(LayerPreference(layer: stream.preferred), for: stream.id)
  }

  /// Tells it if the wanted layer has not come in time.
  private func checkPreference(of stream: IVSRemoteStageStream, _ remote: RemoteParticipant) {
    let wanted = stream.preferred
    let (lane, delivery) = (session.world.backend.scheduler.lane("layers"), session.world.delivery)
    lane.post(at: lane.scheduler.now + Self.layerPatience) { [weak self, weak stream, weak remote] in
      delivery.deliver { [weak self, weak stream, weak remote] in
        guard let self, let stream, let remote, !isOver, stream.preferred == wanted, !stream.isPreferredReceived,
          remote.told.contains(where: { $0 === stream })
        else { return }
        tellSelection(of: stream, remote)
      }
    }
  }

  /// Frames of another size arrive.
  func receivedSize(of stream: IVSRemoteStageStream, _ width: Int, _ height: Int, _ remote: RemoteParticipant) {
    let isFirst = stream.selectedLayer == nil
    let change = stream.received(width: width, height: height)
    guard change.isOther else { return }
    if isFirst, stream.hasSeveralLayers { applyPreference(of: stream) }
    if change.changesLayers { tellLayers(of: stream, remote) }
    tellSelection(of: stream, remote)
  }

  private func tellSelection(of stream: IVSRemoteStageStream, _ remote: RemoteParticipant) {
    let layer = stream.selectedLayer
    let reason: IVSRemoteStageStream.LayerSelectedReason = stream.isPreferredReceived ? .selected : .unavailable
    notifyRenderers { $1.stage($0, participant: remote.info, stream: stream, didSelect: layer, reason: reason) }
    (stream.delegate as? any IVSRemoteStageStreamDelegate)?.stream(stream, didSelect: layer, reason: reason)
  }
}
