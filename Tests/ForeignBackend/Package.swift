// swift-tools-version: 6.2
import PackageDescription

// A backend of another author, outside of the package: a room service with a protocol of its own, over products only. It shows what
// `Backend`, `PeerMedia` and `PeerLoop` give to an author of another kind of rooms.
let package = Package(
  name: "ForeignBackend",
  dependencies: [.package(name: "koine", path: "../..")],
  targets: [
    .target(
      name: "Relay",
      dependencies: [
        .product(name: "Koine", package: "koine"), .product(name: "KoinePeer", package: "koine"),
        .product(name: "KoineTokens", package: "koine"),
      ]),
    .testTarget(
      name: "RelayTests",
      dependencies: [
        "Relay", .product(name: "Koine", package: "koine"), .product(name: "KoineConformanceKit", package: "koine"),
        .product(name: "KoineConformanceDrivers", package: "koine"),
      ]),
  ]
)
