public import Foundation
import Koine

// Statistics of a call's media, in reports at a steady interval. The vendor's pages name the values but not their Swift types: they are
// integers here, as the other numbers of this API.

/// Statistics of the sent audio.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class OutgoingAudioStatistics: NSObject, Sendable {
  public let codecName: String
  /// Payload sent since the last report, in bit/s.
  public let bitrateInBps: Int32?
  /// In milliseconds, as the room last reported it.
  public let jitterInMs: Int32?
  /// Since the stream began, retransmissions included.
  public let packetCount: Int32?
  /// The same for one audio stream in all reports of a call. A stream that is sent in the place of another one has another id.
  public let streamId: Int32?

  fileprivate init(_ stream: StreamStatistics, _ rates: StreamRates, streamId: Int32?) {
    codecName = stream.codec?.rawValue ?? ""
    bitrateInBps = rates.bitrate
    jitterInMs = stream.outgoing.map { Int32(clamping: Int($0.reportedJitter.rounded())) }
    packetCount = stream.outgoing.map { Int32(clamping: $0.packets) }
    self.streamId = streamId
  }
}

/// The values of sent video, which cameras and screens share.
private struct SentVideo {
  let codecName: String
  let bitrateInBps, packetCount, frameRate, frameWidth, frameHeight: Int32?

  init(_ stream: StreamStatistics, _ rates: StreamRates) {
    codecName = stream.codec?.rawValue ?? ""
    bitrateInBps = rates.bitrate
    packetCount = stream.outgoing.map { Int32(clamping: $0.packets) }
    frameRate = stream.sentVideo.map { Int32(clamping: Int($0.framesPerSecond.rounded())) }
    frameWidth = stream.sentVideo.map { Int32(clamping: $0.width) }
    frameHeight = stream.sentVideo.map { Int32(clamping: $0.height) }
  }
}

/// Statistics of a sent video stream.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class OutgoingVideoStatistics: NSObject, Sendable {
  private let sent: SentVideo
  /// That of the `OutgoingVideoStream`.
  public let streamId: Int32?
  public var codecName: String { sent.codecName }
  /// Payload sent since the last report, in bit/s, of all simulcast layers.
  public var bitrateInBps: Int32? { sent.bitrateInBps }
  /// Since the stream began, retransmissions included.
  public var packetCount: Int32? { sent.packetCount }
  /// In frames per second, of the largest layer that a receiver wants, as the next two.
  public var frameRate: Int32? { sent.frameRate }
  /// In pixels.
  public var frameWidth: Int32? { sent.frameWidth }
  /// In pixels.
  public var frameHeight: Int32? { sent.frameHeight }

  fileprivate init(_ stream: StreamStatistics, _ rates: StreamRates, streamId: Int32?) {
    (sent, self.streamId) = (SentVideo(stream, rates), streamId)
  }
}

/// Statistics of the sent screen share.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class OutgoingScreenShareStatistics: NSObject, Sendable {
  private let sent: SentVideo
  /// That of the `OutgoingVideoStream`.
  public let streamId: Int32?
  public var codecName: String { sent.codecName }
  /// Payload sent since the last report, in bit/s.
  public var bitrateInBps: Int32? { sent.bitrateInBps }
  /// Since the stream began, retransmissions included.
  public var packetCount: Int32? { sent.packetCount }
  /// In frames per second.
  public var frameRate: Int32? { sent.frameRate }
  /// In pixels.
  public var frameWidth: Int32? { sent.frameWidth }
  /// In pixels.
  public var frameHeight: Int32? { sent.frameHeight }

  fileprivate init(_ stream: StreamStatistics, _ rates: StreamRates, streamId: Int32?) {
    (sent, self.streamId) = (SentVideo(stream, rates), streamId)
  }
}

/// Messages of data channels, which use the signalling: there are no media packets.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class OutgoingDataChannelStatistics: NSObject, Sendable {
  /// Messages sent in the call.
  public let packetCount: Int32?
  fileprivate init(_ count: Int) { packetCount = Int32(clamping: count) }
}

