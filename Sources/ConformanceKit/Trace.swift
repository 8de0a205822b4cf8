import Foundation

/// The kind of notification that an app received, in canonical terms.
public enum Told: String, Codable, Sendable {
  /// State of the local participant's connection.
  case connected, reconnecting, reconnected, ended
  /// A remote participant.
  case joined, left
  case pictureOn, pictureOff, shareOn, shareOff, muted, unmuted, speaking
  case message
  /// A call.
  case rung, ringingEnded
  /// The app has asked for something that will be answered by a completion handler; and has its answer.
  case asked, answered
  /// The driver itself could not go on.
  case failed
}

/// One line of a trace.
public struct TraceEntry: Codable, Sendable, Hashable {
  /// Milliseconds since the scenario began.
  public var at: Int
  /// Name of the participant with the app that was notified.
  public var who: String
  public var told: Told
  /// Id of the participant that the entry is about. For `.answered`: the error, if there was one.
  public var whom: String?
  /// A message's text, a question, a reason.
  public var detail: String?
  /// Whether what the app could read at this moment agreed; nil where the style has nothing to be read.
  public var agrees: Bool?
  /// It came from inside a call that the app was making.
  public var isInsideCall: Bool

  public init(
    at: Int, who: String, told: Told, whom: String? = nil, detail: String? = nil, agrees: Bool? = nil,
    isInsideCall: Bool = false
  ) {
    self.at = at
    self.who = who
    self.told = told
    self.whom = whom
    self.detail = detail
    self.agrees = agrees
    self.isInsideCall = isInsideCall
  }
}

extension TraceEntry: CustomStringConvertible {
  public var description: String {
    var words = ["\(at) ms", who, told.rawValue]
    if let whom { words.append(whom) }
    if let detail { words.append("“\(detail)”") }
    if agrees == false { words.append("(what can be read disagrees)") }
    if isInsideCall { words.append("(inside a call)") }
    return words.joined(separator: " ")
  }
}

/// A scenario's callbacks of one run, as they travel between machines (Docs/conformance.md).
public struct Trace: Codable, Sendable, Hashable {
  public static let version = 1
  public var version = Trace.version
  public var scenario: String
  /// The style of each person, by name.
  public var styles: [String: String]
  public var entries: [TraceEntry]

  public init(scenario: String, styles: [String: String], entries: [TraceEntry]) {
    self.scenario = scenario
    self.styles = styles
    self.entries = entries
  }
}

/// Writes down what one app is told.
@MainActor
public final class Recorder {
  public let who: String
  public private(set) var entries: [TraceEntry] = []
  /// Callbacks that the style's vendor documents as coming from inside a call.
  public var mayComeInside: Set<Told> = []
  /// The callbacks that reported the end of a call, by name, in the order of their arrival.
  public internal(set) var endCallbacks: [String] = []
  /// Compares properties from callback to callback.
  var readingMonitor = ReadingMonitor()
  /// What the app does inside each callback.
  var whenTold: (Told) -> Void = { _ in }
  private let clock: @MainActor () -> Int
  private var calls = 0
  private var questions = 0

  /// - Parameter clock: milliseconds since the scenario began.
  public init(who: String, clock: @escaping @MainActor () -> Int) {
    self.who = who
    self.clock = clock
  }

  /// - Parameter agrees: whether what the app can read now agrees with what it is told; nil where nothing is to be read.
  public func told(_ told: Told, of whom: String? = nil, _ detail: String? = nil, agrees: Bool? = nil) {
    let isInsideCall = calls > 0 && told != .asked && told != .failed && !mayComeInside.contains(told)
    entries.append(
      TraceEntry(
        at: clock(), who: who, told: told, whom: whom, detail: detail, agrees: agrees, isInsideCall: isInsideCall))
    whenTold(told)
  }

  /// Notes a callback that reports the end of a call.
  public func endCallback(_ name: String) { endCallbacks.append(name) }

  /// A callback of the style begins. To be called before the app reads or changes anything in it.
  /// - Parameter changes: the properties of `Driver.readings` that the callback announces; `participant ID` announces all
  ///   properties of that participant.
  public func callback(_ name: String, changes: [String] = []) { readingMonitor.compare(in: name, changes: changes) }

  /// Takes an entry over from elsewhere.
  func take(_ entry: TraceEntry, _ change: (inout TraceEntry) -> Void = { _ in }) {
    var entry = entry
    change(&entry)
    entries.append(entry)
  }

  /// Runs a call of the app into the SDK. A callback that arrives before the call returns is too early.
  public func calling<Value>(_ call: () throws -> Value) rethrows -> Value {
    calls += 1
    defer { calls -= 1 }
    return try call()
  }

  /// Whether something that the app has asked for has not been answered.
  var awaitsAnswer: Bool {
    var open: Set<String?> = []
    for entry in entries {
      if entry.told == .asked { open.insert(entry.detail) }
      if entry.told == .answered { open.remove(entry.detail) }
    }
    return !open.isEmpty
  }

  /// The app asks for something.
  /// - Returns: to be called by the completion handler, with what it was given.
  public func asks(_ question: String) -> @MainActor ((any Error)?) -> Void {
    questions += 1
    let name = "\(question) \(questions)"
    told(.asked, of: nil, name)
    return { [self] error in told(.answered, of: error.map { "\($0)" }, name) }
  }

  /// The driver cannot do what it was asked for.
  public func failed(_ error: any Error) { told(.failed, of: nil, "\(error)") }
}
