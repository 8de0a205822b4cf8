import KoinePorting

/// The products of Koine's package that an app's target depends on, by the modules that its files import.
public enum KoineProducts {
  /// Modules of products that have another name. All others are products of the module's name.
  private static let names: [String: String] = Dictionary(
    uniqueKeysWithValues: [
      "Koine": ["RoomModel", "KoineMedia", "KoineBackends", "KoineEmbeddedBackend", "KoineServerBackend"],
      "AzureCommunicationCalling": ["AzureCommunicationCommon"],
      "AmazonChimeSDK": ["AmazonChimeSDKMedia"],
      "VideoSDKRTC": ["WebRTC", "Mediasoup"],
      "KoinePlatform": [
        "KoineUIKit", "KoineAVFoundation", "KoineCoreMedia", "KoineCoreVideo", "KoineReplayKit", "KoineCallKit",
        "KoinePushKit", "CrossVendorConventions",
      ],
    ].flatMap { product, modules in modules.map { ($0, product) } })

  /// - Returns: the products in alphabetical order; modules that are not Koine's have none.
  public static func of(_ modules: some Sequence<String>) -> [String] {
    let own = Set(LinuxHindrances.current.modules + VendorAPI.all.values.compactMap(\.modules.first))
    let products = modules.compactMap { module in
      names[module] ?? (own.contains(module) || module.hasPrefix("Koine") ? module : nil)
    }
    return Set(products).sorted()
  }
}
