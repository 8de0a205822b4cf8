import ArgumentParser
import Foundation
import KoineBase
import KoineSampleSupport
import KoineServer

/// Prints the events that servers of rooms send to back ends.
struct EventsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "events", abstract: "Receives the events that `koine serve` sends to back ends, and prints them.",
    discussion: """
      It stands in for a back end: it listens for the requests, answers each with 200, and prints the body as one line of \
      JSON. For all events of Amazon Chime, Amazon IVS and VideoSDK:

        koine events --listen 127.0.0.1:8081
        koine serve --open --events http://127.0.0.1:8081

      A VideoSDK room whose webhook.endPoint is this address sends its events here without --events. Without --open, the \
      server needs --webhook-hosts 127.0.0.1. The path of an address does not matter.

      Exit codes: 0 done, 69 it cannot listen.
      """)

  @Option(help: ArgumentHelp("Where it listens. Port 0: the system chooses one.", valueName: "host:port"))
  var listen = "127.0.0.1:8081"

  @Option(help: ArgumentHelp("Ends after so many events.", valueName: "number"))
  var count: Int?

  func validate() throws {
    guard ServerSettings.endpoint(of: listen) != nil else { throw ValidationError("--listen takes HOST:PORT") }
    guard count.map({ $0 > 0 }) ?? true else { throw ValidationError("--count takes a number over 0") }
  }

  func run() async throws {
    guard let place = ServerSettings.endpoint(of: listen) else { return }
    let (done, finish) = AsyncStream.makeStream(of: Void.self)
    let left = Lock(count)
    let receiver: EventReceiver
    do {
      receiver = try await EventReceiver.start(host: place.host, port: place.port) { line in
        let isLast = left.withLock { left -> Bool? in
          guard let number = left else { return false }
          guard number > 0 else { return nil }
          left = number - 1
          return number == 1
        }
        guard let isLast else { return }
        // Not `print`, whose lines wait in a buffer while the output is a pipe.
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
        if isLast { finish.yield() }
      }
    } catch { SampleExit(code: 69, "\(error)").leave(command: "koine events") }
    let host = place.host.contains(":") ? "[\(place.host)]" : place.host
    FileHandle.standardError.write(Data("koine events: listening at http://\(host):\(receiver.port)\n".utf8))
    await withTaskGroup { tasks in
      tasks.addTask { for await _ in done { break } }
      tasks.addTask { for await _ in Signals.stream(of: [SIGTERM, SIGINT]) { break } }
      await tasks.next()
      tasks.cancelAll()
    }
    await receiver.stop()
  }
}
