/// A way of writing calls: a vendor's, by the name of its page in Docs/styles, or the common layer.
public enum Style: String, CaseIterable, Sendable, Hashable {
  case koine
  case callAgent = "call-agent"
  case eventListener = "event-listener"
  case meetingSession = "meeting-session"
  case stageStrategy = "stage-strategy"

  /// Those of vendors.
  public static let vendors: [Style] = allCases.filter { $0 != .koine }

  /// By the name, or by what `koine demo` and `koine token` call it.
  public init?(named name: String) {
    switch name {
    case "native", "common": self = .koine
    case "listener": self = .eventListener
    case "meeting": self = .meetingSession
    case "stage": self = .stageStrategy
    default:
      guard let style = Self(rawValue: name) else { return nil }
      self = style
    }
  }

  public var title: String { PortingTable.current.titles[self] ?? rawValue }
}
