// What layers read from the call agent style need to wait with `await` (`koine port --to stage-strategy`): the same for every app.
import AmazonIVSBroadcast
import Foundation

/// What a completion handler gets.
private func value<Value: Sendable>(
  isolation: isolated (any Actor)? = #isolation, _ begin: (@escaping (Value?, (any Error)?) -> Void) -> Void
) async throws -> Value {
  try await withCheckedThrowingContinuation(isolation: isolation) { continuation in
    begin { value, error in
      continuation.resume(with: value.map { .success($0) } ?? .failure(error ?? StageAgent.Failure.ended))
    }
  }
}
private func done(
  isolation: isolated (any Actor)? = #isolation, _ begin: (@escaping StageAgent.Done) -> Void
) async throws {
  let _: Bool = try await value { completion in begin { completion($0 == nil ? true : nil, $0) } }
}

extension StageAgent {
  func register(
    credential: Credential, setup: Setup?, isolation: isolated (any Actor)? = #isolation
  ) async throws -> StageAgent {
    try await value { register(credential: credential, setup: setup, completion: $0) }
  }
  func machine(isolation: isolated (any Actor)? = #isolation) async throws -> Machine {
    try await value { machine(completion: $0) }
  }
  func start(
    room: String? = nil, callees: [String] = [], setup: Setup?, isolation: isolated (any Actor)? = #isolation
  ) async throws -> Call {
    try await value { start(room: room, callees: callees, setup: setup, completion: $0) }
  }
}

extension StageAgent.Ring {
  func accept(
    setup: StageAgent.Setup?, isolation: isolated (any Actor)? = #isolation
  ) async throws -> StageAgent.Call {
    try await value { accept(setup: setup, completion: $0) }
  }
  func decline(isolation: isolated (any Actor)? = #isolation) async throws {
    try await done { decline(completion: $0) }
  }
}

extension StageAgent.Call {
  func hangUp(isolation: isolated (any Actor)? = #isolation) async throws {
    try await done { hangUp(completion: $0) }
  }
  /// The options of an end have no effect: the app's own server ends a call for all.
  func hangUp(setup: StageAgent.Setup?, completion: @escaping StageAgent.Done) { hangUp(completion: completion) }
  func hangUp(setup: StageAgent.Setup?, isolation: isolated (any Actor)? = #isolation) async throws {
    try await done { hangUp(setup: setup, completion: $0) }
  }
  func setMuted(_ isMuted: Bool, isolation: isolated (any Actor)? = #isolation) async throws {
    try await done { setMuted(isMuted, completion: $0) }
  }
  func start(_ video: StageAgent.Video, isolation: isolated (any Actor)? = #isolation) async throws {
    try await done { start(video, completion: $0) }
  }
  func stop(_ video: StageAgent.Video, isolation: isolated (any Actor)? = #isolation) async throws {
    try await done { stop(video, completion: $0) }
  }
}

extension StageAgent.Video {
  func choose(camera: StageAgent.Device, isolation: isolated (any Actor)? = #isolation) async throws {
    try await done { choose(camera: camera, completion: $0) }
  }
  func send(_ frame: StageAgent.Frame, isolation: isolated (any Actor)? = #isolation) async throws {
    try await done { send(frame, completion: $0) }
  }
}
