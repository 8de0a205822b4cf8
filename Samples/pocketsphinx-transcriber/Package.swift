// swift-tools-version: 6.2
import PackageDescription

// A speech recogniser of another author, outside of the package and over products only: CMU PocketSphinx as a `Transcriber`. It needs the
// Debian packages libpocketsphinx-dev and pocketsphinx-en-us, and for its tests espeak-ng. `Scripts/check-transcriber` builds and tests it.
let package = Package(
  name: "pocketsphinx-transcriber",
  products: [.library(name: "PocketSphinxTranscriber", targets: ["PocketSphinxTranscriber"])],
  dependencies: [.package(name: "koine", path: "../..")],
  targets: [
    .systemLibrary(
      name: "CPocketSphinx", pkgConfig: "pocketsphinx",
      providers: [.apt(["libpocketsphinx-dev", "pocketsphinx-en-us"])]),
    .target(
      name: "PocketSphinxTranscriber", dependencies: ["CPocketSphinx", .product(name: "Koine", package: "koine")]),
    .testTarget(
      name: "PocketSphinxTranscriberTests",
      dependencies: ["PocketSphinxTranscriber", .product(name: "Koine", package: "koine")]),
  ]
)
