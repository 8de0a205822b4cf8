import Foundation
import Koine
import KoineUIKit
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
  /// Tells the test framework that runs the test, and saves what the test has looked at.
  @MainActor
  func failNow(_ message: String, at place: FailurePlace) {
    let pictures = savePictures()
    let seen = pictures.isEmpty ? "" : "; what was to be seen: \(pictures.joined(separator: ", "))"
    if Test.current == nil {
      XCTFail(message + seen, file: place.file, line: place.line)
    } else {
      Issue.record(
        Comment(rawValue: message + seen),
        sourceLocation: SourceLocation(
          fileID: place.fileID, filePath: "\(place.file)", line: Int(place.line), column: place.column))
    }
  }

  @MainActor
  func fail(_ message: String, at place: FailurePlace) { failNow(message, at: place) }

  /// - Returns: the paths of what was written.
  @MainActor
  @discardableResult
  func savePictures() -> [String] {
    let folder = FailureWatch.folder
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let test = Test.current?.name ?? FailureWatch.currentTest ?? "test"
    let name = String(test.map { $0.isLetter || $0.isNumber ? $0 : "-" }.prefix(80))
    return screens.views.enumerated().compactMap { index, view in
      let path = "\(folder)/\(name)-\(id.suffix(4))-screen\(index + 1).png"
      do { try view.writePNG(to: path) } catch { return nil }
      return path
    }
  }
}

/// Hears of failed tests, so that what was on the screens is saved.
enum FailureWatch {
  private struct WeakRoom { weak var room: TestRoom? }
  private struct State {
    var rooms: [WeakRoom] = []
    var test: String?
  }

  private static let state = Lock(State())
  private static let observer = XCTestWatch()
  private static let observing: Void = XCTestObservationCenter.shared.addTestObserver(observer)

  /// Where pictures go: `KOINE_SCREENS`, else `.build/screens` of the package whose tests run, else a folder of `/tmp`.
  static var folder: String {
    if let folder = ProcessInfo.processInfo.environment["KOINE_SCREENS"] { return folder }
    let build = FileManager.default.currentDirectoryPath + "/.build"
    return FileManager.default.fileExists(atPath: build)
      ? build + "/screens" : NSTemporaryDirectory() + "/koine-screens"
  }

  static func begin(_ room: TestRoom) {
    _ = observing
    state.withLock { state in
      state.rooms.removeAll { $0.room == nil }
      state.rooms.append(WeakRoom(room: room))
    }
  }

  static var currentTest: String? { state.withLock { $0.test } }
  fileprivate static func begin(test: String?) { state.withLock { $0.test = test } }

  /// XCTest runs one test at a time: the rooms there are belong to it.
  @MainActor
  fileprivate static func failed() {
    for room in state.withLock({ $0.rooms.compactMap(\.room) }) { room.savePictures() }
  }
}

private final class XCTestWatch: NSObject, XCTestObservation, Sendable {
  func testCaseWillStart(_ testCase: XCTestCase) { FailureWatch.begin(test: testCase.name) }
  func testCaseDidFinish(_ testCase: XCTestCase) { FailureWatch.begin(test: nil) }

  func testCase(
    _ testCase: XCTestCase, didFailWithDescription description: String, inFile filePath: String?, atLine lineNumber: Int
  ) {
    if Thread.isMainThread { MainActor.assumeIsolated { FailureWatch.failed() } }
  }
}
