// The active speaker and the connection (`koine port --to call-agent`): the same file for every app.
import AzureCommunicationCalling

extension AzureCall: DominantSpeakersCallFeatureDelegate {
  func dominantSpeakersCallFeature(
    _ dominantSpeakersCallFeature: DominantSpeakersCallFeature, didChangeDominantSpeakers args: PropertyChangedEventArgs
  ) { onMain { $0.update() } }
  /// The SDK's list keeps participants after they mute.
  func updateSpeaker(_ call: Call) {
    let speakers = call.feature(Features.dominantSpeakers).dominantSpeakersInfo.speakers.map(\.rawId)
    let new = speakers.first { participants[$0]?.streams["\(AzureStream.Kind.microphone)"] != nil }
    guard speaker != new else { return }
    speaker = new
    report(.speakerChanged(new))
  }
}

extension AzureCall: NetworkDiagnosticsDelegate {
  /// A call stays connected while it tries to get its connection back.
  func networkDiagnostics(
    _ networkDiagnostics: NetworkDiagnostics,
    didChangeNetworkReconnectionQuality args: DiagnosticQualityChangedEventArgs
  ) {
    let isLost = args.value == .bad
    onMain { call in
      guard call.hasEntered, !call.isOver, isLost != call.isPathLost else { return }
      call.isPathLost = isLost
      call.report(.phaseChanged(isLost ? .reconnecting : .connected))
    }
  }
  func networkDiagnostics(
    _ networkDiagnostics: NetworkDiagnostics, didChangeNetworkSendQuality args: DiagnosticQualityChangedEventArgs
  ) { look(at: networkDiagnostics) }
  func networkDiagnostics(
    _ networkDiagnostics: NetworkDiagnostics, didChangeNetworkReceiveQuality args: DiagnosticQualityChangedEventArgs
  ) { look(at: networkDiagnostics) }
  private func look(at diagnostics: NetworkDiagnostics) {
    let latest = diagnostics.latest, qualities = [latest.networkSendQuality, latest.networkReceiveQuality]
    let isPoor = qualities.contains(.poor) || qualities.contains(.bad)
    onMain { call in
      guard call.hasEntered, !call.isOver, isPoor != call.isPathPoor else { return }
      call.isPathPoor = isPoor
      call.report(.pathChanged(isPoor: isPoor))
    }
  }
}
