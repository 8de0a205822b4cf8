import Dispatch
import Foundation
import Koine
import KoineServer
import KoineTesting
import KoineVendorAPIs

/// The ports of a room, which close with it.
final class RoomPorts: RoomPart {
  private struct State {
    var servers: [LoopbackServer] = []
    var hasEnded = false
  }

  private let state = Lock(State())

  var isReachable: Bool { state.withLock { !$0.servers.isEmpty } }

  /// Opens a port. Virtual time stands still while one of its requests is open.
  func open(_ service: any APIService, bodyLimit: Int, hold: TimeHold) throws -> URL {
    let server = try LoopbackServer(service, bodyLimit: bodyLimit) {
      let span = hold.begin()
      return { span.end() }
    }
    let isOpen = state.withLock { state in
      if !state.hasEnded { state.servers.append(server) }
      return !state.hasEnded
    }
    guard isOpen, let url = URL(string: "http://127.0.0.1:\(server.port)") else {
      throw TestHTTPError(description: "the room has ended")
    }
    return url
  }

  func roomEnds() {
    let servers = state.withLock { state in
      defer { state = State(hasEnded: true) }
      return state.servers
    }
    for server in servers { server.close() }
  }
}

/// A back end that a closure answers.
struct BackEndService: APIService {
  /// As long as the port waits for an answer.
  private static let patience = DispatchTimeInterval.seconds(20)

  let hold: TimeHold
  /// Returns nil once the room is being destroyed. The closure may have captured the room `unowned`, so it is not called for a request
  /// that arrives on an open connection after that.
  let room: @Sendable () -> TestRoom?
  let closure: @Sendable (TestHTTPRequest) async throws -> TestHTTPResponse

  func owns(method: String, target: String) -> Bool { true }

  func answer(_ request: APIRequest) async -> APIResponse {
    guard let room = room() else { return APIResponse(status: 503, text: "the room has ended") }
    let span = hold.begin()
    defer {
      span.end()
      // This may be the last reference to the room. Then the room ends on the main queue, as tests and apps expect.
      DispatchQueue.main.async { withExtendedLifetime(room) {} }
    }
    // A closure that never answers must not hold time for good: the test's own limits then end its waits.
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { [weak span] in span?.end() }
    return await TimeHold.$current.withValue(span) {
      do { return APIResponse(try await closure(TestHTTPRequest(request))) } catch {
        return APIResponse(status: 500, text: "\(error)")
      }
    }
  }
}

extension TestHTTPRequest {
  init(_ request: APIRequest) {
    self.init(request.method, request.target, headers: request.headers, body: request.body)
  }
}

extension APIResponse {
  fileprivate init(status: Int, text: String) {
    self.init(
      status: status, headers: [("Content-Type", "text/plain; charset=utf-8")], body: Array((text + "\n").utf8))
  }

  init(_ response: TestHTTPResponse) {
    self.init(status: response.status, headers: response.headers, body: response.body)
  }
}
