import Foundation

/// A PulseAudio server of its own for a test, with one loudspeaker that nobody hears, `nothing`, and its monitor.
final class SoundServer: Sendable {
  private let folder: String

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("koine-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try start()
  }

  deinit {
    stop()
    try? FileManager.default.removeItem(atPath: folder)
  }

  var address: String { "unix:\(folder)/native" }

  /// Returns once it answers.
  func start() throws {
    try run([
      "pulseaudio", "--daemonize=yes", "-n", "--exit-idle-time=-1", "--use-pid-file=yes", "--log-target=null",
      "--load=module-native-protocol-unix socket=\(folder)/native auth-anonymous=1",
      "--load=module-null-sink sink_name=nothing",
    ])
  }

  func stop() {
    let path = "\(folder)/run/pid"
    guard let text = try? String(contentsOfFile: path, encoding: .utf8),
      let id = Int32(text.trimmingCharacters(in: .whitespacesAndNewlines))
    else { return }
    kill(id, SIGKILL)
    try? FileManager.default.removeItem(atPath: path)
    try? FileManager.default.removeItem(atPath: "\(folder)/native")
  }

  @discardableResult
  func control(_ words: String...) throws -> String { try run(["pactl"] + words) }

  @discardableResult
  private func run(_ words: [String]) throws -> String {
    var environment = ProcessInfo.processInfo.environment
    environment["HOME"] = folder
    environment["XDG_RUNTIME_DIR"] = folder
    environment["PULSE_RUNTIME_PATH"] = folder + "/run"
    environment["PULSE_SERVER"] = words[0] == "pactl" ? address : nil
    return try finish(words, environment)
  }
}

/// An X server of its own for a test: 320×240, without a screen.
final class ScreenServer {
  private let process = Process()
  private let output = Pipe()
  let display: String

  /// Returns once it answers.
  init() throws {
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // Threads of Swift block signals, and a child inherits that: the server needs its timers.
    process.arguments = [
      "--default-signal", "Xvfb", "-displayfd", "1", "-screen", "0", "320x240x24", "-noreset", "-nolisten", "tcp",
    ]
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    var number: [UInt8] = []
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 { number.append(byte) }
    display = ":" + String(decoding: number, as: UTF8.self)
  }

  deinit {
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  func paint(_ color: String) throws {
    var environment = ProcessInfo.processInfo.environment
    environment["DISPLAY"] = display
    try finish(["xsetroot", "-solid", color], environment)
  }
}

/// - Throws: when the command fails.
@discardableResult
private func finish(_ words: [String], _ environment: [String: String]) throws -> String {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = ["--default-signal"] + words
  process.environment = environment
  let output = Pipe()
  process.standardOutput = output
  process.standardError = FileHandle.nullDevice
  try process.run()
  let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  guard process.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
  return text
}
