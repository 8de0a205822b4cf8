// Views of videos, and received streams (`koine port --to call-agent`): the same file for every app.
import AzureCommunicationCalling
import UIKit

extension AzureCall {
  func isSent(_ kind: AzureStream.Kind, by person: AzurePerson) -> Bool { person.streams["\(kind)"] != nil }
  /// Receives these kinds of streams, by participants, and all of others: a video while a view shows it. Sound comes mixed.
  func receive(_ wanted: [String: Set<AzureStream.Kind>]) {
    received = wanted
    for person in participants.values {
      for kind in AzureStream.Kind.allCases { views["\(person.id) \(kind)"]?.show(video(kind, of: person)) }
    }
    let isMuted = !wanted.isEmpty && !wanted.values.contains { $0.contains(.microphone) }
    guard let call, isMuted != call.isIncomingAudioMuted else { return }
    isMuted ? call.muteIncomingAudio { _ in } : call.unmuteIncomingAudio { _ in }
  }
  /// The video that a view shows; nil: there is none, or it is not to be received.
  func video(_ kind: AzureStream.Kind, of person: AzurePerson) -> CallVideoStream? {
    received[person.id]?.contains(kind) == false ? nil : person.streams["\(kind)"]?.source
  }
  /// Shows a participant's video, also that which comes after a pause.
  func show(_ view: AzureVideoView, _ kind: AzureStream.Kind, of person: String) {
    let owner = person == localParticipant.id ? localParticipant : participants[person]
    if let old = views.updateValue(view, forKey: "\(person) \(kind)"), old !== view { old.show(nil) }
    view.show(owner.flatMap { video(kind, of: $0) })
  }
  func hide(_ view: AzureVideoView, _ stream: String) {
    guard views[stream] === view else { return }
    views[stream] = nil
    view.show(nil)
  }
}

/// A view that shows one stream after the other. The SDK makes a view for each, and one at a time.
final class AzureVideoView: UIView {
  private var renderer: VideoStreamRenderer?, picture: RendererView?, source: CallVideoStream?
  private var scaling: ScalingMode { contentMode == .scaleAspectFill ? .crop : .fit }
  override var contentMode: UIView.ContentMode { didSet { picture?.update(scalingMode: scaling) } }
  nonisolated func show(_ new: CallVideoStream?) {
    MainActor.assumeIsolated { if new !== source { set(new) } }
  }
  private func set(_ new: CallVideoStream?) {
    picture?.removeFromSuperview()
    renderer?.dispose()
    (source, picture) = (new, nil)
    renderer = new?.renderer()
    guard let view = try? renderer?.createView(withOptions: CreateViewOptions(scalingMode: scaling)) else { return }
    (picture, view.frame, view.autoresizingMask) = (view, bounds, [.flexibleWidth, .flexibleHeight])
    addSubview(view)
  }
}

extension CallVideoStream {
  /// A new renderer, if the stream can be shown and has none.
  func renderer() -> VideoStreamRenderer? {
    try? (self as? RemoteVideoStream).map { try VideoStreamRenderer(remoteVideoStream: $0) }
      ?? (self as? LocalVideoStream).map { try VideoStreamRenderer(localVideoStream: $0) }
  }
}
