/// A style: the API of one vendor's calling SDK, or Koine's own common layer.
///
/// The raw value is the style's name everywhere: in options of `koine`, in traces, in the names of pages and samples.
public enum Style: String, CaseIterable, Sendable, Hashable, Codable {
  /// The common layer, `import Koine`.
  case koine
  /// Azure Communication Services, Calling.
  case callAgent = "call-agent"
  /// VideoSDK.
  case eventListener = "event-listener"
  /// Amazon Chime SDK.
  case meetingSession = "meeting-session"
  /// Amazon IVS, real-time streaming.
  case stageStrategy = "stage-strategy"

  /// The styles of vendors, without the common layer.
  public static let vendors: [Style] = allCases.filter { $0 != .koine }

  /// - Parameter name: the raw value, or one of the short forms `listener`, `meeting`, `stage`, `native` and `common`.
  /// - Returns: nil for any other name.
  public init?(named name: String) {
    switch name {
    case "native", "common": self = .koine
    case "listener": self = .eventListener
    case "meeting": self = .meetingSession
    case "stage": self = .stageStrategy
    default:
      guard let style = Style(rawValue: name) else { return nil }
      self = style
    }
  }

  /// The vendor's name of the product, such as `Amazon IVS`.
  public var product: String {
    switch self {
    case .koine: "Koine's common layer"
    case .callAgent: "Azure Communication Services"
    case .eventListener: "VideoSDK"
    case .meetingSession: "Amazon Chime SDK"
    case .stageStrategy: "Amazon IVS"
    }
  }

  /// All styles with their products, for help texts: `call-agent (Azure Communication Services), …`.
  public static let catalogue =
    (vendors + [.koine]).map { "\($0.rawValue) (\($0.product))" }.joined(separator: ", ")
}
