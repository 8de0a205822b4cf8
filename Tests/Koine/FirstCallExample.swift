import Dispatch
import Koine
import KoineEmbeddedBackend

/// Ana sends video and audio to a room of this process, and Ben receives them.
/// - Returns: the first video frame that Ben receives.
func firstCall() async throws -> VideoFrame? {
  let world = World(backend: EmbeddedBackend(), delivery: Delivery(queue: DispatchQueue(label: "calls")))

  let ben = Session(JoinRequest(room: "tea", name: "Ben"), in: world)
  let events = ben.events()
  try await ben.join()

  let ana = Session(JoinRequest(room: "tea", name: "Ana"), in: world)
  try ana.publish(camera: Devices.camera("pattern:320x180@15"))
  try ana.publish(microphone: Devices.microphone("tone"))
  try await ana.join()

  var first: VideoFrame?
  for await event in events {
    guard case .streamAdded(let stream, let owner) = event, stream.kind == .camera, owner.name == "Ana" else {
      continue
    }
    for await frame in ben.frames(of: stream.id) {
      first = frame
      break
    }
    break
  }
  await ana.leave()
  await ben.leave()
  return first
}
