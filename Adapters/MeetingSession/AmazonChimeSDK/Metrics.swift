import Foundation
import Koine

/// Reports once a second the session's measurements since the last report.
final class Metrics: @unchecked Sendable {  // `last` is guarded
  let observers: Observers<any MetricsObserver>
  private let environment: MeetingEnvironment
  private let timer: Repeater
  private let last = Lock<(at: Tick, figures: SessionStatistics)?>(nil)

  init(_ environment: MeetingEnvironment) {
    observers = Observers(environment.delivery)
    self.environment = environment
    timer = Repeater(environment)
  }

  func start(_ session: @escaping @Sendable () -> Session?) {
    timer.start(every: .seconds(1)) { [weak self] in
      session()?.statistics { [weak self] figures in self?.report(figures) }
    }
  }

  func stop() {
    timer.stop()
    last.withLock { $0 = nil }
  }

  private func report(_ figures: SessionStatistics) {
    let now = environment.now
    let before = last.withLock { last in
      defer { last = (now, figures) }
      return last
    }
    guard !figures.streams.isEmpty, let before, now > before.at else { return }
    let metrics = Self.metrics(figures, since: before.figures, seconds: (now - before.at).inSeconds)
    observers.notify { observer in
      // Whole numbers as Objective-C has them: apps read them `as? Int` and `as? Double`.
      observer.metricsDidReceive(
        metrics: metrics.reduce(into: [:]) { $0[$1.key] = NSNumber(value: $1.value.rounded()) })
    }
  }

  /// An unknown value has no entry.
  static func metrics(_ now: SessionStatistics, since before: SessionStatistics, seconds: Double)
    -> [ObservableMetric: Double]
  {
    var metrics: [ObservableMetric: Double] = [:]
    let old = Dictionary(before.streams.map { ($0.stream.id, $0) }) { first, _ in first }

    let sound = Incoming(now.streams.filter { $0.stream.kind.isAudio }, old)
    let pictures = Incoming(now.streams.filter { $0.stream.kind.isVideo }, old)
    if sound.exists { metrics[.audioReceivePacketLossPercent] = sound.lossPercent }
    if pictures.exists {
      metrics[.videoReceivePacketLossPercent] = pictures.lossPercent
      metrics[.videoReceiveBitrate] = pictures.bytes * 8 / seconds
      metrics[.videoAvailableReceiveBandwidth] = now.availableReceiveBitrate.map(Double.init)
    }
    for entry in now.streams {
      guard let out = entry.outgoing, !entry.stream.isMuted else { continue }
      let earlier = old[entry.stream.id]
      let bitrate = Double(out.bytes - (earlier?.outgoing?.bytes ?? 0)) * 8 / seconds
      let rate = Double((entry.sentVideo?.encoded ?? 0) - (earlier?.sentVideo?.encoded ?? 0)) / seconds
      switch entry.stream.kind {
      case .microphone: metrics[.audioSendPacketLossPercent] = out.reportedLoss * 100
      case .camera:
        metrics[.videoSendBitrate] = bitrate
        metrics[.videoSendFps] = rate
        metrics[.videoSendPacketLossPercent] = out.reportedLoss * 100
        metrics[.videoSendRttMs] = now.roundTripTime
        if now.availableBitrate > 0 { metrics[.videoAvailableSendBandwidth] = Double(now.availableBitrate) }
      case .screen:
        metrics[.contentShareVideoSendBitrate] = bitrate
        metrics[.contentShareVideoSendFps] = rate
        metrics[.contentShareVideoSendPacketLossPercent] = out.reportedLoss * 100
        metrics[.contentShareVideoSendRttMs] = now.roundTripTime
      case .screenSound: break
      }
    }
    return metrics
  }

  /// What came in since the last time, over several streams.
  private struct Incoming {
    var exists = false
    var bytes = 0.0
    private var packets = 0.0
    private var lost = 0.0

    init(_ streams: [StreamStatistics], _ old: [Track.ID: StreamStatistics]) {
      for entry in streams {
        guard let now = entry.incoming else { continue }
        let before = old[entry.stream.id]?.incoming
        exists = true
        bytes += Double(now.bytes - (before?.bytes ?? 0))
        packets += Double(now.packets - (before?.packets ?? 0))
        lost += Double(now.lost - (before?.lost ?? 0))
      }
    }

    var lossPercent: Double { packets + lost > 0 ? max(0, lost) / (packets + max(0, lost)) * 100 : 0 }
  }
}
