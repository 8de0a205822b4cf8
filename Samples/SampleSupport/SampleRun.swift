import Foundation
public import Koine
import KoineBackends
import KoineBase
public import KoineUIKit

/// The screen of a sample, as its run sees it.
@MainActor
public protocol SampleScreen: AnyObject {
  var view: UIView! { get }
  /// The session behind the call, once there is one: for figures and recordings.
  var session: Session? { get }
  /// The names of those in the call, one's own among them.
  var people: [String] { get }
  func toggleMicrophone()
  func toggleCamera()
  /// Leaves; `SampleRun.finish` is called once that is done.
  func leave()
  /// One of the sample's own commands.
  func carryOut(_ command: Command)
}

extension SampleScreen {
  public func carryOut(_ command: Command) {}
}

/// A screen with which the user sends messages to the other participants: lines of standard input, or after `t` on a terminal.
public protocol TalkingScreen: SampleScreen {
  func say(_ text: String)
}

/// One run of a sample, from joining to leaving: its peers, keys, script, time, figures, recordings and picture.
@MainActor
public final class SampleRun {
  private static var running: SampleRun?  // lives as long as the program
  public let options: CallOptions
  public let world: World
  private let command: String
  private let commands: [Command]
  private let script: Script?
  /// How many participants of the common layer come along.
  public let company: Int
  private let peers: Peers
  private let start: Tick
  private var keys: Keys?
  private var signals: Signals?
  private var screen: (any SampleScreen)?
  private var witness: Witness?
  private var narrator: Narrator?
  private var isLeaving = false
  /// The first thing that went wrong; the program ends with its code.
  private var problem: SampleExit?

  /// Reads what the options name and makes the world of the call; everything that is wrong is found here.
  /// - Parameters:
  ///   - own: the sample's commands beside the common ones.
  ///   - screen: the source of a shared screen, in the notation of `--camera`; nil: as the environment says.
  ///   - hasToken: whether the sample shows a token, which its peers have not.
  public init(
    _ options: CallOptions, command: String, own: [Command] = [], screen: String? = nil, hasToken: Bool = false
  ) throws {
    self.options = options
    self.command = command
    let commands = Command.common + own
    self.commands = commands
    company = try options.company(hasToken: hasToken)
    script = try options.script.map { path throws(SampleExit) in try Script(contentsOf: path, commands: commands) }
    world = try options.media.makeWorld(backend: options.backend, screen: screen)
    try options.media.prepareOutputs()
    Backends.configure(world)
    start = world.backend.scheduler.now
    peers = Peers(count: company, room: options.room, world: world)
    Self.running = self
    signal(SIGUSR1, SIG_IGN)  // a request for figures before there are any must not end the program
  }

  /// Begins the common part around a screen that is on its way into the call, and returns when the program shall end:
  /// never.
  public func follow(_ screen: any SampleScreen, joiningPeers: Bool = true) async -> Never {
    self.screen = screen
    watch()
    if joiningPeers { peers.join() }
    var say: (@Sendable (String) -> Void)?
    if screen is any TalkingScreen {
      say = { [weak self] line in MainActor.assumeIsolated { self?.say(line) } }
      Lines.read { [weak self] line in self?.say(line) }
    }
    keys = Keys(commands, say: say) { [weak self] command in MainActor.assumeIsolated { self?.carryOut(command) } }
    if keys != nil { print(Keys.help(commands, canSay: say != nil), to: .standardError) }
    signals = Signals { [weak self] command in MainActor.assumeIsolated { self?.carryOut(command) } }
    for step in script?.steps ?? [] { after(step.time) { [self] in carryOut(step.command) } }
    if options.seconds > 0 { after(.seconds(options.seconds)) { [self] in carryOut(.leave) } }
    while true { try? await Task.sleep(for: .seconds(3_600)) }
  }

  /// Begins to watch the session, if there is one now; call it when a session comes later.
  public func watch() {
    guard witness == nil, let session = screen?.session else { return }
    witness = Witness(session, receiver: options.name, recordingTo: options.media.record)
    narrator = Narrator(session, room: options.room) { print(LogText.line($0, limit: 200), to: .standardError) }
  }

  /// One line of what the vendor's callbacks told, with its time, if that was asked for.
  public func trace(_ line: String) {
    guard options.trace else { return }
    let time = (world.backend.scheduler.now - start).inSeconds
    print(String(format: "%8.3f  ", time) + LogText.line(line), to: .standardError)
  }

  /// Ends the program after the call has ended, by the user's request or not. Of several calls the first one counts. The last messages
  /// are still on their way to the room: `exit` waits for them (`LeaveOnExit`).
  /// - Parameter problem: the reason if the call failed; nil: it did not fail.
  public func finish(problem: String? = nil) {
    guard Self.running != nil else { return }
    Self.running = nil
    if let problem { note(SampleExit(code: 69, problem)) }
    Task { @MainActor in
      await peers.leave()
      let witness = witness
      do { try await Task.detached { try witness?.close() }.value } catch { note(SampleExit(code: 73, "\(error)")) }
      Foundation.exit(self.problem?.code ?? 0)
    }
  }

  /// Prints the problem and keeps the first one for the exit code. The run goes on, and finishes as much as it can.
  private func note(_ problem: SampleExit) {
    problem.tell(command: command)
    self.problem = self.problem ?? problem
  }

  private func after(_ time: Duration, _ work: @escaping @MainActor () -> Void) {
    Task { @MainActor in
      try? await Task.sleep(for: time)
      work()
    }
  }

  private func say(_ line: String) { (screen as? any TalkingScreen)?.say(line) }

  private func carryOut(_ command: Command) {
    switch command {
    case .mute: screen?.toggleMicrophone()
    case .camera: screen?.toggleCamera()
    case .people: for name in screen?.people ?? [] { print(LogText.line(name), to: .standardError) }
    case .figures: Task { await report().write(asJSON: options.media.json, to: .standardError) }
    case .leave: leave()
    default: screen?.carryOut(command)
    }
  }

  private func report() async -> CallReport {
    let seconds = (world.backend.scheduler.now - start).inSeconds
    return CallReport(seconds: seconds, directions: await witness?.report() ?? [])
  }

  /// Writes the figures and the snapshot first, while the other participants are still in the call, and then leaves.
  private func leave() {
    guard !isLeaving, let screen else { return }
    isLeaving = true
    Task { @MainActor in
      await report().write(asJSON: options.media.json)
      if let path = options.media.snapshot {
        do { try screen.view.writePNG(to: path) } catch {
          note(SampleExit(code: 73, "cannot write '\(path)': \(error)"))
        }
      }
      if screen.session == nil { finish() } else { screen.leave() }
    }
  }
}

/// Hears of the signals that end programs: the first asks to leave in good order, the second ends at once. SIGUSR1 asks for
/// the figures so far.
@MainActor
private final class Signals {
  private let sources: [any DispatchSourceSignal]

  init(_ carryOut: @escaping @Sendable (Command) -> Void) {
    let wasTold = Lock(false)
    let asks = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: .main)
    asks.setEventHandler { carryOut(.figures) }
    asks.resume()
    let ends = [SIGINT, SIGTERM, SIGHUP].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
      source.setEventHandler {
        let isSecond = wasTold.withLock { told in
          defer { told = true }
          return told
        }
        if isSecond { exit(128 + number) } else { carryOut(.leave) }
      }
      source.resume()
      return source
    }
    sources = ends + [asks]
  }

  isolated deinit { for source in sources { source.cancel() } }
}
