import CallModel
import CompilerFacts
import KoinePorting

/// Writes a call layer in the words of one style: what all writers share. Each style has a writer of its own.
class LayerWriter {
  struct Written {
    let text: String
    let usesHelper: Bool
  }

  struct Form {
    let usesHelper: Bool
    /// - Parameter call: how the code names the call object; nil if it cannot.
    let text: (_ base: String, _ call: String?) -> String?
  }

  /// Properties that the call class gets in addition.
  enum Property: String, CaseIterable {
    case credential, placement, topics, followed, presenters, features, observed, sharedTrack, isPathPoor

    var type: String {
      switch self {
      case .credential: "String?"
      case .placement: "MediaPlacement?"
      case .topics, .followed, .features: "Set<String> = []"
      case .presenters: "[String] = []"
      case .observed: "Set<Observed> = []"
      case .sharedTrack: "Track.ID?"
      case .isPathPoor: "Bool = false"
      }
    }
  }

  /// Base names of the call class's members.
  private let taken: Set<String>
  private var used: Set<Property> = []
  private var setsCredential = false

  /// Words of the helpers that belong to the app's style.
  let helperWords: Set<String>

  /// Whether the call class is isolated to the main actor.
  let isOnMainActor: Bool

  required init(taken: Set<String>, isOnMainActor: Bool = false, helperWords: Set<String> = []) {
    (self.helperWords, self.isOnMainActor) = (helperWords, isOnMainActor)
    self.taken = Set(taken.map { String($0.prefix { $0 != "(" }) })
  }

  // MARK: The style

  class var style: Style { .koine }
  /// What new names begin with.
  class var prefix: String { "Koine" }
  /// The styles of apps that it writes layers of.
  class var sources: [Style] { [] }
  /// The modules that new files import.
  class var modules: Set<String> { [] }
  /// The modules of types in the text that the app need not have imported.
  class func modules(of text: String) -> Set<String> { [] }
  /// The files that the layer of an app in a style needs.
  class func helpers(for reader: any StyleReader.Type) -> [LayerHelper] { [] }
  /// Whether the style has a word for one of the common layer.
  class func hasWord(_ word: String) -> Bool { true }
  /// Whether layers of apps in a style are told of a fact for which the target has no symbol.
  class func reports(_ fact: Fact, from source: Style) -> Bool { false }

  /// The style's name in comments: `the common layer`.
  class var title: String { "the " + style.title }
  var title: String { Self.title }
  static var noWord: String { "nothing stands in for it" }

  func forget() { (used, setsCredential) = ([], false) }

  func free(_ name: String) -> String {
    taken.contains(name) ? "room" + name.prefix(1).uppercased() + name.dropFirst() : name
  }

  func name(_ property: Property) -> String {
    used.insert(property)
    return free(property.rawValue)
  }

  // MARK: Words

  /// A type's name, or the last part of a member's.
  func name(of word: String) -> (text: String, share: Share) { (word, .written) }
  /// The patterns of a `case` for a word, members of the type with their dot.
  func patterns(of word: String) -> [String] { ["." + name(of: word).text] }
  /// A word as a value: the first that it stands for.
  func value(of word: String) -> (text: String, share: Share) { name(of: word) }
  /// What a word means in the style: two words with one meaning cannot be told apart.
  func meaning(of word: String) -> String { word }
  /// Whether a word is a value that is made anew, and no member of the type before it.
  func isMade(_ word: String) -> Bool { false }
  /// The share of code that stands for a symbol.
  func share(of word: String) -> Share { .written }
  /// What a reader has written in the words of the common layer, in those of the style.
  func code(_ text: String) -> (text: String, share: Share) { (text, share(of: text)) }
  /// The kind of failure that an error is, or nil.
  func failure(of error: String) -> String { "(\(error) as? Failure)?.code" }
  /// Types that are values in the style, and objects in a vendor's API: constants of them become variables.
  var valueTypes: Set<String> { [] }
  /// Members that are more than a name.
  func expression(of word: String) -> Form? { nil }
  /// Values that have more in them than the vendor's: they can be patterns, and no values.
  func hasPayload(_ word: String) -> Bool { false }
  /// Such a value outside of a pattern; nil: there is nothing to make it of.
  func madeValue(of word: String) -> String? { nil }
  /// Whether a value cannot be compared with the word by `==`.
  func isNoValue(_ word: String) -> Bool { false }
  /// The property that says whether a value is this one.
  func predicate(_ word: String) -> String? { nil }
  /// The property that takes the place of a type's raw value.
  func rawValue(of type: String) -> String? { nil }
  /// Whether a type is a value in the style, and an object in a vendor's API.
  func isValue(_ word: String) -> Bool { false }
  /// What compares values, for an operator that compares objects; nil: they are objects in the style, too.
  func equality(_ sign: String) -> String? { nil }
  let videoOfTrack = "video"
  /// The arguments of an initializer that the style has only with some.
  func arguments(ofInitializer word: String) -> String? { nil }

