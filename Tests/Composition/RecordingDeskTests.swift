import Dispatch
import Foundation
import Koine
@testable import KoineComposition
import KoineEmbeddedBackend
import KoineMediaFiles
import KoineTestSupport
import Testing

/// What the desk of a server takes and what not: a folder of its own, and so many recordings at a time.
@Suite struct RecordingDeskTests {
  private let world = World(
    backend: EmbeddedBackend(virtual: 1), delivery: Delivery(queue: DispatchQueue(label: "delivery")))
  private let folder: Folder
  private let said = Lock<[String]>([])

  init() throws {
    folder = try Folder()
    MediaFiles.register()
  }

  private func desk(_ rules: RecordingDesk.Rules) -> RecordingDesk {
    RecordingDesk(
      rules, world: { [world] in world }, credential: { try ComposingRecorder.pass(for: $0) },
      say: { [said] word in
        let text = String(decoding: word.payload, as: UTF8.self)
        if text.contains("/tmp") || text.contains("file:") { said.withLock { $0.append("tells where: \(text)") } }
        let words = text.split(separator: " ").first ?? ""
        said.withLock { $0.append("\(word.room) \(word.name) \(words)\(word.participant.map { " to \($0)" } ?? "")") }
      })
  }

  private func enter(_ room: String) async -> Session {
    let session = Session(JoinRequest(room: room, participantID: "ana", name: "Ana"), in: world)
    session.join { _ in }
    await world.run(for: .milliseconds(500))
    return session
  }

  private func wish(_ places: String...) -> [UInt8] { Array((["4"] + places).joined(separator: "\n").utf8) }

  @Test func noMoreThanItsLimitAndNothingTwice() async throws {
    let desk = desk(.init(folder: URL(fileURLWithPath: folder.path), limit: 2))
    let rooms = [await enter("tea"), await enter("milk")]
    for name in [RoomWord.recording, RoomWord.recording, RoomWord.playlist] {
      desk.hear(name, wish(), from: "ana", in: "tea")
    }
    desk.hear(RoomWord.recording, wish(), from: "ana", in: "milk")
    await world.run(for: .seconds(2))
    #expect(said.withLock { $0.filter { $0.hasSuffix("started") } }.count == 2)
    #expect(said.withLock { $0.contains("milk koine.recording failed to ana") })
    desk.hear(RoomWord.stop, Array(RoomWord.playlist.utf8), from: "ana", in: "tea")
    await world.run(for: .milliseconds(500))
    desk.hear(RoomWord.recording, wish(), from: "ana", in: "milk")
    await world.run(for: .seconds(1))
    #expect(said.withLock { $0.contains("milk koine.recording started") }, "there is room again")
    await world.run { await desk.close() }
    #expect(folder.names.filter { $0.hasSuffix(".webm") }.count == 2 && folder.names.count == 3)
    desk.hear(RoomWord.recording, wish(), from: "ana", in: "tea")
    #expect(said.withLock { $0.last } == "tea koine.recording failed to ana", "it is closed")
    withExtendedLifetime(rooms) {}
  }

  @Test func whatIsAskedNeverLeavesTheFolder() async throws {
    let folder = URL(fileURLWithPath: folder.path)
    let desk = desk(.init(folder: folder, sendsOn: false))
    let name = "../../etc/passwd%2F..\\ü"
    let room = await enter(name)
    desk.hear(RoomWord.recording, wish("file:///tmp/elsewhere.webm"), from: "ana", in: name)
    desk.hear(RoomWord.livestream, wish("rtmp://127.0.0.1/x"), from: "ana", in: name)
    await world.run(for: .seconds(2))
    await world.run { await desk.close() }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.count == 1 && names[0].hasSuffix(".webm") && names[0].hasPrefix("______etc_passwd_2F___"))
    #expect(!FileManager.default.fileExists(atPath: "/tmp/elsewhere.webm"))
    #expect(said.withLock { $0.contains { $0.hasSuffix("koine.livestream failed to ana") } })
    #expect(!said.withLock { $0.contains { $0.hasPrefix("tells where") } })
    for kind in RoomWord.ofRecorder {
      let place = RecordingDesk.place(kind, name, in: folder).standardizedFileURL.path
      #expect(place.hasPrefix(folder.standardizedFileURL.path + "/"))
    }
    withExtendedLifetime(room) {}
  }

  @Test func whatIsNoWishIsRefused() {
    let desk = desk(.init())
    for payload in ["", "four", "0", "4\nnot a place at all \u{1}", "4" + String(repeating: "\nfile:///x", count: 9)] {
      desk.hear(RoomWord.recording, Array(payload.utf8), from: "ana", in: "tea")
    }
    desk.hear(RoomWord.recording, wish(), from: "ana", in: "tea")  // and where to?
    let served = self.desk(.init(folder: URL(fileURLWithPath: folder.path)))
    served.hear(RoomWord.livestream, wish("file:///tmp/x.webm"), from: "ana", in: "tea")
    #expect(said.withLock { $0.count } == 7 && said.withLock { $0.allSatisfy { $0.hasSuffix("failed to ana") } })
    desk.hear(RoomWord.mute, [], from: "ana", in: "tea")
    #expect(said.withLock { $0.count } == 7)
  }
}