/// Statistics of the received audio.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class IncomingAudioStatistics: NSObject, Sendable {
  public let codecName: String
  /// In milliseconds (RFC 3550, 6.4.1).
  public let jitterInMs: Int32?
  /// Since the stream began.
  public let packetCount: Int32?
  /// Packets that never arrived, per second since the last report.
  public let packetsLostPerSecond: Int32?
  /// The same for one remote audio stream in all reports of a call.
  public let streamId: Int32?

  fileprivate init(_ stream: StreamStatistics, _ rates: StreamRates, streamId: Int32?) {
    codecName = stream.codec?.rawValue ?? ""
    jitterInMs = stream.incoming.map { Int32(clamping: Int($0.jitter.rounded())) }
    packetCount = stream.incoming.map { Int32(clamping: $0.packets) }
    packetsLostPerSecond = rates.lost
    self.streamId = streamId
  }
}

/// The values of received video, which cameras and screens share.
private struct ReceivedVideo {
  let codecName: String
  let bitrateInBps, jitterInMs, packetCount, packetsLostPerSecond: Int32?
  let frameRate, frameWidth, frameHeight, totalFreezeDurationInMs: Int32?
  let participant: Koine.Participant.ID

  init(_ stream: StreamStatistics, _ rates: StreamRates) {
    codecName = stream.codec?.rawValue ?? ""
    bitrateInBps = rates.bitrate
    jitterInMs = stream.incoming.map { Int32(clamping: Int($0.jitter.rounded())) }
    packetCount = stream.incoming.map { Int32(clamping: $0.packets) }
    packetsLostPerSecond = rates.lost
    frameRate = stream.video.map { Int32(clamping: Int($0.framesPerSecond.rounded())) }
    frameWidth = stream.video.map { Int32(clamping: $0.width) }
    frameHeight = stream.video.map { Int32(clamping: $0.height) }
    totalFreezeDurationInMs = stream.video.map { Int32(clamping: Int($0.frozen.rounded())) }
    participant = stream.stream.id.participant
  }
}

/// Statistics of a received video stream.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class IncomingVideoStatistics: NSObject, Sendable {
  private let received: ReceivedVideo
  /// That of the `IncomingVideoStream`.
  public let streamId: Int32?
  public var codecName: String { received.codecName }
  /// Payload received since the last report, in bit/s.
  public var bitrateInBps: Int32? { received.bitrateInBps }
  /// In milliseconds (RFC 3550, 6.4.1).
  public var jitterInMs: Int32? { received.jitterInMs }
  /// Since the stream began.
  public var packetCount: Int32? { received.packetCount }
  /// Packets that never arrived, per second since the last report.
  public var packetsLostPerSecond: Int32? { received.packetsLostPerSecond }
  /// In frames per second.
  public var frameRate: Int32? { received.frameRate }
  /// In pixels.
  public var frameWidth: Int32? { received.frameWidth }
  /// In pixels.
  public var frameHeight: Int32? { received.frameHeight }
  /// Since the stream began.
  public var totalFreezeDurationInMs: Int32? { received.totalFreezeDurationInMs }
  public var participantIdentifier: any CommunicationIdentifier {
    ParticipantIdentifiers.identifier(of: received.participant)
  }

  fileprivate init(_ stream: StreamStatistics, _ rates: StreamRates, streamId: Int32?) {
    (received, self.streamId) = (ReceivedVideo(stream, rates), streamId)
  }
}

/// Statistics of a received screen share.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class IncomingScreenShareStatistics: NSObject, Sendable {
  private let received: ReceivedVideo
  /// That of the `IncomingVideoStream`.
  public let streamId: Int32?
  public var codecName: String { received.codecName }
  /// Payload received since the last report, in bit/s.
  public var bitrateInBps: Int32? { received.bitrateInBps }
  /// In milliseconds (RFC 3550, 6.4.1).
  public var jitterInMs: Int32? { received.jitterInMs }
  /// Since the stream began.
  public var packetCount: Int32? { received.packetCount }
  /// Packets that never arrived, per second since the last report.
  public var packetsLostPerSecond: Int32? { received.packetsLostPerSecond }
  /// In frames per second.
  public var frameRate: Int32? { received.frameRate }
  /// In pixels.
  public var frameWidth: Int32? { received.frameWidth }
  /// In pixels.
  public var frameHeight: Int32? { received.frameHeight }
  /// Since the stream began.
  public var totalFreezeDurationInMs: Int32? { received.totalFreezeDurationInMs }
  public var participantIdentifier: any CommunicationIdentifier {
    ParticipantIdentifiers.identifier(of: received.participant)
  }

  fileprivate init(_ stream: StreamStatistics, _ rates: StreamRates, streamId: Int32?) {
    (received, self.streamId) = (ReceivedVideo(stream, rates), streamId)
  }
}

