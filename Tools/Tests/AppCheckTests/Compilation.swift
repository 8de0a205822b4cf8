import AppCheck
import CompilerFacts
import Foundation
import Testing

/// An app of a test, compiled against small modules under vendors' names.
struct Compilation {
  let folder: Folder

  init() throws { folder = try Folder() }

  /// Compiles a module into the folder's index store; modules that were compiled before can be imported.
  /// - Returns: whether the compiler had no error.
  @discardableResult func compile(_ module: String, _ files: KeyValuePairs<String, String>) throws -> Bool {
    for (name, source) in files { try source.write(toFile: folder.file(name), atomically: true, encoding: .utf8) }
    return try compileWritten(module, files.map(\.key))
  }

  /// Compiles files that are in the folder.
  @discardableResult func compileWritten(_ module: String, _ files: [String]) throws -> Bool {
    let process = Process()
    process.executableURL = try Toolchain.current().compiler
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    process.arguments =
      [
        "-module-name", module, "-emit-module", "-c", "-parse-as-library", "-I", folder.path, "-index-store-path",
        folder.file("index"), "-index-ignore-system-modules",
      ] + files
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }

  /// Compiles a module `VideoSDKRTC` with some of the vendor's declarations.
  func compileVideoSDK() throws {
    let compiles = try compile(
      "VideoSDKRTC",
      [
        "VideoSDKRTC.swift": """
        public enum MediaType { case state(value: Int), share }
        public enum MeetingState { case CONNECTED, CLOSED }
        public class MediaStream { public var kind: MediaType { .share }; public func pause() {} }
        public class Participant {
          public var displayName: String { "" }
          public var streams: [String: MediaStream] { [:] }
          public func remove() {}
          public func getStats(_ stream: MediaStream) {}
        }
        public protocol MeetingEventListener: AnyObject { func onMeetingJoined(); func onMeetingLeft() }
        extension MeetingEventListener { public func onMeetingLeft() {} }
        public class Meeting {
          public init() {}
          public var localParticipant: Participant { Participant() }
          public var participants: [String: Participant] { [:] }
          public func addEventListener(_ listener: any MeetingEventListener) {}
          public func muteMic() {}
          public func join() {}
          public func join(cameraPosition: Int) {}
          public func leave() {}
        }
        """
      ])
    try #require(compiles)
  }

  func sources(_ files: [String]) throws -> AppSources {
    AppSources(
      sources: try files.map { (folder.file($0), try String(contentsOfFile: folder.file($0), encoding: .utf8)) })
  }

  /// The check of an app with the index, and without.
  func check(_ files: [String]) throws -> (index: AppCheck, syntax: AppCheck) {
    let sources = try sources(files)
    let build = try AppBuild(of: sources.paths, index: folder.file("index"), toolchain: try Toolchain.current())
    return (AppCheck(sources, path: "app", build: build), AppCheck(sources, path: "app"))
  }
}
