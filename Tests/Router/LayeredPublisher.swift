import KoineBase
import KoineSignaling
import KoineTransport

@testable import KoineRouter

/// Sends a VP8 simulcast as an encoder would: only layers that a receiver wants, and key frames on request. It remembers the
/// frames that each frame needs to be decoded.
final class LayeredPublisher {
  struct Picture {
    let number: Int
    let size: Int
    let isKey: Bool
    let layer: Int
    /// Numbers of the frames of the same layer that the frame refers to.
    let references: [Int]
  }

  /// The state of the temporal pattern of one layer.
  private struct Pattern {
    var position = 0
    var isBegun = false
    var lastBase = 0, lastMiddle: Int?
  }

  let client: Client
  /// How many layers its bandwidth is enough for, from the smallest, and which part of their bitrates.
  var affordable: (layers: Int, share: Double) = (.max, 1)
  private unowned let world: World
  private let bitrates: [Int]
  private let temporalLayers: Int
  private var patterns: [Pattern]
  private var random = SeededRandom(seed: 11)
  private var number = 0
  private(set) var sent: [[Int: Picture]]
  /// By layer.
  private(set) var keyFrames: [Int]

  /// - Parameter bitrates: in bit/s, of the layers, the smallest first.
  /// - Parameter announcesLimits: whether the track says how much each layer takes and how tall it is, which SDP does not.
  init(_ client: Client, in world: World, bitrates: [Int], temporalLayers: Int = 3, announcesLimits: Bool = true) {
    (self.client, self.world, self.bitrates, self.temporalLayers) = (client, world, bitrates, temporalLayers)
    patterns = bitrates.map { _ in Pattern() }
    sent = bitrates.map { _ in [:] }
    keyFrames = bitrates.map { _ in 0 }
    client.publish(.camera, bitrates: bitrates, announcesLimits: announcesLimits)
  }

  /// The wanted layers of the router's last message.
  var wanted: [Int] {
    for case .wanted("camera", let layers) in client.messages.reversed() { return layers }
    return Array(bitrates.indices)
  }

  func send(seconds: Double) {
    world.every(.nanoseconds(33_333_333), times: Int(seconds * 30)) { [self] _ in sendFrames() }
  }

  private func sendFrames() {
    number += 1
    let wanted = wanted
    for layer in bitrates.indices {
      if wanted.contains(layer), layer < affordable.layers {
        sendFrame(layer)
      } else {
        patterns[layer].isBegun = false
      }
    }
    world.drain()
  }

  private func sendFrame(_ layer: Int) {
    guard let sender = client.sender("camera") else { return }
    let isKey = client.keyFramesWanted.remove(layer) != nil || !patterns[layer].isBegun
    if isKey {
      patterns[layer] = Pattern(isBegun: true)
      keyFrames[layer] += 1
    }
    let step = patterns[layer].position % 4
    patterns[layer].position += 1
    let temporal = isKey || temporalLayers == 1 ? 0 : temporalLayers == 2 ? step % 2 : [0, 2, 1, 2][step]
    var references = isKey ? [] : [patterns[layer].lastBase]
    if temporal == 2, step == 3, let middle = patterns[layer].lastMiddle { references.append(middle) }
    switch temporal {
    case 0: (patterns[layer].lastBase, patterns[layer].lastMiddle) = (number, nil)
    case 1: patterns[layer].lastMiddle = number
    default: break
    }
    let mean = Double(bitrates[layer] / 240) * affordable.share
    let size = Int(mean * Double.random(in: 0.6...1.2, using: &random) * (isKey ? 3 : 1))
    let head = [isKey ? 0 : 1, UInt8(number >> 8 & 255), UInt8(number & 255), UInt8(layer)]
    sent[layer][number] = Picture(number: number, size: size, isKey: isKey, layer: layer, references: references)
    client.peer.send(
      EncodedFrame(
        codec: .vp8, data: Bytes(head + [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: max(size - 4, 0))),
        captured: world.now, rtpTimestamp: UInt32(truncatingIfNeeded: world.now.nanoseconds / 100_000 * 9),
        isKey: isKey, layer: UInt8(layer), temporalLayer: UInt8(temporal), isDiscardable: temporal == 2), on: sender,
      at: world.now)
  }

  /// Finds faults in the frames of one receiver, in the order of arrival: a frame differs from the sent one, a frame that it
  /// refers to is missing, or timestamps do not increase.
  func faults(in frames: [EncodedFrame]) -> [String] {
    var faults: [String] = []
    var known: Set<Int> = []
    var last: (layer: Int, timestamp: UInt32)?
    for frame in frames {
      let bytes = frame.data.array
      let (number, layer) = (Int(bytes[1]) << 8 | Int(bytes[2]), Int(bytes[3]))
      guard let picture = sent[layer][number] else {
        faults.append("\(number) of \(layer) was never sent")
        continue
      }
      let rest = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: max(picture.size - 4, 0))
      if Array(bytes.dropFirst(4)) != rest {
        faults.append("\(number) of \(layer) came with \(bytes.count) bytes of \(picture.size)")
      }
      if picture.isKey { known = [] }
      if !picture.isKey, layer != last?.layer { faults.append("\(number): layer \(layer) begins without a key frame") }
      for reference in picture.references where !known.contains(reference) {
        faults.append("\(number) of \(layer) needs \(reference)")
      }
      if let last, Int32(bitPattern: frame.rtpTimestamp &- last.timestamp) <= 0 {
        faults.append("\(number) of \(layer): timestamp \(frame.rtpTimestamp) after \(last.timestamp)")
      }
      known.insert(number)
      last = (layer, frame.rtpTimestamp)
    }
    return faults
  }
}

extension Client {
  /// Publishes a camera with layers of these bitrates.
  func publish(_ kind: Track.Kind, bitrates: [Int], announcesLimits: Bool = true) {
    var media = makeMedia(kind, layers: bitrates.count)
    for layer in bitrates.indices {
      media.encodings[layer].maximumBitrate = announcesLimits ? bitrates[layer] : nil
      media.encodings[layer].maximumHeight = announcesLimits ? 180 << layer : nil
    }
    publish(TrackOffer(id: kind.rawValue, kind: kind, media: media))
  }

  /// The layer of the last received frame.
  func layer(of participant: String) -> Int? { frames(participant, "camera").last.map { Int($0.data.array[3]) } }
}
