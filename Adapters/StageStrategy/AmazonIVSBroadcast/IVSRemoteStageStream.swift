public import Foundation
import Koine

/// A remote participant's stream, for as long as the client subscribes to it.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSRemoteStageStream.html)
public class IVSRemoteStageStream: IVSStageStream, @unchecked Sendable {  // `session` and `state` are locks
  /// Why a layer is received.
  public enum LayerSelectedReason: Int, Sendable {
    /// The wanted layer cannot be had; the stage has chosen another.
    case unavailable = 0
    /// The wanted layer, or the one that the stage has chosen for the path.
    case selected = 1
  }

  /// Which layer is wanted and which one is received. Changed on the delivery queue.
  private struct State {
    var layers: [IVSRemoteStageStreamLayer]
    /// Position in `layers`; nil before the first frame.
    var selected: Int?
    /// Nil: the stage adapts the layer to the path.
    var preferred: Int?
  }

  let id: Track.ID
  private struct Weak { weak var session: Session? }
  private let session: Lock<Weak>
  private let state: Lock<State>

  init(_ stream: Track, in session: Session, gain: Float) {
    id = stream.id
    self.session = Lock(Weak(session: session))
    let device: any IVSDevice
    if stream.kind.isVideo {
      device = RemoteImageDevice(stream.id, session)
    } else {
      device = RemoteAudioDevice(stream.id, session, gain: gain)
    }
    state = Lock(State(layers: stream.layers.enumerated().map { IVSRemoteStageStreamLayer($1, number: $0) }))
    super.init(device: device, isMuted: stream.isMuted)
  }

  override var place: (session: Session, id: Track.ID)? {
    session.withLock { $0.session }.map { ($0, id) }
  }

  /// No longer subscribed to.
  func detach() { session.withLock { $0.session = nil } }

  // MARK: Layers

  /// The layers that the participant sends, the smallest first. Empty for audio, and for video before its first frame if it has
  /// only one layer.
  public var layers: [IVSRemoteStageStreamLayer] {
    state.withLock { state in
      state.layers.enumerated().map { number, layer in layer.with(selected: number == state.selected) }
    }
  }

  /// The layer that is received; nil before the first frame.
  public var selectedLayer: IVSRemoteStageStreamLayer? { layers.first { $0.selected } }

  /// The layer with the most pixels; one of no size while no layer is known.
  public var highestQualityLayer: IVSRemoteStageStreamLayer {
    layers.max { $0.pixels < $1.pixels } ?? IVSRemoteStageStreamLayer()
  }

  /// The layer with the fewest pixels; one of no size while no layer is known.
  public var lowestQualityLayer: IVSRemoteStageStreamLayer {
    layers.min { $0.pixels < $1.pixels } ?? IVSRemoteStageStreamLayer()
  }

  /// The layers within the constraints, the smallest first.
  public func layers(with constraints: IVSRemoteStageStreamLayerConstraints) -> [IVSRemoteStageStreamLayer] {
    layers.filter(constraints.permit)
  }

  var hasSeveralLayers: Bool { state.withLock { $0.layers.count > 1 } }
  /// Position of the wanted layer; nil: the stage adapts.
  var preferred: Int? { state.withLock { $0.preferred } }
  var isPreferredReceived: Bool { state.withLock { $0.preferred == nil || $0.preferred == $0.selected } }

  /// - Returns: whether the preference is another one, and whether adaptation begins or ends with it.
  func prefer(_ layer: IVSRemoteStageStreamLayer?) -> (isNew: Bool, changesAdaption: Bool) {
    state.withLock { state in
      let new = layer.flatMap { layer in state.layers.firstIndex { $0.number == layer.number && layer.belongs(to: $0) }
      }
      guard new != state.preferred else { return (false, false) }
      defer { state.preferred = new }
      return (true, (new == nil) != (state.preferred == nil))
    }
  }

  /// Takes note of the size of received frames.
  /// - Returns: whether the received layer is another one, and whether the layers have changed: a stream without simulcast has
  ///   the one that is received.
  func received(width: Int, height: Int) -> (isOther: Bool, changesLayers: Bool) {
    state.withLock { state in
      guard width > 0, height > 0 else { return (false, false) }
      if state.layers.count <= 1 {
        let layer = IVSRemoteStageStreamLayer(Track.Layer(width: width, height: height), number: 0)
        let isChanged = state.layers.first?.size != layer.size
        (state.layers, state.selected) = ([layer], 0)
        return (isChanged, isChanged)
      }
      // A publisher reduces the size of a layer where the path is narrow: the nearest layer is meant.
      func distance(_ layer: IVSRemoteStageStreamLayer) -> CGFloat { abs(layer.size.height - CGFloat(height)) }
      let nearest = state.layers.indices.min { distance(state.layers[$0]) < distance(state.layers[$1]) }
      defer { state.selected = nearest }
      return (nearest != state.selected, false)
    }
  }
}

