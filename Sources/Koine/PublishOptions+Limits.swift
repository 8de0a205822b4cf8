// What can be asked for when something is published; beyond that `publish` throws `invalidOptions`.

extension VideoPublishOptions {
  private static let bitrates = 1...1_000_000_000
  private static let sides = 2...16_384
  private static let rates = 0.1...1_000.0
  /// As many as a track has in the room protocol, with the main one.
  private static let layerLimit = 4

  func check() throws(Failure) {
    let main = VideoLayer(
      maximumWidth: maximumWidth, maximumHeight: maximumHeight, maximumBitrate: maximumBitrate,
      maximumFramesPerSecond: maximumFramesPerSecond)
    guard lowerLayers.count < Self.layerLimit else {
      throw Failure(
        .invalidOptions, "there can be \(Self.layerLimit - 1) lower layers at most, not \(lowerLayers.count)")
    }
    for layer in lowerLayers + [main] { try Self.check(layer) }
    guard (0...Self.bitrates.upperBound).contains(minimumBitrate) else {
      throw Failure(.invalidOptions, "nothing can be sent at \(minimumBitrate) bit/s at least")
    }
  }

  private static func check(_ layer: VideoLayer) throws(Failure) {
    guard sides.contains(layer.maximumWidth), sides.contains(layer.maximumHeight) else {
      throw Failure(
        .invalidOptions, "pictures cannot be of \(layer.maximumWidth)×\(layer.maximumHeight) pixels at most")
    }
    guard bitrates.contains(layer.maximumBitrate) else {
      throw Failure(.invalidOptions, "pictures cannot be sent at \(layer.maximumBitrate) bit/s at most")
    }
    guard rates.contains(layer.maximumFramesPerSecond) else {
      throw Failure(
        .invalidOptions, "there cannot be \(layer.maximumFramesPerSecond) pictures a second at most")
    }
  }
}

extension AudioPublishOptions {
  /// The encoder takes the nearest rate that it can work at.
  func check() throws(Failure) {
    guard (1...1_000_000_000).contains(bitrate) else {
      throw Failure(.invalidOptions, "sound cannot be sent at \(bitrate) bit/s")
    }
    guard channels.map({ (1...2).contains($0) }) ?? true else {
      throw Failure(.invalidOptions, "audio has one or two channels")
    }
  }
}
