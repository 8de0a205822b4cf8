public import CompilerFacts
public import KoinePorting

/// What an app's call layer does, in the words of `RoomModel`: a reader of the app's style makes it, and a writer of another style uses it.
public struct CallModel: Sendable {
  /// The style that the layer is written in.
  public let style: Style
  /// By the place of the symbol in the app's file.
  public private(set) var readings: [CodeLocation: Reading] = [:]
  public private(set) var handlers: [Handler] = []
  public private(set) var kept: [KeptProperty] = []
  /// Functions of other classes than the call class that handle what only the call class gets.
  public private(set) var foreign: [Handler] = []

  public init(style: Style) { self.style = style }

  public mutating func add(_ reading: Reading, at location: CodeLocation) { readings[location] = reading }
  public mutating func add(_ handler: Handler) { handlers.append(handler) }
  public mutating func add(foreign handler: Handler) { foreign.append(handler) }
  public mutating func add(_ property: KeptProperty) { kept.append(property) }

  /// The model without the handlers with these identifiers.
  public func without(_ usrs: Set<String>) -> CallModel {
    var model = self
    model.handlers.removeAll { usrs.contains($0.usr) || ($0.keeper.map { usrs.contains($0.usr) } ?? false) }
    return model
  }

  /// The actions, in the order of the source.
  public var intents: [(place: CodeLocation, intent: Intent)] {
    readings.compactMap { place, reading in
      if case .intent(let intent) = reading { (place, intent) } else { nil }
    }.sorted { $0.place < $1.place }
  }

  /// The handler of a function, by the compiler's identifier of the function.
  public func handler(_ usr: String) -> Handler? { handlers.first { $0.usr == usr } }
  public func handler(of fact: Fact) -> Handler? { handlers.first { $0.fact == fact } }
  public func kept(as role: KeptProperty.Role) -> KeptProperty? { kept.first { $0.role == role } }
}

/// What one use of a vendor's symbol means.
public enum Reading: Hashable, Sendable {
  /// A type, property or value of the common layer, such as `EndReason.left`. `self`: the value that it is asked of.
  case word(String)
  /// Code that takes the place of the name.
  case code(String)
  case intent(Intent)
  /// The handler of the call begins or ceases to get facts, by the argument of a call.
  case registration(of: Facts, isOn: Bool)
  /// The app declares that it gets facts.
  case conformance
  /// The style's reader says how it is written: structure that no row of the table can say.
  case structure(symbol: String)
  /// The common layer has no word for it.
  /// - Parameter instead: what to do instead.
  case lost(symbol: String, instead: String)
  /// No row of the table has the symbol.
  case unknown(symbol: String)

  /// The facts that a registration is about.
  public enum Facts: Hashable, Sendable {
    case ofCall
    /// Of the streams of the participant that the call is made on.
    case ofParticipant
    /// Of the messages under the topic that is an argument.
    case ofTopic
  }
}

/// A row of porting.json, with the values of its slots.
public struct Intent: Hashable, Sendable {
  /// The row's id: `mute`.
  public let row: String
  public let symbol: String
  public let slots: [String: PortingTable.Slot]

  public init(row: String, symbol: String, slots: [String: PortingTable.Slot]) {
    (self.row, self.symbol, self.slots) = (row, symbol, slots)
  }
}

/// What a call reports.
public enum Fact: String, Hashable, Sendable, CaseIterable {
  case joined, left, state, participantJoined, participantLeft, streamAdded, streamRemoved, muted, message, ring,
    failure
  case connectionLost, speaker, presenter, attributes, publishing
  // What a call asks the app, of apps that answer questions.
  case shouldPublish, streamsToPublish, wantedMedia
  // Of apps that give each object a delegate.
  case participantsChanged, streamChanged, microphoneMuted, ringEnded, camerasChanged, channelOpened, channelMessage
  case streamsChanged, callsChanged, firstFrame
  case shareChanged, viewFailed
  // Of meetings.
  case connecting, interrupted, participantDropped, participantMuted, participantUnmuted, speakersChanged,
    volumesChanged
  case tileAdded, tileRemoved, tilePaused, tileResumed, pathBecamePoor, pathRecovered
  case sourcesAvailable, sourcesUnavailable
  case videoConnecting, videoJoined, videoLeft, cameraAllowed
  case shareStarted, shareEnded, captureStarted, captureEnded, captureFailed
}

/// A function of the app that gets one fact about one person, with the app's own statements.
public struct Handler: Hashable, Sendable {
  public let fact: Fact
  /// The compiler's identifier of the function.
  public let usr: String
  /// With its labels: `onParticipantJoined(_:)`.
  public let name: String
  /// The compiler's identifier of the type that has the function.
  public let owner: String
  public let location: CodeLocation
  /// The positions of the parameters that the function's statements never name.
  public let unused: Set<Int>
  /// The call class's property with the object that has the function; nil for the call class itself.
  public let keeper: Keeper?

  /// A property of the call class, as its code names it: `adapter`.
  public struct Keeper: Hashable, Sendable {
    public let name, usr: String
    public let isOptional: Bool

    public init(name: String, usr: String, isOptional: Bool) {
      (self.name, self.usr, self.isOptional) = (name, usr, isOptional)
    }
  }

  public init(
    fact: Fact, usr: String, name: String, owner: String, location: CodeLocation, unused: Set<Int> = [],
    keeper: Keeper? = nil
  ) {
    (self.fact, self.usr, self.name, self.owner, self.location) = (fact, usr, name, owner, location)
    (self.unused, self.keeper) = (unused, keeper)
  }

  /// The labels of its parameters; `_` for none.
  public var labels: [String] {
    guard let open = name.firstIndex(of: "(") else { return [] }
    return name[name.index(after: open)...].dropLast().split(separator: ":").map(String.init)
  }
}

/// A stored property of the call class that holds an object of the vendor's.
public struct KeptProperty: Hashable, Sendable {
  public enum Role: Hashable, Sendable { case call, participant, participants, track, message }

  public let name, usr: String
  public let role: Role

  public init(name: String, usr: String, role: Role) { (self.name, self.usr, self.role) = (name, usr, role) }
}
