// swift-tools-version: 6.2
import PackageDescription

// An invented style, outside of the package: what an author of a fifth style needs is in the products
// (Docs/conformance.md, "A driver").
let package = Package(
  name: "FifthStyle",
  dependencies: [.package(name: "koine", path: "../..")],
  targets: [
    .target(
      name: "Salon",
      dependencies: [.product(name: "Koine", package: "koine"), .product(name: "KoinePlatform", package: "koine")]),
    .testTarget(
      name: "SalonTests",
      dependencies: [
        "Salon", .product(name: "Koine", package: "koine"), .product(name: "KoineConformanceKit", package: "koine"),
      ]),
  ]
)
