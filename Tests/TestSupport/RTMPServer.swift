/// An RTMP server that takes one stream and writes it to a file as it comes: FFmpeg's.
public enum RTMPServer {
  /// As the other, by a server that hangs up once it has so many seconds of the stream, and then takes one more.
  /// - Parameters:
  ///   - path: of the file that gets what comes second.
  ///   - body: gets, besides, what to wait for before the second.
  public static func receiving(
    into path: String, hangingUpAfter seconds: Int,
    _ body: @Sendable (_ url: String, _ comesBack: @Sendable () async throws -> Void) async throws -> Void
  ) async throws {
    let port = try Ports.free()
    let url = "rtmp://127.0.0.1:\(port)/live/key"
    let isListening = "grep -q '\(Ports.listening(port))' /proc/net/tcp"
    let server = "timeout 900 ffmpeg -v error -listen 1 -i \(url) -c copy"
    let script = """
      (\(server) -t \(seconds) '\(path).first.flv' </dev/null; touch '\(path).gone';
        \(server) '\(path)' </dev/null) & server=$!
      until \(isListening); do kill -0 $server || exit 1; sleep 0.05; done
      echo ready; wait $server; touch '\(path).whole'
      """
    @Sendable func wait(for condition: String) async throws {
      try await Command("timeout", "300", "sh", "-c", "until \(condition); do sleep 0.05; done").run()
    }
    try await Command("sh", "-c", script).run(beside: { _ in
      try await body(url) { try await wait(for: "[ -e '\(path).gone' ] && \(isListening)") }
      try await wait(for: "[ -e '\(path).whole' ]")
    })
  }

  /// Returns once the stream has ended and the file is whole.
  /// - Parameters:
  ///   - path: of the file, which ends in `.flv`.
  ///   - port: a free one; nil: any.
  ///   - body: gets where the stream is to go: application `live`, key `key`. It sends it, from beginning to end.
  public static func receiving(
    into path: String, on port: Int? = nil, _ body: @Sendable (_ url: String) async throws -> Void
  ) async throws {
    let port = try port ?? Ports.free()
    let url = "rtmp://127.0.0.1:\(port)/live/key"
    // A server without a sender, because the run was killed, ends by itself.
    let script = """
      timeout 900 ffmpeg -v error -listen 1 -i \(url) -c copy '\(path)' </dev/null & server=$!
      until grep -q '\(Ports.listening(port))' /proc/net/tcp; do kill -0 $server || exit 1; sleep 0.05; done
      echo ready; wait $server; touch '\(path).whole'
      """
    try await Command("sh", "-c", script).run(beside: { _ in
      try await body(url)
      try await Command("timeout", "300", "sh", "-c", "until [ -e '\(path).whole' ]; do sleep 0.05; done").run()
    })
  }
}
