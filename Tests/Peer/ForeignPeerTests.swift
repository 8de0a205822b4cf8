import Foundation
import KoineBase
import KoinePeer
import KoineTransport
import RoomModel
import Testing

/// aiortc in a process of its own (`Scripts/browsers/aiortc_end.py`), which answers and is answered in lines of JSON.
private final class AioRTC {
  private let process = Process()
  private let input = Pipe(), output = Pipe()
  private var unread = Data()

  init(_ part: String) throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    let script = root.appending(path: "Scripts/browsers/aiortc_end.py").path
    process.executableURL = URL(filePath: "/usr/bin/python3")
    process.arguments = [script, part]
    (process.standardInput, process.standardOutput) = (input, output)
    try process.run()
  }

  deinit {
    try? input.fileHandleForWriting.close()
    process.terminate()
    process.waitUntilExit()
  }

  func send(_ message: [String: String]) throws {
    try input.fileHandleForWriting.write(contentsOf: JSONEncoder().encode(message) + Data("\n".utf8))
  }

  /// The next line.
  func receive() async throws -> [String: Any] {
    while true {
      if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
        let line = unread[..<end]
        unread = Data(unread[unread.index(after: end)...])
        return try #require(try JSONSerialization.jsonObject(with: line) as? [String: Any])
      }
      // On a thread that may wait: other tests need those of Swift's concurrency.
      let more = await withCheckedContinuation { [handle = output.fileHandleForReading] done in
        DispatchQueue.global().async { done.resume(returning: handle.availableData) }
      }
      try #require(!more.isEmpty, "aiortc has ended")
      unread.append(more)
    }
  }

  /// Waits until this many echoed frames have been decoded.
  func waitUntilDecoded(_ count: Int) async throws {
    while try await (receive()["decoded"] as? Int ?? 0) < count {}
  }
}

/// Session descriptions and media with aiortc, which is neither Koine nor a browser: its camera is received and sent
/// back as another track, which aiortc decodes.
@Suite(.serialized) struct ForeignPeerTests {
  private let camera = Track.ID(participant: "aiortc", track: "camera")
  private let echo = Track.ID(participant: "koine", track: "echo")

  /// A connection that sends back each frame of the camera.
  private func connect(_ loop: PeerLoop, _ configuration: PeerMedia.Configuration) -> PeerConnection {
    loop.connect(configuration) { [camera, echo] media, event, now in
      switch event {
      case .frame(let frame, camera): media.send(frame, of: echo, at: now)
      case .keyFrameRequested(echo, _): media.requestKeyFrame(of: camera, at: now)
      case .connected: media.requestKeyFrame(of: camera, at: now)
      default: break
      }
    }
  }

  private static let options = PublishOptions(codec: .vp8, layers: [.init(maximumBitrate: 1_000_000)])

  static let configurations: [PeerMedia.Configuration] = [
    .init(iceRole: .controlled, dtlsRole: .either), .init(iceRole: .lite, dtlsRole: .passive),
  ]

  @Test(.timeLimit(.minutes(2)), arguments: configurations)
  func aiortcOffererReceivesItsEchoedVideo(_ configuration: PeerMedia.Configuration) async throws {
    let loop = PeerLoop()
    let aiortc = try AioRTC("offer")
    let offer = try await aiortc.receive().compactMapValues { $0 as? String }
    let connection = connect(loop, configuration)
    let tracks = [try #require(offer["camera"]): camera, try #require(offer["echo"]): echo]
    let answer = try await withCheckedThrowingContinuation { continuation in
      connection.perform { [echo] media, now in
        _ = media.publish(echo, options: Self.options)
        continuation.resume(with: Result { try media.answer(offer["sdp"] ?? "", tracks: tracks, at: now) })
      }
    }
    try aiortc.send(["sdp": answer])
    try await aiortc.waitUntilDecoded(10)
    connection.close()
  }

  @Test(.timeLimit(.minutes(2))) func aiortcAnswererReceivesItsEchoedVideo() async throws {
    let loop = PeerLoop()
    let aiortc = try AioRTC("answer")
    let connection = connect(loop, .init(iceRole: .controlling, dtlsRole: .either))
    let offer = await withCheckedContinuation { continuation in
      connection.perform { [camera, echo] media, _ in
        _ = media.publish(echo, options: Self.options)
        continuation.resume(returning: media.makeOffer(receiving: [camera: .camera]))
      }
    }
    let mids = Dictionary(uniqueKeysWithValues: offer.tracks.map { ($0.value, $0.key) })
    try aiortc.send(["sdp": offer.sdp, "camera": try #require(mids[camera]), "echo": try #require(mids[echo])])
    let answer = try #require(try await aiortc.receive()["sdp"] as? String)
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      connection.perform { media, now in continuation.resume(with: Result { try media.setAnswer(answer, at: now) }) }
    }
    try await aiortc.waitUntilDecoded(10)
    connection.close()
  }
}
