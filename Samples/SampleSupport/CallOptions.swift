public import ArgumentParser
import Foundation
public import Koine
import KoineBackends
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineSimulatedNetwork

/// What every sample and `koine demo` understand of sources and the network.
public struct MediaOptions: ParsableArguments {
  @Option(
    help: "Camera: pattern[:WxH[@FPS]], stamp[:NAME], file:PATH, v4l2:/dev/video0[,WxH[@FPS]], x11:DISPLAY[,WxH[@FPS]]."
  )
  public var camera: String?

  @Option(help: "Microphone: tone[:HZ], noise[:SEED], fan[:SEED], silence, file:PATH, pulse[:NAME][@SERVER].")
  public var microphone: String?

  @Option(help: "Loudspeaker for received audio: none, pulse[:NAME][@SERVER].")
  public var loudspeaker: String?

  @Option(
    help: """
      What each participant's link does to packets, in each direction: loss=5%,delay=40ms,jitter=20ms,reorder=1%,\
      rate=800k,seed=7, any subset; 'SPEC;10s:SPEC' changes it in time.
      """)
  public var network: String?

  @Option(help: "Write received media to DIR/<receiver>/<sender>.wav, .y4m and .webm.")
  public var record: String?

  @Option(help: "Write a picture of the screen to this PNG file at the end.")
  public var snapshot: String?

  @Flag(help: "Print the figures as one JSON object on standard output, and nothing else there.")
  public var json = false

  public init() {}

  /// Looks at everything that can be wrong before anything begins.
  public func validate() throws {
    if let network { do { _ = try NetworkSpec(network) } catch { throw ValidationError("--network: \(error)") } }
    for path in [record, snapshot].compactMap({ $0 }) where path.isEmpty {
      throw ValidationError("an output path is empty")
    }
  }

  /// Makes sure, before anything begins, that what shall be written can be.
  public func prepareOutputs() throws(SampleExit) {
    let files = FileManager.default
    if let snapshot, Self.isFolder(snapshot) {
      throw SampleExit(code: 73, "cannot write '\(snapshot)': it is a folder")
    }
    if let record {
      do { try files.createDirectory(atPath: record, withIntermediateDirectories: true) } catch {
        throw SampleExit(code: 73, "cannot make the directory '\(record)'")
      }
      guard files.isWritableFile(atPath: record) else { throw SampleExit(code: 73, "cannot write to '\(record)'") }
    }
    if let snapshot {
      let folder = URL(fileURLWithPath: snapshot).deletingLastPathComponent().path
      guard files.isWritableFile(atPath: files.fileExists(atPath: snapshot) ? snapshot : folder) else {
        throw SampleExit(code: 73, "cannot write '\(snapshot)'")
      }
    }
  }

  private static func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
  }

  /// Where rooms are reached, if not in this process: as `option` says, or else `KOINE_BACKEND`.
  static func server(_ option: String?) -> String? {
    let address = option ?? ProcessInfo.processInfo.environment["KOINE_BACKEND"] ?? ""
    return ["", "embedded"].contains(address) ? nil : address
  }

  /// - Throws: where no backend answers to the address.
  public static func check(backend address: String) throws {
    do { _ = try Backends.backend(at: address) } catch { throw ValidationError("--backend: \(error)") }
  }

  /// Opens the sources once, to find out whether they can be, and makes the world of the call.
  /// - Parameter screen: the source of a shared screen, in the notation of `--camera`; nil: as the environment says.
  public func makeWorld(backend address: String? = nil, screen: String? = nil) throws -> World {
    MediaFiles.register()
    var devices = DefaultDevices.environment
    if let camera { devices.camera = camera }
    if let screen { devices.screen = screen }
    if let microphone { devices.microphone = microphone }
    if let loudspeaker { devices.loudspeaker = loudspeaker }
    do throws(DeviceError) {
      _ = try Devices.camera(devices.camera)
      _ = try Devices.camera(devices.screen)
      _ = try Devices.microphone(devices.microphone)
      _ = try Devices.loudspeaker(devices.loudspeaker)
    } catch {
      throw SampleExit(error)
    }
    let backend: any Backend
    if let network {
      if let server = Self.server(address) {
        let who = address == nil ? "KOINE_BACKEND" : "--backend"
        throw SampleExit(code: 64, "--network needs the embedded backend, and \(who) says '\(server)'")
      }
      backend = EmbeddedBackend(network: try NetworkSpec(network))
    } else {
      do { backend = try address.map(Backends.backend(at:)) ?? Backends.world().backend } catch {
        throw SampleExit(code: 64, "--backend: \(error)")
      }
    }
    return World(backend: backend, devices: devices)
  }
}

/// The grammar that all samples share, besides their style's own options.
public struct CallOptions: ParsableArguments {
  @OptionGroup public var media: MediaOptions

  @Option(help: "The room to meet in.")
  public var room = "koine"

  @Option(help: "The name that the others see.")
  public var name = "Guest"

  @Option(
    parsing: .unconditional,
    help: "Leave after this many seconds; 0 stays until told to (SIGTERM). SIGUSR1 prints the figures so far.")
  public var seconds = 10.0

  @Option(
    help: """
      Add this many participants of the common layer, so that nobody is alone: 1, or none where a token is shown to a \
      server, for they have no tokens.
      """)
  public var peers: Int?

  @Option(help: "How to reach the room: embedded, or ws://HOST:PORT; otherwise as KOINE_BACKEND says.")
  public var backend: String?

  @Flag(help: "Print every callback in the vendor's words, with its time.")
  public var trace = false

  @Option(
    help: """
      Do at given times what the file says, a line each: 'at 5s mute' (mute, camera, people, figures, leave, and the \
      sample's own).
      """)
  public var script: String?

  public init() {}

  public func validate() throws {
    guard seconds >= 0, seconds <= 86_400 else { throw ValidationError("--seconds takes 0 to 86400") }
    guard (0...50).contains(peers ?? 0) else { throw ValidationError("--peers takes 0 to 50") }
    guard !room.isEmpty else { throw ValidationError("--room is empty") }
  }

  /// How many peers come along.
  /// - Parameter hasToken: whether the sample shows one; where that counts, its peers would not be let in.
  func company(hasToken: Bool) throws -> Int {
    guard hasToken, MediaOptions.server(backend) != nil else { return peers ?? 1 }
    guard peers ?? 0 == 0 else { throw SampleExit(code: 64, "--peers have no tokens for a server: leave them out") }
    return 0
  }
}
