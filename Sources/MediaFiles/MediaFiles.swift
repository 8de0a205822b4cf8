import Foundation
import Koine

/// Media files, and real devices, as cameras, microphones and loudspeakers.
public enum MediaFiles {
  /// Makes `file:PATH` known: any container that FFmpeg reads, its pictures as a camera, its sound as a microphone, looped.
  /// A camera and a microphone of one file that start within a second share their beginning.
  /// Makes `v4l2:PATH` and `x11:DISPLAY` known as cameras, `pulse:NAME` as a microphone and a loudspeaker. They need the
  /// real clock.
  /// Broadcasts may go to file URLs that end in `.webm`, in `.m3u8` for a playlist with its pieces, and in `.mp4`, and to
  /// RTMP servers.
  /// Again it changes nothing.
  public static func register() { _ = isRegistered }

  /// `.mp4`, RTMP and, from now on, `.m3u8` are coded with these.
  public static func encode(with encoders: EncodingOutput.Encoders) {
    register()
    for place in ["mp4", "m3u8", "rtmp:", "rtmps:"] {
      BroadcastOutputs.register(place) { url in try EncodingOutput(url, encoders: encoders) }
    }
  }

  private static let isRegistered: Bool = {
    Devices.register(camera: "file") { path throws(DeviceError) in
      guard let path, !path.isEmpty else { throw .invalid("file", reason: "needs a path, as in file:talk.webm") }
      return try FileVideoSource(path: path)
    }
    Devices.register(microphone: "file") { path throws(DeviceError) in
      guard let path, !path.isEmpty else { throw .invalid("file", reason: "needs a path, as in file:talk.wav") }
      return try FileAudioSource(path: path)
    }
    Devices.register(camera: "v4l2") { argument throws(DeviceError) in try CaptureSource.camera(argument) }
    Devices.register(camera: "x11") { argument throws(DeviceError) in try CaptureSource.screen(argument) }
    Devices.register(microphone: "pulse") { argument throws(DeviceError) in try PulseMicrophone(argument) }
    Devices.register(loudspeaker: "pulse") { argument throws(DeviceError) in try PulseLoudspeaker(argument) }
    BroadcastOutputs.register("webm") { url in
      try RecordingError.check(url.path)
      return WebMRecorder(url.path, patience: WebMRecorder.composed)
    }
    BroadcastOutputs.register("m3u8") { url in
      try RecordingError.check(url.path)
      return PlaylistRecorder(url.path)
    }
    for place in ["mp4", "rtmp:", "rtmps:"] { BroadcastOutputs.register(place) { url in try EncodingOutput(url) } }
    return true
  }()
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
