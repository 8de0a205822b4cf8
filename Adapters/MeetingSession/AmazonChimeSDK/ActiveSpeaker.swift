import Koine

/// Computes the score of each attendee, which decides the active speakers.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/ActiveSpeakerPolicy.html)
public protocol ActiveSpeakerPolicy: AnyObject {
  /// - Returns: the attendee's score: 0 if it is not active, otherwise higher for a more active attendee.
  func calculateScore(attendeeInfo: AttendeeInfo, volume: VolumeLevel) -> Double
  func prioritizeVideoSendBandwidthForActiveSpeaker() -> Bool
}

/// The default policy for active speakers. With each update the score of a speaking attendee rises and the score of a
/// silent attendee falls. A speaking attendee also lowers the scores of all others.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/DefaultActiveSpeakerPolicy.html)
public final class DefaultActiveSpeakerPolicy: ActiveSpeakerPolicy {
  public static let defaultSpeakerWeight = 0.9
  public static let defaultCutoffThreshold = 0.01
  public static let defaultTakeoverRate = 0.2
  private let speakerWeight, cutoffThreshold, takeoverRate: Double
  private let volumes = Lock<[String: Double]>([:])

  public convenience init() { self.init(speakerWeight: Self.defaultSpeakerWeight) }

  public init(
    speakerWeight: Double = defaultSpeakerWeight, cutoffThreshold: Double = defaultCutoffThreshold,
    takeoverRate: Double = defaultTakeoverRate
  ) {
    self.speakerWeight = speakerWeight
    self.cutoffThreshold = cutoffThreshold
    self.takeoverRate = takeoverRate
  }

  public func calculateScore(attendeeInfo: AttendeeInfo, volume: VolumeLevel) -> Double {
    let loudness = volume == .muted || volume == .notSpeaking ? 0.0 : 1.0
    return volumes.withLock { volumes in
      let own = (volumes[attendeeInfo.attendeeId] ?? 0) * speakerWeight + loudness * (1 - speakerWeight)
      for (id, other) in volumes where id != attendeeInfo.attendeeId {
        volumes[id] = max(other - takeoverRate * loudness, 0)
      }
      volumes[attendeeInfo.attendeeId] = own
      return own < cutoffThreshold ? 0 : own
    }
  }

  public func prioritizeVideoSendBandwidthForActiveSpeaker() -> Bool { true }
}

/// Detects active speakers from volume changes, for each observer by its own policy.
///
/// Every 200 ms, attendees with a volume unchanged for more than a second are scored again at that volume. The vendor's SDK
/// scores them as silent, so that a steady talker disappears. It also shares scores between observers, so that only one
/// observer is notified when a speaker stops.
final class ActiveSpeakers: @unchecked Sendable {  // everything mutable is in `state`
  private final class Watch {
    let policy: any ActiveSpeakerPolicy
    let observer: any ActiveSpeakerObserver
    let timer: Repeater
    var scores: [AttendeeInfo: Double] = [:]
    var active: [AttendeeInfo] = []

    init(_ policy: any ActiveSpeakerPolicy, _ observer: any ActiveSpeakerObserver, _ timer: Repeater) {
      self.policy = policy
      self.observer = observer
      self.timer = timer
    }
  }

  private struct State {
    var watches: [String: Watch] = [:]
    var last: [AttendeeInfo: (volume: VolumeLevel, at: Tick)] = [:]
  }

  static let tick = Duration.milliseconds(200)
  static let silence = Duration.seconds(1)
  private let environment: MeetingEnvironment
  private let state = Lock(State())

  private let selfId: String

  init(_ environment: MeetingEnvironment, selfId: String) {
    self.environment = environment
    self.selfId = selfId
  }

  // MARK: Observers

  func add(_ policy: any ActiveSpeakerPolicy, _ observer: any ActiveSpeakerObserver) {
    let id = observer.observerId
    let watch = Watch(policy, observer, Repeater(environment))
    let old = state.withLock { state in
      for info in state.last.keys { watch.scores[info] = 0 }
      return state.watches.updateValue(watch, forKey: id)
    }
    old?.timer.stop()
    let interval = observer.scoresCallbackIntervalMs
    guard interval > 0 else { return }
    watch.timer.start(every: .milliseconds(interval)) { [weak self] in
      guard let self, let scores = self.state.withLock({ $0.watches[id]?.scores }) else { return }
      self.state.withLock({ $0.watches[id]?.observer })?.activeSpeakerScoreDidChange(scores: scores)
    }
  }

  func remove(_ observer: any ActiveSpeakerObserver) {
    let id = observer.observerId
    state.withLock { $0.watches.removeValue(forKey: id) }?.timer.stop()
  }

  // MARK: What happens, on the delivery queue

  func joined(_ info: AttendeeInfo) {
    for watch in watches { set(0, of: info, in: watch) }
  }

