import Foundation
import Koine

/// A camera by Video4Linux, or a screen of X11: real devices, read by a thread of their own while they run.
///
/// A picture that comes while the one before is still being taken over is left out, so that a slow encoder sees fresh
/// pictures instead of late ones.
final class CaptureSource: VideoSource, Sendable {
  /// How FFmpeg is asked for it.
  struct Device: Sendable {
    let name: String
    let kind, url: String
    let options: [String: String]
  }

  let format: VideoFormat
  private let device: Device
  private struct State {
    /// Opened to learn the format, not yet started.
    var opened: Opened?
    var run: Run?
  }
  private let state: Lock<State>

  /// - Parameter size: what pictures are scaled to; nil: as they come.
  init(_ device: Device, size: VideoFormat?) throws(DeviceError) {
    self.device = device
    let reader = try CaptureReader(device.kind, device.url, options: device.options)
    format = VideoFormat(
      width: size?.width ?? reader.width, height: size?.height ?? reader.height, framesPerSecond: reader.framesPerSecond
    )
    state = Lock(State(opened: Opened(reader: reader)))
  }

  /// Starting again opens the device again.
  func start(on lane: Lane, deliver: @escaping @Sendable (VideoFrame) -> Void) throws {
    guard lane.scheduler.kind == .real else {
      throw DeviceError.invalid(device.name, reason: "a real device needs the real clock")
    }
    let kept = state.withLock { state in
      defer { state.opened = nil }
      return state.opened
    }
    let opened = try kept ?? Opened(reader: CaptureReader(device.kind, device.url, options: device.options))
    let run = Run()
    state.withLock { state in
      state.run?.stop()
      state.run = run
    }
    let size = (format.width, format.height)
    let thread = Thread { run.read(opened, size, lane, deliver) }
    thread.name = device.name
    thread.start()
  }

  func stop() {
    state.withLock { state in
      state.run?.stop()
      state.run = nil
    }
  }

  /// `@unchecked Sendable`: handed over once, to the thread that reads.
  private struct Opened: @unchecked Sendable { let reader: CaptureReader }

  private final class Run: Sendable {
    private struct State {
      var isOver = false
      var isBusy = false
    }
    private let state = Lock(State())

    func stop() { state.withLock { $0.isOver = true } }

    func read(
      _ opened: Opened, _ size: (width: Int, height: Int), _ lane: Lane,
      _ deliver: @escaping @Sendable (VideoFrame) -> Void
    ) {
      while let picture = opened.reader.next(size: size, now: { lane.scheduler.now }) {
        let isWanted = state.withLock { state in
          defer { if !state.isOver { state.isBusy = true } }
          return (isOver: state.isOver, isBusy: state.isBusy)
        }
        if isWanted.isOver { return }
        guard !isWanted.isBusy else { continue }
        lane.post { [self] in
          if !state.withLock({ $0.isOver }) { deliver(picture) }
          state.withLock { $0.isBusy = false }
        }
      }
    }
  }
}

extension CaptureSource {
  /// `v4l2:/dev/video0[,WxH[@FPS]]`: the camera is asked for that size and rate.
  static func camera(_ argument: String?) throws(DeviceError) -> CaptureSource {
    let (path, size) = split(argument)
    guard path.hasPrefix("/") else {
      throw .invalid("v4l2:\(path)", reason: "needs a device, as in v4l2:/dev/video0")
    }
    let format = try size.map { text throws(DeviceError) in try VideoFormat(text, of: "v4l2") }
    var options: [String: String] = [:]
    if let format {
      options = ["video_size": "\(format.width)x\(format.height)", "framerate": "\(format.framesPerSecond)"]
    }
    return try CaptureSource(
      Device(name: "v4l2:\(path)", kind: "video4linux2,v4l2", url: path, options: options), size: nil)
  }

  /// `x11:[HOST]:DISPLAY[.SCREEN][,WxH[@FPS]]`: the whole screen, scaled to that size; 15 pictures a second unless said
  /// otherwise.
  static func screen(_ argument: String?) throws(DeviceError) -> CaptureSource {
    let (display, size) = split(argument)
    guard display.contains(":") else { throw .invalid("x11:\(display)", reason: "needs a display, as in x11::0") }
    let format = try size.map { text throws(DeviceError) in try VideoFormat(text, of: "x11") }
    let rate = size?.contains("@") == true ? format?.framesPerSecond ?? 15 : 15
    return try CaptureSource(
      Device(name: "x11:\(display)", kind: "x11grab", url: display, options: ["framerate": "\(rate)"]), size: format)
  }

  private static func split(_ argument: String?) -> (name: String, size: String?) {
    let words = (argument ?? "").split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    return (words.first ?? "", words.count > 1 ? words[1] : nil)
  }
}
