import Glibc
import KoineBase

/// Processes one input. A fault ends the process: a trap in the called code, or `require`.
typealias FuzzTarget = @Sendable (UnsafeRawBufferPointer) -> Void

// One entry for libFuzzer; `KOINE_FUZZ_TARGET` says which parser its bytes go to. With `KOINE_FUZZ_SEEDS`, a folder, the
// program writes that target's first inputs there and ends; with `KOINE_FUZZ_LIST` it prints the targets' names. Scripts/fuzz
// builds and runs it.
private let targets: [String: FuzzTarget] = [
  "rtp": fuzzRTP, "rtcp": fuzzRTCP, "vp8": fuzzVP8, "vp9": fuzzVP9, "vp9-picture": fuzzVP9Picture, "opus": fuzzOpus,
  "rtx": fuzzRTX, "red": fuzzRED, "stun": fuzzSTUN,
  "json": fuzzJSON, "signaling": fuzzSignaling, "sdp": fuzzSDP, "room": fuzzRoom, "dtls": fuzzDTLS, "peer": fuzzPeer,
  "token": fuzzToken, "settings": fuzzSettings, "client": fuzzClient, "http": fuzzHTTP,
  "browser": fuzzBrowser, "negotiation": fuzzNegotiation, "control": fuzzControl, "api": fuzzAPI,
  "sigv4": fuzzSigV4, "hmac": fuzzHMAC, "http-body": fuzzBody, "redis": fuzzRedis,
  "log": fuzzLog,
]

/// Of CPU, for one input. libFuzzer's own limit is wall time, which a busy machine uses up.
private let inputLimit = Duration.seconds(1)

private let targetName = getenv("KOINE_FUZZ_TARGET").map { String(cString: $0) } ?? ""

private let chosen: FuzzTarget = {
  guard let target = targets[targetName] else {
    complain("KOINE_FUZZ_TARGET must be one of \(targets.keys.sorted().joined(separator: " "))\n")
    exit(64)
  }
  return target
}()

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let start = CPUTime.ofThread
  chosen(UnsafeRawBufferPointer(start: data, count: size))
  let used = CPUTime.ofThread - start
  require(used < inputLimit, "an input of \(size) bytes takes \(used) of CPU")
  return 0
}

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ one: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// The package manager takes this for the program's `main`.
@_cdecl("koine_fuzz_main")
public func fuzzMain(_ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> CInt {
  if getenv("KOINE_FUZZ_LIST") != nil {
    print(targets.keys.sorted().joined(separator: "\n"))
    return 0
  }
  _ = chosen
  if let folder = getenv("KOINE_FUZZ_SEEDS") {
    writeSeeds(of: targetName, to: String(cString: folder))
    return 0
  }
  var (count, arguments) = (count, arguments)
  return runDriver(&count, &arguments) { data, size in fuzzOneInput(data, size) }
}

/// Must hold, in optimised builds too.
func require(_ condition: Bool, _ what: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line) {
  guard !condition else { return }
  complain("\(file):\(line): not so: \(what())\n")
  abort()
}

private func complain(_ text: String) {
  var text = text
  text.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Calls `body` with a heap block of exactly `count` bytes, so that the address sanitizer sees its edges.
func withRoom<Result>(_ count: Int, _ body: (UnsafeMutableRawBufferPointer) -> Result) -> Result {
  let room = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
  defer { room.deallocate() }
  return body(room)
}

/// Calls `body` with a copy of the bytes that may be written to.
func withCopy<Result>(_ bytes: UnsafeRawBufferPointer, _ body: (UnsafeMutableRawBufferPointer) -> Result) -> Result {
  withRoom(bytes.count) { room in
    room.copyMemory(from: bytes)
    return body(room)
  }
}
