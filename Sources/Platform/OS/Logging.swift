import Foundation
import Logging

// Apple's module `os`. A module of that name would make `canImport(os)` true for all packages of a build, some of which then use
// functions that are not here: `koine linux` imports this one in its place.

/// The parts of a program's log that belong together.
///
/// Messages go to swift-log, whose default prints them on standard error; `LoggingSystem.bootstrap` sends them elsewhere.
///
/// [Apple's page](https://developer.apple.com/documentation/os/oslog)
public final class OSLog: Sendable {
  public static let `default` = OSLog(subsystem: "", category: "")
  /// Logs nothing.
  public static let disabled = OSLog(nil)

  fileprivate let logger: Logging.Logger?

  public convenience init(subsystem: String, category: String) {
    let label = [subsystem, category].filter { !$0.isEmpty }.joined(separator: " ")
    self.init(Logging.Logger(label: label.isEmpty ? "app" : label))
  }

  init(_ logger: Logging.Logger?) { self.logger = logger }

  public func isEnabled(type: OSLogType) -> Bool { logger.map { type.level >= $0.logLevel } ?? false }

  fileprivate func log(_ type: OSLogType, _ message: @autoclosure () -> String) {
    logger?.log(level: type.level, "\(message())")
  }
}

/// The importance of a message.
///
/// [Apple's page](https://developer.apple.com/documentation/os/oslogtype)
public struct OSLogType: Hashable, Sendable, RawRepresentable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  public init(_ rawValue: UInt8) { self.rawValue = rawValue }
  public static let `default` = OSLogType(0x00)
  public static let info = OSLogType(0x01)
  public static let debug = OSLogType(0x02)
  public static let error = OSLogType(0x10)
  public static let fault = OSLogType(0x11)

  /// The level of swift-log: `debug` is not printed unless the logging system says so.
  fileprivate var level: Logging.Logger.Level {
    switch self {
    case .debug: .debug
    case .info: .info
    case .error: .error
    case .fault: .critical
    default: .notice
    }
  }
}

/// Logs messages of one part of a program.
///
/// [Apple's page](https://developer.apple.com/documentation/os/logger)
public struct Logger: Sendable {
  private let destination: OSLog

  public init() { destination = .default }
  public init(_ logObj: OSLog) { destination = logObj }
  public init(subsystem: String, category: String) { destination = OSLog(subsystem: subsystem, category: category) }

  public func log(_ message: OSLogMessage) { destination.log(.default, message.text) }
  public func log(level: OSLogType, _ message: OSLogMessage) { destination.log(level, message.text) }
  public func trace(_ message: OSLogMessage) { destination.log(.debug, message.text) }
  public func debug(_ message: OSLogMessage) { destination.log(.debug, message.text) }
  public func info(_ message: OSLogMessage) { destination.log(.info, message.text) }
  public func notice(_ message: OSLogMessage) { destination.log(.default, message.text) }
  public func warning(_ message: OSLogMessage) { destination.log(.error, message.text) }
  public func error(_ message: OSLogMessage) { destination.log(.error, message.text) }
  public func critical(_ message: OSLogMessage) { destination.log(.fault, message.text) }
  public func fault(_ message: OSLogMessage) { destination.log(.fault, message.text) }
}

/// The text of a message, with the values of its interpolations.
public struct OSLogMessage: ExpressibleByStringInterpolation, Sendable {
  fileprivate let text: String

  public init(stringLiteral value: String) { text = value }
  public init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

