import CrossVendorConventions
import Dispatch
import Foundation
import Koine
@testable import KoineComposition
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineSignaling
import KoineTestSupport
import Testing

private let named = ["live.example", "Ingest.Example", "127.0.0.1", "::1"]

/// Hosts to which a server may send live streams, limits on starts, and file permissions.
@Suite struct LivestreamTests {
  private let world = World(
    backend: EmbeddedBackend(virtual: 1), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
  private let folder: Folder
  private let said = Lock<[String]>([])

  init() throws {
    folder = try Folder()
    MediaFiles.register()
  }

  // MARK: Hosts

  @Test(
    arguments: [
      ("rtmp://live.example/app/key", named, true), ("rtmps://LIVE.example.:443/app", named, true),
      ("rtmp://ingest.example/app", named, true), ("rtmp://127.0.0.1:1935/app", named, true),
      ("rtmp://[::1]:1935/app", named, true), ("rtmp://other.example/app", named, false),
      ("rtmp://live.example.other/app", named, false), ("rtmp://other.example/app", ["*"], true),
      ("http://live.example/app", named, false), ("tcp://live.example:1", ["*"], false),
      ("file:///etc/passwd", ["*"], false), ("rtmp:///app", ["*"], false), ("rtmp:app", ["*"], false),
      ("rtmp://live.example@other.example/app", named, false), ("rtmp://u:p@live.example/app", named, false),
      ("rtmp://live.example:x/app", named, false), ("rtmp://live%2eexample/app", named, false),
      ("rtmp://live.example/app", [], false),
    ] as [(String, [String], Bool)])
  func livestreamAddressIsAllowedByItsHost(_ address: String, _ names: [String], _ isAllowed: Bool) {
    let host = URL(string: address).flatMap { try? LivestreamHosts(names).checkName($0) }
    #expect((host != nil) == isAllowed)
  }

  /// Numeric addresses, in all notations: nothing is asked of the network.
  @Test(arguments: [
    ("93.184.215.14", true), ("[2606:2800:21f:cb07::1]", true), ("[64:ff9b::5db8:d70e]", true),
    ("127.0.0.1", false), ("127.1", false), ("2130706433", false), ("0x7f000001", false), ("017700000001", false),
    ("0.0.0.0", false), ("10.1.2.3", false), ("172.16.0.1", false), ("172.31.255.255", false), ("172.32.0.1", true),
    ("192.168.1.1", false), ("169.254.169.254", false), ("100.64.0.1", false), ("198.18.0.1", false),
    ("224.0.0.1", false), ("255.255.255.255", false), ("[::1]", false), ("[::]", false), ("[fe80::1]", false),
    ("[fd00::1]", false), ("[ff02::1]", false), ("[::ffff:127.0.0.1]", false), ("[::ffff:10.0.0.1]", false),
    ("[64:ff9b::a00:1]", false), ("[2002:7f00:1::]", false), ("[2001:0:1::1]", false), ("localhost", false),
  ])
  func nonPublicAddressIsRefusedUnlessNamed(_ host: String, _ isPublic: Bool) throws {
    let url = try #require(URL(string: "rtmp://\(host)/app/key"))
    let any = LivestreamHosts(["*"])
    if isPublic {
      #expect(throws: Never.self) { try any.check(url) }
    } else {
      #expect(throws: LivestreamHosts.Refusal.self) { try any.check(url) }
    }
    let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    #expect(throws: Never.self) { try LivestreamHosts(["*", name]).check(url) }
  }

  // MARK: Recording service

  private func service(_ change: (inout RecordingService.Rules) -> Void) -> RecordingService {
    var rules = RecordingService.Rules(folder: URL(fileURLWithPath: folder.path, isDirectory: true))
    change(&rules)
    return RecordingService(
      rules, world: { [world] in world }, credential: { try ComposingRecorder.pass(for: $0) },
      say: { [said] answer in
        let words = String(decoding: answer.payload, as: UTF8.self).split(separator: " ").first ?? ""
        said.withLock { $0.append("\(answer.room) \(words)") }
      })
  }

  private func enter(_ room: String) async -> Session {
    let session = Session(JoinRequest(room: room, participantID: "ana", name: "Ana"), in: world)
    session.join { _ in }
    await world.run(for: .milliseconds(500))
    return session
  }

  private func ask(_ service: RecordingService, _ topic: String, _ text: String = "4", in room: String = "tea") async {
    service.handle(.init(room: room, sender: "ana", topic: topic, payload: Array(text.utf8)))
    await world.run(for: .seconds(1))
  }

  private func count(_ words: String) -> Int { said.withLock { $0.count { $0 == words } } }

  @Test func liveStreamToUnlistedHostIsRefused() async {
    let service = service { $0.hosts = LivestreamHosts(["live.example"]) }
    let ana = await enter("tea")
    await ask(service, Convention.livestream, "4\nrtmp://live.example/a\nrtmp://127.0.0.1:1/a")
    #expect(said.withLock { $0 } == ["tea failed"])
    withExtendedLifetime(ana) {}
  }

  @Test func failedLiveStreamCannotRestartImmediately() async throws {
    let service = service { _ in }
    let rooms = [await enter("tea"), await enter("milk")]
    let wish = "4\nrtmp://127.0.0.1:\(try Ports.free())/app/key"
    await ask(service, Convention.livestream, wish)
    #expect(count("tea starting") == 1)
    #expect(count("tea failed") == 1)
    await ask(service, Convention.livestream, wish)
    #expect(count("tea starting") == 1 && count("tea failed") == 2, "too soon")
    await ask(service, Convention.livestream, wish, in: "milk")
    #expect(count("milk starting") == 1, "another room")
    await world.run(for: .seconds(10))
    await ask(service, Convention.livestream, wish)
    #expect(count("tea starting") == 2)
    withExtendedLifetime(rooms) {}
  }

  /// As in a cluster: the room's former home has streamed it.
  private func proceed(_ service: RecordingService, to address: String) async {
    var message = RoomService.Message(
      room: "tea", sender: "ana", topic: Convention.livestream, payload: Array("4\n\(address)".utf8))
    message.continuing = Array("started".utf8)
    service.handle(message)
    await world.run(for: .seconds(3))
  }

  @Test func continuedLiveStreamIsTriedAgainUntilItsServerTakesIt() async throws {
    let service = service { _ in }
    let ana = await enter("tea")
    let port = try Ports.free()
    await proceed(service, to: "rtmp://127.0.0.1:\(port)/live/key")
    #expect(said.withLock { $0 } == ["tea interrupted"])
    try await RTMPServer.receiving(into: folder.path + "/live.flv", on: port) { _ in
      for _ in 0..<20 where count("tea started") == 0 { await world.run(for: .seconds(1)) }
      await world.run(for: .seconds(1))
      await world.run { await service.close() }
    }
    #expect(said.withLock { $0 } == ["interrupted", "started", "stopping", "stopped"].map { "tea \($0)" })
    withExtendedLifetime(ana) {}
  }

  @Test func continuedLiveStreamThatIsRefusedForHalfAMinuteHasFailed() async throws {
    let service = service { _ in }
    let ana = await enter("tea")
    await proceed(service, to: "rtmp://127.0.0.1:\(try Ports.free())/live/key")
    await world.run(for: .seconds(20))
    #expect(said.withLock { $0 } == ["tea interrupted"])
    await world.run(for: .seconds(15))
    #expect(said.withLock { $0 } == ["interrupted", "failed", "stopped"].map { "tea \($0)" })
    withExtendedLifetime(ana) {}
  }

  @Test func recordingStartsPerMinuteAreLimited() async {
    let service = service { $0.startsPerMinute = 3 }
    let ana = await enter("tea")
    for _ in 1...5 {
      await ask(service, Convention.recording)
      await ask(service, Convention.stop, Convention.recording)
    }
    #expect(count("tea started") == 3)
    #expect(count("tea failed") == 2)
    await world.run(for: .seconds(60))
    await ask(service, Convention.recording)
    #expect(count("tea started") == 4)
    await world.run { await service.close() }
    withExtendedLifetime(ana) {}
  }

  @Test func recordingIsRefusedOnNearlyFullDisk() async {
    let full = service { $0.freeBytes = .max }
    let ana = await enter("tea")
    await ask(full, Convention.recording)
    #expect(said.withLock { $0 } == ["tea failed"])
    #expect(folder.names.isEmpty)
    let roomy = service { $0.freeBytes = 1 }
    await ask(roomy, Convention.recording)
    #expect(count("tea started") == 1)
    await world.run { await roomy.close() }
    withExtendedLifetime(ana) {}
  }

  @Test func recordingStopsWhenDiskIsNearlyFull() async {
    let hasSpace = Lock(true)
    let service = service { $0.spaceIsLeft = { hasSpace.withLock { $0 } } }
    let ana = await enter("tea")
    await ask(service, Convention.recording)
    await world.run(for: .seconds(20))
    #expect(count("tea started") == 1)
    #expect(count("tea stopped") == 0)
    hasSpace.withLock { $0 = false }
    await world.run(for: .seconds(6))
    #expect(count("tea stopped") == 1)
    #expect(folder.names.count == 1 && folder.names[0].hasSuffix(".webm"), "what came before is whole")
    withExtendedLifetime(ana) {}
  }

  @Test func recordingFilesAreReadableByOwnerOnly() async throws {
    let mask = umask(0o022)
    defer { umask(mask) }
    RecordingService.keepFilesPrivate()
    let place = folder.file("recordings")
    let service = service { $0.folder = URL(fileURLWithPath: place, isDirectory: true) }
    let ana = await enter("tea")
    try ana.publish(camera: Devices.camera("pattern:320x180@10"))
    await ask(service, Convention.recording)
    await ask(service, Convention.playlist)
    await world.run(for: .seconds(4))
    await world.run { await service.close() }
    func mode(_ path: String) -> mode_t? {
      var facts = stat()
      return stat(path, &facts) == 0 ? facts.st_mode & 0o777 : nil
    }
    #expect(mode(place) == 0o700)
    let paths = try FileManager.default.subpathsOfDirectory(atPath: place)
    #expect(paths.count > 3)
    for path in paths {
      #expect(mode(place + "/" + path) == (path.hasSuffix("-hls") ? 0o700 : 0o600), "\(path)")
    }
    withExtendedLifetime(ana) {}
  }

  // MARK: TLS

  /// A server that answers the handshake with a certificate of its own making, and writes what it reads afterwards.
  @Test func streamKeyIsSentOnlyToServerWithTrustedCertificate() async throws {
    let (certificate, key) = (folder.file("certificate.pem"), folder.file("key.pem"))
    try await Command([
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
      "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
    ]).run()
    for isTrusted in [false, true] {
      let port = try Ports.free()
      let out = folder.file("read-\(isTrusted)")
      let url = try #require(URL(string: "rtmps://127.0.0.1:\(port)/app/key"))
      // Its first line, once it listens, is ACCEPT. Its input stays open; an end of it would be the end of the connection.
      let server =
        "sleep 30 | openssl s_server -accept 127.0.0.1:\(port) -cert \(certificate) -key \(key) -naccept 1 2>/dev/null "
        + "| tee \(out) | grep -a --line-buffered ACCEPT"
      try await Command(["sh", "-c", server]).run(beside: { _ in
        let failures = Lock<[String]>([])
        let output = try EncodingOutput(url, authorities: isTrusted ? certificate : nil)
        output.onFailure { error in failures.withLock { $0.append("\(error)") } }
        output.start(BroadcastPlan(width: 64, height: 64))
        output.flush()
        #expect(failures.withLock { $0.count } == 1, "it is no RTMP server")
      })
      let read = FileManager.default.contents(atPath: out) ?? Data()
      // An RTMP stream begins with the byte 3 (its version), which the text that the server itself writes does not contain.
      #expect(read.contains(3) == isTrusted, "\(read.count) bytes")
    }
  }
}
