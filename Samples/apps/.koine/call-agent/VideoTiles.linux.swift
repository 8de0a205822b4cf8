#sourceLocation(file: "Samples/apps/call-agent/VideoTiles.swift", line: 1)
import AzureCommunicationCalling
import Combine
import Foundation

/// Owns a renderer for each shown stream: a stream has one renderer at most, and a renderer one view.
final class VideoTiles: NSObject, ObservableObject, RendererDelegate {
  @Published private(set) var tiles: [Tile] = []
  /// Called with a tile if its renderer does not start.
  var didFail: ((Tile) -> Void)?
  private var renderers: [Int32?: VideoStreamRenderer] = [:]

  func showPreview(of stream: LocalVideoStream) throws {
    try add(nil, VideoStreamRenderer(localVideoStream: stream), title: "You", isShare: false)
  }

  func show(_ stream: RemoteVideoStream, of name: String) throws {
    guard renderers[stream.id] == nil else { return }
    let isShare = stream.sourceType == .screenSharing
    let renderer = try VideoStreamRenderer(remoteVideoStream: stream)
    try add(stream.id, renderer, title: isShare ? "\(name)’s screen" : name, isShare: isShare)
  }

  private func add(_ id: Int32?, _ renderer: VideoStreamRenderer, title: String, isShare: Bool) throws {
    renderer.delegate = self
    let picture = try renderer.createView(withOptions: CreateViewOptions(scalingMode: .fit))
    renderers[id] = renderer
    tiles.append(Tile(id: id, title: title, isShare: isShare, picture: picture))
  }

  func hide(_ id: Int32?) {
    renderers.removeValue(forKey: id)?.dispose()
    tiles.removeAll { $0.id == id }
  }

  func videoStreamRenderer(didFailToStart renderer: VideoStreamRenderer) {
    onMain { [weak self] in
      guard let self, let tile = tiles.first(where: { self.renderers[$0.id] === renderer }) else { return }
      hide(tile.id)
      didFail?(tile)
    }
  }
}

/// Goes on on the main thread: the SDK promises no thread for its callbacks.
func onMain(_ body: @escaping () -> Void) {
  nonisolated(unsafe) let body = body
  DispatchQueue.main.async { body() }
}
