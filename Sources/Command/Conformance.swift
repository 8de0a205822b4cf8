public import ArgumentParser
import Foundation
import Koine
import KoineBase
import KoineConformanceDrivers
public import KoineConformanceKit
import KoineSampleSupport
import KoineSimulatedNetwork

/// Runs the conformance suite.
struct Conformance: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Runs the conformance scenarios for every ordered pair of styles.",
    discussion: """
      Progress and the matrix go to standard error: '.' passed, 'F' failed, '-' not in the style, 'o' not possible in the \
      environment. The exit code is 1 if a case failed. Without --report, each failure is printed with the callbacks of all \
      apps.
      """)

  enum Environments: String, ExpressibleByArgument, CaseIterable { case virtual, loopback, both, cluster }

  @Option(parsing: .upToNextOption, help: "The styles whose apps meet, in all ordered pairs: \(Style.catalogue).")
  var style: [Style] = Style.allCases

  @Option(
    name: [.long, .customLong("ground")],
    help:
      "The embedded router in virtual time (virtual), over loopback UDP (loopback), or both; or a cluster of three in virtual time (cluster)."
  )
  var environment = Environments.virtual

  @Option(help: "With --ground cluster: the homes of all rooms die after so many milliseconds.")
  var homeDiesAt: Int?

  @Option(help: "A backend's address, such as ws://host:port, instead of --environment.")
  var backend: String?

  @Option(help: "Impairments of each participant's network link: see koine demo --help.")
  var network: String?

  @Option(parsing: .upToNextOption, help: "Only scenarios with names that begin so; see --list.")
  var scenario: [String] = []

  @Option(help: "Seed of virtual time: equal seeds give equal runs.")
  var seed: UInt64 = 1

  @Option(help: "Order of callbacks between which the vendor documents no order: usual, or shuffled:SEED.")
  var order = Order.usual

  @Option(help: "Number of processes that share the work.")
  var jobs = 1

  @Option(help: "Write a report: FILE.html, FILE.md or FILE.json.")
  var report: String?

  @Option(help: "Compare the callbacks with those of this file (Docs/conformance.md), recorded with any SDK.")
  var compare: String?

  @Flag(help: "List the scenarios and the laws that they check, and run none.")
  var list = false

  @Option(help: .hidden)
  var share: String?

  func validate() throws {
    guard (1...64).contains(jobs) else { throw ValidationError("--jobs takes 1 to 64") }
    for prefix in scenario where !Scenario.all.contains(where: { $0.id.hasPrefix(prefix) }) {
      throw ValidationError("no scenario begins with '\(prefix)'; --list names them")
    }
    if backend != nil, network != nil {
      throw ValidationError(
        "--network is for the embedded environments: the network to a server cannot be impaired from here")
    }
    if let compare { _ = try Self.trace(compare) }
    if let report, !["html", "md", "json"].contains((report as NSString).pathExtension) {
      throw ValidationError("--report takes a file that ends in .html, .md or .json")
    }
  }

  @MainActor
  func run() async throws {
    do {
      try await play()
    } catch let error as SampleExit {
      error.leave(command: "koine conformance")
    } catch let error as NetworkSpecError {
      SampleExit(code: 64, "\(error)").leave(command: "koine conformance")
    } catch let code as ExitCode {
      throw code
    } catch let error as ValidationError {
      throw error
    } catch {
      SampleExit(code: 73, "\(error)").leave(command: "koine conformance")
    }
  }

  @MainActor
  private func play() async throws {
    var suite = Suite(styles: style.map(\.rawValue), environments: try environments(), seed: seed, order: order)
    if !scenario.isEmpty { suite.scenarios.removeAll { one in !scenario.contains { one.id.hasPrefix($0) } } }
    if list { return suite.scenarios.forEach { Swift.print("\($0.id): \($0.title) (\($0.proves))") } }

    let report: Report
    if let backend, share == nil { try await reach(backend) }
    if let share {
      return try await playShare(share, of: suite)
    } else if jobs > 1 {
      report = try await playInProcesses(suite)
    } else {
      let progress = Progress(total: suite.cases.count)
      report = await suite.run { progress.count($0) }
    }
    try show(report)
  }

  /// Joins once, so that hundreds of scenarios need not find out one by one that no server answers.
  private func reach(_ address: String) async throws {
    let world = try MediaOptions.parse([]).makeWorld(backend: address)
    let session = Session(JoinRequest(room: "conformance-\(UUID().uuidString.lowercased())", name: "Nobody"), in: world)
    do throws(Failure) { try await session.join() } catch {
      // A server that answers, even with a refusal, is reachable: the scenarios bring credentials of their own.
      if error.code == .unreachable { throw SampleExit(code: 69, error.message) }
    }
    await session.leave()
  }

  private func environments() throws -> [EnvironmentFactory] {
    if let backend { return [.at(backend)] }
    let network = try network.map { try NetworkSpec($0) }
    return switch environment {
    case .virtual: [.virtual(network: network)]
    case .loopback: [.loopback(network: network)]
    case .both: [.virtual(network: network), .loopback(network: network)]
    case .cluster: [.cluster(network: network, killsHomesAt: homeDiesAt)]
    }
  }

  // MARK: Several processes

  /// One process of several: its outcomes as JSON on standard output, a line each.
  @MainActor
  private func playShare(_ share: String, of suite: Suite) async throws {
    let numbers = share.split(separator: "/").compactMap { Int($0) }
    guard numbers.count == 2, numbers[1] > 0 else { throw SampleExit(code: 64, "--share takes N/M") }
    let own = suite.cases.enumerated().filter { $0.offset % numbers[1] == numbers[0] }.map(\.element)
    let encoder = JSONEncoder()
    _ = await suite.run(own) { outcome in
      if let line = try? encoder.encode(outcome) { FileHandle.standardOutput.write(line + [10]) }
    }
  }

  @MainActor
  private func playInProcesses(_ suite: Suite) async throws -> Report {
    let progress = Progress(total: suite.cases.count)
    let (lines, feed) = AsyncStream.makeStream(of: Data.self)
    let processes = try (0..<jobs).map { number in
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      process.arguments = CommandLine.arguments.dropFirst() + ["--share", "\(number)/\(jobs)"]
      let pipe = Pipe()
      process.standardOutput = pipe
      try process.run()
      return (process, pipe.fileHandleForReading)
    }
    let readers = DispatchGroup()
    for (_, output) in processes {
      DispatchQueue.global().async(group: readers) {
        var rest = Data()
        while case let new = output.availableData, !new.isEmpty {
          rest += new
          while let end = rest.firstIndex(of: 10) {
            feed.yield(rest[rest.startIndex..<end])
            rest = Data(rest[(end + 1)...])
          }
        }
      }
    }
    readers.notify(queue: .global()) { feed.finish() }

    var outcomes: [String: Outcome] = [:]
    for await line in lines {
      let outcome = try JSONDecoder().decode(Outcome.self, from: line)
      progress.count(outcome)
      outcomes[outcome.name] = outcome
    }
    for (process, _) in processes {
      process.waitUntilExit()
      guard process.terminationStatus == 0 else { throw SampleExit(code: 70, "a process of the suite ended early") }
    }
    return Report(outcomes: suite.cases.compactMap { outcomes[$0.name] }, seed: seed)
  }

  // MARK: Report

  private func show(_ result: Report) throws {
    print("\n" + result.matrix(), to: .standardError)
    if let report {
      let data =
        switch (report as NSString).pathExtension {
        case "html": Data(try result.html().utf8)
        case "md": Data(result.markdown().utf8)
        default: try result.json()
        }
      do {
        try data.write(to: URL(fileURLWithPath: report))
      } catch {
        throw SampleExit(code: 73, "cannot write '\(report)'")
      }
    } else if !result.failures.isEmpty {
      print("\n" + result.failureText(), to: .standardError)
    }
    if let compare { try tellDifferences(from: compare, in: result) }
    print(result.summary, to: .standardError)
    if !result.failures.isEmpty { throw ExitCode(1) }
  }

  private func tellDifferences(from path: String, in result: Report) throws {
    let trace = try Self.trace(path)
    guard let ours = result.traces(of: trace.scenario).first(where: { $0.styles == trace.styles }) else {
      throw SampleExit(code: 65, "'\(trace.scenario)' was not played here between \(trace.styles)")
    }
    let lines = ours.differences(from: trace)
    print(lines.isEmpty ? "the callbacks are the same" : lines.joined(separator: "\n"), to: .standardOutput)
  }
}

extension Conformance {
  fileprivate static func trace(_ path: String) throws -> Trace {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw ValidationError("--compare: cannot read '\(path)'")
    }
    do {
      var trace = try JSONDecoder().decode(Trace.self, from: data)
      trace.styles = trace.styles.mapValues { Style(named: $0)?.rawValue ?? $0 }
      return trace
    } catch {
      throw ValidationError("--compare: '\(path)' is no trace: \(error)")
    }
  }
}

/// One line on standard error, kept up to date on a terminal.
@MainActor
private final class Progress {
  private let total: Int
  private var done = 0
  private var failed = 0

  init(total: Int) { self.total = total }

  func count(_ outcome: Outcome) {
    done += 1
    if outcome.isFailure { failed += 1 }
    let isTerminal = isatty(STDERR_FILENO) == 1
    guard isTerminal || done == total || done.isMultiple(of: 100) else { return }
    let line = "\(done)/\(total) played, \(failed) failed"
    FileHandle.standardError.write(Data((isTerminal ? "\r\u{1B}[K" + line : line + "\n").utf8))
  }
}

extension Order: ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
  public var defaultValueDescription: String { description }
}