/// Messages of data channels, which use the signalling: there are no media packets.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class IncomingDataChannelStatistics: NSObject, Sendable {
  /// Of the messages' way from their senders, in milliseconds (as RFC 3550, 6.4.1). Nil until two messages of one sender have come.
  public let jitterInMs: Int32?
  /// Messages received in the call.
  public let packetCount: Int32?
  fileprivate init(_ count: Int, jitter: Duration?) {
    packetCount = Int32(clamping: count)
    jitterInMs = jitter.map { Int32(clamping: Int(($0 / .milliseconds(1)).rounded())) }
  }
}

/// Statistics of the sent streams, by kind.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class OutgoingMediaStatistics: NSObject, Sendable {
  public let audio: [OutgoingAudioStatistics]
  public let video: [OutgoingVideoStatistics]
  public let screenShare: [OutgoingScreenShareStatistics]
  /// Empty until the app has sent a message on a data channel; then one entry for all channels.
  public let dataChannel: [OutgoingDataChannelStatistics]

  fileprivate init(
    _ audio: [OutgoingAudioStatistics], _ video: [OutgoingVideoStatistics],
    _ screenShare: [OutgoingScreenShareStatistics], messages: Int
  ) {
    (self.audio, self.video, self.screenShare) = (audio, video, screenShare)
    dataChannel = messages == 0 ? [] : [OutgoingDataChannelStatistics(messages)]
  }
}

/// Statistics of the received streams, by kind.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class IncomingMediaStatistics: NSObject, Sendable {
  public let audio: [IncomingAudioStatistics]
  public let video: [IncomingVideoStatistics]
  public let screenShare: [IncomingScreenShareStatistics]
  /// Empty until a message has come on a data channel; then one entry for all channels.
  public let dataChannel: [IncomingDataChannelStatistics]

  fileprivate init(
    _ audio: [IncomingAudioStatistics], _ video: [IncomingVideoStatistics],
    _ screenShare: [IncomingScreenShareStatistics], messages: Int, jitter: Duration?
  ) {
    (self.audio, self.video, self.screenShare) = (audio, video, screenShare)
    dataChannel = messages == 0 ? [] : [IncomingDataChannelStatistics(messages, jitter: jitter)]
  }
}

/// Statistics of all streams of a call since the last report.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class MediaStatisticsReport: NSObject, Sendable {
  public let outgoingStatistics: OutgoingMediaStatistics
  public let incomingStatistics: IncomingMediaStatistics
  /// When the report was made.
  public let lastUpdated = Date()

  fileprivate init(_ outgoing: OutgoingMediaStatistics, _ incoming: IncomingMediaStatistics) {
    (outgoingStatistics, incomingStatistics) = (outgoing, incoming)
  }
}

/// Carries a new report of media statistics.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class MediaStatisticsReportReceivedEventArgs: NSObject {
  public let report: MediaStatisticsReport
  init(_ report: MediaStatisticsReport) { self.report = report }
}

/// Notified on the delivery queue of changes of the media statistics call feature.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public protocol MediaStatisticsCallFeatureDelegate: NSObjectProtocol {
  func mediaStatisticsCallFeature(
    _ mediaStatisticsCallFeature: MediaStatisticsCallFeature,
    didReceiveReport args: MediaStatisticsReportReceivedEventArgs)
}

extension MediaStatisticsCallFeatureDelegate {
  public func mediaStatisticsCallFeature(
    _ mediaStatisticsCallFeature: MediaStatisticsCallFeature,
    didReceiveReport args: MediaStatisticsReportReceivedEventArgs
  ) {}
}

