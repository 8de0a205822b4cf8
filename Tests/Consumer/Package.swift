// swift-tools-version: 6.2
import PackageDescription

// A manifest over the folder of an app that Xcode builds: it lists the folder's code and leaves out what only Xcode can
// use. Xcode does not read it. (Docs/adopt.md, second recipe; the package of Koine is two folders up, yours has its address.)

let settings: [SwiftSetting] =
  switch Context.environment["TEATIME_MODE"] {
  case "6": [.swiftLanguageMode(.v6)]
  case "6-main-actor": [.swiftLanguageMode(.v6), .defaultIsolation(MainActor.self)]
  default: [.swiftLanguageMode(.v5)]
  }

/// Empty, because the tests need neither a server nor Koine's commands. Scripts/check-consumer sets the variable: it uses Koine's own build
/// folder, where the modules are built with the default traits.
let traits: Set<Package.Dependency.Trait> = Context.environment["TEATIME_TRAITS"] == "default" ? [.defaults] : []

let package = Package(
  name: "TeaTime",
  dependencies: [.package(name: "koine", path: "../..", traits: traits)],
  targets: [
    .target(
      name: "TeaTime",
      dependencies: [
        .product(name: "UIKit", package: "koine"),
        .product(name: "Combine", package: "koine"),
        .product(name: "AVFoundation", package: "koine"),
        .product(name: "AmazonIVSBroadcast", package: "koine"),
      ],
      path: "TeaTime", exclude: ["Info.plist", "Assets.xcassets", "AppDelegate.swift"], swiftSettings: settings),
    .testTarget(
      name: "TeaTimeTests", dependencies: ["TeaTime", .product(name: "KoineTesting", package: "koine")],
      path: "TeaTimeTests", swiftSettings: settings),
  ]
)
