// swift-format-ignore-file

import AmazonIVSBroadcast

// The vendor's guide as it reads. Added is only what its fragments stand in: the class, the reader's own properties, and
// names for the two variants of the same strategy functions, which the app chooses between.

class StageViewController: UIViewController, IVSErrorDelegate {
// the reader's own
var stage: IVSStage?
var token = ""
var hasUserTappedPublishButton = true
var isInBackground = false
var isModerated = false
let videos = UIView(frame: CGRect(x: 0, y: 0, width: 640, height: 360))
var previews: [String: IVSImagePreviewView] = [:]
var levels: [(peak: Float, rms: Float)] = []
var printed: [String] = []
var mutes: [Bool] = []
var errors: [any Error] = []
var cameraStream: IVSLocalStageStream!
var microphoneStream: IVSLocalStageStream!

func print(_ line: String) { printed.append(line) }

func source(_ source: any IVSErrorSource, didEmitError error: any Error) { errors.append(error) }

func joinStage() throws {
let stage = try IVSStage(token: token, strategy: self)
stage.errorDelegate = self
stage.addRenderer(self) // multiple renderers can be added
self.stage = stage
try stage.join()
}

func leaveStage() {
guard let stage else { return }
stage.leave()
}

func findDevices() {
let devices = IVSDeviceDiscovery.listLocalDevices()
// Find the camera virtual device, choose the front source, and create a stream
let camera = devices.compactMap({ $0 as? IVSCamera }).first!
let frontSource = camera.listAvailableInputSources().first(where: { $0.position == .front })!
camera.setPreferredInputSource(frontSource)
let cameraStream = IVSLocalStageStream(device: camera)
// Find the microphone virtual device, enable echo cancellation, and create a stream
let microphone = devices.compactMap({ $0 as? IVSMicrophone }).first!
microphone.isEchoCancellationEnabled = true
let microphoneStream = IVSLocalStageStream(device: microphone)
self.cameraStream = cameraStream
self.microphoneStream = microphoneStream
}

func configure() throws -> IVSLocalStageStreamVideoConfiguration {
let config = IVSLocalStageStreamVideoConfiguration()
try config.setMaxBitrate(900_000)
try config.setMinBitrate(100_000)
try config.setTargetFramerate(30)
try config.setSize(CGSize(width: 360, height: 640))
config.degradationPreference = .balanced
return config
}

func disableSimulcast() {
let camera = cameraStream.device
// Disable Simulcast
let config = IVSLocalStageStreamVideoConfiguration()
config.simulcast.enabled = false
let cameraStream = IVSLocalStageStream(device: camera, configuration: config)
// Other Stage implementation code
self.cameraStream = cameraStream
}

func requestStats(of stream: IVSStageStream) throws {
stream.delegate = self
try stream.requestRTCStats()
}

func goToBackground() {
isInBackground = true
stage?.refreshStrategy()
}
}

extension StageViewController: IVSStageStrategy {
func stage(_ stage: IVSStage, shouldSubscribeToParticipant participant: IVSParticipantInfo) -> IVSStageSubscribeType {
if isInBackground { return .audioOnly }
guard isModerated else { return .audioVideo }
switch participant.attributes["role"] {
case "moderator": return .none
case "guest": return .audioVideo
default: return .none
}
}

func stage(_ stage: IVSStage, shouldPublishParticipant participant: IVSParticipantInfo) -> Bool {
if isInBackground { return false }
return hasUserTappedPublishButton
}

// This is a function on IVSStageStrategy
func stage(_ stage: IVSStage, streamsToPublishForParticipant participant: IVSParticipantInfo) -> [IVSLocalStageStream] {
return [cameraStream, microphoneStream]
}
}

extension StageViewController: IVSStageRenderer {
func stage(_ stage: IVSStage, participantDidJoin participant: IVSParticipantInfo) {
print("ID: \(participant.participantId)")
for attribute in participant.attributes {
print("attribute: \(attribute.key)=\(attribute.value)")
}
}
func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) {}
func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChange publishState: IVSParticipantPublishState) {}
func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChange subscribeState: IVSParticipantSubscribeState) {}
func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didAdd streams: [IVSStageStream]) {
for stream in streams {
if let imageDevice = stream.device as? IVSImageDevice {
let preview = imageDevice.previewView()
/* attach this UIView subclass to your view */
preview.frame = CGRect(x: participant.isLocal ? 320 : 0, y: 0, width: 320, height: 180)
videos.addSubview(preview)
previews[stream.device.descriptor().urn] = preview
} else if let audioDevice = stream.device as? IVSAudioDevice {
audioDevice.setStatsCallback( { stats in
/* process stats.peak and stats.rms */
self.levels.append((stats.peak, stats.rms))
})
}
}
}
func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didRemove streams: [IVSStageStream]) {
for stream in streams { previews.removeValue(forKey: stream.device.descriptor().urn)?.removeFromSuperview() }
}
func stage(_ stage: IVSStage, participant: IVSParticipantInfo, didChangeMutedStreams streams: [IVSStageStream]) {
streams.forEach { stream in /* stream.isMuted */ mutes.append(stream.isMuted) }
}
func stage(_ stage: IVSStage, didChange connectionState: IVSStageConnectionState, withError error: Error?) {}
}

extension StageViewController: IVSStageStreamDelegate {
func stream(_ stream: IVSStageStream, didGenerateRTCStats stats: [String : [String : String]]) {
for stat in stats {
for member in stat.value {
print("stat \(stat.key) has member \(member.key) with value \(member.value)")
}
}
}
}
