// Participants, what they send, and ends of calls (`koine port --to stage-strategy`): the same file for every app.
import AmazonIVSBroadcast
import ReplayKit
import UIKit

/// What a stage reports, about one participant at a time.
enum StageReport: Sendable {
  case phaseChanged(StagePhase), joined, left(StageEnd), connectionLost, failed(StageFailure)
  case personJoined(StagePerson), personLeft(StagePerson)
  case streamAdded(StageStream, StagePerson), streamRemoved(StageStream, StagePerson)
  case speakerChanged(String?), presenterChanged(String?), levelsChanged([String: Float])
  /// From now on it is known what a participant sends.
  case streamsKnown(StagePerson)
}
enum StagePhase: Sendable { case connecting, connected, reconnecting, ended }
enum StageFailure: String, Error {
  case rejected, full, closed, joinedElsewhere, microphone, microphoneDenied, camera, cameraDenied, screen, failed

  /// - Parameter code: an error's, as the vendor's guide lists them.
  init(_ code: Int?) {
    switch code {
    case 1000, 1001, 1026: self = .rejected
    case 1024: self = .full
    case 1027: self = .closed
    default: self = .failed
    }
  }
}
enum StageEnd: String, Sendable {
  case left, replaced, removed, closed, lost, refused, failed

  /// A stage has one error for a token that it refuses and for a removal, and none for the same token on another device.
  init(_ code: Int?, isLeaving: Bool, hasEntered: Bool) {
    switch code {
    case nil: self = isLeaving ? .left : .replaced
    case 1300: self = .lost
    case 1026 where hasEntered: self = .removed
    case 1027 where hasEntered: self = .closed
    default: self = hasEntered ? .failed : .refused
    }
  }
}

/// A participant with what it sends now.
final class StagePerson: Equatable, @unchecked Sendable {  // used on the main queue only
  let id, name: String, isLocal: Bool
  var streams: [String: StageStream] = [:]
  /// What the stage has of it, also while it is muted.
  var sources: [StageStream] = []
  init(id: String, name: String, isLocal: Bool) { (self.id, self.name, self.isLocal) = (id, name, isLocal) }
  static func == (one: StagePerson, other: StagePerson) -> Bool { one === other }
}

/// A microphone, a camera or a shared screen.
final class StageStream: Equatable, @unchecked Sendable {  // used on the main queue only
  enum Kind: Sendable, CaseIterable { case microphone, camera, screen }
  let id: String, kind: Kind, source: IVSStageStream
  init(_ kind: Kind, of id: String, _ source: IVSStageStream) {
    (self.id, self.kind, self.source) = ("\(id) \(kind)", kind, source)
  }
  var video: StageStream? { kind == .microphone ? nil : self }
  @MainActor func attach(view: StageStreamView) { view.device = source.device as? any IVSImageDevice }
  @MainActor func detach(view: StageStreamView) { if view.device === source.device { view.device = nil } }
  static func == (one: StageStream, other: StageStream) -> Bool { one === other }
}

/// A view that shows one stream after the other. The SDK makes a view for each device.
final class StageStreamView: UIView {
  var device: (any IVSImageDevice)? { didSet { if device !== oldValue { show() } } }
  override var contentMode: UIView.ContentMode { didSet { if contentMode != oldValue { show() } } }
  private func show() {
    subviews.forEach { $0.removeFromSuperview() }
    let mode: IVSBroadcastConfiguration.AspectMode = contentMode == .scaleAspectFit ? .fit : .fill
    guard let view = try? device?.previewView(with: mode) else { return }
    view.frame = bounds
    view.autoresizingMask = [.flexibleWidth, .flexibleHeight]
    addSubview(view)
  }
}

/// The screen, captured for as long as the object is there. The SDK has no capture of its own.
final class StageCapture: @unchecked Sendable {  // used on the main queue only
  let stream: IVSLocalStageStream
  private(set) var isOn = false
  private let source: any IVSCustomImageSource, recorder: RPScreenRecorder?
  /// - Parameter frames: of the app's own; nil: of the screen.
  init(_ discovery: IVSDeviceDiscovery, _ frames: (any IVSCustomImageSource)?) {
    source = frames ?? discovery.createImageSource(withName: "screen")
    (recorder, stream) = (frames == nil ? .shared() : nil, IVSLocalStageStream(device: source))
  }
  deinit { recorder?.stopCapture { _ in } }
  /// - Parameter completion: called on the main queue; `isOn` says whether the capture has begun.
  func start(_ completion: @escaping @Sendable () -> Void) {
    isOn = recorder == nil
    if isOn { completion() }
    recorder?.startCapture { [source] sample, type, _ in
      if type == .video { source.onSampleBuffer(sample) }
    } completionHandler: { [weak self] error in
      DispatchQueue.main.async { [weak self] in
        self?.isOn = error == nil
        completion()
      }
    }
  }
}

/// Finds the active speaker: a stage measures, and names no speaker.
struct StageMeter {
  private(set) var speaker: String?
  private var levels: [String: Float] = [:]
  /// - Parameter rms: in dBFS; nil: the participant sends no sound.
  mutating func measure(_ id: String, _ rms: Float?) {
    levels[id] = rms.flatMap { $0 > -45 ? $0 : nil }  // breath and fans are below
    let loudest = levels.max { $0.value < $1.value }
    // Another participant needs a lead of 3 dB, so that the mark does not flicker.
    if let speaker, let level = levels[speaker], let loudest, loudest.value <= level + 3 { return }
    speaker = loudest?.key
  }
}
