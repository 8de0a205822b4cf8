import Foundation
import Koine

/// Media files as cameras and microphones.
public enum MediaFiles {
  /// Makes `file:PATH` known: any container that FFmpeg reads, its pictures as a camera, its sound as a microphone, looped.
  /// A camera and a microphone of one file that start within a second share their beginning.
  /// Broadcasts may go to file URLs that end in `.webm`.
  public static func register() {
    Devices.register(camera: "file") { path throws(DeviceError) in
      guard let path, !path.isEmpty else { throw .invalid("file", reason: "needs a path, as in file:talk.webm") }
      return try FileVideoSource(path: path)
    }
    Devices.register(microphone: "file") { path throws(DeviceError) in
      guard let path, !path.isEmpty else { throw .invalid("file", reason: "needs a path, as in file:talk.wav") }
      return try FileAudioSource(path: path)
    }
    BroadcastOutputs.register("webm") { url in WebMRecorder(url.path) }
  }
}

/// The common beginning of the sources of one file.
enum SharedStart {
  private static let starts = Lock<[String: Tick]>([:])

  static func of(_ path: String, at now: Tick) -> Tick {
    starts.withLock { starts in
      if let start = starts[path], start <= now, now - start < .seconds(1) { return start }
      starts[path] = now
      return now
    }
  }
}
