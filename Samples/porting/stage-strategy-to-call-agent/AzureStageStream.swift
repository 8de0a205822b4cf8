// Streams, settings and errors of layers read from the stage strategy style (`koine port --to call-agent`): the same for every app.
import AzureCommunicationCalling
import Foundation
import UIKit

extension AzureStage {
  /// What a stage reports. Streams stay while they are muted.
  enum Report {
    case phaseChanged(AzurePhase, (any Error)?), failed(AzureStream.Kind?, any Error)
    case personJoined(AzurePerson), personLeft(AzurePerson)
    case streamAdded(Stream, AzurePerson), streamRemoved(Stream, AzurePerson)
    case streamMuted(Stream, AzurePerson), publishingChanged(AzurePerson)
  }

  /// A stream that is received, or that the app can send.
  final class Stream: Equatable, @unchecked Sendable {  // used on the main queue only
    let kind: AzureStream.Kind
    private(set) var owner = "", id = UUID().uuidString
    var isMuted = false
    private(set) var levelHandler: ((Float) -> Void)?
    /// Called when the app mutes or unmutes a stream that is sent.
    var muteHandler: ((Stream) -> Void)?
    private weak var call: AzureCall?
    /// The device that it was made with.
    private(set) var device: Device?
    var name: String { device?.name ?? "" }
    private var feed: Feed?, options = Video(), isSent = false

    init(_ kind: AzureStream.Kind, of person: String, in call: AzureCall, isMuted: Bool) {
      (self.kind, self.call, self.isMuted) = (kind, call, isMuted)
      (owner, id) = (person, "\(person) \(kind)")
    }
    init(device: Device, configuration: Video = Video()) {
      (kind, self.device, options) = (device.kind, device, configuration)
    }
    convenience init(device: Device, config: Video) { self.init(device: device, configuration: config) }
    init(device: Feed, config: Video = Video()) { (kind, feed, options) = (.camera, device, config) }

    static func == (one: Stream, other: Stream) -> Bool { one === other }
    /// The devices that it can come from.
    var sources: [Device] { Device.all.first { $0.kind == kind }?.sources ?? [] }
    /// In dBov.
    func setLevelHandler(_ handler: ((Float) -> Void)?) { levelHandler = handler }
    func setMuted(_ isMuted: Bool) {
      self.isMuted = isMuted
      guard isSent else { return }
      send(!isMuted)
      muteHandler?(self)
    }
    func makeView(with mode: UIView.ContentMode = .scaleAspectFit) -> AzureVideoView {
      let view = AzureVideoView(frame: .zero)
      view.contentMode = mode
      call?.show(view, kind, of: owner)
      return view
    }
    /// - Returns: whether the user has allowed the device.
    func start(in call: AzureCall) -> Bool {
      (self.call, isSent, owner) = (call, true, call.localParticipant.id)
      device?.call = call
      return isMuted || send(true)
    }
    func stop() {
      isSent = false
      send(false)
    }
    @discardableResult private func send(_ isOn: Bool) -> Bool {
      call?.send(kind, isOn: isOn, device, feed, options) ?? true
    }
  }

  /// What an app wants of its video. The SDK decides what it keeps to.
  struct Video {
    var minimumBitrate = 0, maximumBitrate = 900_000, maximumFramesPerSecond = 15
    var maximumWidth = 360, maximumHeight = 640
  }

  /// Errors with the numbers that apps in the stage strategy style know.
  enum Fault: Int {
    case token = 1000, media = 1020, full = 1024, refused = 1026, closed = 1027
    case answer = 1203, lost = 1300, device = 10101

    static let domain = "AzureStage.Fault", isFatalKey = "isFatal"
    /// All errors but these are fatal, as in the SDK of stages.
    private var isFatal: Bool { ![.media, .full, .answer, .device].contains(self) }
    func error(_ message: String) -> NSError {
      let info: [String: Any] = [NSLocalizedDescriptionKey: message, Self.isFatalKey: isFatal]
      return NSError(domain: Self.domain, code: rawValue, userInfo: info)
    }
  }
}
