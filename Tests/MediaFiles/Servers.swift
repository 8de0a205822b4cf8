import Foundation
import KoineTestSupport

/// A PulseAudio server of its own for a test, with one silent loudspeaker, `nothing`, and its monitor. One
/// that outlives its test, because the run was killed, ends when it has been unused for a while.
final class PulseAudioServer: Sendable {
  private let folder: Folder

  /// Returns once it answers.
  init() async throws {
    folder = try Folder()
    try await start()
  }

  deinit { stop() }

  var address: String { "unix:\(folder.path)/native" }

  func start() async throws {
    try await run([
      "pulseaudio", "--daemonize=yes", "-n", "--exit-idle-time=300", "--use-pid-file=yes", "--log-target=null",
      "--load=module-native-protocol-unix socket=\(folder.path)/native auth-anonymous=1",
      "--load=module-null-sink sink_name=nothing",
    ])
  }

  func stop() {
    let path = folder.file("run/pid")
    guard let text = try? String(contentsOfFile: path, encoding: .utf8),
      let id = Int32(text.trimmingCharacters(in: .whitespacesAndNewlines))
    else { return }
    kill(id, SIGKILL)
    try? FileManager.default.removeItem(atPath: path)
    try? FileManager.default.removeItem(atPath: folder.file("native"))
  }

  @discardableResult
  func control(_ words: String...) async throws -> String { try await run(["pactl"] + words) }

  @discardableResult
  private func run(_ words: [String]) async throws -> String {
    let environment = [
      "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "PULSE_RUNTIME_PATH": folder.file("run"),
      "PULSE_SERVER": words[0] == "pactl" ? address : nil,
    ]
    return try await Command(words, environment: environment).run()
  }
}

/// An X server of its own for a test: 320×240, without a screen.
struct ScreenServer: Sendable {
  let display: String

  /// Ends it after `body`, and if the run is killed, after a quarter of an hour.
  static func with(_ body: @Sendable (ScreenServer) async throws -> Void) async throws {
    try await Command(
      "timeout", "900", "Xvfb", "-displayfd", "1", "-screen", "0", "320x240x24", "-noreset", "-nolisten", "tcp"
    ).run { try await body(ScreenServer(display: ":" + $0)) }
  }

  func paint(_ color: String) async throws {
    try await Command(["xsetroot", "-solid", color], environment: ["DISPLAY": display]).run()
  }
}
