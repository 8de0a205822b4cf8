import Foundation
import KoineTestSupport

/// A `redis-server` of a test's own on a free port, with an append-only file. It is killed when the test has ended.
final class RedisServer: @unchecked Sendable {  // used by one test at a time
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  let port: Int
  private let folder: Folder
  private let program: String
  private let options: [String]
  private var pid: pid_t = 0

  /// Starts the server and waits until it answers.
  /// - Parameter options: lines of its configuration.
  init(_ options: [String] = [], program: String = "redis-server", folder: Folder? = nil, port: Int? = nil) async throws
  {
    self.port = try port ?? Ports.free()
    self.folder = try folder ?? Folder()
    (self.program, self.options) = (program, options)
    try await start()
  }

  deinit { kill(SIGKILL) }

  func file(_ name: String) -> String { folder.file(name) }
  var log: String { (try? String(contentsOfFile: file("log"), encoding: .utf8)) ?? "" }

  /// Starts the server again, with the data that it has on its disk.
  func start() async throws {
    let usual = [
      "port \(port)", "bind 127.0.0.1", "dir \(folder.path)", "logfile \(file("log"))", "daemonize no",
      "save \"\"", "appendonly yes", "appendfsync everysec", "maxmemory-policy noeviction",
      "repl-diskless-sync-delay 0",
    ]
    // Sentinel knows fewer options, and writes into its configuration.
    let lines = program.hasSuffix("sentinel") ? Array(usual.prefix(5)) : usual
    let path = file("conf")
    if !FileManager.default.fileExists(atPath: path) {
      try (lines + options).joined(separator: "\n").appending("\n").write(
        toFile: path, atomically: true, encoding: .utf8)
    }
    pid = try Self.spawn([program, path])
    try await eventually("the server answers\n\(log)") { [self] in
      // Any answer, also NOAUTH or LOADING. A server with TLS only resets the connection, or answers with an alert.
      (try? RawConnection(port: port).ask("PING")) != nil
    }
  }

  /// Sends a signal, and waits for the end of the server if it is to end.
  func kill(_ signal: Int32) {
    guard pid > 0 else { return }
    Foundation.kill(pid, signal)
    guard signal == SIGKILL || signal == SIGTERM else { return }
    var status: Int32 = 0
    while waitpid(pid, &status, 0) == -1, errno == EINTR {}
    pid = 0
  }

  /// What the server answers to a command in words, as the first line of its reply.
  @discardableResult
  func ask(_ command: String, password: String? = nil) throws -> String {
    let connection = try RawConnection(port: port)
    if let password { _ = try connection.ask("AUTH \(password)") }
    return try connection.ask(command)
  }

  private static func spawn(_ words: [String]) throws -> pid_t {
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    var pid = pid_t()
    guard posix_spawnp(&pid, words[0], &actions, nil, &arguments, environ) == 0 else {
      throw Failure(description: "\(words[0]) cannot be started: Scripts/setup installs it")
    }
    return pid
  }
}

/// A connection with blocking calls, for a test's own commands.
final class RawConnection {
  private let end: Int32

  init(port: Int) throws {
    end = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var limit = timeval(tv_sec: 5, tv_usec: 0)
    setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    // A `sockaddr_in` of 127.0.0.1, whose members two modules that are imported here declare.
    let address: [UInt8] =
      [UInt8(AF_INET), 0, UInt8(port >> 8), UInt8(port & 255), 127, 0, 0, 1] + [UInt8](repeating: 0, count: 8)
    let status = address.withUnsafeBytes { bytes in
      connect(end, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t(bytes.count))
    }
    // `deinit` closes the socket, as all properties are set.
    guard status == 0 else { throw RedisServer.Failure(description: "no connection to port \(port)") }
  }

  deinit { close(end) }

  func ask(_ command: String) throws -> String {
    let line = command + "\r\n"
    guard send(end, line, line.utf8.count, Int32(MSG_NOSIGNAL)) == line.utf8.count else {
      throw RedisServer.Failure(description: "\(command): not sent")
    }
    var bytes: [UInt8] = []
    while bytes.last != UInt8(ascii: "\n") { bytes.append(try byte(of: command)) }
    return String(decoding: bytes.dropLast(2), as: UTF8.self)
  }

  /// A reply of several lines, which begins with its length.
  func askForText(_ command: String) throws -> String {
    let head = try ask(command)
    guard head.first == "$", let length = Int(head.dropFirst()), length >= 0 else {
      throw RedisServer.Failure(description: "\(command): \(head)")
    }
    let bytes = try (0..<length + 2).map { _ in try byte(of: command) }
    return String(decoding: bytes.dropLast(2), as: UTF8.self)
  }

  private func byte(of command: String) throws -> UInt8 {
    var byte: UInt8 = 0
    guard recv(end, &byte, 1, 0) == 1 else { throw RedisServer.Failure(description: "\(command): no answer") }
    return byte
  }
}

/// Waits for a condition that other threads or processes bring about.
func eventually(
  _ what: @autoclosure @Sendable () -> String, within limit: Duration = .seconds(60), _ isSo: () throws -> Bool
) async throws {
  let start = ContinuousClock.now
  while try !isSo() {
    guard ContinuousClock.now - start < limit else {
      throw RedisServer.Failure(description: "not so in \(limit): \(what())")
    }
    try await Task.sleep(for: .milliseconds(5))
  }
}
