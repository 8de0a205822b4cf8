// swift-tools-version: 6.2
import PackageDescription

// The modules of Koine in layers, from the lowest up. A module depends only on modules of lower layers (Docs/ARCHITECTURE.md;
// Scripts/check-modules checks every dependency and import). A module's name is `Koine` + the name of its folder, so that an app
// never meets a module of this package called `Router` or `Server`.

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

/// A C library of the system: a module map and a shim.
func library(_ name: String, pkgConfig: String? = nil, apt: String) -> Target {
  .systemLibrary(
    name: "CKoine" + name, path: "Sources/CLibraries/C" + name, pkgConfig: pkgConfig, providers: [.apt([apt])])
}

/// A module whose name is `Koine` + the name of its folder.
func module(_ name: String, in folder: String = "Sources", dependencies: [Target.Dependency] = []) -> Target {
  .target(name: "Koine" + name, dependencies: dependencies, path: folder + "/" + name, swiftSettings: settings)
}

/// A module under a vendor's name.
func adapter(_ name: String, path: String, dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, path: path, swiftSettings: settings)
}

func tests(
  _ name: String, of modules: [Target.Dependency], exclude: [String] = [], resources: [Resource] = [],
  swiftSettings: [SwiftSetting] = settings
) -> Target {
  .testTarget(
    name: name + "Tests", dependencies: modules, path: "Tests/" + name, exclude: exclude,
    resources: resources,
    swiftSettings: swiftSettings)
}

