// What layers read from the call agent style need for views (`koine port --to meeting-session`): the same for every app.
import AmazonChimeSDK
import Foundation
import UIKit

extension MeetingAgent {
  /// A participant's token, as the app's own server answers it, or the app's way to one.
  struct Credential {
    typealias Refresher = (@escaping (String?, (any Error)?) -> Void) -> Void
    private let token: String?, refresher: Refresher?
    init(token: String) throws { (self.token, refresher) = (try Self.checked(token), nil) }
    init(initialToken: String? = nil, refresher: @escaping Refresher) {
      (token, self.refresher) = (initialToken, refresher)
    }
    init(of other: Credential) throws { self = other }
    private static func checked(_ token: String?) throws -> String {
      guard let token, MeetingCall.reads(token) else { throw Failure.unauthorized }
      return token
    }
    /// Hands over a token, on the main queue.
    func read(_ completion: @escaping (Result<String, any Error>) -> Void) {
      if let token {
        let result = Result { try Self.checked(token) }
        return MeetingAgent.onMain { completion(result) }
      }
      nonisolated(unsafe) var waiting = Optional(completion)
      refresher? { token, error in
        let result = Result { if let error { throw error } else { try Self.checked(token) } }
        MeetingAgent.onMain { waiting.take()?(result) }
      }
    }
  }

  /// Shows one video in one view.
  final class Renderer: @unchecked Sendable {
    var handler: ((Renderer) -> Void)?, frameHandler: ((Renderer) -> Void)?
    /// Of the newest frame, in pixels; nought before the first.
    private(set) var size: (width: Int32, height: Int32) = (0, 0)
    private let attach: (Screen) -> Bool, detach: (Screen) -> Void
    private var screen: Screen?
    init(video: Video) throws { (attach, detach) = (video.source.attach, video.source.detach) }
    init(track: Stream) throws {
      attach = { track.sent?.attach(view: $0) != nil }
      detach = { track.sent?.detach(view: $0) }
    }
    func makeView(_ mode: UIView.ContentMode = .scaleAspectFill) throws -> DefaultVideoRenderView {
      let screen = Screen(mode)
      screen.sizeHandler = { [weak self] in self?.changed($0, $1) }
      screen.didFail = { [weak self] in if let self { handler?(self) } }
      self.screen = screen
      if !attach(screen) { onMain { screen.didFail?() } }
      return screen.view
    }
    private func changed(_ width: Int32, _ height: Int32) {
      let isFirst = size == (0, 0)
      size = (width, height)
      if isFirst, screen != nil { frameHandler?(self) }
    }
    func dispose() {
      guard let screen else { return }
      detach(screen)
      screen.clear()
      self.screen = nil
    }
  }
}
