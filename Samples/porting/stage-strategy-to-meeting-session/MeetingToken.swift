// Tokens and pictures of the app's own, in a meeting (`koine port --to meeting-session`): the same file for every app.
import AmazonChimeSDK
import CoreVideo
import Foundation

extension MeetingCall {
  private struct Answers: Decodable {
    struct Parts: Decodable {
      let Meeting: CreateMeetingResponse
      let Attendee: CreateAttendeeResponse
    }
    let JoinInfo: Parts
  }
  private static func answers(_ token: String) -> Answers.Parts? {
    try? JSONDecoder().decode(Answers.self, from: Data(token.utf8)).JoinInfo
  }
  static func reads(_ token: String) -> Bool { answers(token) != nil }
  /// - Parameter token: the answers to CreateMeeting and CreateAttendee, as JSON: `{"JoinInfo": {"Meeting": …, "Attendee": …}}`.
  convenience init?(token: String, isMicrophoneOn: Bool = false) {
    guard let answers = Self.answers(token) else { return nil }
    self.init(
      MeetingSessionConfiguration(createMeetingResponse: answers.Meeting, createAttendeeResponse: answers.Attendee),
      isMicrophoneOn: isMicrophoneOn)
  }
  func isSent(_ kind: MeetingStream.Kind, by person: MeetingPerson) -> Bool { person.streams["\(kind)"] != nil }
}

/// Pictures of the app's own.
final class MeetingFeed: VideoSource, @unchecked Sendable {  // `sinks` and `newest` are guarded
  var videoContentHint = VideoContentHint.text
  private let lock = NSLock()
  private var sinks: [any AmazonChimeSDK.VideoSink] = [], newest: VideoFrame?
  /// The meeting listens from now on. A picture that came earlier may be the only one.
  func addVideoSink(sink: any AmazonChimeSDK.VideoSink) {
    let frame = lock.withLock { () -> VideoFrame? in
      sinks.append(sink)
      return newest
    }
    if let frame { sink.onVideoFrameReceived(frame: frame) }
  }
  func removeVideoSink(sink: any AmazonChimeSDK.VideoSink) { lock.withLock { sinks.removeAll { $0 === sink } } }
  func push(_ image: CVPixelBuffer) {
    let time = Int64(DispatchTime.now().uptimeNanoseconds)
    let frame = VideoFrame(timestampNs: time, rotation: .rotation0, buffer: VideoFramePixelBuffer(pixelBuffer: image))
    let sinks = lock.withLock { () -> [any AmazonChimeSDK.VideoSink] in
      newest = frame
      return self.sinks
    }
    for sink in sinks { sink.onVideoFrameReceived(frame: frame) }
  }
}
