import Foundation

/// What the bundle of an app says of it, as its `Info.plist` does: above all what it may use, and what goes on while it is
/// in the background.
public struct AppInformation: Sendable {
  private let values: [String: any Sendable]

  /// Creates an app's information dictionary.
  /// - Parameter values: property list values: strings, numbers, Booleans, data, dates, arrays and dictionaries of them.
  public init(_ values: [String: any Sendable]) { self.values = values }

  /// Reads an app's `Info.plist`, as text or binary.
  /// - Throws: what the file system or the parser says.
  public init(contentsOfFile path: String) throws {
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    let list = try PropertyListSerialization.propertyList(from: data, format: nil)
    values = Self.sendable(list) as? [String: any Sendable] ?? [:]
  }

  /// What lies as `Info.plist` beside this program, where Foundation finds it for `Bundle.main`; nil: there is none.
  public static let ofProcess: AppInformation? = {
    let path = Bundle.main.bundlePath + "/Info.plist"
    return FileManager.default.fileExists(atPath: path) ? try? AppInformation(contentsOfFile: path) : nil
  }()

  /// Named as `Bundle`'s.
  public func object(forInfoDictionaryKey key: String) -> Any? { values[key] }

  /// Returns the app information without the given keys.
  public func without(_ keys: String...) -> AppInformation { AppInformation(values.filter { !keys.contains($0.key) }) }

  /// The key without which an app is denied access to devices of that kind; nil for loudspeakers.
  public static func usageKey(for kind: Machine.Kind) -> String? {
    switch kind {
    case .camera: "NSCameraUsageDescription"
    case .microphone: "NSMicrophoneUsageDescription"
    case .loudspeaker: nil
    }
  }

  /// Whether it says why the app wants that kind of devices, in words that are not empty.
  func describesUse(of kind: Machine.Kind) -> Bool {
    guard let key = Self.usageKey(for: kind) else { return true }
    return (values[key] as? String)?.isEmpty == false
  }

  /// Whether the app's sound goes on while it is in the background.
  var hasSoundInBackground: Bool { hasBackgroundMode("audio") || hasBackgroundMode("voip") }

  /// Whether `UIBackgroundModes` contains a mode, such as `voip`.
  public func hasBackgroundMode(_ mode: String) -> Bool {
    let modes = values["UIBackgroundModes"] as? [any Sendable] ?? []
    return modes.contains { $0 as? String == mode }
  }

  private static func sendable(_ value: Any) -> (any Sendable)? {
    switch value {
    case let list as [Any]: list.compactMap(sendable)
    case let dictionary as [String: Any]: dictionary.compactMapValues(sendable)
    case let text as String: text
    case let bytes as Data: bytes
    case let date as Date: date
    case let isSo as Bool: isSo
    case let number as Int: number
    case let number as Double: number
    default: nil
    }
  }
}
