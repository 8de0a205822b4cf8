#sourceLocation(file: "Samples/apps/event-listener/TileView.swift", line: 1)
import UIKit
import WebRTC

/// A picture with a caption below it, or initials while there is no picture.
final class TileView: UIView {
  private let video = RTCMTLVideoView()
  private let initials = UILabel()
  private let caption = UILabel()
  private var track: RTCVideoTrack?

  private static let captionHeight: CGFloat = 20

  override init(frame: CGRect) {
    super.init(frame: frame)
    video.videoContentMode = .scaleAspectFit
    initials.textColor = .white
    caption.textColor = .white
    [video, initials, caption].forEach(addSubview)
  }

  required init?(coder: NSCoder) { fatalError("not used: views are made in code") }

  func show(_ tile: Tile, in frame: CGRect) {
    self.frame = frame
    let (captionArea, picture) = bounds.divided(atDistance: Self.captionHeight, from: .maxYEdge)
    video.frame = picture
    caption.frame = captionArea
    initials.frame = CGRect(x: picture.midX - 20, y: picture.midY - 10, width: 40, height: 20)
    caption.text = tile.caption
    initials.text = tile.initials
    backgroundColor = tile.isSpeaking ? .green : .darkGray
    if track !== tile.track {
      track?.remove(video)
      track = tile.track
      track?.add(video)
    }
    video.isHidden = track == nil
    initials.isHidden = track != nil
  }

  func stop() {
    track?.remove(video)
    track = nil
  }
}
