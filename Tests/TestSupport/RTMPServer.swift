/// An RTMP server that takes one stream and writes it to a file as it comes: FFmpeg's.
public enum RTMPServer {
  /// Returns once the stream has ended and the file is whole.
  /// - Parameters:
  ///   - path: of the file, which ends in `.flv`.
  ///   - body: gets where the stream is to go: application `live`, key `key`. It sends it, from beginning to end.
  public static func receiving(
    into path: String, _ body: @Sendable (_ url: String) async throws -> Void
  ) async throws {
    let port = try Ports.free()
    let url = "rtmp://127.0.0.1:\(port)/live/key"
    // One that nobody sends to, because the run was killed, ends by itself.
    let script = """
      timeout 120 ffmpeg -v error -listen 1 -i \(url) -c copy '\(path)' </dev/null & server=$!
      until grep -q '\(Ports.listening(port))' /proc/net/tcp; do kill -0 $server || exit 1; sleep 0.05; done
      echo ready; wait $server; touch '\(path).whole'
      """
    try await Command("sh", "-c", script).run(beside: { _ in
      try await body(url)
      try await Command("timeout", "60", "sh", "-c", "until [ -e '\(path).whole' ]; do sleep 0.05; done").run()
    })
  }
}
