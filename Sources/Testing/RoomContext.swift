import CKoineDispatchContext
import Foundation
import Koine
import Testing
import XCTest

/// Makes objects of an app belong to the room and the person of the context that makes them.
///
/// `enter(as:)` and callbacks of an SDK set `World.current`, a task-local value: tasks inherit it, closures on dispatch queues
/// do not by themselves. Here they do. An object made in no context is reported, never given to some room by guess.
enum RoomContext {
  static func install() { _ = installed }

  private static let installed: Void = {
    koine_dispatch_context_install(
      { World.current.map { UnsafeMutableRawPointer(Unmanaged.passRetained($0).toOpaque()) } },
      { context, body, block in
        guard let context, let body else { return }
        let world = Unmanaged<World>.fromOpaque(context).takeUnretainedValue()
        World.$current.withValue(world) { body(block) }
      },
      { context in if let context { Unmanaged<World>.fromOpaque(context).release() } })
    World.withoutContext.withLock { $0 = objectWithoutContext }
  }()

  /// An object or a list of devices of the process: in a test with one room probably a mistake, which explains a failure;
  /// beside several rooms an error at once, because the result depends on the tests that happen to run.
  /// A test that has made no room means the process's world.
  @Sendable private static func objectWithoutContext() {
    guard FailureWatch.testHasRoom else { return }
    let rooms = FailureWatch.openRooms
    if rooms.count == 1 { return rooms[0].people.noteObjectWithoutContext() }
    guard rooms.count > 1 else { return }
    let message = """
      An SDK object was made, or devices were listed, in no room while \(rooms.count) rooms are open. Make it inside \
      room.enter(as: "…") { … }, or give the test the trait .room(as: "…").
      """
    if Test.current == nil, FailureWatch.currentTest != nil {
      XCTFail(message)
    } else {
      Issue.record(Comment(rawValue: message))
    }
  }
}
