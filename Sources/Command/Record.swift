public import ArgumentParser
import Foundation
import Glibc
public import Koine
import KoineComposition
import KoineMediaFiles
import KoineSampleSupport

/// A room as one picture and one sound, written or sent on.
struct Record: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Composes a room into one picture and one sound, and writes it to a file or sends it to a server.",
    discussion: """
      Takes part unseen: decodes everybody, lays out, mixes, encodes. OUT is a .webm file (VP8 and Opus), a fragmented \
      .mp4 or rtmp://HOST/APP/KEY (H.264 and AAC unless other encoders are asked for), or a .m3u8 playlist with its \
      pieces beside it (VP9 and Opus unless encoders are asked for). Ends after --seconds, on SIGTERM or SIGINT, or with \
      the room. While the room is out of reach, the last picture is recorded for up to --patience seconds; standard \
      error says when that begins and ends. Exit code: 0; 69 if the room cannot be reached, or is lost and not found \
      again, which leaves what came before; 73 if nothing can be written.
      """)

  @Option(help: "Which room.")
  var room = "koine"

  @Option(help: "Where it goes.")
  var to: String

  @Option(help: "How to reach the room: embedded, or ws://HOST:PORT; otherwise as KOINE_BACKEND says.")
  var backend: String?

  @Option(
    help:
      "What lets the recorder in: a token of koine token; rooms that are open need none. Every user of this machine can read it in the list of processes."
  )
  var credential: String?

  @Option(help: "The file that the credential is in. Without either option KOINE_CREDENTIAL counts.")
  var credentialFile: String?

  @Option(help: "\(RecordingRequest.Layout.allCases.map(\.rawValue).joined(separator: " or ")).")
  var layout = RecordingRequest.Layout.grid

  @Option(help: "In pixels.")
  var size = "1280x720"

  @Option(help: "Pictures a second, 1 to 60.")
  var fps = 30.0

  @Option(help: "Of the pictures, in bit/s.")
  var bitrate = 2_100_000

  @Option(help: "FFmpeg's name of the encoder for .mp4, .m3u8 and rtmp; libx264 for the first and last.")
  var videoEncoder: String?

  @Option(help: "The same for the sound; aac.")
  var soundEncoder: String?

  @Option(parsing: .unconditional, help: "Ends after so many seconds; 0: when told to.")
  var seconds = 0.0

  @Option(help: "For so many seconds it is tried to come back to a room that is lost, 0 to 60.")
  var patience = 30

  @Flag(inversion: .prefixedNo, help: "Draws each participant's name over the video.")
  var names = true

  @Option(help: "Adds so many participants of the common layer, so that there is something to see.")
  var peers = 0

  func validate() throws {
    _ = try pixels()
    guard (1...60).contains(fps) else { throw ValidationError("--fps takes 1 to 60") }
    guard (100_000...20_000_000).contains(bitrate) else { throw ValidationError("--bitrate takes 100000 to 20000000") }
    guard seconds >= 0, seconds <= 86_400 else { throw ValidationError("--seconds takes 0 to 86400") }
    guard (0...60).contains(patience) else { throw ValidationError("--patience takes 0 to 60") }
    guard (0...16).contains(peers) else { throw ValidationError("--peers takes 0 to 16") }
    if videoEncoder != nil || soundEncoder != nil, place.pathExtension.lowercased() == "webm" {
      throw ValidationError("--video-encoder and --sound-encoder are not for .webm, which is VP8 and Opus as they come")
    }
    guard credential == nil || credentialFile == nil else {
      throw ValidationError("either --credential or --credential-file")
    }
    guard !to.isEmpty, !room.isEmpty else { throw ValidationError("--to or --room is empty") }
  }

  func run() async throws {
    do {
      let media = try MediaOptions.parse([])
      let world = try media.makeWorld(backend: backend)
      if videoEncoder != nil || soundEncoder != nil {
        let usual = EncodingOutput.Encoders()
        MediaFiles.encode(
          with: EncodingOutput.Encoders(video: videoEncoder ?? usual.video, sound: soundEncoder ?? usual.sound))
      }
      RoomRecorders.use(ComposingRecorder())
      let company = Peers(count: peers, room: room, world: world)
      let request = try request()
      company.join()
      let recording: any RoomRecording
      do {
        recording = try await RoomRecorders.record(request, to: place, in: world)
      } catch {
        throw SampleExit(code: 69, "\(error)")
      }
      await wait(for: recording)
      do { try await recording.stop() } catch let error as Failure {
        throw SampleExit(code: 69, "\(error.message); what came before is recorded")
      } catch {
        throw SampleExit(code: 73, "\(error)")
      }
      await company.leave()
    } catch let error as SampleExit {
      error.leave(command: "koine record")
    }
  }

  private var place: URL {
    if to.contains("://"), let url = URL(string: to) { url } else { URL(fileURLWithPath: to) }
  }

  private func request() throws -> RecordingRequest {
    var request = RecordingRequest(
      room: room,
      credential: try Secret.text(option: credential, file: credentialFile, variable: "KOINE_CREDENTIAL"))
    (request.width, request.height) = try pixels()
    (request.framesPerSecond, request.bitrate, request.layout) = (fps, bitrate, layout)
    request.showsNames = names
    request.patience = .seconds(patience)
    return request
  }

  private func pixels() throws -> (Int, Int) {
    let parts = size.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 2, let width = parts[0], let height = parts[1], (16...4_096).contains(width),
      (16...4_096).contains(height)
    else { throw ValidationError("--size takes WxH, 16 to 4096 each") }
    return (width, height)
  }

  private static func printLine(_ line: String) {
    KoineSampleSupport.print("koine record: \(line)", to: .standardError)
  }

  /// Waits until the recording ends, its time is up, or SIGTERM or SIGINT arrives.
  private func wait(for recording: any RoomRecording) async {
    let (seconds, patience) = (seconds, patience)
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        for await _ in Signals.stream(of: [SIGTERM, SIGINT]) { break }
      }
      group.addTask {
        let end = ContinuousClock.now + .seconds(seconds)
        var isLost = false
        while recording.isRunning, seconds == 0 || ContinuousClock.now < end, !Task.isCancelled {
          let isInterrupted = recording.isInterrupted
          guard recording.isRunning else { break }  // given up, which is not being back
          if isInterrupted != isLost {
            isLost.toggle()
            Self.printLine(isLost ? "the room is out of reach, and tried again for \(patience) s" : "back in the room")
          }
          try? await Task.sleep(for: .milliseconds(100))
        }
      }
      await group.next()
      group.cancelAll()
    }
  }
}

extension RecordingRequest.Layout: ExpressibleByArgument {}