  func left(_ info: AttendeeInfo) {
    state.withLock { $0.last[info] = nil }
    for watch in watches {
      let wasActive = state.withLock { _ in
        watch.scores[info] = nil
        return watch.active.contains(info)
      }
      if wasActive { notifyObserver(watch) }
    }
  }

  /// The meeting is over: drops all scores without notifying observers.
  func clear() {
    state.withLock { state in
      state.last = [:]
      for watch in state.watches.values { (watch.scores, watch.active) = ([:], []) }
    }
  }

  func changed(_ update: VolumeUpdate) {
    state.withLock { $0.last[update.attendeeInfo] = (update.volumeLevel, environment.now) }
    score(update.attendeeInfo, update.volumeLevel)
  }

  /// Call every `tick`.
  func tick() {
    let now = environment.now
    let quiet = state.withLock { $0.last.filter { now - $0.value.at > Self.silence } }
    for (info, last) in quiet.sorted(by: { $0.key < $1.key }) { score(info, last.volume) }
  }

  private var watches: [Watch] { state.withLock { Array($0.watches.values) } }

  private func score(_ info: AttendeeInfo, _ volume: VolumeLevel) {
    for watch in watches { set(watch.policy.calculateScore(attendeeInfo: info, volume: volume), of: info, in: watch) }
  }

  /// The observer is notified when the score changes while the list is empty, and when an attendee enters or leaves the list.
  private func set(_ score: Double, of info: AttendeeInfo, in watch: Watch) {
    let needsUpdate = state.withLock { _ in
      let old = watch.scores.updateValue(score, forKey: info)
      return old != score && (watch.active.isEmpty || watch.active.contains(info) != (score > 0))
    }
    if needsUpdate { notifyObserver(watch) }
  }

  private func notifyObserver(_ watch: Watch) {
    let isFirst = state.withLock { _ in
      watch.active = watch.scores.filter { $0.value > 0 }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key)
      return watch.active.first?.attendeeId == selfId
    }
    // Asked as the vendor's SDK asks; nothing follows from the answer.
    if isFirst { _ = watch.policy.prioritizeVideoSendBandwidthForActiveSpeaker() }
    environment.delivery.deliver { [self, watch = Unchecked(watch)] in
      let watch = watch.value
      let active = state.withLock { $0.watches.values.contains { $0 === watch } ? watch.active : nil }
      if let active { watch.observer.activeSpeakerDidDetect(attendeeInfo: active) }
    }
  }
}

/// Detects active speakers for observers of its own: add it as a realtime observer, and it scores what it is notified of.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/DefaultActiveSpeakerDetector.html)
public final class DefaultActiveSpeakerDetector: ActiveSpeakerDetectorFacade, RealtimeObserver, Sendable {
  private let speakers: ActiveSpeakers
  private let timer: Repeater
  private let observerIds = Lock<Set<String>>([])

  /// - Parameter selfAttendeeId: id of the local attendee.
  public init(selfAttendeeId: String) {
    let environment = MeetingEnvironment()
    speakers = ActiveSpeakers(environment, selfId: selfAttendeeId)
    timer = Repeater(environment)
  }

  public func addActiveSpeakerObserver(policy: any ActiveSpeakerPolicy, observer: any ActiveSpeakerObserver) {
    speakers.add(policy, observer)
    let isFirst = observerIds.withLock { ids in
      defer { ids.insert(observer.observerId) }
      return ids.isEmpty
    }
    if isFirst { timer.start(every: ActiveSpeakers.tick) { [weak self] in self?.speakers.tick() } }
  }

  public func removeActiveSpeakerObserver(observer: any ActiveSpeakerObserver) {
    speakers.remove(observer)
    let isEmpty = observerIds.withLock { ids in
      ids.remove(observer.observerId)
      return ids.isEmpty
    }
    if isEmpty { timer.stop() }
  }

  public func hasBandwidthPriorityCallback(hasBandwidthPriority: Bool) { NoEffect.bandwidthPriority.log() }

  public func attendeesDidJoin(attendeeInfo: [AttendeeInfo]) { for info in attendeeInfo { speakers.joined(info) } }
  public func attendeesDidLeave(attendeeInfo: [AttendeeInfo]) { for info in attendeeInfo { speakers.left(info) } }
  public func attendeesDidDrop(attendeeInfo: [AttendeeInfo]) { attendeesDidLeave(attendeeInfo: attendeeInfo) }
  public func volumeDidChange(volumeUpdates: [VolumeUpdate]) {
    for update in volumeUpdates { speakers.changed(update) }
  }
  public func signalStrengthDidChange(signalUpdates: [SignalUpdate]) {}
  public func attendeesDidMute(attendeeInfo: [AttendeeInfo]) {}
  public func attendeesDidUnmute(attendeeInfo: [AttendeeInfo]) {}
}

/// Goes to the delivery queue and is touched only there, or under its owner's lock.
struct Unchecked<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
