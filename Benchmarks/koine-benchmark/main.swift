import Foundation
import Glibc

// swift run -c release koine-benchmark BENCHMARK [--seconds N] [--json]; `usage` lists the benchmarks.

let usage = """
  usage: koine-benchmark engine-vp8 | engine-opus | forward | scale | shards | janus | rooms | idle | meeting | pages | broadcast | refresh | virtual-call | nodes | network | story | join-server | restart | cluster | call-connect | api | all [--seconds N] [--json]

    engine-vp8   720p30 in real time: the engine from camera to screen against bare libvpx
    engine-opus  speech, unpaced: the engine from microphone to loudspeaker against bare libopus
    forward      the router, one publisher and 40 receivers, against bare encryption and sending
    scale        the router, 25 publishers and 10 to 400 receivers of 4 tiles each: how its CPU grows
    shards       the router on one and on two cores: one large room, and two
    janus        koine serve and Janus' VideoRoom (Scripts/setup janus), 1 to 40 each, in turns; not in `all`
    rooms        koine serve and Janus, 40 rooms of two and one room of 40 with as few packets, in turns; not in `all`
    idle         koine serve with 100 participants that have joined without camera and microphone; not in `all`
    meeting      25 publishers and 40 receivers of 4 tiles each, in real time, in this process
    pages        25 videos in the meeting-session style, all shown, 9 shown, none: what pausing saves
    broadcast    a call of five sent on as one picture of 1280x720 and one sound, into files
    refresh      a stage of 12 in the stage-strategy style: asking its strategy again
    virtual-call a minute of two people on a virtual clock, without codecs, against a minute
    nodes        20 rooms of five on clusters of 10, 20 and 40 nodes, on a virtual clock
    network      the first ten seconds of native calls that lose packets, on a virtual clock
    story        the same with sessions, loss, a gap and a return, as tests of apps run it
    join-server  from joining to the first picture, in this process and through a server's sockets, against the bare exchange
    restart      a rolling restart of three nodes of a cluster with 50 rooms: the longest silence; not in `all`
    cluster      two nodes beside one server with two loops: CPU per forwarded frame, in turns; not in `all`
    call-connect from an invitation to both sides connected, over loopback
    api          koine serve on one core: requests of back ends over one connection, beside a call; not in `all`
    --seconds N  how long each is measured (default 20)
    --json       one JSON array on standard output, and nothing else there
  """

func fail(_ text: String, _ code: Int32) -> Never {
  FileHandle.standardError.write(Data((text + "\n").utf8))
  exit(code)
}

let benchmarks: [(name: String, run: (_ seconds: Int) throws -> Report)] = [
  ("engine-vp8", { seconds in try EngineVideoBenchmark(seconds: seconds).run() }),
  ("engine-opus", { seconds in try EngineSoundBenchmark(seconds: seconds).run() }),
  ("virtual-call", { _ in try VirtualCallBenchmark(callSeconds: 60).run() }),
  ("nodes", { seconds in try NodesBenchmark(seconds: min(seconds, 10)).run() }),
  ("network", { _ in try NetworkBenchmark().run() }),
  ("story", { _ in try StoryBenchmark(rounds: 11).run() }),
  ("join-server", { _ in try JoinBenchmark(joins: 50).run() }),
  ("restart", { _ in try RestartBenchmark().run() }),
  ("cluster", { seconds in try ClusterBenchmark(seconds: min(seconds, 10)).run() }),
  ("call-connect", { _ in try CallBenchmark(calls: 50).run() }),
  ("forward", { seconds in try ForwardBenchmark(.init(seconds: seconds)).run() }),
  ("scale", { seconds in try ScaleBenchmark(seconds: seconds).run() }),
  ("shards", { seconds in try ShardsBenchmark(seconds: seconds).run() }),
  ("janus", { seconds in try JanusBenchmark(seconds: min(seconds, 20)).run() }),
  ("rooms", { seconds in try RoomsBenchmark(seconds: min(seconds, 20)).run() }),
  ("idle", { seconds in try IdleBenchmark(seconds: seconds).run() }),
  ("meeting", { seconds in try MeetingBenchmark(seconds: seconds).run() }),
  ("pages", { seconds in try PagesBenchmark(seconds: seconds).run() }),
  ("broadcast", { seconds in try BroadcastBenchmark(seconds: seconds).run() }),
  ("api", { seconds in try APIBenchmark(seconds: seconds).run() }),
  ("refresh", { _ in try RefreshBenchmark(rounds: 1_000).run() }),
]

var chosen: [String] = []
var seconds = 20
var isJSON = false
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
  switch argument {
  case "--json": isJSON = true
  case "--seconds":
    guard let value = arguments.popFirst().flatMap({ Int($0) }), value > 0 else { fail(usage, 64) }
    seconds = value
  case "--help", "-h":
    print(usage)
    exit(0)
  case "all":
    chosen += benchmarks.map(\.name).filter { !["janus", "rooms", "idle", "api", "restart", "cluster"].contains($0) }
  default:
    guard benchmarks.contains(where: { $0.name == argument }) else { fail(usage, 64) }
    chosen.append(argument)
  }
}
if chosen.isEmpty { fail(usage, 64) }

#if DEBUG
  FileHandle.standardError.write(Data("a debug build measures little: use `swift run -c release`\n".utf8))
#endif

do {
  var reports: [Report] = []
  for (name, run) in benchmarks where chosen.contains(name) {
    let report = try run(seconds)
    if !isJSON { report.print() }
    reports.append(report)
  }
  if isJSON {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    print(String(decoding: try encoder.encode(reports), as: UTF8.self))
  }
} catch {
  fail("\(error)", 70)
}
