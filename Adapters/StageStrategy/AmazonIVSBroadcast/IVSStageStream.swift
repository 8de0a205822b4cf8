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

  /// Asks once for the newest typed statistics, which come to the delegate.
  /// - Throws: `deviceNotPublishing` for a stream that is not on a stage right now.
  public func requestQualityStats() throws {
    guard let (session, id) = place else {
      throw NSError.ivs(
        .deviceNotPublishing, "the stream is neither published nor subscribed to", source: device.tag())
    }
    let isOwn = self is IVSLocalStageStream
    session.statistics { [weak self, weak session] figures in
      guard let self, let session, let delegate else { return }
      let quality = session.pathQuality(of: session.localParticipant.id)
      switch QualityStats(of: id, isOwn: isOwn, in: figures, quality) {
      case .localAudio(let stats): delegate.stream(self, didGenerate: stats)
      case .localVideo(let stats): delegate.stream(self, didGenerate: stats)
      case .remoteAudio(let stats): delegate.stream(self, didGenerate: stats)
      case .remoteVideo(let stats): delegate.stream(self, didGenerate: stats)
      case nil: break  // withdrawn since
      }
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
  func stream(_ stream: IVSStageStream, didGenerate stats: IVSLocalAudioStats)
  /// - Parameter stats: one for each layer, the smallest first.
  func stream(_ stream: IVSStageStream, didGenerate stats: [IVSLocalVideoStats])
  func stream(_ stream: IVSStageStream, didGenerate stats: IVSRemoteAudioStats)
  func stream(_ stream: IVSStageStream, didGenerate stats: IVSRemoteVideoStats)
}

extension IVSStageStreamDelegate {
  public func streamDidChangeIsMuted(_ stream: IVSStageStream) {}
  public func stream(_ stream: IVSStageStream, didGenerateRTCStats stats: [String: [String: String]]) {}
  public func stream(_ stream: IVSStageStream, didGenerate stats: IVSLocalAudioStats) {}
  public func stream(_ stream: IVSStageStream, didGenerate stats: [IVSLocalVideoStats]) {}
  public func stream(_ stream: IVSStageStream, didGenerate stats: IVSRemoteAudioStats) {}
  public func stream(_ stream: IVSStageStream, didGenerate stats: IVSRemoteVideoStats) {}
}