  public struct Interpolation: StringInterpolationProtocol {
    fileprivate var text = ""
    public init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity) }
    public mutating func appendLiteral(_ literal: String) { text += literal }
    /// - Parameter privacy: a private value is left out, as in Apple's log; the usual shows it, as Apple's does while an app is debugged.
    public mutating func appendInterpolation<Value>(_ value: @autoclosure () -> Value, privacy: OSLogPrivacy = .auto) {
      text += privacy.isHidden ? "<private>" : "\(value())"
    }
    public mutating func appendInterpolation(
      _ value: @autoclosure () -> some BinaryFloatingPoint & CVarArg, format: OSLogFloatFormatting,
      privacy: OSLogPrivacy = .auto
    ) {
      text += privacy.isHidden ? "<private>" : String(format: "%.\(format.precision)f", value())
    }
  }
}

/// Whether a value may be read in the log.
public enum OSLogPrivacy: Sendable {
  case auto, `public`, `private`, sensitive

  fileprivate var isHidden: Bool { self == .private || self == .sensitive }
}

/// How many digits a number has after its point.
public struct OSLogFloatFormatting: Sendable {
  fileprivate let precision: Int
  public static var fixed: OSLogFloatFormatting { fixed(precision: 6) }
  public static func fixed(precision: Int) -> OSLogFloatFormatting {
    OSLogFloatFormatting(precision: min(max(precision, 0), 20))
  }
}

/// Logs a message with a format, such as `"joined %{public}@ after %d ms"`.
public func os_log(
  _ message: StaticString, dso: UnsafeRawPointer? = nil, log: OSLog = .default, type: OSLogType = .default,
  _ args: Any...
) {
  log.log(type, LogFormat.text(of: "\(message)", args))
}

public func os_log(_ type: OSLogType, dso: UnsafeRawPointer? = nil, log: OSLog = .default, _ message: OSLogMessage) {
  log.log(type, message.text)
}

public func os_log(
  _ type: OSLogType, dso: UnsafeRawPointer? = nil, log: OSLog = .default, _ message: StaticString, _ args: Any...
) {
  log.log(type, LogFormat.text(of: "\(message)", args))
}

/// Formats of C's `printf` with the additions of `os_log`: `%{public}s`, `%@`, `%{private}d`.
enum LogFormat {
  static func text(of format: String, _ arguments: [Any]) -> String {
    var text = ""
    var rest = format[...]
    var arguments = arguments[...]
    while let percent = rest.firstIndex(of: "%") {
      text += rest[..<percent]
      rest = rest[rest.index(after: percent)...]
      if rest.first == "%" {
        text += "%"
        rest = rest.dropFirst()
        continue
      }
      var isPrivate = false
      if rest.first == "{", let close = rest.firstIndex(of: "}") {
        isPrivate = rest[..<close].contains("private") || rest[..<close].contains("sensitive")
        rest = rest[rest.index(after: close)...]
      }
      guard let end = rest.firstIndex(where: { $0.isLetter && !"hlqzjtL".contains($0) || $0 == "@" }) else {
        return text + "%" + rest
      }
      let (flags, conversion) = (rest[..<end].filter { !"hlqzjtL".contains($0) }, rest[end])
      rest = rest[rest.index(after: end)...]
      guard let argument = arguments.popFirst() else { return text + "<missing>" + rest }
      text += isPrivate ? "<private>" : one(argument, flags, conversion)
    }
    return text + rest
  }

  private static func one(_ argument: Any, _ flags: String, _ conversion: Character) -> String {
    switch (conversion, argument) {
    case ("d", let number as any BinaryInteger), ("i", let number as any BinaryInteger),
      ("u", let number as any BinaryInteger):
      String(format: "%\(flags)lld", Int64(truncatingIfNeeded: number))
    case ("x", let number as any BinaryInteger), ("X", let number as any BinaryInteger),
      ("o", let number as any BinaryInteger):
      String(format: "%\(flags)ll\(conversion)", UInt64(truncatingIfNeeded: number))
    case ("f", let number as any BinaryFloatingPoint), ("g", let number as any BinaryFloatingPoint),
      ("e", let number as any BinaryFloatingPoint):
      String(format: "%\(flags)\(conversion)", Double(number))
    default: "\(argument)"
    }
  }
}
