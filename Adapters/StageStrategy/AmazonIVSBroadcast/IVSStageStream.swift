public import Foundation
import Koine

/// A stream of one participant: one device, either audio or video.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSStageStream.html)
public class IVSStageStream: NSObject, @unchecked Sendable {  // `shared` is a lock
  private struct Shared {
    weak var delegate: (any IVSStageStreamDelegate)?
    var isMuted = false
  }

  /// An `IVSImageDevice` or an `IVSAudioDevice`.
  public let device: any IVSDevice
  private let shared = Lock(Shared())

  init(device: any IVSDevice, isMuted: Bool = false) {
    self.device = device
    shared.withLock { $0.isMuted = isMuted }
  }

  /// Whether the stream is muted for all participants of the stage.
  public var isMuted: Bool { shared.withLock { $0.isMuted } }
  func update(muted: Bool) { shared.withLock { $0.isMuted = muted } }

  /// Held weakly.
  public var delegate: (any IVSStageStreamDelegate)? {
    get { shared.withLock { $0.delegate } }
    set { shared.withLock { $0.delegate = newValue } }
  }

  /// Asks once for the newest figures, which come to the delegate.
  /// - Throws: `deviceNotPublishing` for a stream that is not on a stage right now.
  public func requestRTCStats() throws {
    guard let (session, id) = place else {
      throw NSError.ivs(
        .deviceNotPublishing, "the stream is neither published nor subscribed to", source: device.tag())
    }
    session.statistics { [weak self] figures in
      guard let self, let delegate else { return }
      delegate.stream(
        self, didGenerateRTCStats: RTCStats.dictionary(of: id, isOwn: self is IVSLocalStageStream, in: figures))
    }
  }

  /// Where the stream is to be found while it is published or subscribed to.
  var place: (session: Session, id: Track.ID)? { nil }

  var isAudio: Bool { device is any IVSAudioDevice }
}

/// Notified of changes of one stream, on the delivery queue. All methods are optional.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Protocols/IVSStageStreamDelegate.html)
public protocol IVSStageStreamDelegate: NSObjectProtocol {
  func streamDidChangeIsMuted(_ stream: IVSStageStream)
  /// - Parameter stats: the W3C's statistics by their ids, all values as text.
  func stream(_ stream: IVSStageStream, didGenerateRTCStats stats: [String: [String: String]])
}

extension IVSStageStreamDelegate {
  public func streamDidChangeIsMuted(_ stream: IVSStageStream) {}
  public func stream(_ stream: IVSStageStream, didGenerateRTCStats stats: [String: [String: String]]) {}
}

/// A remote participant's stream, for as long as the client subscribes to it.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSRemoteStageStream.html)
public class IVSRemoteStageStream: IVSStageStream, @unchecked Sendable {  // `session` is a lock
  let id: Track.ID
  private struct Weak { weak var session: Session? }
  private let session: Lock<Weak>

  init(_ stream: Track, in session: Session, gain: Float) {
    id = stream.id
    self.session = Lock(Weak(session: session))
    let device: any IVSDevice
    if stream.kind.isVideo {
      device = RemoteImageDevice(stream.id, session)
    } else {
      device = RemoteAudioDevice(stream.id, session, gain: gain)
    }
    super.init(device: device, isMuted: stream.isMuted)
  }

  override var place: (session: Session, id: Track.ID)? {
    session.withLock { $0.session }.map { ($0, id) }
  }

  /// No longer subscribed to.
  func detach() { session.withLock { $0.session = nil } }
}
