import Foundation
import Koine

/// Receives the log messages of the SDK, on any thread.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Protocols/Logger.html)
public protocol Logger: AnyObject {
  func `default`(msg: String)
  /// - Parameter debugFunction: makes the text; called only by loggers that write it.
  func debug(debugFunction: () -> String)
  func info(msg: String)
  func fault(msg: String)
  func error(msg: String)
  func setLogLevel(level: LogLevel)
  func getLogLevel() -> LogLevel
}

/// Severity of a message. A logger writes messages at its own level or higher. Faults rank below errors.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Enums/LogLevel.html)
public enum LogLevel: Int, CaseIterable, CustomStringConvertible, Sendable {
  case DEFAULT, DEBUG, INFO, FAULT, ERROR, OFF

  public var description: String { ["DEFAULT", "DEBUG", "INFO", "FAULT", "ERROR", "OFF"][rawValue] }
}

/// A logger that writes to standard error.
///
/// [Vendor reference](https://aws.github.io/amazon-chime-sdk-ios/Classes/ConsoleLogger.html)
public final class ConsoleLogger: Logger, Sendable {
  private let name: String
  private let level: Lock<LogLevel>

  public init(name: String, level: LogLevel = .INFO) {
    self.name = name
    self.level = Lock(level)
  }

  public func `default`(msg: String) { log(.DEFAULT) { msg } }
  public func debug(debugFunction: () -> String) { log(.DEBUG, debugFunction) }
  public func info(msg: String) { log(.INFO) { msg } }
  public func fault(msg: String) { log(.FAULT) { msg } }
  public func error(msg: String) { log(.ERROR) { msg } }
  public func setLogLevel(level: LogLevel) { self.level.withLock { $0 = level } }
  public func getLogLevel() -> LogLevel { level.withLock { $0 } }

  func line(_ type: LogLevel, _ text: () -> String) -> String? {
    let level = getLogLevel()
    return level != .OFF && type.rawValue >= level.rawValue ? "[\(type)] \(name) - \(text())" : nil
  }

  private func log(_ type: LogLevel, _ text: () -> String) {
    guard let line = line(type, text) else { return }
    FileHandle.standardError.write(Data((line + "\n").utf8))
  }
}
