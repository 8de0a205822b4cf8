package import Koine

extension NoEffect {
  private init(_ what: String, why: String) { self.init("AmazonChimeSDK", what, why: why) }

  package static let bandwidthPriority = NoEffect(
    "ActiveSpeakerDetectorFacade.hasBandwidthPriorityCallback(hasBandwidthPriority:)",
    why: "the engine shares the bandwidth of one's own streams by their bitrates")
  package static let ingestion = NoEffect(
    "IngestionConfiguration.ingestionUrl", why: "events are written to file: URLs only; no service takes uploads")
}
