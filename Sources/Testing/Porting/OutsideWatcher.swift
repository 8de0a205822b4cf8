import Koine
import KoineEmbeddedBackend
import KoineUIKit

/// Watches what the app's call causes outside of the app: at the native people, in the server's roster, on the app's screen and in its
/// loudspeaker. Each fact is `yes` or absent, so that facts are compared one by one.
@MainActor
final class OutsideWatcher {
  private let room: TestRoom
  private let user: String
  private let chat: ChatFormat
  private let view: () -> UIView?
  private let comparedText: ComparedText?
  private let roster = Lock<[EmbeddedBackend.RosterMember]>([])
  private var people: [Person] = []
  private var heard: [String: Tick] = [:]
  private let departures = Lock<[String: String]>([:])
  private(set) var values: [String: String] = [:]
  private(set) var changes: [PortingStory.Change] = []
  private(set) var lastChange: Tick
  private var stepStart: Tick

  /// A tone counts as heard for this long after a block with it, because the tones of several people take turns.
  private static let hearing = Duration.milliseconds(600)
  /// A picture on the screen without a newer frame for this long is frozen.
  private static let freeze = Duration.seconds(2)
  /// Drawing a screen and reading its stamps is slow, so the screen is read less often than the rest.
  private static let lookInterval = Duration.milliseconds(500)
  private var lastLook: Tick?
  private var pictures: [String: String] = [:]

  /// - Parameter texts: returns the part of a text on the app's screen that is compared; nil: texts are not compared.
  init(
    room: TestRoom, user: String, chat: ChatFormat, texts: ComparedText?, view: @escaping () -> UIView?
  ) {
    (self.room, self.user, self.chat, self.view, comparedText) = (room, user, chat, view, texts)
    (stepStart, lastChange) = (room.now, room.now)
  }

  /// Watches a native person from now on, again after it has joined again.
  func watch(_ person: Person) {
    people.removeAll { $0.name == person.name }
    people.append(person)
    let name = person.name
    person.session?.observe { [departures, user] event in
      guard case .participantLeft(let one, let reason) = event, one.name == user else { return }
      departures.withLock { $0["\(name) is told that the app left: \(reason)"] = "yes" }
    }
  }

  func beginStep() {
    sample()
    (stepStart, lastChange) = (room.now, room.now)
    changes = []
    departures.withLock { $0 = [:] }
  }

  func sample() {
    room.backend.roster(of: room.id) { [roster] members in roster.withLock { $0 = members } }
    let new = present()
    for fact in Set(new.keys).union(values.keys).sorted() where new[fact] != values[fact] {
      let passed = Int((room.now - stepStart).inMilliseconds)
      changes.append(PortingStory.Change(fact: fact, value: new[fact] ?? CallFacts.none, milliseconds: passed))
      lastChange = room.now
    }
    values = new
  }

  /// Participants in the router's roster, by name.
  var rosterNames: [String] { roster.withLock { $0.map(\.name) } }

  private func present() -> [String: String] {
    var facts = departures.withLock { $0 }
    func set(_ fact: String, _ value: Bool) { if value { facts[fact] = "yes" } }
    for person in people {
      let name = person.name
      set("\(name) is in the room", person.isInRoom)
      set("\(name) sees the app", person.sees(user))
      set("\(name) sees the app's screen", person.seesScreen(of: user))
      set("\(name) hears the app", hears(name) { person.hears(user) })
      if person.isInRoom, let app = person.participant(user) {
        set("\(name) lists the app", true)
        for track in app.tracks where !track.isMuted { set("\(name) is told of the app's \(track.kind)", true) }
      }
      for (index, text) in texts(at: person).enumerated() { facts["\(name) receives message \(index + 1)"] = text }
    }
    for member in roster.withLock({ $0 }) {
      let name = member.name == user ? "the app" : member.name
      set("the server lists \(name)", true)
      for kind in member.sending { set("the server has the \(kind) of \(name)", true) }
    }
    addScreen(to: &facts)
    for name in room.people.all.map(\.name) {
      set("the loudspeaker plays \(name)", hears("the app \(name)") { room.speaker(of: user).hears(name) })
    }
    return facts
  }

  private func addScreen(to facts: inout [String: String]) {
    if lastLook.map({ room.now - $0 >= Self.lookInterval }) ?? true {
      (lastLook, pictures) = (room.now, readScreen())
    }
    facts.merge(pictures) { $1 }
  }

  private func readScreen() -> [String: String] {
    guard let view = view() else { return [:] }
    var facts: [String: String] = [:]
    var numbers: [String: Int] = [:]
    let sightings = room.screen(view).sightings.sorted { $0.captured > $1.captured }
    for sighting in sightings {
      numbers[sighting.name, default: 0] += 1
      let number = numbers[sighting.name] ?? 1
      let what = number == 1 ? sighting.name : "\(sighting.name) \(number) times"
      let isFrozen = room.now - sighting.captured > Self.freeze
      facts["the screen shows \(what)"] = isFrozen ? "frozen" : "yes"
    }
    return facts
  }

  /// What can be read on the app's screen now, text by text.
  func readTexts() -> [String: String] {
    guard let comparedText, let view = view() else { return [:] }
    var facts: [String: String] = [:]
    for (text, equal) in Dictionary(grouping: room.screen(view).texts.compactMap(comparedText), by: \.self) {
      facts["the screen reads '\(text)'"] = equal.count == 1 ? "yes" : "\(equal.count) times"
    }
    return facts
  }

  /// The only participant that sends its microphone to the server; nil if none does, or several do.
  var onlyOneWithMicrophone: String? {
    let names = roster.withLock { members in members.filter { $0.sending.contains(.microphone) }.map(\.name) }
    return names.count == 1 ? names.first : nil
  }

  private func hears(_ key: String, _ now: () -> Bool) -> Bool {
    if now() { heard[key] = room.now }
    return heard[key].map { room.now - $0 <= Self.hearing } ?? false
  }

  /// Messages of the app that have reached a person, in order.
  private func texts(at person: Person) -> [String] {
    let natives = Set(people.map(\.id))
    return person.messages.filter { !natives.contains($0.sender) && $0.topic == chat.topic }
      .compactMap { chat.decode($0.payload) }
  }
}
