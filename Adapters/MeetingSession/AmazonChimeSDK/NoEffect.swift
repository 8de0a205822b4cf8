package import Koine

extension NoEffect {
  private init(_ what: String, why: String) { self.init("AmazonChimeSDK", what, why: why) }

  package static let audioMode = NoEffect("AudioVideoConfiguration.audioMode", why: "sound is Opus at 48 kHz, mono")
  package static let redundancy = NoEffect(
    "AudioVideoConfiguration.enableAudioRedundancy", why: "Opus brings its own redundancy, always")
  package static let callKit = NoEffect("AudioVideoConfiguration.callKitEnabled", why: "there is no CallKit")
  package static let bandwidthPriority = NoEffect(
    "ActiveSpeakerDetectorFacade.hasBandwidthPriorityCallback(hasBandwidthPriority:)",
    why: "the engine shares the bandwidth of one's own streams by their bitrates")
  package static let ingestion = NoEffect(
    "IngestionConfiguration.ingestionUrl", why: "events are written to file: URLs only; no service takes uploads")
}
