import Koine

// What is outside of a room: real I/O, and parts of other modules.

extension TestRoom {
  /// Runs `body`, which may wait for real I/O, such as a request of `URLSession`. Virtual time stands still until `body` has ended; what
  /// is due now still happens, and callbacks arrive. In real time, it only runs `body`.
  ///
  ///     let answer = try await room.outside { try await URLSession.shared.data(from: url) }
  ///
  /// In virtual time, `body` must not wait for the room's time: `run`, `until` and `join` trap in it.
  /// - Throws: the error of `body`.
  nonisolated(nonsending) public func outside<Value>(
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async rethrows -> Value {
    guard scheduler.kind == .virtual else { return try await body() }
    let span = timeHold.begin()
    let driver = Task.detached { [timekeeper] in await timekeeper.workUntilEnd(of: span) }
    do {
      let value = try await TimeHold.$current.withValue(span) { try await body() }
      span.end()
      await driver.value
      return value
    } catch {
      span.end()
      await driver.value
      throw error
    }
  }

  func checkThatTimeCanMove() {
    precondition(
      !timeHold.isEntered,
      "virtual time stands still inside of room.outside { … } and of a back end's closure: nothing there can wait for it"
    )
  }
}

/// A part of a room that another module has added.
package protocol RoomPart: AnyObject, Sendable {
  /// Whether the part has a port, by which requests come from outside of the room.
  var isReachable: Bool { get }
  /// Called once, when the room ends.
  func roomEnds()
}

extension TestRoom {
  /// The room's part of a type, which is made when it is first asked for.
  package func part<Part: RoomPart>(_ type: Part.Type, make: () throws -> Part) rethrows -> Part {
    try parts.withLock { parts in
      if let part = parts[ObjectIdentifier(type)] as? Part { return part }
      let part = try make()
      parts[ObjectIdentifier(type)] = part
      return part
    }
  }

  func endParts() {
    let ending = parts.withLock { parts in
      defer { parts = [:] }
      return parts.values.map { $0 }
    }
    for part in ending { part.roomEnds() }
  }

  /// Runs `body`, whose calls into the room do not count as calls from threads of the app's own.
  package static func expectingCalls<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
  ) async rethrows -> Value {
    try await StrayCalls.$isExpected.withValue(true) { try await body() }
  }

  /// Runs a synchronous `body`, whose calls into the room do not count as calls from threads of the app's own.
  package static func expectingCalls<Value>(_ body: () throws -> Value) rethrows -> Value {
    try StrayCalls.$isExpected.withValue(true, operation: body)
  }
}
