import Foundation
import Koine
package import KoineUIKit
import Testing
import XCTest

/// Where a test has failed.
struct FailurePlace: Sendable {
  let file: StaticString
  let line: UInt
  let fileID: String
  let column: Int
}

extension TestRoom {
  /// Reports the failure to the test framework that runs the test. `situation` saves the screens that the test has looked at.
  @MainActor
  func failNow(_ message: String, at place: FailurePlace) {
    let message = "\(message). \(situation)"
    if Test.current == nil {
      XCTFail(message, file: place.file, line: place.line)
    } else {
      Issue.record(
        Comment(rawValue: message),
        sourceLocation: SourceLocation(
          fileID: place.fileID, filePath: "\(place.file)", line: Int(place.line), column: place.column))
    }
  }

  @MainActor
  func fail(_ message: String, at place: FailurePlace) { failNow(message, at: place) }

  /// Visible pictures, audible tones, participants in the room, and the last events.
  @MainActor
  var situation: String {
    var parts: [String] = []
    let views = screens.views
    let owners = views.map { TestScreen(view: $0, room: self).owner }
    for (index, view) in views.enumerated() {
      let content = TestScreen(view: view, room: self).content
      parts.append("\(Self.title(of: index, owners)) shows \(content).")
    }
    parts.append("Heard: \(list(speaker.heard)).")
    let present = people.inRoom.merging(journal.people(in: id)) { $1 }
    parts.append("In the room: \(list(Set(present.map { named($0.value, id: $0.key) }).sorted())).")
    parts += elsewhere
    for name in people.namesWithObjectsOfProcess {
      parts.append(
        "\(name)'s app has the process's camera, not the room's: make it inside `room.enter(as: \"\(name)\") { … }`.")
    }
    let last = journal.entries.suffix(6).map { "\($0.time - start) \($0.teller): \($0.text)" }
    parts.append(last.isEmpty ? "Nothing has been told." : "Told last: \(last.joined(separator: "; ")).")
    let pictures = savePictures()
    if !pictures.isEmpty { parts.append("The screens are saved: \(pictures.joined(separator: ", "))") }
    return parts.joined(separator: " ")
  }

  /// `Ana's screen`, `Ana's screen 2`, or `Screen 3` where no person's app made the view.
  private static func title(of index: Int, _ owners: [String?]) -> String {
    guard let owner = owners[index] else { return "Screen \(index + 1)" }
    let number = owners[...index].count { $0 == owner }
    return owners.count { $0 == owner } == 1 ? "\(owner)'s screen" : "\(owner)'s screen \(number)"
  }

  /// A participant's name, with the name in its stamp and of its tone where the app calls it otherwise.
  private func named(_ name: String, id participant: String) -> String {
    let user = "8:acs:\(id)_"
    let own = participant.hasPrefix(user) ? String(participant.dropFirst(user.count)) : participant
    guard let known = people.name(ofID: own), known != own, known != name else { return name }
    return "\(name) (with the stamp and tone of \(known))"
  }

  /// Apps that are in other rooms than this one: by another name here, or in other test rooms of the same test.
  @MainActor
  private var elsewhere: [String] {
    let here = journal.rooms.filter { $0 != id }.map { room in
      "\(list(journal.people(in: room).values.sorted())) in the room “\(room)”, while this room is “\(id)”."
    }
    let others = FailureWatch.roomsOfTest.filter { $0 !== self }.flatMap { other in
      other.people.appsInRoom(other.journal.people(in: other.id)).map { name in
        "\(name)'s app is in another test room, “\(other.id)”, while this room is “\(id)”."
      }
    }
    return here.map { "Elsewhere: \($0)" } + others
  }

  private func list(_ words: [String]) -> String { words.isEmpty ? "nobody" : words.joined(separator: ", ") }

  func describe(_ sighting: TestScreen.Sighting) -> String {
    let age = (now - sighting.captured).inSeconds
    return "#\(sighting.number), \(String(format: "%.1f", age)) s old, \(sighting.width)x\(sighting.height)"
  }

