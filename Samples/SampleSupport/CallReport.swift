import Foundation
import Koine
import KoineBase

/// What one receiver got from one sender.
public struct DirectionReport: Sendable, Codable {
  public var receiver, sender: String
  public var packets = 0
  /// Of `packets`, those of the microphone and of a screen's audio.
  public var audioPackets = 0
  /// Never arrived, not even as a retransmission.
  public var packetsLost = 0
  public var packetsRecovered = 0
  public var framesReceived = 0
  public var framesRendered = 0
  public var width = 0
  public var height = 0
  public var framesPerSecond = 0.0
  public var freezes = 0
  /// All times in milliseconds.
  public var longestGap = 0.0
  public var latencyMedian = 0.0
  public var latency95 = 0.0
  public var joinToFirstPicture: Double?
  /// Of the sound handed out, 0...1.
  public var concealed = 0.0
  public var soundBuffer = 0.0
  /// Why the camera's picture rests now, if it does: `Tile.Pause`.
  public var pause: String?

  /// This stream's figures and those of earlier streams of the same direction: counters are added; of the others the newest
  /// stands, of video and of audio each.
  func added(to earlier: DirectionReport?) -> DirectionReport {
    guard let earlier else { return self }
    var sum = self
    sum.packets += earlier.packets
    sum.audioPackets += earlier.audioPackets
    sum.packetsLost += earlier.packetsLost
    sum.packetsRecovered += earlier.packetsRecovered
    sum.framesReceived += earlier.framesReceived
    sum.framesRendered += earlier.framesRendered
    sum.freezes += earlier.freezes
    sum.longestGap = max(longestGap, earlier.longestGap)
    if framesReceived == 0 {
      (sum.width, sum.height, sum.framesPerSecond) = (earlier.width, earlier.height, earlier.framesPerSecond)
      (sum.latencyMedian, sum.latency95) = (earlier.latencyMedian, earlier.latency95)
    }
    if soundBuffer == 0 { (sum.concealed, sum.soundBuffer) = (earlier.concealed, earlier.soundBuffer) }
    return sum
  }

  init(
    receiver: String, sender: String, video: StreamStatistics?, audio: StreamStatistics?, pause: Tile.Pause? = nil,
    joinToFirstPicture: Duration?
  ) {
    self.receiver = receiver
    self.sender = sender
    self.pause = pause?.rawValue
    self.joinToFirstPicture = joinToFirstPicture?.inMilliseconds
    for incoming in [video?.incoming, audio?.incoming].compactMap({ $0 }) {
      packets += incoming.packets
      packetsLost += incoming.lost
      packetsRecovered += incoming.recovered
    }
    audioPackets = audio?.incoming?.packets ?? 0
    if let video = video?.video {
      (framesReceived, framesRendered) = (video.received, video.rendered)
      (width, height, framesPerSecond) = (video.width, video.height, video.framesPerSecond)
      (freezes, longestGap) = (video.freezes, video.longestGap)
      (latencyMedian, latency95) = (video.latencyMedian, video.latency95)
    }
    if let audio = audio?.audio { (concealed, soundBuffer) = (audio.concealedFraction, audio.bufferDelay) }
  }
}

/// The figures of a call, for people or for programs.
public struct CallReport: Sendable, Codable {
  public var seconds: Double
  public var directions: [DirectionReport]

  public init(seconds: Double, directions: [DirectionReport]) {
    self.seconds = seconds
    self.directions = directions
  }

  /// As one JSON object, or as a table.
  public func write(asJSON: Bool, to output: Output = .standardOutput) {
    if asJSON {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
      if let data = try? encoder.encode(self) { print(String(decoding: data, as: UTF8.self), to: output) }
    } else {
      print(table, to: output)
    }
  }

  private static func latency(_ milliseconds: Double) -> String {
    let limit = VideoReceiveStatistics.latencyLimit
    return milliseconds < limit ? String(format: "%.1f", milliseconds) : String(format: ">%.0f", limit)
  }

  /// A row for each direction. Names come from the network: each is cut to its place.
  var table: String {
    let head = [
      "receiver < sender", "packets", "lost", "again", "frames", "size", "fps", "freezes", "gap ms", "concealed",
      "p50 ms", "p95 ms", "first ms",
    ]
    let rows = directions.map { way in
      [
        "\(LogText.line(way.receiver, limit: 40)) < \(LogText.line(way.sender, limit: 40))", "\(way.packets)",
        "\(way.packetsLost)", "\(way.packetsRecovered)",
        "\(way.framesRendered)/\(way.framesReceived)", "\(way.width)x\(way.height)",
        String(format: "%.1f", way.framesPerSecond), "\(way.freezes)", String(format: "%.0f", way.longestGap),
        String(format: "%.2f%%", way.concealed * 100), Self.latency(way.latencyMedian), Self.latency(way.latency95),
        way.joinToFirstPicture.map { String(format: "%.0f", $0) } ?? "-",
      ]
    }
    let widths = head.indices.map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
    return ([head] + rows).map { row in
      zip(row, widths).enumerated().map { index, cell in
        let space = String(repeating: " ", count: cell.1 - cell.0.count)
        return index == 0 ? cell.0 + space : space + cell.0
      }.joined(separator: "  ")
    }.joined(separator: "\n")
  }
}
