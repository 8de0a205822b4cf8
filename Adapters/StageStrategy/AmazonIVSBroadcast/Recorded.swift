import Foundation
import Koine

/// What is kept and can be read, but has no effect here. Says so once in a process, on standard error.
struct Recorded {
  let what: String
  let why: String
  private static let said = Lock<Set<String>>([])

  static let audioSession = Recorded(what: "the audio session's category", why: "there is no audio session here")
  static let logLevel = Recorded(what: "logLevel", why: "what goes wrong is told to delegates")
  static let autoReconnect = Recorded(
    what: "IVSAutoReconnectConfiguration.enabled", why: "an output that breaks is told, and not opened again")
  static let videoEncoding = Recorded(
    what: "IVSVideoConfiguration's key frames, B frames and automatic bit rate", why: "the encoder has its own way")
  static let soundEncoding = Recorded(
    what: "IVSAudioConfiguration's channels and quality", why: "sound is mixed to one channel of Opus")
  static let degradation = Recorded(
    what: "degradationPreference", why: "the engine lowers the bit rate first, then the layer")
  static let jitterBuffer = Recorded(
    what: "IVSJitterBufferConfiguration.minDelay", why: "the engine's buffer finds its delay by itself")

  func log() {
    guard Self.said.withLock({ $0.insert(what).inserted }) else { return }
    FileHandle.standardError.write(Data("AmazonIVSBroadcast: \(what) is kept without effect: \(why)\n".utf8))
  }
}
