/// The sources that need nothing but the engine.
enum BuiltInDevices {
  static let video: [String: Devices.MakeVideo] = [:]
  static let audio: [String: Devices.MakeAudio] = [:]
}