/// Notified of one remote stream, on the delivery queue. All methods are optional.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSRemoteStageStreamDelegate.html)
public protocol IVSRemoteStageStreamDelegate: IVSStageStreamDelegate {
  func stream(_ stream: IVSRemoteStageStream, didChange layers: [IVSRemoteStageStreamLayer])
  func stream(
    _ stream: IVSRemoteStageStream, didSelect layer: IVSRemoteStageStreamLayer?,
    reason: IVSRemoteStageStream.LayerSelectedReason)
  /// - Parameter adaption: whether the stage adapts the layer to the path.
  func stream(_ stream: IVSRemoteStageStream, didChangeAdaption adaption: Bool)
}

extension IVSRemoteStageStreamDelegate {
  public func stream(_ stream: IVSRemoteStageStream, didChange layers: [IVSRemoteStageStreamLayer]) {}
  public func stream(
    _ stream: IVSRemoteStageStream, didSelect layer: IVSRemoteStageStreamLayer?,
    reason: IVSRemoteStageStream.LayerSelectedReason
  ) {}
  public func stream(_ stream: IVSRemoteStageStream, didChangeAdaption adaption: Bool) {}
}

/// One encoding of a remote video stream, as its publisher announced it.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSRemoteStageStreamLayer.html)
public class IVSRemoteStageStreamLayer: NSObject, @unchecked Sendable {  // constant
  /// Different for each layer of a stream.
  public let label: String
  /// The highest, in bit/s; 0 where the publisher did not say.
  public let bitrate: Int
  /// In pixels; zero where the publisher did not say.
  public let size: CGSize
  /// The highest; 0 where the publisher did not say.
  public let framesPerSecond: Int
  /// Whether the layer was received when it was asked for.
  public let selected: Bool
  /// Position among the stream's layers, 0 the smallest.
  let number: Int

  convenience init(_ layer: Track.Layer, number: Int) {
    self.init(
      number: number, bitrate: layer.maximumBitrate ?? 0,
      size: CGSize(width: layer.width ?? 0, height: layer.height ?? 0),
      framesPerSecond: Int((layer.maximumFramesPerSecond ?? 0).rounded()), selected: false)
  }

  init(number: Int = 0, bitrate: Int = 0, size: CGSize = .zero, framesPerSecond: Int = 0, selected: Bool = false) {
    self.number = number
    self.bitrate = bitrate
    self.size = size
    self.framesPerSecond = framesPerSecond
    self.selected = selected
    label = "\(number)"
  }

  var pixels: CGFloat { size.width * size.height }

  func with(selected: Bool) -> IVSRemoteStageStreamLayer {
    IVSRemoteStageStreamLayer(
      number: number, bitrate: bitrate, size: size, framesPerSecond: framesPerSecond, selected: selected)
  }

  /// Whether it may be the same layer of the same stream: not one of another stream.
  func belongs(to other: IVSRemoteStageStreamLayer) -> Bool { size == other.size && bitrate == other.bitrate }

  public override var description: String {
    "<IVSRemoteStageStreamLayer \(label), \(Int(size.width))×\(Int(size.height))\(selected ? ", selected" : "")>"
  }
}

/// Limits by which an app looks for a layer. Everything is permitted by default.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSRemoteStageStreamLayerConstraints.html)
public class IVSRemoteStageStreamLayerConstraints: NSObject {
  /// In bit/s.
  public var maxBitrate = Int.max
  /// In bit/s.
  public var minBitrate = 0
  /// In frames per second.
  public var maxFramerate = Int.max
  /// In frames per second.
  public var minFramerate = 0
  /// In pixels, as the other three.
  public var maxWidth = Int.max
  public var minWidth = 0
  public var maxHeight = Int.max
  public var minHeight = 0

  func permit(_ layer: IVSRemoteStageStreamLayer) -> Bool {
    func isWithin(_ value: Int, _ least: Int, _ most: Int) -> Bool { value >= least && value <= most }
    return isWithin(layer.bitrate, minBitrate, maxBitrate)
      && isWithin(layer.framesPerSecond, minFramerate, maxFramerate)
      && isWithin(Int(layer.size.width), minWidth, maxWidth) && isWithin(Int(layer.size.height), minHeight, maxHeight)
  }
}