/// Closures for the changes of the media statistics call feature, called on the delivery queue.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class MediaStatisticsCallFeatureEvents: NSObject, @unchecked Sendable {  // the closure is locked
  @EventClosure public var onReportReceived: ((MediaStatisticsReportReceivedEventArgs) -> Void)?
  public func removeAll() { onReportReceived = nil }
}

/// Reports of the call's media, every `reportIntervalInSeconds` from when the app first asks for the feature, or the call connects, to the
/// call's end.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class MediaStatisticsCallFeature: CallFeature, @unchecked Sendable {  // everything mutable is locked
  private struct State {
    /// In seconds.
    var interval: Int32 = 10
    var alarm: Alarm?
    var last: (time: Tick, streams: [Track.ID: StreamCounters])?
    var isOver = false
    /// Ids of remote audio streams, in the order of the first reports about them.
    var audioIDs: [Track.ID: Int32] = [:]
    /// Ids of own audio streams, in the same way.
    var ownAudioIDs: [Track.ID: Int32] = [:]
  }

  private static let intervals: ClosedRange<Int32> = 10...3_600
  public let events = MediaStatisticsCallFeatureEvents()
  private let listener = Listener<any MediaStatisticsCallFeatureDelegate>()
  private let state = Lock(State())

  public weak var delegate: (any MediaStatisticsCallFeatureDelegate)? {
    get { listener.it }
    set { listener.it = newValue }
  }

  public var reportIntervalInSeconds: Int32 { state.withLock { $0.interval } }

  /// The next report comes this long after the call of this method.
  /// - Parameter reportInterval: in seconds, 10...3600.
  /// - Throws: `mediaStatisticsInvalidReportInterval` for another interval.
  public func updateReportInterval(inSeconds reportInterval: Int32) throws {
    guard Self.intervals.contains(reportInterval) else {
      throw CallingCommunicationErrors.mediaStatisticsInvalidReportInterval.error(
        "\(Self.intervals) seconds, not \(reportInterval)")
    }
    let isRunning = state.withLock { state in
      state.interval = reportInterval
      return state.alarm != nil
    }
    if isRunning { schedule() }
  }

  override func callStarted() {
    if call?.state == .disconnected { state.withLock { $0.isOver = true } }
    beginIfConnected()
  }

  override func handle(_ event: SessionEvent) { beginIfConnected() }

  private func beginIfConnected() {
    if state.withLock({ $0.alarm == nil && !$0.isOver }), call?.isUnderWay == true { begin() }
  }

  override func callEnded() {
    let alarm = state.withLock { state in
      defer { state.alarm = nil }
      state.isOver = true
      return state.alarm
    }
    alarm?.cancel()
  }

  /// Takes the counters from which the first report's rates are counted.
  private func begin() {
    schedule()
    collect { feature, figures, time in
      feature.state.withLock { $0.last = (time, StreamCounters.all(of: figures)) }
    }
  }

  private func schedule() {
    guard let session = call?.session else { return }
    let lane = session.world.backend.scheduler.lane("media statistics")
    let (old, isOver) = state.withLock { state in
      let old = state.alarm
      guard !state.isOver else { return (old, true) }
      state.alarm = lane.post(at: lane.scheduler.now + .seconds(Int(state.interval))) { [weak self] in
        self?.schedule()
        self?.collect { feature, figures, time in feature.report(figures, at: time) }
      }
      return (old, false)
    }
    if !isOver { old?.cancel() }
  }

  /// - Parameter work: called on the delivery queue, unless the call is over by then.
  private func collect(_ work: @escaping @Sendable (MediaStatisticsCallFeature, SessionStatistics, Tick) -> Void) {
    guard let session = call?.session else { return }
    let scheduler = session.world.backend.scheduler
    session.statistics { [weak self] figures in
      guard let self, !state.withLock({ $0.isOver }) else { return }
      work(self, figures, scheduler.now)
    }
  }

  /// On the delivery queue.
  private func report(_ figures: SessionStatistics, at time: Tick) {
    guard let call else { return }
    let counters = StreamCounters.all(of: figures)
    let last = state.withLock { state in
      defer { state.last = (time, counters) }
      return state.last
    }
    let seconds = last.map { Double((time - $0.time) / .milliseconds(1)) / 1_000 } ?? 0
    let rates = counters.map { id, now in
      (id, StreamRates(from: last?.streams[id] ?? StreamCounters(), to: now, seconds: seconds))
    }
    let args = MediaStatisticsReportReceivedEventArgs(
      makeReport(of: figures, Dictionary(uniqueKeysWithValues: rates), in: call))
    delegate?.mediaStatisticsCallFeature(self, didReceiveReport: args)
    events.onReportReceived?(args)
  }

  private func makeReport(
    of figures: SessionStatistics, _ rates: [Track.ID: StreamRates], in call: Call
  ) -> MediaStatisticsReport {
    let (own, others) = (figures.streams.filter { $0.outgoing != nil }, figures.streams.filter { $0.incoming != nil })
    func all<Value>(
      _ streams: [StreamStatistics], _ isMeant: (Track.Kind) -> Bool, _ id: (Track) -> Int32?,
      _ make: (StreamStatistics, StreamRates, Int32?) -> Value
    ) -> [Value] {
      streams.filter { isMeant($0.stream.kind) }.map { stream in
        make(stream, rates[stream.stream.id] ?? StreamRates(), id(stream.stream))
      }
    }
    let shown = others.filter { $0.stream.kind.isAudio || call.incomingVideoID(of: $0.stream) != nil }
    let messages = call.current.withLock { $0.features[ObjectIdentifier(DataChannelCallFeature.self)] }
    let channels = messages as? DataChannelCallFeature
    return MediaStatisticsReport(
      OutgoingMediaStatistics(
        all(own, \.isAudio, { id(of: $0, among: \.ownAudioIDs) }, OutgoingAudioStatistics.init),
        all(own, { $0 == .camera }, call.outgoingVideoID, OutgoingVideoStatistics.init),
        all(own, { $0 == .screen }, call.outgoingVideoID, OutgoingScreenShareStatistics.init),
        messages: channels?.sent.total ?? 0),
      IncomingMediaStatistics(
        all(shown, \.isAudio, { id(of: $0, among: \.audioIDs) }, IncomingAudioStatistics.init),
        all(shown, { $0 == .camera }, call.incomingVideoID, IncomingVideoStatistics.init),
        all(shown, { $0 == .screen }, call.incomingVideoID, IncomingScreenShareStatistics.init),
        messages: channels?.received.total ?? 0, jitter: channels?.jitter))
  }

  private func id(of stream: Track, among ids: WritableKeyPath<State, [Track.ID: Int32]>) -> Int32 {
    state.withLock { state in
      if let id = state[keyPath: ids][stream.id] { return id }
      let id = Int32(clamping: state[keyPath: ids].count + 1)
      state[keyPath: ids][stream.id] = id
      return id
    }
  }
}

