import Foundation
import Koine

/// The controller of a meeting session. Any thread may call it.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/DefaultEventAnalyticsController.html)
public final class DefaultEventAnalyticsController: EventAnalyticsController, @unchecked Sendable {
  // `state` is guarded; a reporter takes events from any thread

  private struct State {
    var history: [MeetingHistoryEvent] = []
    var figures = MeetingFigures()
    var appState: AppState
    var observation: Observation?
  }

  private let configuration: MeetingSessionConfiguration
  private let environment: MeetingEnvironment
  private let reporter: (any EventReporter)?
  private let observers: Observers<any EventAnalyticsObserver>
  private let state: Lock<State>

  init(
    _ configuration: MeetingSessionConfiguration, in environment: MeetingEnvironment, reporter: (any EventReporter)?
  ) {
    self.configuration = configuration
    self.environment = environment
    self.reporter = reporter
    observers = Observers(environment.delivery)
    state = Lock(State(appState: environment.machine.isInBackground ? .background : .active))
  }

  deinit { state.withLock { $0.observation }?.cancel() }

  // MARK: Events

  public func publishEvent(name: EventName) { publishEvent(name: name, attributes: [:]) }

  public func publishEvent(name: EventName, attributes: [AnyHashable: Any]) {
    publishEvent(name: name, attributes: attributes, notifyObservers: true)
  }

  public func publishEvent(name: EventName, attributes: [AnyHashable: Any], notifyObservers: Bool) {
    let all = record(MeetingHistoryEventName(name), attributes)
    if notifyObservers { observers.notify { $0.eventDidReceive(name: name, attributes: all) } }
  }

  public func pushHistory(historyEventName: MeetingHistoryEventName) { _ = record(historyEventName, [:]) }

  /// - Returns: the event's attributes, completed.
  private func record(_ name: MeetingHistoryEventName, _ attributes: [AnyHashable: Any]) -> [AnyHashable: Any] {
    let timestamp = environment.timestampMs
    let machine = environment.machine
    let power = machine.power
    var all: [EventAttributeName: Any] = [
      .timestampMs: timestamp, .batteryState: BatteryState(power?.state), .lowPowerModeEnabled: false,
      .networkConnectionType: NetworkConnectionType(machine.network),
    ]
    if let power { all[.batteryLevel] = NSNumber(value: Float(power.level)) }
    state.withLock { state in
      state.history.append(MeetingHistoryEvent(meetingHistoryEventName: name, timestampMs: timestamp))
      all[.appState] = state.appState
      let figures = state.figures.attributes(of: name.eventName, at: timestamp)
      all.merge(figures) { _, new in new }
    }
    let complete = attributes.merging(all as [AnyHashable: Any]) { _, new in new }
    reporter?.report(event: SDKEvent(meetingHistoryEventName: name, eventAttributes: complete))
    return complete
  }

  public func getMeetingHistory() -> [MeetingHistoryEvent] { state.withLock { $0.history } }

  public func addEventAnalyticsObserver(observer: any EventAnalyticsObserver) { observers.add(observer) }
  public func removeEventAnalyticsObserver(observer: any EventAnalyticsObserver) { observers.remove(observer) }

  public func getCommonEventAttributes() -> [AnyHashable: Any] {
    let credentials = configuration.credentials
    var attributes: [EventAttributeName: String] = [
      .meetingId: configuration.meetingId, .attendeeId: credentials.attendeeId,
      .externalUserId: credentials.externalUserId,
    ]
    attributes[.externalMeetingId] = configuration.externalMeetingId
    attributes.merge(DeviceAttributes.all) { first, _ in first }
    return Dictionary<AnyHashable, Any>(
      uniqueKeysWithValues: attributes.map { (AnyHashable($0.key.description), $0.value) })
  }

  // MARK: The meeting

  /// Changes the figures that the events of a meeting report.
  func count(_ change: (inout MeetingFigures, _ now: Int64) -> Void) {
    let now = environment.timestampMs
    state.withLock { change(&$0.figures, now) }
  }

  /// The meeting has started: its history has the machine's changes from now on.
  func meetingStarted() {
    let observation = environment.machine.observe { [weak self] in self?.handle($0) }
    let old = state.withLock { state in
      state.appState = environment.machine.isInBackground ? .background : .active
      defer { state.observation = observation }
      return state.observation
    }
    old?.cancel()
  }