/// Commands and samples read their arguments with it.
let argumentParser = Target.Dependency.product(
  name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Server"]))

/// HTTP and WebSocket.
let nio: [Target.Dependency] = ["NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket"].map {
  .product(name: $0, package: "swift-nio")
}

/// The settings that apps of the vendors are written with. `KOINE_APPS_MODE=6` compiles the reference apps in Swift 6 mode.
let asAppsAre: [SwiftSetting] = [.swiftLanguageMode(Context.environment["KOINE_APPS_MODE"] == "6" ? .v6 : .v5)]

/// An app of `Samples/apps`, in the copy that `koine linux` has written of it (Scripts/check-linux). Scripts/check-in-place names another
/// folder with these apps in `KOINE_APPS`, where they are ported, and thus may need any of the modules.
func referenceApp(_ name: String, in folder: String, dependencies: [String]) -> Target {
  let ported = Context.environment["KOINE_APPS"]
  let any = [
    "Koine", "KoineBackends", "AzureCommunicationCalling", "AzureCommunicationCommon", "AmazonIVSBroadcast",
    "AmazonChimeSDK", "VideoSDKRTC", "WebRTC",
  ]
  let modules = (ported == nil ? dependencies : any) + ["UIKit", "AVFoundation", "Combine"]
  return .target(
    name: name, dependencies: modules.map { .init(stringLiteral: $0) },
    path: (ported ?? "Samples/apps") + "/.koine/" + folder,
    swiftSettings: asAppsAre)
}

let package = Package(
  name: "koine",
  products: [
    // The common layer and its backends
    .library(
      name: "Koine",
      targets: [
        "Koine", "RoomModel", "KoineMedia", "KoineBackends", "KoineEmbeddedBackend", "KoineServerBackend",
      ]),
    // The vendors' modules: one product for each vendor, under its main module's name
    .library(
      name: "AzureCommunicationCalling", targets: ["AzureCommunicationCalling", "AzureCommunicationCommon"]),
    .library(name: "AmazonIVSBroadcast", targets: ["AmazonIVSBroadcast"]),
    .library(name: "AmazonChimeSDK", targets: ["AmazonChimeSDK", "AmazonChimeSDKMedia"]),
    .library(name: "VideoSDKRTC", targets: ["VideoSDKRTC", "WebRTC", "Mediasoup"]),
    // For authors of styles, backends and servers
    .library(
      name: "KoinePlatform",
      targets: [
        "KoineUIKit", "KoineAVFoundation", "KoineCoreMedia", "KoineCoreVideo", "KoineReplayKit",
        "KoineCallKit", "KoinePushKit",
        "CrossVendorConventions",
      ]),
    .library(name: "KoinePeer", targets: ["KoinePeer"]),
    .library(name: "KoineServer", targets: ["KoineServer"]),
    .library(name: "KoineTokens", targets: ["KoineTokens"]),
    .library(name: "KoineConformanceKit", targets: ["KoineConformanceKit"]),
    .library(name: "KoineConformanceDrivers", targets: ["KoineConformanceDrivers"]),
    .library(name: "KoinePorting", targets: ["KoinePorting"]),
    // For apps
    .library(name: "KoineTesting", targets: ["KoineTesting"]),
    .library(name: "KoineTestingAPIs", targets: ["KoineTestingAPIs"]),
    .library(name: "KoineMediaFiles", targets: ["KoineMediaFiles"]),
    .library(name: "KoineComposition", targets: ["KoineComposition"]),
    .executable(name: "koine-event-listener", targets: ["koine-event-listener"]),
    .executable(name: "koine-call-agent", targets: ["koine-call-agent"]),
    .executable(name: "koine-meeting-session", targets: ["koine-meeting-session"]),
    .executable(name: "koine-stage-strategy", targets: ["koine-stage-strategy"]),
    .executable(name: "koine", targets: ["KoineCommand"]),
  ],
  // On unless an app says `traits: []`: its first build takes about a quarter less CPU time without it (Scripts/check-first-test).
  // Not two traits: SwiftPM names several to the compiler in an order that changes, and then compiles everything again.
  traits: [
    .trait(
      name: "Server",
      description: """
        Connections to a `koine serve` (KOINE_BACKEND=ws://…), and the commands. Needs swift-nio and swift-argument-parser. Without \
        it, apps meet in rooms of their own process, and the commands do not build.
        """),
    .default(enabledTraits: ["Server"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    // For tests only. SwiftPM does not resolve it for packages that depend on this one, because no product reaches it
    // (Scripts/check-modules).
    .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
  ],
  targets: [
    // Layer 0: C libraries
    library("Opus", pkgConfig: "opus", apt: "libopus-dev"),
    library("VPX", pkgConfig: "vpx", apt: "libvpx-dev"),
    library("SRTP", pkgConfig: "libsrtp2", apt: "libsrtp2-dev"),
    library("JSON", pkgConfig: "json-c", apt: "libjson-c-dev"),
    library("YUV", apt: "libyuv-dev"),
    library("SpeexDSP", pkgConfig: "speexdsp", apt: "libspeexdsp-dev"),
    library(
      "FFmpeg", pkgConfig: "libavdevice libavformat libavcodec libswscale libswresample libavutil",
      apt: "libavdevice-dev"),
    library("Pulse", apt: "libpulse-dev"),  // SwiftPM rejects flags of its pkg-config
    library("Video4Linux", apt: "linux-libc-dev"),
    library("PNG", pkgConfig: "libpng", apt: "libpng-dev"),
    library("Sockets", apt: "libc6-dev"),
    library("Malloc", apt: "libc6-dev"),
    library("Hiredis", apt: "libhiredis-dev"),  // SwiftPM rejects flags of its pkg-config
    // Compiled: its functions interpose those of libdispatch.
    .target(name: "CKoineDispatchContext", path: "Sources/CLibraries/CDispatchContext"),
    // Compiled, because it configures the library before its first use.
    .target(
      name: "CKoineOpenSSL", path: "Sources/CLibraries/COpenSSL",
      linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
    // Compiled, because the library is C++. Its headers find each other by a folder that is on no search path, and the
    // flags of its pkg-config are not all ones that the package manager lets through: hence the link `system`.
    .target(
      name: "CKoineAudioProcessing", path: "Sources/CLibraries/CAudioProcessing", exclude: ["system"],
      cxxSettings: [
        .headerSearchPath("system"), .define("WEBRTC_POSIX"), .define("WEBRTC_AUDIO_PROCESSING_ONLY_BUILD"),
      ],
      linkerSettings: [.linkedLibrary("webrtc_audio_processing")]),

    // Layer 1
    module("Media", dependencies: ["CKoineSpeexDSP", "CKoineYUV"]),
    module("Base", dependencies: ["KoineMedia"]),
    module("JSONCodec", dependencies: ["CKoineJSON"]),
    module("ObjectiveC", in: "Sources/Platform"),

    // Layer 2
    .target(name: "RoomModel", dependencies: ["KoineBase"], path: "Sources/RoomModel", swiftSettings: settings),
    module("RTP", dependencies: ["KoineBase"]),
    module("Codecs", dependencies: ["KoineBase", "KoineMedia", "CKoineOpus", "CKoineVPX", "CKoineYUV"]),
    module("AudioProcessing", dependencies: ["CKoineAudioProcessing", "KoineMedia"]),
    module("Sockets", dependencies: ["KoineBase", "CKoineSockets"]),
    module("SimulatedNetwork", dependencies: ["KoineBase"]),
    module("Signaling", dependencies: ["RoomModel", "KoineBase", "KoineJSONCodec"]),
    module("Porting", dependencies: ["KoineBase", "KoineJSONCodec"]),
    module("TLS", dependencies: ["CKoineOpenSSL", .product(name: "NIOCore", package: "swift-nio")]),
    module("Tokens", dependencies: ["KoineBase", "KoineJSONCodec", "CKoineOpenSSL"]),
    module("Ledger", dependencies: ["KoineBase"]),

    // Layer 3
    module("Cluster", dependencies: ["KoineBase", "KoineLedger"]),
    module("Transport", dependencies: ["RoomModel", "KoineBase", "KoineRTP", "CKoineOpenSSL", "CKoineSRTP"]),

    // Layer 4
    module(
      "Router",
      dependencies: [
        "RoomModel", "KoineBase", "KoineCluster", "KoineJSONCodec", "KoineLedger", "KoineRTP", "KoineTransport",
        "KoineSignaling",
      ]),
    module("MediaEngine", dependencies: ["KoineBase", "KoineMedia", "KoineCodecs", "KoineAudioProcessing"]),
    module("Peer", dependencies: ["RoomModel", "KoineBase", "KoineRTP", "KoineSockets", "KoineTransport"]),

    // Layer 5
    .target(
      name: "Koine",
      dependencies: ["RoomModel", "KoineBase", "KoineJSONCodec", "KoineMedia", "KoineMediaEngine", "KoineSignaling"],
      path: "Sources/Koine", swiftSettings: settings),

    module(
      "RoomClient",
      dependencies: ["Koine", "KoineBase", "KoinePeer", "KoineRouter", "KoineTransport", "KoineSignaling"]),

    module("SignalingHost", dependencies: ["KoineBase", "KoineRouter", "KoineSignaling"]),
    module("Admissions", dependencies: ["KoineRouter", "KoineSignaling", "KoineTokens"]),
    module(
      "VendorAPIs",
      dependencies: [
        "CKoineOpenSSL", "KoineAdmissions", "KoineBase", "KoineJSONCodec", "KoineLedger", "KoineMedia", "KoineRouter",
        "KoineSignaling", "KoineTokens",
      ]),

    // Layer 6
    module(
      "EmbeddedBackend", in: "Sources/Backends",
      dependencies: [
        "Koine", "KoineAdmissions", "KoineBase", "KoineLedger", "KoinePeer", "KoineRoomClient", "KoineRouter",
        "KoineTransport", "KoineSignaling", "KoineSignalingHost", "KoineSockets", "KoineSimulatedNetwork",
        "KoineTokens",
      ]),
    module(
      "ServerBackend", in: "Sources/Backends",
      dependencies: [
        "Koine", "KoineBase", "KoinePeer", "KoineRoomClient", "KoineSignaling", "KoineTLS", "KoineTransport",
      ] + nio),
    .target(
      name: "KoineServer",
      dependencies: [
        "CKoineMalloc", "KoineAdmissions", "KoineBase", "KoineJSONCodec", "KoineLedger", "KoinePeer", "KoineRTP",
        "KoineRouter", "KoineVendorAPIs",
        "KoineSignaling", "KoineSignalingHost",
        "KoineSockets", "KoineTLS", "KoineTokens", "KoineTransport",
        .product(name: "Logging", package: "swift-log"),
      ] + nio,
      path: "Sources/Server", resources: [.embedInCode("Page")], swiftSettings: settings),
    // Apart from `Server`, so that apps' tests with a `Server` link no hiredis.
    module(
      "RedisLedger",
      dependencies: [
        "CKoineHiredis", "CKoineOpenSSL", "KoineBase", "KoineJSONCodec", "KoineLedger", "KoineTLS",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
      ]),
    module(
      "MediaFiles",
      dependencies: ["Koine", "KoineBase", "KoineCodecs", "CKoineFFmpeg", "CKoinePulse", "CKoineVideo4Linux"]),
    module("CoreVideo", in: "Sources/Platform", dependencies: ["Koine", "KoineObjectiveC"]),
    module("CoreMedia", in: "Sources/Platform", dependencies: ["Koine", "KoineCoreVideo"]),
    module("AVFoundation", in: "Sources/Platform", dependencies: ["Koine", "KoineCoreMedia", "KoineCoreVideo"]),
    module("ReplayKit", in: "Sources/Platform", dependencies: ["Koine", "KoineCoreMedia", "KoineCoreVideo"]),
    module("UIKit", in: "Sources/Platform", dependencies: ["Koine", "KoineObjectiveC", "CKoinePNG"]),
    module("CallKit", in: "Sources/Platform", dependencies: ["Koine", "KoineAVFoundation"]),
    module("PushKit", in: "Sources/Platform", dependencies: ["Koine", "KoineCallKit"]),

    .target(
      name: "CrossVendorConventions", dependencies: ["Koine", "KoineSignaling"], path: "Sources/CrossVendorConventions",
      swiftSettings: settings),

    // Layer 7
    module(
      "Backends", in: "Sources/Backends",
      dependencies: [
        "Koine", "KoineEmbeddedBackend",
        .target(name: "KoineServerBackend", condition: .when(traits: ["Server"])),
      ]),
    module(
      "Composition",
      dependencies: [
        "CrossVendorConventions", "Koine", "KoineBase", "KoineMediaEngine", "KoineSignaling", "KoineTokens",
      ]),

    // Layer 8
    adapter("WebRTC", path: "Adapters/EventListener/WebRTC", dependencies: ["Koine", "KoineUIKit", "KoineCoreVideo"]),
    adapter("Mediasoup", path: "Adapters/EventListener/Mediasoup", dependencies: []),
    adapter(
      "VideoSDKRTC", path: "Adapters/EventListener/VideoSDKRTC",
      dependencies: [
        "CrossVendorConventions", "Koine", "KoineBackends", "KoineComposition", "KoineTokens", "WebRTC", "Mediasoup",
        "KoineUIKit", "KoineAVFoundation", "KoineCoreVideo",
      ]),
    adapter(
      "AmazonChimeSDK", path: "Adapters/MeetingSession/AmazonChimeSDK",
      dependencies: [
        "Koine", "KoineBackends", "KoineUIKit", "KoineAVFoundation", "KoineCoreMedia", "KoineCoreVideo",
        "KoineReplayKit",
      ]),
    adapter("AmazonChimeSDKMedia", path: "Adapters/MeetingSession/AmazonChimeSDKMedia", dependencies: []),
    adapter(
      "AmazonIVSBroadcast", path: "Adapters/StageStrategy/AmazonIVSBroadcast",
      dependencies: [
        "CrossVendorConventions", "Koine", "KoineBackends", "KoineComposition", "KoineTokens", "KoineUIKit",
        "KoineAVFoundation",
        "KoineCoreMedia", "KoineCoreVideo",
      ]),

    adapter(
      "AzureCommunicationCommon", path: "Adapters/CallAgent/AzureCommunicationCommon", dependencies: ["KoineTokens"]),
    adapter(
      "AzureCommunicationCalling", path: "Adapters/CallAgent/AzureCommunicationCalling",
      dependencies: [
        "CrossVendorConventions", "Koine", "KoineBackends", "AzureCommunicationCommon", "KoineUIKit",
        "KoineAVFoundation", "KoineCallKit", "KoineCoreVideo",
        "KoineTokens",
      ]),

    // Layer 9
    module(
      "Testing",
      dependencies: [
        "CKoineDispatchContext", "Koine", "KoineEmbeddedBackend", "KoineSimulatedNetwork", "KoineTokens", "KoineUIKit",
        "KoineAVFoundation", "KoineCallKit", "KoineReplayKit",
      ]),
    module(
      "SampleSupport", in: "Samples",
      dependencies: [
        "Koine", "KoineBackends", "KoineBase", "KoineEmbeddedBackend", "KoineSimulatedNetwork", "KoineMediaFiles",
        "KoineUIKit", argumentParser,
      ]),
    .executableTarget(
      name: "koine-event-listener",
      dependencies: [
        "VideoSDKRTC", "WebRTC", "Koine", "KoineBackends", "KoineUIKit", "KoineSampleSupport",
        argumentParser,
      ],
      path: "Samples/koine-event-listener", swiftSettings: settings),
    .executableTarget(
      name: "koine-meeting-session",
      dependencies: [
        "AmazonChimeSDK", "Koine", "KoineUIKit", "KoineSampleSupport",
        argumentParser,
      ],
      path: "Samples/koine-meeting-session", swiftSettings: settings),

    .executableTarget(
      name: "koine-call-agent",
      dependencies: [
        "AzureCommunicationCalling", "Koine", "KoineBase", "KoineTokens", "KoineUIKit", "KoineSampleSupport",
        argumentParser,
      ],
      path: "Samples/koine-call-agent", swiftSettings: settings),
    .executableTarget(
      name: "koine-stage-strategy",
      dependencies: [
        "AmazonIVSBroadcast", "Koine", "KoineTokens", "KoineSampleSupport",
        argumentParser,
      ],
      path: "Samples/koine-stage-strategy", swiftSettings: settings),

    // One complete app of each style, as its vendor's guides have apps: nothing of Koine's is imported. No products.
    referenceApp(
      "CallAgentApp", in: "call-agent", dependencies: ["AzureCommunicationCalling", "AzureCommunicationCommon"]),
    referenceApp("StageStrategyApp", in: "stage-strategy", dependencies: ["AmazonIVSBroadcast"]),
    referenceApp("MeetingSessionApp", in: "meeting-session", dependencies: ["AmazonChimeSDK"]),
    referenceApp("EventListenerApp", in: "event-listener", dependencies: ["VideoSDKRTC", "WebRTC"]),

    module("ConformanceKit"),

    // Layer 10
    module(
      "TestingAPIs",
      dependencies: [
        "Koine", "KoineBase", "KoineEmbeddedBackend", "KoineMedia", "KoineRouter", "KoineServer", "KoineTesting",
        "KoineTokens", "KoineVendorAPIs",
      ]),
    module(
      "ConformanceDrivers",
      dependencies: [
        "KoineConformanceKit", "KoineBackends", "KoineBase", "KoineEmbeddedBackend", "KoineSimulatedNetwork",
        "Koine", "KoineTokens", "KoineUIKit", "KoineCoreVideo", "AzureCommunicationCalling", "AmazonIVSBroadcast",
        "AmazonChimeSDK", "VideoSDKRTC", "WebRTC",
      ]),

    // Layer 11
    .executableTarget(
      name: "KoineCommand",
      dependencies: [
        "Koine", "KoineBase", "KoineComposition", "KoineConformanceDrivers", "KoineConformanceKit",
        "KoineEmbeddedBackend", "KoineJSONCodec", "KoineLedger",
        "KoineMediaFiles", "KoinePorting", "KoineRedisLedger", "KoineRouter", "KoineSampleSupport", "KoineServer",
        "KoineServerBackend", "KoineSimulatedNetwork", "KoineTokens", "KoineUIKit",
        argumentParser,
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Command", swiftSettings: settings),

    // Benchmarks: in this package, because only here are the seams below the common layer visible
    .target(
      name: "CKoineBenchmark", dependencies: ["CKoineOpus", "CKoineVPX", "CKoineOpenSSL"], path: "Benchmarks/Bare"),
    .executableTarget(
      name: "koine-benchmark",
      dependencies: [
        "CKoineBenchmark", "KoineBase", "KoineCodecs", "KoineTransport", "KoineMediaEngine", "KoineRouter",
        "KoineRTP", "KoineSignaling", "KoineSockets", "KoineSimulatedNetwork", "Koine", "KoineEmbeddedBackend",
        "KoineServer",
        "KoineServerBackend", "KoineComposition", "KoineMediaFiles", "KoineTokens", "KoineVendorAPIs",
        "AmazonChimeSDK", "AmazonIVSBroadcast",
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Benchmarks/koine-benchmark", swiftSettings: settings),

    // Tests
    module("TestSupport", in: "Tests", dependencies: [.product(name: "Subprocess", package: "swift-subprocess")]),
    module("AppServers", in: "Tests", dependencies: ["KoineTesting", "KoineTokens"]),
    tests("Base", of: ["KoineBase", "KoineMedia"]),
    tests("JSONCodec", of: ["KoineJSONCodec"]),
    tests("RTP", of: ["KoineRTP", "KoineBase"]),
    tests("Codecs", of: ["KoineCodecs", "KoineBase", "KoineMedia"]),
    tests("AudioProcessing", of: ["KoineAudioProcessing", "KoineMedia", "KoineTestSupport"]),
    tests("Sockets", of: ["KoineSockets", "KoineBase"]),
    tests("SimulatedNetwork", of: ["KoineSimulatedNetwork", "KoineBase"]),
    tests("Signaling", of: ["KoineSignaling", "KoineJSONCodec", "KoineBase"], resources: [.copy("Golden")]),
    tests("Tokens", of: ["KoineTokens", "KoineJSONCodec"]),
    tests("Ledger", of: ["KoineLedger", "KoineJSONCodec", "KoineBase"]),
    tests("Cluster", of: ["KoineCluster", "KoineLedger", "KoineBase"], exclude: ["RoomLog.pml"]),
    tests("Admissions", of: ["KoineAdmissions", "KoineRouter", "KoineSignaling", "KoineTokens"]),
    tests(
      "VendorAPIs",
      of: [
        "KoineVendorAPIs", "KoineAdmissions", "KoineBase", "KoineJSONCodec", "KoineLedger", "KoineMedia", "KoineRouter",
        "KoineSignaling", "KoineTokens",
      ]),
    tests("Peer", of: ["KoinePeer", "KoineTransport", "KoineBase", "RoomModel"]),
    tests(
      "Transport", of: ["KoineTransport", "KoineRTP", "KoineBase", "KoineSimulatedNetwork"],
      resources: [.copy("SDP/Offers")]),
    tests(
      "Router",
      of: [
        "KoineRouter", "KoineTransport", "KoineSignaling", "KoineSignalingHost", "KoineRTP", "KoineBase",
        "KoineCluster", "KoineLedger", "KoineSimulatedNetwork",
      ]),
    tests(
      "RoomClient", of: ["KoineRoomClient", "Koine", "KoineSignaling", "KoineTransport", "KoineBase"]),
    tests(
      "SignalingHost", of: ["KoineSignalingHost", "KoineRouter", "KoineSignaling", "KoineTransport", "KoineBase"]),
    tests(
      "MediaEngine",
      of: ["KoineMediaEngine", "KoineMedia", "KoineAudioProcessing", "KoineCodecs", "KoineTransport", "KoineBase"]),
    tests(
      "Koine",
      of: [
        "CrossVendorConventions",
        "Koine", "KoineEmbeddedBackend", "KoinePeer", "KoineRoomClient", "KoineSignaling", "KoineSimulatedNetwork",
        "KoineTokens",
        "KoineTransport",
      ]),
    tests(
      "MediaFiles",
      of: ["KoineMediaFiles", "Koine", "KoineEmbeddedBackend", "KoineSimulatedNetwork", "KoineTestSupport"]),
    tests(
      "Platform",
      of: [
        "KoineUIKit", "KoineAVFoundation", "KoineCoreMedia", "KoineCoreVideo", "Koine", "KoineEmbeddedBackend",
        "KoineTestSupport", "KoineFoundation", "KoineOS", .product(name: "Logging", package: "swift-log"),
      ]),
    tests(
      "EventListener",
      of: [
        "CrossVendorConventions",
        "VideoSDKRTC", "WebRTC", "Mediasoup", "KoineUIKit", "KoineMediaFiles", "KoineTokens", "Koine",
        "KoineEmbeddedBackend", "KoineSimulatedNetwork", "KoineComposition", "KoineServer", "KoineServerBackend",
        "KoineTestSupport", .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: asAppsAre),
    tests(
      "CallAgent",
      of: [
        "CrossVendorConventions", "AzureCommunicationCalling", "AzureCommunicationCommon", "KoineUIKit", "KoineTokens",
        "Koine", "KoineEmbeddedBackend", "KoineSignaling", "KoineSimulatedNetwork",
      ], swiftSettings: asAppsAre),
    tests(
      "MeetingSession",
      of: [
        "AmazonChimeSDK", "KoineUIKit", "KoineAVFoundation", "KoineCoreVideo", "Koine", "KoineEmbeddedBackend",
        "KoineSimulatedNetwork", "KoineTokens",
      ], swiftSettings: asAppsAre),
    tests(
      "StageStrategy",
      of: [
        "CrossVendorConventions",
        "AmazonIVSBroadcast", "KoineUIKit", "KoineAVFoundation", "KoineCoreMedia", "KoineCoreVideo", "KoineTokens",
        "KoineMediaFiles", "Koine", "KoineEmbeddedBackend", "KoineRouter", "KoineSimulatedNetwork", "KoineTestSupport",
      ], swiftSettings: asAppsAre),
    tests(
      "Server",
      of: [
        "KoineServer", "KoineServerBackend", "KoineBackends", "KoineTokens", "KoineLedger", "KoineRouter",
        "KoineSignaling", "KoineTLS",
        "KoineVendorAPIs",
        "KoineSignalingHost", "KoineJSONCodec", "KoineSockets", "KoineTransport", "Koine", "KoineBase",
        "KoineTestSupport",
      ]
        + [.product(name: "Logging", package: "swift-log")] + [.product(name: "NIOEmbedded", package: "swift-nio")]
        + nio),
    tests(
      "RedisLedger",
      of: [
        "KoineRedisLedger", "KoineLedger", "KoineBase", "KoineTLS", "KoineTestSupport",
        .product(name: "Logging", package: "swift-log"), .product(name: "NIOEmbedded", package: "swift-nio"),
      ] + nio),
    tests(
      "Composition",
      of: [
        "CrossVendorConventions",
        "KoineComposition", "KoineMediaFiles", "Koine", "KoineEmbeddedBackend", "KoineRouter", "KoineSignaling",
        "KoineTestSupport", "KoineTokens",
      ]),
    tests(
      "Conformance",
      of: [
        "KoineConformanceKit", "KoineConformanceDrivers", "KoineSimulatedNetwork", "Koine", "KoineBackends",
        "KoineEmbeddedBackend", "KoineTokens", "AzureCommunicationCalling", "VideoSDKRTC", "KoineServer",
        "KoineMediaFiles", "KoineTestSupport",
        .product(name: "Logging", package: "swift-log"),
      ]),
    tests(
      "Testing",
      of: [
        "KoineTesting", "Koine", "KoineUIKit", "KoineAVFoundation", "KoineCoreMedia", "KoineCoreVideo",
        "KoineReplayKit", "KoineMediaFiles", "KoineEmbeddedBackend", "AzureCommunicationCalling",
        "AzureCommunicationCommon", "AmazonIVSBroadcast", "AmazonChimeSDK", "VideoSDKRTC", "WebRTC", "KoineTestSupport",
      ], swiftSettings: asAppsAre),
    tests(
      "TestingAPIs",
      of: [
        "KoineTestingAPIs", "KoineTesting", "Koine", "KoineUIKit", "KoineTokens", "KoineVendorAPIs",
        "AzureCommunicationCalling", "AzureCommunicationCommon", "AmazonIVSBroadcast", "AmazonChimeSDK", "VideoSDKRTC",
        "WebRTC",
      ], swiftSettings: asAppsAre),
    .target(
      name: "LinuxCopyApp", dependencies: ["UIKit", "AVFoundation", "Combine", "CoreVideo", "KoineOS"],
      path: "Tests/LinuxCopy/.koine/App", swiftSettings: asAppsAre),
    .testTarget(
      name: "LinuxCopyTests", dependencies: ["LinuxCopyApp", "UIKit", "AVFoundation"], path: "Tests/LinuxCopy/Tests",
      swiftSettings: settings),
    tests(
      "CallKit",
      of: [
        "KoineTesting", "CallKit", "PushKit", "UIKit", "KoineAVFoundation", "Koine", "AzureCommunicationCalling",
        "AzureCommunicationCommon", "AmazonChimeSDK", "KoineTestSupport",
      ], swiftSettings: asAppsAre),
    tests(
      "ReferenceApps",
      of: [
        "KoineTesting", "CallAgentApp", "StageStrategyApp", "MeetingSessionApp", "EventListenerApp",
        "AzureCommunicationCalling", "AzureCommunicationCommon", "AmazonIVSBroadcast", "AmazonChimeSDK", "VideoSDKRTC",
        "WebRTC", "UIKit", "Combine", "ReplayKit", "KoineAppServers",
      ], swiftSettings: asAppsAre),
    tests(
      "PortingSuite",
      of: [
        "KoineTesting", "Koine", "KoineBackends", "KoineTokens", "CallAgentApp", "StageStrategyApp",
        "MeetingSessionApp", "EventListenerApp", "AzureCommunicationCalling", "AzureCommunicationCommon",
        "AmazonIVSBroadcast", "AmazonChimeSDK", "VideoSDKRTC", "WebRTC", "UIKit", "AVFoundation", "Combine",
        "CoreMedia", "CoreVideo", "ReplayKit", "KoineTestSupport", "KoineAppServers",
      ], swiftSettings: asAppsAre),
    tests(
      "FieldKit",
      of: [
        "KoineTesting", "KoineConformanceKit", "AzureCommunicationCalling", "AzureCommunicationCommon",
        "AmazonIVSBroadcast", "AmazonChimeSDK", "VideoSDKRTC",
      ], swiftSettings: asAppsAre),
    tests(
      "Porting",
      of: [
        "KoineBase", "KoinePorting", "KoineTesting", "Koine", "KoineUIKit", "AzureCommunicationCalling",
        "AmazonIVSBroadcast",
        "AmazonChimeSDK", "VideoSDKRTC", "WebRTC",
      ], swiftSettings: asAppsAre),
    tests(
      "Command",
      of: [
        "KoineSampleSupport", "Koine", "KoineBase", "KoineEmbeddedBackend", "KoineServer", "KoineServerBackend",
        "KoineTestSupport",
        .product(name: "Logging", package: "swift-log"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)

// Modules under Apple's names, for apps whose sources say `import UIKit`. No other product depends on them, because a module
// of that name makes `canImport(UIKit)` true for every module of the build.
#if os(Linux)
  @MainActor func apple(_ name: String, dependencies: [Target.Dependency] = []) {
    package.targets.append(
      .target(name: name, dependencies: dependencies, path: "Sources/Apple/" + name, swiftSettings: settings))
    guard !name.hasPrefix("_") else { return }
    package.products.append(.library(name: name, targets: [name]))
  }

  package.dependencies.append(.package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"))
  apple("_Testing_UIKit")
  apple("UIKit", dependencies: ["KoineUIKit", "_Testing_UIKit"])
  apple("AVFoundation", dependencies: ["KoineAVFoundation"])
  apple("AVFAudio", dependencies: ["KoineAVFoundation"])
  apple("CallKit", dependencies: ["KoineCallKit"])
  apple("PushKit", dependencies: ["KoinePushKit"])
  apple("CoreMedia", dependencies: ["KoineCoreMedia"])
  apple("CoreVideo", dependencies: ["KoineCoreVideo"])
  apple("CoreGraphics")
  apple("ReplayKit", dependencies: ["KoineCoreMedia", "KoineCoreVideo", "KoineReplayKit"])
  let combine: [Target.Dependency] = ["OpenCombine", "OpenCombineDispatch", "OpenCombineFoundation"].map {
    .product(name: $0, package: "OpenCombine")
  }
  apple("Combine", dependencies: combine)
  apple("KoineFoundation", dependencies: combine + ["KoineObjectiveC"])
  // Under a name of Koine's, unlike the others: packages that find a module `os` use more of it than is here.
  package.targets.append(
    module("OS", in: "Sources/Platform", dependencies: [.product(name: "Logging", package: "swift-log")]))
  package.products.append(.library(name: "KoineOS", targets: ["KoineOS"]))
#endif

// The vendors' symbols as apps write them, in each of the modes that apps are compiled in. The folders are one: links.
let symbolModes: [(name: String, settings: [SwiftSetting])] = [
  ("Swift5", [.swiftLanguageMode(.v5)]),
  ("Swift5Complete", [.swiftLanguageMode(.v5), .enableUpcomingFeature("StrictConcurrency")]),
  ("Swift6", [.swiftLanguageMode(.v6)]),
  ("Swift6MainActor", [.swiftLanguageMode(.v6), .defaultIsolation(MainActor.self)]),
]
for mode in symbolModes {
  package.targets.append(
    .testTarget(
      name: "Symbols" + mode.name,
      dependencies: [
        "AzureCommunicationCalling", "AzureCommunicationCommon", "AmazonChimeSDK", "AmazonChimeSDKMedia",
        "AmazonIVSBroadcast", "VideoSDKRTC",
        "WebRTC", "KoineUIKit", "KoineAVFoundation", "KoineCoreMedia", "KoineCoreVideo", "KoineReplayKit", "Koine",
        "KoineCallKit", "KoinePushKit", "KoineEmbeddedBackend",
        "KoineTokens",
      ],
      path: "Tests/Symbols/" + mode.name, swiftSettings: mode.settings + [.treatAllWarnings(as: .error)]))
}

// Coverage-guided fuzzing of everything that parses; built by Scripts/fuzz only, because libFuzzer brings its own `main`.
if Context.environment["KOINE_FUZZ"] != nil {
  package.targets.append(
    .executableTarget(
      name: "koine-fuzz",
      dependencies: [
        "KoineBase", "KoineRTP", "KoineCodecs", "KoineTransport", "KoinePeer", "KoineRouter", "KoineJSONCodec",
        "KoineSignaling", "KoineSignalingHost", "KoineTokens", "RoomModel", "KoineServer", "Koine", "KoineRoomClient",
        "KoineEmbeddedBackend", "KoineVendorAPIs", "KoineLedger", "KoineRedisLedger",
        "CKoineOpus", "CKoineVPX",
      ] + [.product(name: "NIOEmbedded", package: "swift-nio")] + nio,
      path: "Tests/Fuzz", swiftSettings: settings))
}

// Only the named suites and what they need, as `KOINE_SUITES=Tokens,RTP`: for the sanitizers, which build everything anew.
if let suites = Context.environment["KOINE_SUITES"] {
  var kept: Set<String> = []
  func keep(_ name: String) {
    guard let target = package.targets.first(where: { $0.name == name }), kept.insert(name).inserted else { return }
    for dependency in target.dependencies {
      switch dependency {
      case .byNameItem(let name, _), .targetItem(let name, _): keep(name)
      default: break
      }
    }
  }
  for suite in suites.split(separator: ",") {
    precondition(package.targets.contains { $0.name == suite + "Tests" }, "KOINE_SUITES: no suite is named \(suite)")
    keep(suite + "Tests")
  }
  package.targets.removeAll { !kept.contains($0.name) }
  package.products.removeAll()
}
