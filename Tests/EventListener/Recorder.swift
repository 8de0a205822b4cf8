import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import VideoSDKRTC
import WebRTC

/// Records callbacks, and adds itself as listener of each participant.
final class Recorder: MeetingEventListener, ParticipantEventListener, @unchecked Sendable {  // everything is in locks
  private let lines = Lock<[String]>([])
  private let kept = Lock<(streams: [MediaStream], people: [VideoSDKRTC.Participant])>(([], []))
  private let accepts = Lock<(String) -> Bool>({ _ in false })
  private let hook = Lock<(String) -> Void>({ _ in })
  weak var meeting: Meeting?

  var told: [String] { lines.withLock { $0 } }
  var streams: [MediaStream] { kept.withLock { $0.streams } }
  var people: [VideoSDKRTC.Participant] { kept.withLock { $0.people } }

  /// Discards the lines recorded so far.
  func forget() { lines.withLock { $0 = [] } }
  /// Called for each line, inside the callback.
  func onEvery(_ hook: @escaping (String) -> Void) { self.hook.withLock { $0 = hook } }

  private func note(_ line: String) {
    lines.withLock { $0.append(line) }
    hook.withLock { $0 }(line)
  }

  func onMeetingJoined() {
    meeting?.localParticipant.addEventListener(self)
    note("in")
  }
  func onMeetingJoined(switchMeetingId: String?) { if let switchMeetingId { note("in \(switchMeetingId)") } }
  func onPausedAllStreams(kind: String) { note("paused \(kind)") }
  func onResumedAllStreams(kind: String) { note("resumed \(kind)") }
  func onMeetingLeft() { note("out") }
  func onMeetingStateChanged(meetingState: MeetingState) { note("\(meetingState)") }
  func onError(error: VideoSDKError) { note("error \(error)") }
  func onMicChanged(selectedDevice: String) { note("mic \(selectedDevice)") }
  func onSocketError(message: String) { note("socket error") }

  /// Which requests are accepted, as they are written down; all others are rejected.
  func answers(_ accepts: @escaping (String) -> Bool) { self.accepts.withLock { $0 = accepts } }

  private func asked(_ line: String, _ accept: () -> Void, _ reject: () -> Void) {
    note(line)
    if accepts.withLock({ $0 })(line) { accept() } else { reject() }
  }

  func onMicRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) {
    asked("\(meeting?.localParticipant.id ?? "") asked mic by \(participantId ?? "")", accept, reject)
  }
  func onWebcamRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) {
    asked("\(meeting?.localParticipant.id ?? "") asked webcam by \(participantId ?? "")", accept, reject)
  }
  func onEntryRequested(id: String, name: String, allow: @escaping () -> Void, deny: @escaping () -> Void) {
    asked("entry asked by \(name)", allow, deny)
  }
  func onEntryResponded(id: String, decision: String) { note("\(id) \(decision)") }
  func onHlsStateChanged(state: HLSState, hlsUrl: HLSUrl?) {
    note("\(state)\(meeting?.hlsState == state ? "" : " too early")\(hlsUrl == nil ? "" : " at a place")")
  }
  func onPresenterChanged(activePresenterId: String?) { note("presenter \(activePresenterId ?? "-")") }
  func onParticipantModeChanged(participantId: String, mode: Mode) { note("\(participantId) \(mode)") }
  func onPinStateChanged(participantId: String, pinType: PinType) { note("pinned \(participantId) \(pinType)") }
  func onRecordingStateChanged(state: RecordingState) { note("\(state)") }
  func onLivestreamStateChanged(state: LiveStreamState) {
    note("\(state)\(meeting?.liveStreamState == state ? "" : " too early")")
  }
  func onLivestreamStarted() { note("livestream started") }
  func onLivestreamStopped() { note("livestream stopped") }
  func onRecordingStarted() { note("recording started") }
  func onRecordingStoppped() { note("recording stopped") }
  func onRecordingStopped() { note("recording stopped 2.6") }
  func onMeetingLeft(reason: LeaveReason) { if tellsReasons { note("out \(reason)") } }
  func onParticipantLeft(_ participant: VideoSDKRTC.Participant, reason: LeaveReason) {
    if tellsReasons { note("\(participant.displayName) left \(reason)") }
  }
  var tellsReasons: Bool { reasons.withLock { $0 } }
  let reasons = Lock(false)

  func onParticipantJoined(_ participant: VideoSDKRTC.Participant) {
    kept.withLock { $0.people.append(participant) }
    participant.addEventListener(self)
    note("\(participant.displayName) joined")
  }
  func onParticipantLeft(_ participant: VideoSDKRTC.Participant) { note("\(participant.displayName) left") }

  func onStreamEnabled(_ stream: MediaStream, forParticipant participant: VideoSDKRTC.Participant) {
    kept.withLock { $0.streams.append(stream) }
    let isThere = participant.streams[stream.id] == stream
    note("\(participant.displayName) +\(word(stream))\(isThere ? "" : " too early")")
  }
  func onStreamDisabled(_ stream: MediaStream, forParticipant participant: VideoSDKRTC.Participant) {
    let isGone = participant.streams[stream.id] == nil
    note("\(participant.displayName) -\(word(stream))\(isGone ? "" : " too early")")
  }

  private func word(_ stream: MediaStream) -> String {
    switch stream.kind {
    case .state(value: let kind): kind.rawValue
    case .share: "share"
    }
  }
}

/// Counts frames and records sizes.
final class Screen: NSObject, RTCVideoRenderer, @unchecked Sendable {
  private let seen = Lock<(frames: Int, sizes: [CGSize])>((0, []))
  var frames: Int { seen.withLock { $0.frames } }
  var sizes: [CGSize] { seen.withLock { $0.sizes } }

  func setSize(_ size: CGSize) { seen.withLock { $0.sizes.append(size) } }
  func renderFrame(_ frame: RTCVideoFrame?) { seen.withLock { $0.frames += 1 } }
}

/// A world, in virtual time by default, and its participants.
struct TestEnvironment {
  let world: World

  init(_ backend: any Backend = EmbeddedBackend(virtual: 3)) {
    world = World(
      backend: backend, delivery: Delivery(queue: DispatchQueue(label: "delivery")),
      devices: DefaultDevices(camera: "pattern:160x90@30", microphone: "tone", screen: "pattern:320x180@10"))
  }

  func meeting(
    _ name: String, id: String = "", room: String = "tea", mic: Bool = true, camera: Bool = true, token: String = ""
  ) -> (Meeting, Recorder) {
    let meeting = VideoSDK.configured(token: token) {
      World.$current.withValue(world) {
        VideoSDK.initMeeting(
          meetingId: room, participantId: id, participantName: name, micEnabled: mic, webcamEnabled: camera)
      }
    }
    let recorder = Recorder()
    recorder.meeting = meeting
    meeting.addEventListener(recorder)
    return (meeting, recorder)
  }

  func run(_ duration: Duration = .seconds(1)) async { await world.run(for: duration) }
}