extension Call {
  /// The id of the app's stream that is published as this track.
  fileprivate func outgoingVideoID(of track: Track) -> Int32? {
    current.withLock { $0.videos.first { $0.published.id.track == track.id.track }?.stream.id }
  }

  /// The id of the remote stream; nil while the app does not know the stream, as when it is muted.
  fileprivate func incomingVideoID(of track: Track) -> Int32? {
    remote(track.id.participant)?.incomingVideoStreams.first { $0.source == track.id }?.id
  }
}

/// What a stream has carried so far.
private struct StreamCounters {
  var bytes = 0
  var lost = 0

  static func all(of figures: SessionStatistics) -> [Track.ID: StreamCounters] {
    figures.streams.reduce(into: [:]) { all, stream in
      all[stream.stream.id] = StreamCounters(
        bytes: stream.outgoing?.bytes ?? stream.incoming?.bytes ?? 0, lost: stream.incoming?.lost ?? 0)
    }
  }
}

/// Averages since the last report.
private struct StreamRates {
  /// In bit/s.
  var bitrate: Int32?
  /// Packets per second.
  var lost: Int32?

  init() {}

  init(from last: StreamCounters, to now: StreamCounters, seconds: Double) {
    guard seconds > 0 else { return }
    // A stream that was subscribed anew counts from nought again.
    bitrate = Int32(clamping: Int(Double(max(now.bytes - last.bytes, 0) * 8) / seconds))
    lost = Int32(clamping: Int((Double(max(now.lost - last.lost, 0)) / seconds).rounded()))
  }
}
