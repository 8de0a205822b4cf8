package import Koine

extension Recorded {
  private init(_ what: String, why: String) { self.init("AmazonChimeSDK", what, why: why) }

  package static let audioMode = Recorded("AudioVideoConfiguration.audioMode", why: "sound is Opus at 48 kHz, mono")
  package static let redundancy = Recorded(
    "AudioVideoConfiguration.enableAudioRedundancy", why: "Opus brings its own redundancy, always")
  package static let callKit = Recorded("AudioVideoConfiguration.callKitEnabled", why: "there is no CallKit")
  package static let reconnectTimeout = Recorded(
    "AudioVideoConfiguration.reconnectTimeoutMs", why: "the room decides how long it waits")
  package static let torch = Recorded(
    "CameraCaptureSource.torchEnabled", why: "no camera here has a torch; it stays off")
  package static let receiveBandwidth = Recorded(
    "ObservableMetric.videoAvailableReceiveBandwidth", why: "the room does not tell; it is never among the metrics")
}