  func meetingEnded() {
    let observation = state.withLock { state in
      state.figures = MeetingFigures()
      defer { state.observation = nil }
      return state.observation
    }
    observation?.cancel()
  }

  /// On the delivery queue.
  private func handle(_ event: Machine.Event) {
    switch event {
    case .wentToBackground: change(to: .inactive, .background)
    case .cameToForeground: change(to: .foreground, .active)
    case .interruptionBegan: publishEvent(name: .audioInterruptionBegan, attributes: [:], notifyObservers: false)
    case .interruptionEnded: publishEvent(name: .audioInterruptionEnded, attributes: [:], notifyObservers: false)
    case .memoryLow: publishEvent(name: .appMemoryLow, attributes: [:], notifyObservers: false)
    case .networkChanged: publishEvent(name: .networkConnectionTypeChanged, attributes: [:], notifyObservers: false)
    case .plugged, .unplugged, .routeChanged, .permissionChanged, .failed, .mediaServicesLost, .mediaServicesReset,
      .outputChanged, .powerChanged:
      break
    }
  }

  /// As UIKit's notifications come, each state is one event.
  private func change(to states: AppState...) {
    for new in states {
      state.withLock { $0.appState = new }
      publishEvent(name: .appStateChanged, attributes: [:], notifyObservers: false)
    }
  }
}

extension BatteryState {
  fileprivate init(_ state: Machine.Power.State?) {
    self =
      switch state {
      case .charging: .charging
      case .discharging: .discharging
      case .full: .full
      case .unknown, nil: .unknown
      }
  }
}

extension NetworkConnectionType {
  fileprivate init(_ network: Machine.Network?) {
    self =
      switch network {
      case .wifi?: .wifi
      case .cellular?: .cellular
      case .ethernet?: .wiredEthernet
      case .other?: .other
      case Machine.Network.none?: .none
      case nil: .unknown
      }
  }
}

/// What a meeting's events report of it. Times are in milliseconds since 1970.
struct MeetingFigures {
  private var connectingSince: Int64?
  private var startedAt: Int64?
  private var reconnectingSince: Int64?
  private var reconnectedAt: Int64?
  private var retries = 0
  private var poorConnections = 0
  private var tiles = 0

  mutating func startsConnecting(at now: Int64) { connectingSince = now }
  mutating func started(at now: Int64) { startedAt = startedAt ?? now }
  mutating func startsReconnecting(at now: Int64) { (reconnectingSince, reconnectedAt) = (now, nil) }

  mutating func reconnected(at now: Int64) {
    reconnectedAt = now
    retries += 1
  }

  mutating func connectionBecamePoor() { poorConnections += 1 }
  mutating func hasTiles(_ count: Int) { tiles = max(tiles, count) }

  /// From the attempt to connect to the connection.
  var connectingDuration: Int64 { startedAt.flatMap { start in connectingSince.map { start - $0 } } ?? 0 }

  func attributes(of event: EventName, at now: Int64) -> [EventAttributeName: Any] {
    switch event {
    case .meetingStartSucceeded, .meetingEnded, .meetingFailed, .meetingStartFailed, .meetingReconnected,
      .videoClientSignalingDropped, .contentShareSignalingDropped:
      break
    default: return [:]
    }
    var attributes: [EventAttributeName: Any] = [
      .maxVideoTileCount: tiles, .retryCount: retries, .poorConnectionCount: poorConnections,
      .meetingStartDurationMs: connectingDuration, .meetingDurationMs: startedAt.map { now - $0 } ?? Int64(0),
    ]
    if event == .meetingReconnected, let reconnectingSince, let reconnectedAt {
      attributes[.meetingReconnectDurationMs] = reconnectedAt - reconnectingSince
    }
    return attributes
  }
}

/// What is the same in all events of this machine.
enum DeviceAttributes {
  static let all: [EventAttributeName: String] = {
    let version = ProcessInfo.processInfo.operatingSystemVersion
    return [
      .deviceName: "Koine \(model)", .deviceManufacturer: "Koine", .deviceModel: model, .osName: "Linux",
      .osVersion: "\(version.majorVersion).\(version.minorVersion).\(version.patchVersion)",
      .sdkName: "amazon-chime-sdk-ios", .sdkVersion: Versioning.sdkVersion(), .mediaSdkVersion: "unknown",
    ]
  }()

  private static var model: String {
    #if arch(arm64)
      "aarch64"
    #else
      "x86_64"
    #endif
  }
}
