import Foundation
import Koine

/// A device for publishing. The strategy returns the same object for as long as the stream stays published.
///
/// [Vendor reference](https://aws.github.io/amazon-ivs-broadcast-docs/1.48.0/ios/Classes/IVSLocalStageStream.html)
public class IVSLocalStageStream: IVSStageStream, @unchecked Sendable {  // `own` is a lock
  private struct Publication {
    weak var run: StageSession?
    let stream: LocalStream
  }
  private struct Own {
    var configuration: IVSLocalStageStreamConfiguration
    var publications: [Publication] = []
  }

  private let own: Lock<Own>

  public init(device: any IVSDevice) {
    own = Lock(Own(configuration: IVSLocalStageStreamConfiguration()))
    super.init(device: device)
  }

  public init(device: any IVSDevice, configuration: IVSLocalStageStreamVideoConfiguration?) {
    let whole = IVSLocalStageStreamConfiguration()
    if let configuration { whole.video = configuration }
    own = Lock(Own(configuration: whole))
    super.init(device: device)
  }

  public init(device: any IVSDevice, config: IVSLocalStageStreamConfiguration?) {
    own = Lock(Own(configuration: config ?? IVSLocalStageStreamConfiguration()))
    super.init(device: device)
  }

  /// Stage-wide, at any time: before the stream is handed out, too. What the app sees changes at once.
  public func setMuted(_ muted: Bool) {
    update(muted: muted)
    for publication in own.withLock({ $0.publications }) { publication.stream.setMuted(muted) }
  }

  /// Takes effect at once; a stream that is being published is published anew.
  public func setConfiguration(_ configuration: IVSLocalStageStreamVideoConfiguration) {
    let whole = IVSLocalStageStreamConfiguration()
    whole.audio = self.configuration.audio
    whole.video = configuration
    setConfig(whole)
  }

  public func setConfig(_ configuration: IVSLocalStageStreamConfiguration) {
    let runs = own.withLock { own in
      own.configuration = configuration
      return own.publications.compactMap(\.run)
    }
    for run in runs { run.configurationChanged(of: self) }
  }

  var configuration: IVSLocalStageStreamConfiguration { own.withLock { $0.configuration } }

  /// What the stream's publication depends on besides the device, as it is now.
  var plan: PublishPlan { PublishPlan(of: device, configuration) }

  override var place: (session: Session, id: Track.ID)? {
    guard let publication = own.withLock({ $0.publications.first { $0.run != nil } }), let run = publication.run else {
      return nil
    }
    return (run.session, publication.stream.id)
  }

  // MARK: Publishing

  func attach(_ stream: LocalStream, of run: StageSession) {
    own.withLock { $0.publications.append(Publication(run: run, stream: stream)) }
  }

  func detach(_ stream: LocalStream) { own.withLock { $0.publications.removeAll { $0.stream === stream } } }
}

/// How a local stream goes out.
enum PublishPlan: Equatable {
  case pictures(VideoPublishOptions)
  case sound(AudioPublishOptions)
  /// The device is neither.
  case nothing

  init(of device: any IVSDevice, _ configuration: IVSLocalStageStreamConfiguration) {
    if let device = device as? any PublishableImages {
      self = .pictures(configuration.video.publishOptions(for: device.format))
    } else if device is any PublishableSound {
      self = .sound(configuration.audio.publishOptions)
    } else {
      self = .nothing
    }
  }
}
