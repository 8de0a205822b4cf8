import Foundation

/// The kind of notification that an app received, in canonical terms.
public enum CallbackKind: String, Codable, Sendable {
  /// The local participant is in the room.
  case connected
  /// The connection to the room is interrupted.
  case reconnecting
  /// The connection to the room is back.
  case reconnected
  /// The call is over for the local participant.
  case ended
  /// A remote participant joined.
  case joined
  /// A remote participant left.
  case left
  /// A remote participant's camera video is available.
  case pictureOn
  /// A remote participant's camera video is no longer available.
  case pictureOff
  /// A remote participant shares a screen.
  case shareOn
  /// A remote participant no longer shares a screen.
  case shareOff
  /// A remote participant muted its microphone.
  case muted
  /// A remote participant unmuted its microphone.
  case unmuted
  /// A remote participant speaks.
  case speaking
  /// A message arrived.
  case message
  /// A call rings at the local participant.
  case rung
  /// A call no longer rings at the local participant.
  case ringingEnded
  /// The app called a function with a completion handler.
  case asked
  /// The app's completion handler was called.
  case answered
  /// The driver itself could not continue.
  case failed
}

/// One line of a trace.
public struct TraceEntry: Codable, Sendable, Hashable {
  /// Milliseconds since the scenario began.
  public var at: Int
  /// Name of the participant with the app that was notified.
  public var who: String
  /// The kind of notification. Written as `told`.
  public var callback: CallbackKind
  /// Id of the participant that the entry is about. For `.answered`: the error, if there was one.
  public var whom: String?
  /// The text of a message, the name of a call with a completion handler, or a reason.
  public var detail: String?
  /// Whether the properties that the app could read at this moment agreed; nil where the style has no such property.
  public var agrees: Bool?
  /// Whether the callback came from inside a call that the app was making.
  public var isInsideCall: Bool

  private enum CodingKeys: String, CodingKey {
    case at, who, whom, detail, agrees, isInsideCall
    case callback = "told"
  }

  /// Creates an entry.
  public init(
    at: Int, who: String, callback: CallbackKind, whom: String? = nil, detail: String? = nil, agrees: Bool? = nil,
    isInsideCall: Bool = false
  ) {
    self.at = at
    self.who = who
    self.callback = callback
    self.whom = whom
    self.detail = detail
    self.agrees = agrees
    self.isInsideCall = isInsideCall
  }
}

extension TraceEntry: CustomStringConvertible {
  public var description: String {
    var words = ["\(at) ms", who, callback.rawValue]
    if let whom { words.append(whom) }
    if let detail { words.append("“\(detail)”") }
    if agrees == false { words.append("(what can be read disagrees)") }
    if isInsideCall { words.append("(inside a call)") }
    return words.joined(separator: " ")
  }
}

/// The callbacks of one scenario in one run, in the exchange format (Docs/conformance.md).
public struct Trace: Codable, Sendable, Hashable {
  /// The version of the format that this kit writes.
  public static let version = 1
  /// The version of the format of this trace.
  public var version = Trace.version
  /// `Scenario.id`.
  public var scenario: String
  /// The style of each participant, by the participant's name.
  public var styles: [String: String]
  /// The callbacks of all participants' apps, in the order of time.
  public var entries: [TraceEntry]

  /// Creates a trace of the current version.
  public init(scenario: String, styles: [String: String], entries: [TraceEntry]) {
    self.scenario = scenario
    self.styles = styles
    self.entries = entries
  }
}

/// Records the callbacks of one app.
@MainActor
public final class Recorder {
  /// Name of the participant whose app is recorded.
  public let who: String
  /// The recorded callbacks, in the order of their arrival.
  public private(set) var entries: [TraceEntry] = []
  /// Callbacks that the style's vendor documents as coming from inside a call.
  public var mayComeInside: Set<CallbackKind> = []
  /// The callbacks that reported the end of a call, by name, in the order of their arrival.
  public internal(set) var endCallbacks: [String] = []
  /// Compares properties from callback to callback.
  var readingMonitor = ReadingMonitor()
  /// Called after each recorded callback, for apps that act inside a callback.
  var whenRecorded: (CallbackKind) -> Void = { _ in }
  private let clock: @MainActor () -> Int
  private var calls = 0
  private var questions = 0

  /// Creates a recorder without entries.
  /// - Parameter clock: returns the milliseconds since the scenario began.
  public init(who: String, clock: @escaping @MainActor () -> Int) {
    self.who = who
    self.clock = clock
  }

  /// Records a callback, inside the callback.
  /// - Parameter agrees: whether the properties that the app can read now agree with the callback; nil where there is no such
  ///   property.
  public func record(_ callback: CallbackKind, of whom: String? = nil, _ detail: String? = nil, agrees: Bool? = nil) {
    let isInsideCall = calls > 0 && callback != .asked && callback != .failed && !mayComeInside.contains(callback)
    entries.append(
      TraceEntry(
        at: clock(), who: who, callback: callback, whom: whom, detail: detail, agrees: agrees,
        isInsideCall: isInsideCall))
    whenRecorded(callback)
  }

  /// Notes a callback that reports the end of a call.
  public func endCallback(_ name: String) { endCallbacks.append(name) }

  /// A callback of the style begins. To be called before the app reads or changes anything in it.
  /// - Parameter changes: the properties of `Driver.readings` that the callback announces; `participant ID` announces all
  ///   properties of that participant.
  public func callback(_ name: String, changes: [String] = []) { readingMonitor.compare(in: name, changes: changes) }

  /// Appends an entry of another recorder, changed by `change`.
  func append(_ entry: TraceEntry, _ change: (inout TraceEntry) -> Void = { _ in }) {
    var entry = entry
    change(&entry)
    entries.append(entry)
  }

  /// Runs a call of the app into the SDK. A callback that arrives before the call returns is too early.
  /// - Throws: the error of the call.
  public func calling<Value>(_ call: () throws -> Value) rethrows -> Value {
    calls += 1
    defer { calls -= 1 }
    return try call()
  }

  /// Whether a completion handler of the app has not been called yet.
  var awaitsAnswer: Bool {
    var open: Set<String?> = []
    for entry in entries {
      if entry.callback == .asked { open.insert(entry.detail) }
      if entry.callback == .answered { open.remove(entry.detail) }
    }
    return !open.isEmpty
  }

  /// Records that the app calls a function with a completion handler.
  /// - Returns: a closure that the completion handler calls with its error, if any.
  public func asks(_ question: String) -> @MainActor ((any Error)?) -> Void {
    questions += 1
    let name = "\(question) \(questions)"
    record(.asked, of: nil, name)
    return { [self] error in record(.answered, of: error.map { "\($0)" }, name) }
  }

  /// Records that the driver could not do what the scenario asked for.
  public func failed(_ error: any Error) { record(.failed, of: nil, "\(error)") }
}