  /// - Returns: the paths of the image files.
  @MainActor
  @discardableResult
  func savePictures() -> [String] {
    let folder = FailureWatch.folder
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return screens.views.enumerated().compactMap { index, view in
      let path = "\(folder)/\(FailureWatch.fileName)-\(id.suffix(4))-screen\(index + 1).png"
      do { try labelled(view).writePNG(to: path) } catch { return nil }
      return path
    }
  }

  /// A screen with each stamp's name, number and age written over it.
  @MainActor
  package func labelled(_ view: UIView) -> Canvas {
    var canvas = view.snapshot()
    for sighting in TestScreen(view: view, room: self).sightings {
      let text = "\(sighting.name) \(describe(sighting))"
      let corner = CGPoint(x: max(sighting.area.minX, 0) + 2, y: max(sighting.area.minY, 0) + 2)
      canvas.fill(CGRect(x: corner.x, y: corner.y, width: CGFloat(6 * text.count), height: 9), .white)
      canvas.draw(text, at: corner, height: 9, color: .red)
    }
    return canvas
  }
}

/// Observes failing tests, so that the content of the screens is saved.
enum FailureWatch {
  private struct WeakRoom {
    weak var room: TestRoom?
    /// The test that made it, of Swift Testing.
    let test: Test.ID?
  }
  private struct State {
    var rooms: [WeakRoom] = []
    var test: String?
  }

  private static let state = Lock(State())
  private static let observer = XCTestWatch()
  private static let observing: Void = XCTestObservationCenter.shared.addTestObserver(observer)

  /// The folder for saved screens: `KOINE_SCREENS`, else `screens` in the `.build` folder of the current directory, else
  /// `koine-screens` in the temporary directory.
  static var folder: String {
    if let folder = ProcessInfo.processInfo.environment["KOINE_SCREENS"] { return folder }
    let build = FileManager.default.currentDirectoryPath + "/.build"
    return FileManager.default.fileExists(atPath: build)
      ? build + "/screens" : NSTemporaryDirectory() + "/koine-screens"
  }

  static func opened(_ room: TestRoom) {
    _ = observing
    state.withLock { state in
      state.rooms.removeAll { $0.room == nil }
      state.rooms.append(WeakRoom(room: room, test: Test.current?.id))
    }
  }

  /// The running test's suite and name, as a file may be called.
  static var fileName: String {
    let test = Test.current.map { testPath($0) } ?? currentTest ?? "test"
    let name = test.split { !$0.isLetter && !$0.isNumber }.joined(separator: "-")
    return String(name.prefix(100))
  }

  /// `Module.Suite/test()`, which the test's id says before the place in its file.
  private static func testPath(_ test: Test) -> String {
    let parts = "\(test.id)".split(separator: "/").map(String.init)
    return parts.filter { !$0.hasSuffix(".swift") && !$0.contains(".swift:") }.joined(separator: "/")
  }

  /// Whether the running test, where there is one, has made a room that is still open.
  static var testHasRoom: Bool {
    guard let test = Test.current?.id else { return true }
    return state.withLock { $0.rooms.contains { $0.room != nil && $0.test == test } }
  }

  /// Open rooms that the running test has made.
  static var roomsOfTest: [TestRoom] {
    let test = Test.current?.id
    return state.withLock { $0.rooms.filter { $0.test == test }.compactMap(\.room) }
  }

  static var openRooms: [TestRoom] { state.withLock { $0.rooms.compactMap(\.room) } }

  static var currentTest: String? { state.withLock { $0.test } }
  fileprivate static func started(test: String?) { state.withLock { $0.test = test } }

  /// XCTest runs one test at a time: the rooms there are belong to it.
  @MainActor
  fileprivate static func failed() {
    for room in openRooms { room.savePictures() }
  }
}

private final class XCTestWatch: NSObject, XCTestObservation, Sendable {
  func testCaseWillStart(_ testCase: XCTestCase) { FailureWatch.started(test: testCase.name) }
  func testCaseDidFinish(_ testCase: XCTestCase) { FailureWatch.started(test: nil) }

  func testCase(
    _ testCase: XCTestCase, didFailWithDescription description: String, inFile filePath: String?, atLine lineNumber: Int
  ) {
    if Thread.isMainThread { MainActor.assumeIsolated { FailureWatch.failed() } }
  }
}
