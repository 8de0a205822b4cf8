/// HTTP APIs that a server answers beside its pages and its signalling.
package protocol APIService: Sendable {
  /// Whether the service answers requests with this method and this target (path and query as the client sent them). A server asks
  /// before it reads the body; all other requests go to the server's own pages.
  func owns(method: String, target: String) -> Bool

  /// Whether pages of other sites may send such a request: a browser's request with an `Origin` that is not the server's. The answer
  /// has to carry the CORS headers. Requests with the method `OPTIONS`, by which browsers ask beforehand, reach the service always.
  func answersOtherSites(method: String, target: String) -> Bool

  /// Answers one request. Any thread may call it, for several requests at the same time.
  func answer(_ request: APIRequest) async -> APIResponse
}

extension APIService {
  package func answersOtherSites(method: String, target: String) -> Bool { false }
}

/// Limits of the requests to HTTP APIs.
package enum APILimits {
  /// Bytes of a body. The largest legal request (BatchCreateAttendee with 100 attendees) has less than half of that.
  package static let body = 64 * 1024
}
