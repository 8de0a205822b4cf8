import Dispatch
import Foundation
import Koine
import KoineEmbeddedBackend
import KoineUIKit
import Testing
import VideoSDKRTC
import WebRTC

// The screen of the vendor's page "Display Video", as it reads: outlets without their attribute, views made instead of
// loaded, the reader's own list of participants filled, and the two pages' listeners joined into one.

@MainActor
class MeetingViewController: UIViewController, UNUserNotificationCenterDelegate {
  var meeting: Meeting?
  var participants: [VideoSDKRTC.Participant] = []
  // remote participant view
  var participantViewsContainer: UIView! = UIView(frame: CGRect(x: 0, y: 0, width: 320, height: 180))
  var remoteParticipantVideoContainer: RTCMTLVideoView! = RTCMTLVideoView(frame: .zero)
  // local participant view
  var localParticipantViewContainer: UIView! = UIView(frame: .zero)
  var localParticipantViewVideoContainer: RTCMTLVideoView! = RTCMTLVideoView(frame: .zero)
  var viewRemoteMicContainer: UIView! = UIView(frame: .zero)
  var log: [String] = []

  func initializeMeeting(name: String) {
    meeting = VideoSDK.initMeeting(
      meetingId: "abcd-xyzw-efgh",
      participantName: name,
      micEnabled: true,
      webcamEnabled: true,
    )
    meeting?.addEventListener(self)
    meeting?.join(cameraPosition: .front)
  }
}

extension MeetingViewController: @preconcurrency MeetingEventListener {
  func onMeetingJoined() {
    log.append("joined")
    guard let localParticipant = self.meeting?.localParticipant else { return }
    participants.append(localParticipant)
    localParticipant.addEventListener(self)
  }

  func onParticipantJoined(_ participant: VideoSDKRTC.Participant) {
    log.append("participant \(participant.displayName)")
    participants.append(participant)
    participant.addEventListener(self)
  }

  func onParticipantLeft(_ participant: VideoSDKRTC.Participant) {
    log.append("left \(participant.displayName)")
    participants.removeAll { $0 === participant }
  }

  func onMeetingStateChanged(meetingState: MeetingState) { log.append("\(meetingState)") }
  func onMeetingLeft() { log.append("meeting left") }
  func onError(error: VideoSDKError) { log.append("error \(error.rawValue)") }
}

extension MeetingViewController: @preconcurrency ParticipantEventListener {
  func onStreamEnabled(_ stream: MediaStream, forParticipant participant: VideoSDKRTC.Participant) {
    log.append("enabled \(word(stream)) \(participant.displayName)")
    #expect(participant.streams[stream.id] === stream, "the stream is there before it is told")
    updateView(participant: participant, forStream: stream, enabled: true)
  }

  func onStreamDisabled(_ stream: MediaStream, forParticipant participant: VideoSDKRTC.Participant) {
    log.append("disabled \(word(stream)) \(participant.displayName)")
    #expect(participant.streams[stream.id] == nil, "the stream is gone before it is told")
    updateView(participant: participant, forStream: stream, enabled: false)
  }

  private func word(_ stream: MediaStream) -> String { stream.kind == .state(value: .audio) ? "audio" : "video" }
}

extension MeetingViewController {
  func updateView(participant: VideoSDKRTC.Participant, forStream stream: MediaStream, enabled: Bool) {
    switch stream.kind {
    case .state(value: .video):
      if let videotrack = stream.track as? RTCVideoTrack {
        if enabled {
          showVideoView(participant: participant, stream: videotrack)
        } else {
          hideVideoView(participant: participant, stream: videotrack)
        }
      }
    case .state(value: .audio):
      updateMic(participant: participant, enabled)
    default:
      break
    }
  }

  func showVideoView(participant: VideoSDKRTC.Participant, stream: RTCVideoTrack) {
    DispatchQueue.main.async {
      UIView.animate(withDuration: 0.5) {
        if self.participants.count > 1 {
          if let currentVideoTrack = self.participants.first(where: { $0.isLocal })?.streams.first(where: {
            $1.kind == .state(value: .video)
          })?.value.track as? RTCVideoTrack {
            currentVideoTrack.remove(self.remoteParticipantVideoContainer)
            currentVideoTrack.remove(self.localParticipantViewVideoContainer)
          }
          stream.add(
            participant.isLocal ? self.localParticipantViewVideoContainer : self.remoteParticipantVideoContainer)
          if participant.isLocal {
            self.localParticipantViewVideoContainer.isHidden = false
          } else {
            self.remoteParticipantVideoContainer.isHidden = false
          }
          if let localParticipantVideoStream = self.participants.first(where: { $0.isLocal })?.streams.first(where: {
            $1.kind == .state(value: .video)
          })?.value.track as? RTCVideoTrack {
            localParticipantVideoStream.add(self.localParticipantViewVideoContainer)
            self.localParticipantViewVideoContainer.isHidden = false
            self.localParticipantViewContainer.isHidden = false
          }
        } else {
          stream.add(self.remoteParticipantVideoContainer)
          self.remoteParticipantVideoContainer.isHidden = false
        }
      }
    }
  }

