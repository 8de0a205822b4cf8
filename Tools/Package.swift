// swift-tools-version: 6.2
import Foundation
import PackageDescription

// Tools for people that bring an app to Koine or port it: `koine check`. They read Swift with the SwiftSyntax and SwiftParser that come
// with the toolchain, so that nothing of swift-syntax is built. That takes unsafe flags, which SwiftPM permits in a root package only:
// therefore they are a package of their own, which no app depends on.

/// The folder of the toolchain's own Swift libraries: of `KOINE_TOOLCHAIN` (the folder that contains `usr`), or of the first `swiftc` in
/// `PATH`.
func toolchainLibraries() -> String {
  if let toolchain = Context.environment["KOINE_TOOLCHAIN"] { return toolchain + "/usr/lib/swift/host" }
  let folders = (Context.environment["PATH"] ?? "").split(separator: ":")
  for folder in folders where FileManager.default.isExecutableFile(atPath: "\(folder)/swiftc") {
    let compiler = URL(fileURLWithPath: "\(folder)/swiftc").resolvingSymlinksInPath()
    let libraries = compiler.deletingLastPathComponent().deletingLastPathComponent().path + "/lib/swift/host"
    if FileManager.default.fileExists(atPath: libraries) { return libraries }
  }
  return "/usr/lib/swift/host"
}

let libraries = toolchainLibraries()
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]
let reading: [SwiftSetting] = settings + [.unsafeFlags(["-I", libraries])]
/// For code that reads each byte of the compiler's syntax trees: people run the debug build of the tools.
let optimized: [SwiftSetting] = [.unsafeFlags(["-O"], .when(configuration: .debug))]
let linking: [LinkerSetting] = [
  .unsafeFlags(["-L", libraries, "-Xlinker", "-rpath", "-Xlinker", libraries]),
  .linkedLibrary("SwiftSyntax"), .linkedLibrary("SwiftParser"),
]

let package = Package(
  name: "koine-tools",
  products: [.executable(name: "koine-tools", targets: ["koine-tools"])],
  dependencies: [
    .package(name: "koine", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
  ],
  targets: [
    .systemLibrary(name: "CIndexStore", path: "Sources/CIndexStore"),
    .target(name: "CompilerFacts", dependencies: ["CIndexStore"], swiftSettings: settings + optimized),
    .target(
      name: "AppCheck", dependencies: ["CompilerFacts", .product(name: "KoinePorting", package: "koine")],
      swiftSettings: reading, linkerSettings: linking),
    .target(
      name: "CallModel", dependencies: ["CompilerFacts", .product(name: "KoinePorting", package: "koine")],
      swiftSettings: settings),
    .target(
      name: "AppPort",
      dependencies: ["AppCheck", "CallModel", "CompilerFacts", .product(name: "KoinePorting", package: "koine")],
      swiftSettings: reading, linkerSettings: linking),
    .executableTarget(
      name: "koine-tools",
      dependencies: [
        "AppCheck", "AppPort", "CompilerFacts", .product(name: "KoinePorting", package: "koine"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], path: "Sources/Command", swiftSettings: reading),
    .target(
      name: "TestSupport", dependencies: ["CompilerFacts"], path: "Tests/TestSupport", swiftSettings: settings),
    .testTarget(
      name: "CompilerFactsTests", dependencies: ["CompilerFacts", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "AppCheckTests",
      dependencies: ["AppCheck", "CompilerFacts", "koine-tools", .product(name: "KoinePorting", package: "koine")],
      swiftSettings: reading),
    .testTarget(
      name: "AppPortTests",
      dependencies: [
        "AppCheck", "AppPort", "CallModel", "CompilerFacts", "TestSupport",
        .product(name: "KoinePorting", package: "koine"),
      ],
      swiftSettings: reading),
  ],
  swiftLanguageModes: [.v6]
)
