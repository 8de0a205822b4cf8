/// What may be wrong with an adapter: put between a driver and the suite, to see that the suite notices.
enum Defect: String, CaseIterable, Sendable {
  /// A callback comes before what can be read agrees.
  case beforeState
  case twice
  case afterTheEnd
  case insideCall
  /// A picture comes before the person.
  case pictureBeforePerson
  /// A person goes before their picture.
  case personBeforePicture
  case lostAnswer
  case doubleAnswer
  case wrongMute
  case staleMute
  case lostLeave
  case lostMessage
  case swappedMessages
  case repeatedMessage
  case namelessPeople
  case stuckPicture
  case strangers
  /// The end is reported once more, under the name of its first callback.
  case endTwice
  /// A property changes without a callback.
  case staleReading
}

/// A driver with a defect.
@MainActor
final class DefectiveDriver: Driver {
  private let driver: any Driver
  private let defect: Defect
  private var left: [ObservedParticipant] = []
  private var known: [ObservedParticipant] = []
  private var pictures: [String: Int] = [:]
  private let own: Recorder
  private var read = 0

  init(_ driver: any Driver, _ defect: Defect) {
    self.driver = driver
    self.defect = defect
    own = Recorder(who: driver.recorder.who, clock: { 0 })  // which takes entries over, and makes none
  }

  var style: String { driver.style }
  var id: String { driver.id }
  var name: String { driver.name }
  var inexpressible: [Ability: String] { driver.inexpressible }
  func join() throws { try driver.join() }
  func leave() { driver.leave() }
  func setMicrophoneMuted(_ isMuted: Bool) { driver.setMicrophoneMuted(isMuted) }
  func setCameraOn(_ isOn: Bool) { driver.setCameraOn(isOn) }
  func setSharing(_ isOn: Bool) { driver.setSharing(isOn) }
  func sendMessage(_ text: String, lifetime: Int?) throws { try driver.sendMessage(text, lifetime: lifetime) }
  func want(_ interest: Interest, from id: String) { driver.want(interest, from: id) }
  func want(rows: Int?, of id: String) { driver.want(rows: rows, of: id) }
  func muteFromAnotherThread(_ isMuted: Bool) async { await driver.muteFromAnotherThread(isMuted) }
  var largestMessage: Int { driver.largestMessage }
  func setPicturePaused(_ isPaused: Bool, of id: String) { driver.setPicturePaused(isPaused, of: id) }
  func signIn() { driver.signIn() }
  func ring(_ ids: [String]) { driver.ring(ids) }
  func answer(_ isAccepted: Bool) { driver.answer(isAccepted) }
  func cancel() { driver.cancel() }
  func endCallbacks(of end: CallEnd) -> [Set<String>] { driver.endCallbacks(of: end) }
  var endReachesRemovedObservers: Bool { driver.endReachesRemovedObservers }
  func observeEnd(_ handler: @escaping @MainActor (String) -> Void) -> @MainActor () -> Void {
    driver.observeEnd(handler)
  }
  var readings: [String: String] {
    var readings = driver.readings
    if defect == .staleReading { readings["pictures"] = "\(driver.others.map(\.pictures))" }
    return readings
  }
  func forget() { driver.forget() }
  var isConnected: Bool { driver.isConnected }
  var isOver: Bool { driver.isOver }
  var isReachable: Bool { driver.isReachable }
  var isRung: Bool { driver.isRung }

  var others: [ObservedParticipant] {
    var seen = driver.others
    left += known.filter { old in !seen.contains { $0.id == old.id } && !left.contains { $0.id == old.id } }
    known = seen
    for index in seen.indices {
      switch defect {
      case .wrongMute: seen[index].isMicrophoneMuted?.toggle()
      case .staleMute: seen[index].isMicrophoneMuted = false
      case .namelessPeople: seen[index].name = ""
      case .stuckPicture: seen[index].pictures = min(seen[index].pictures, 10)
      default: break
      }
    }
    if defect == .lostLeave { seen += left.filter { old in !seen.contains { $0.id == old.id } } }
    if defect == .strangers { seen.append(ObservedParticipant(id: "ghost", name: "Ghost")) }
    return seen
  }

  var heard: [ObservedMessage] {
    var heard = driver.heard
    switch defect {
    case .lostMessage where heard.count > 5: heard.remove(at: 3)
    case .swappedMessages where heard.count > 5: heard.swapAt(2, 3)
    case .repeatedMessage where !heard.isEmpty: heard.append(heard[0])
    default: break
    }
    return heard
  }

  /// The recorder of the faulty driver. Each read first copies the entries since the last read, with the defect applied.
  var recorder: Recorder {
    let entries = driver.recorder.entries[read...]
    read = driver.recorder.entries.count
    for entry in entries { spoil(entry) }
    own.readingMonitor = driver.recorder.readingMonitor
    let ends = driver.recorder.endCallbacks
    own.endCallbacks = defect == .endTwice ? ends + ends.prefix(1) : ends
    return own
  }

  private func spoil(_ entry: TraceEntry) {
    switch defect {
    case .beforeState where entry.callback == .joined:
      own.append(entry) { $0.agrees = false }
    case .twice where entry.callback == .pictureOn:
      own.append(entry)
      own.append(entry)
    case .afterTheEnd where entry.callback == .ended:
      own.append(entry)
      own.append(TraceEntry(at: entry.at, who: entry.who, callback: .message, detail: "late"))
    case .insideCall where entry.callback == .joined:
      own.append(entry) { $0.isInsideCall = true }
    case .pictureBeforePerson where entry.callback == .joined:
      own.append(TraceEntry(at: entry.at, who: entry.who, callback: .pictureOn, whom: entry.whom))
      own.append(entry)
    case .personBeforePicture where entry.callback == .pictureOff: break
    case .lostAnswer where entry.callback == .answered: break
    case .doubleAnswer where entry.callback == .answered:
      own.append(entry)
      own.append(entry)
    default: own.append(entry)
    }
  }
}