  // MARK: Actions

  /// - Throws: if the value is none that the slot takes.
  func slot(_ name: String, _ text: String) throws(Unportable) -> String {
    guard name == "side" else { return text }
    guard text == ".front" || text == ".back" else { throw .unknown("the camera's side '\(text)'") }
    return text
  }

  /// Whether a type of the table's is one of a helper.
  func isHelper(_ type: Substring) -> Bool { false }
  /// A function is called on this object, if the code names the call object or participant so.
  func receiver(_ base: String, for type: Substring) -> String { base }

  /// A call that is a statement of its own: its value is not used.
  func statement(
    _ intent: Intent, _ slots: [String: String], _ base: String?, _ table: StyleTable, _ callType: String?
  ) throws(Unportable) -> Written { try call(intent, slots, base, table, callType) }

  func call(
    _ intent: Intent, _ slots: [String: String], _ base: String?, _ table: StyleTable, _ callType: String?
  ) throws(Unportable) -> Written {
    if intent.row == "credential" {
      guard callType != nil, let credential = slots["credential"] else { throw .unknown(intent.symbol) }
      setsCredential = true
      return Written(text: "\(name(.credential)) = \(credential)", usesHelper: false)
    }
    guard let signature = table.write(intent.row, in: Self.style), let open = signature.firstIndex(of: "("),
      let dot = signature[..<open].lastIndex(of: ".")
    else { throw .unknown(intent.symbol) }
    let (owner, function) = (signature[..<dot], signature[signature.index(after: dot)..<open])
    let labels = signature[signature.index(after: open)...].dropLast().split(separator: ":").map(String.init)
    var slots = slots
    for property in [Property.credential, .placement]
    where labels.contains(property.rawValue) && slots[property.rawValue] == nil {
      guard callType != nil else { throw .unknown(intent.symbol + " outside the call class") }
      slots[property.rawValue] = name(property)
    }
    let arguments = labels.compactMap { label in slots[label].map { "\(label): \($0)" } }.joined(separator: ", ")
    if function == "init" { return Written(text: "\(owner)(\(arguments))", usesHelper: isHelper(owner)) }
    guard let base else { throw .unknown(intent.symbol) }
    let end = labels.contains("completion") && slots["completion"] == nil ? " {}" : "(\(arguments))"
    return Written(text: receiver(base, for: owner) + ".\(function)\(end)", usesHelper: isHelper(owner))
  }

  func registration(
    _ facts: Reading.Facts, _ isOn: Bool, _ base: String, isOptional: Bool, topic: String?, isOnMainActor: Bool
  ) -> Written {
    switch facts {
    case .ofCall:
      let handle = "self?.\(handleName)(event, in: call)"
      let body = isOnMainActor ? "MainActor.assumeIsolated { \(handle) }" : handle
      return Written(
        text: "\(base).handler = " + (isOn ? "{ [weak self] event, call in \(body) }" : "nil"), usesHelper: true)
    case .ofParticipant:
      let change = isOn ? "insert" : "remove"
      let text =
        isOptional
        ? "_ = (\(base).id).map { \(name(.followed)).\(change)($0) }" : "\(name(.followed)).\(change)(\(base).id)"
      return Written(text: text, usesHelper: false)
    case .ofTopic:
      return Written(text: "\(name(.topics)).\(isOn ? "insert" : "remove")(\(topic ?? ""))", usesHelper: false)
    }
  }

  // MARK: Facts

  var handleName: String { free("handle") }

