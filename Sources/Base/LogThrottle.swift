/// Decides which of many like events are logged: of those within an interval the first, tenth, hundredth and so on.
public struct LogThrottle: Sendable {
  private let interval: Duration
  private var since: Tick?
  private var count = 0

  /// - Parameter interval: from the first event that is counted; an event after it begins the next interval.
  public init(interval: Duration = .seconds(60)) { self.interval = interval }

  /// Counts an event.
  /// - Returns: the number of events in this interval, if this one is to be logged.
  public mutating func countEvent(at now: Tick) -> Int? {
    if since.map({ now - $0 >= interval }) ?? true { (since, count) = (now, 0) }
    count += 1
    var power = 1
    while power < count { power *= 10 }
    return power == count ? count : nil
  }
}
