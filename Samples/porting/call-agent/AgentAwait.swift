// What layers that `koine port` writes of the call agent style need to wait with `await`: the same file for every app.
import Foundation
import Koine

/// What a completion handler gets.
private func value<Value: Sendable>(
  isolation: isolated (any Actor)? = #isolation, _ begin: (@escaping (Value?, (any Error)?) -> Void) -> Void
) async throws -> Value {
  try await withCheckedThrowingContinuation(isolation: isolation) { continuation in
    begin { value, error in
      continuation.resume(with: value.map { .success($0) } ?? .failure(error ?? Failure(.ended, "the call is over")))
    }
  }
}
private func done(isolation: isolated (any Actor)? = #isolation, _ begin: (@escaping RoomDone) -> Void) async throws {
  let _: Bool = try await value { completion in begin { completion($0 == nil ? true : nil, $0) } }
}

extension RoomAgent {
  func register(
    credential: RoomCredential, setup: CallSetup?, isolation: isolated (any Actor)? = #isolation
  ) async throws -> RoomAgent {
    try await value { register(credential: credential, setup: setup, completion: $0) }
  }
  func machine(isolation: isolated (any Actor)? = #isolation) async throws -> Machine {
    try await value { machine(completion: $0) }
  }
  func start(
    room: String? = nil, callees: [String] = [], setup: CallSetup?, isolation: isolated (any Actor)? = #isolation
  ) async throws -> AgentCall {
    try await value { start(room: room, callees: callees, setup: setup, completion: $0) }
  }
}

extension IncomingRing {
  func accept(setup: CallSetup?, isolation: isolated (any Actor)? = #isolation) async throws -> AgentCall {
    try await value { accept(setup: setup, completion: $0) }
  }
  func decline(isolation: isolated (any Actor)? = #isolation) async throws {
    try await done { decline(completion: $0) }
  }
}

extension AgentCall {
  func hangUp(isolation: isolated (any Actor)? = #isolation) async throws {
    try await done { hangUp(completion: $0) }
  }
  func hangUp(setup: CallSetup?, isolation: isolated (any Actor)? = #isolation) async throws {
    try await done { hangUp(setup: setup, completion: $0) }
  }
  func setMuted(_ isMuted: Bool, isolation: isolated (any Actor)? = #isolation) async throws {
    try await done { setMuted(isMuted, completion: $0) }
  }
  func start(_ video: RoomVideo, isolation: isolated (any Actor)? = #isolation) async throws {
    try await done { start(video, completion: $0) }
  }
  func stop(_ video: RoomVideo, isolation: isolated (any Actor)? = #isolation) async throws {
    try await done { stop(video, completion: $0) }
  }
}

extension RoomVideo {
  func choose(camera: Machine.Device, isolation: isolated (any Actor)? = #isolation) async throws {
    try await done { choose(camera: camera, completion: $0) }
  }
  func send(_ frame: RoomFrame, isolation: isolated (any Actor)? = #isolation) async throws {
    try await done { send(frame, completion: $0) }
  }
}
