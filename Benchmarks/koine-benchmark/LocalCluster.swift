import Foundation
import Glibc

/// Redis and nodes of a cluster as processes of this machine.
final class LocalCluster {
  final class Node {
    let name: String
    let port = ServerProcess.freePort()
    private let koine: String
    private let options: [String]
    private let core: Int
    private let directory: String
    private let ledger: String
    private(set) var process: ServerProcess?

    fileprivate init(
      _ name: String, _ koine: String, core: Int, directory: String, ledger: String, options: [String]
    ) {
      (self.name, self.koine, self.core, self.directory) = (name, koine, core, directory)
      (self.ledger, self.options) = (ledger, options)
    }

    func start() throws {
      process = try ServerProcess(
        [
          koine, "serve", "--open", "--listen", "127.0.0.1:\(port)", "--node", name, "--public",
          "ws://127.0.0.1:\(port)", "--log-level", "error",
        ] + options, log: "\(directory)/\(name).log", cores: [core], environment: ["KOINE_SERVE_CLUSTER": ledger])
    }

    /// As an operator ends it: its rooms go to other nodes first. Returns when the process has ended.
    func stop() { process?.stop() }

    var isReady: Bool { HTTPProbe.status(port: port, path: "/readyz") == 200 }
  }

  let nodes: [Node]
  private let redis: ServerProcess
  private let directory: String

  /// - Parameter options: further options of each `koine serve`.
  init(nodes count: Int, options: [String] = []) throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("koine-cluster-\(getpid())").path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let (port, password) = (ServerProcess.freePort(), UUID().uuidString)
    redis = try ServerProcess(
      [
        "redis-server", "--port", "\(port)", "--bind", "127.0.0.1", "--requirepass", password, "--save", "", "--dir",
        directory,
      ], log: directory + "/redis.log", core: 0)
    let ledger = "redis://:\(password)@127.0.0.1:\(port)"
    let koine = try ServerProcess.koine()
    let cores = ProcessInfo.processInfo.activeProcessorCount
    nodes = (1...count).map { [directory] number in
      Node("n\(number)", koine, core: (number - 1) % cores, directory: directory, ledger: ledger, options: options)
    }
    for node in nodes { try node.start() }
    for node in nodes { try wait("\(node.name) is ready", seconds: 20) { node.isReady } }
  }

  func wait(_ what: String, seconds: Double, until isDone: () -> Bool) throws {
    let end = CPU.wall + seconds
    while !isDone() {
      guard CPU.wall < end else { throw BenchmarkError("not within \(Int(seconds)) s: \(what)") }
      usleep(20_000)
    }
  }

  func end() {
    for node in nodes { node.process?.kill() }
    redis.kill()
    try? FileManager.default.removeItem(atPath: directory)
  }
}