  func hideVideoView(participant: VideoSDKRTC.Participant, stream: RTCVideoTrack) {
    UIView.animate(withDuration: 0.5) {
      if self.participants.count > 1 {
        stream.remove(
          participant.isLocal ? self.localParticipantViewVideoContainer : self.remoteParticipantVideoContainer)
        if participant.isLocal {
          self.localParticipantViewVideoContainer.videoContentMode = .scaleAspectFill
          self.localParticipantViewVideoContainer.isHidden = true
        } else {
          self.remoteParticipantVideoContainer.isHidden = true
        }
      } else {
        stream.remove(self.remoteParticipantVideoContainer)
        self.remoteParticipantVideoContainer.isHidden = true
      }
    }
  }

  func updateMic(participant: VideoSDKRTC.Participant, _ enabled: Bool) {
    if !participant.isLocal {
      viewRemoteMicContainer.isHidden = enabled
    } else if participants.count == 1 {
      participantViewsContainer.bringSubviewToFront(viewRemoteMicContainer)
      viewRemoteMicContainer.isHidden = enabled
    }
  }
}

@Suite(.serialized) @MainActor
struct SeedTests {
  private func world() -> World {
    World(
      backend: EmbeddedBackend(virtual: 5), devices: DefaultDevices(camera: "pattern:160x90@15", microphone: "tone"))
  }

  private func controller(_ name: String, in world: World) -> MeetingViewController {
    let controller = MeetingViewController()
    World.$current.withValue(world) { controller.initializeMeeting(name: name) }
    return controller
  }

  @Test func thePageWorksAsItReads() async throws {
    let world = world()
    let john = controller("John", in: world)
    await world.run(for: .seconds(1))
    #expect(Array(john.log.prefix(3)) == ["CONNECTING", "CONNECTED", "joined"])
    #expect(john.log.contains("enabled audio John") && john.log.contains("enabled video John"))
    #expect(john.remoteParticipantVideoContainer.framesRendered > 5, "alone, one sees oneself large")

    let mary = controller("Mary", in: world)
    await world.run(for: .seconds(2))
    #expect(john.participants.map(\.displayName) == ["John", "Mary"])
    let before = john.remoteParticipantVideoContainer.framesRendered
    await world.run(for: .seconds(1))
    #expect(john.remoteParticipantVideoContainer.framesRendered > before)
    #expect(john.localParticipantViewVideoContainer.framesRendered > 5)
    #expect(mary.remoteParticipantVideoContainer.framesRendered > 5)
    let meeting = try #require(john.log.firstIndex(of: "participant Mary"))
    #expect(john.log[meeting...].contains("enabled video Mary"), "announced, then its streams")

    mary.meeting?.muteMic()
    mary.meeting?.disableWebcam()
    await world.run(for: .seconds(1))
    #expect(john.log.suffix(2).sorted() == ["disabled audio Mary", "disabled video Mary"])
    #expect(john.remoteParticipantVideoContainer.isHidden && !john.viewRemoteMicContainer.isHidden)
    let track = mary.meeting?.localParticipant.streams.count
    #expect(track == 0, "streams hold only what is enabled")

    mary.meeting?.enableWebcam()
    mary.meeting?.unmuteMic()
    await world.run(for: .seconds(1))
    #expect(!john.remoteParticipantVideoContainer.isHidden && john.viewRemoteMicContainer.isHidden)

    mary.meeting?.leave()
    await world.run(for: .seconds(1))
    #expect(mary.log.suffix(3) == ["CLOSING", "meeting left", "CLOSED"])
    #expect(john.log.last == "left Mary")
    let silence = mary.log.count
    await world.run(for: .seconds(2))
    #expect(mary.log.count == silence, "silence after the end")
    john.meeting?.leave()
    await world.run(for: .seconds(1))
  }

  @Test func whatCannotBeJoinedIsToldAsAnError() async {
    let world = world()
    let controller = MeetingViewController()
    let meeting = World.$current.withValue(world) { VideoSDK.initMeeting(meetingId: "") }
    meeting.addEventListener(controller)
    meeting.join()
    #expect(controller.log.isEmpty, "nothing is told from inside join")
    await world.run(for: .milliseconds(100))
    #expect(controller.log == ["error 4003", "CLOSED"])
    let spaced = World.$current.withValue(world) { VideoSDK.initMeeting(meetingId: "m", participantId: "a b") }
    let other = MeetingViewController()
    spaced.addEventListener(other)
    spaced.join()
    await world.run(for: .milliseconds(100))
    #expect(other.log == ["error 4004", "CLOSED"])
  }

  @Test func theNewerOfTwoWithOneIdStays() async {
    let world = world()
    let (first, second) = (MeetingViewController(), MeetingViewController())
    for controller in [first, second] {
      World.$current.withValue(world) {
        controller.meeting = VideoSDK.initMeeting(
          meetingId: "m", participantId: "same", micEnabled: false, webcamEnabled: false)
      }
      controller.meeting?.addEventListener(controller)
      controller.meeting?.addEventListener(controller)  // twice is once
      controller.meeting?.join()
      await world.run(for: .seconds(1))
    }
    #expect(first.log == ["CONNECTING", "CONNECTED", "joined", "error 4005", "meeting left", "CLOSED"])
    #expect(second.log == ["CONNECTING", "CONNECTED", "joined"])
    second.meeting?.leave()
    await world.run(for: .seconds(1))
  }
}