  func handlerName(_ handler: Handler) -> String {
    let name =
      switch handler.fact {
      case .joined: "joined"
      case .left: "left"
      case .state: "stateChanged"
      case .participantJoined: "participantJoined"
      case .participantLeft: "participantLeft"
      case .streamAdded: "streamAdded"
      case .streamRemoved: "streamRemoved"
      case .muted: "streamMuted"
      case .message: "messageReceived"
      case .ring: "invited"
      case .failure: "failed"
      case .connectionLost: "connectionLost"
      case .speaker: "dominantSpeakerChanged"
      case .presenter: "presenterChanged"
      case .participantsChanged: "participantsChanged"
      case .streamChanged: "streamChanged"
      case .microphoneMuted: "microphoneMuted"
      case .ringEnded: "ringEnded"
      case .camerasChanged: "camerasChanged"
      case .channelOpened: "channelOpened"
      case .channelMessage: "messageReceived"
      case .shareChanged: "streamChanged"
      case .viewFailed: "viewFailed"
      case .attributes: "attributesChanged"
      case .publishing: "publishingChanged"
      case .shouldPublish: "shouldPublish"
      case .streamsToPublish: "streamsToPublish"
      case .wantedMedia: "wantedMedia"
      default: handler.fact.rawValue
      }
    return free(name)
  }

  /// A call of the app's functions that handle a fact; each parameter gets the next value.
  func calls(_ fact: Fact, _ model: CallModel, _ values: String...) -> [String] { calls(fact, model, values) }

  func calls(_ fact: Fact, _ model: CallModel, _ values: [String]) -> [String] {
    model.handlers.filter { $0.fact == fact }.map { call($0, values) }
  }

  /// A call of the app's function; each parameter gets the next value.
  func call(_ handler: Handler, _ values: [String]) -> String {
    let arguments = zip(handler.labels, values).map { $0 == "_" ? $1 : "\($0): \($1)" }
    let object = handler.keeper.map { $0.name + ($0.isOptional ? "?." : ".") } ?? ""
    return "\(object)\(handlerName(handler))(\(arguments.joined(separator: ", ")))"
  }

  var followed: String { name(.followed) }
  var features: String { name(.features) }

  /// The functions that call the app's handlers, as an extension of the call class.
  func dispatch(_ model: CallModel, _ reader: any StyleReader.Type, of type: String) -> String { "" }

  /// Stands where the properties are to come that the call class gets in addition.
  let placeOfMembers = "\u{1}members\u{1}"

  private func isForOthers(_ property: Property) -> Bool {
    property == .placement || property == .credential && !setsCredential
  }

  /// The properties that other code has to set before the app joins, once all else is rendered.
  var toSet: [String] {
    Property.allCases.filter { used.contains($0) && isForOthers($0) }.map { "\(free($0.rawValue)): \($0.type)" }
  }

  /// The properties that the call class gets in addition, once all else is rendered.
  var members: String {
    let properties = Property.allCases.filter(used.contains)
    if properties.isEmpty { return "" }
    // If no code of the class sets the credential, other code has to.
    let lines = properties.map { property in
      let access = isForOthers(property) ? "" : "private "
      return "  \(access)var \(free(property.rawValue)): \(property.type)\n"
    }
    return "\n\n  // MARK: For the session\n\n" + lines.joined().dropLast()
  }
}

/// The writers that there are.
enum LayerWriters {
  static let all: [LayerWriter.Type] = [
    CallAgentWriter.self, KoineWriter.self, ListenerWriter.self, MeetingWriter.self, StageWriter.self,
  ]

  /// - Throws: `FactsFailure` if there is none for the style, or it does not write layers of apps in the other style.
  static func writer(of target: Style, from source: Style) throws(FactsFailure) -> LayerWriter.Type {
    guard source != target else { throw FactsFailure("the app is in the style \(target.rawValue) already") }
    guard let writer = all.first(where: { $0.style == target }) else {
      throw FactsFailure(
        "there is no writer of the style \(target.rawValue) yet; layers are written in: " + names(all.map { $0.style }))
    }
    guard writer.sources.contains(source) else {
      throw FactsFailure(
        "layers of the style \(source.rawValue) are not written in \(target.rawValue) yet, but in: "
          + names(all.filter { $0.sources.contains(source) }.map { $0.style }))
    }
    return writer
  }

  /// What new names begin with.
  static func prefix(of target: Style) -> String { all.first { $0.style == target }?.prefix ?? KoineWriter.prefix }

  static func names(_ styles: [Style]) -> String { styles.map(\.rawValue).joined(separator: ", ") }
}

/// The pairs of styles between which layers are ported.
public enum PortedStyles {
  /// For each style that is read, those in which its layers are written: `call-agent to event-listener, koine; …`.
  public static var text: String {
    let sources = LayerWriters.all.flatMap { $0.sources }.map(\.rawValue)
    return Set(sources).sorted().map { source in
      let targets = LayerWriters.all.filter { $0.sources.map(\.rawValue).contains(source) }.map { $0.style }
      return "\(source) to \(LayerWriters.names(targets))"
    }.joined(separator: "; ")
  }
}
