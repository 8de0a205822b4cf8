import NIOCore
import NIOEmbedded
import Testing

@testable import KoineRedisLedger

@Suite struct RedisConnectionTests {
  private final class Fixture {
    let channel = EmbeddedChannel()
    let connection: RedisConnection
    var answers: [String] = []
    var messages: [String] = []
    var end: String?

    init() throws {
      let messages = Box()
      connection = RedisConnection(silence: .seconds(2)) { channel, message in
        messages.lines.append(String(decoding: channel, as: UTF8.self) + ":" + String(decoding: message, as: UTF8.self))
      }
      box = messages
      try channel.pipeline.syncOperations.addHandler(connection)
      try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
      connection.whenClosed { [unowned self] in end = $0.description }
    }

    final class Box { var lines: [String] = [] }
    let box: Box

    func send(_ word: String) {
      connection.send(RedisCommand([word])) { [unowned self] result in
        switch result {
        case .success(let reply): answers.append("\(word)=\(reply.text ?? "?")")
        case .failure: answers.append("\(word)!")
        }
      }
    }

    func receive(_ text: String) throws {
      try channel.writeInbound(ByteBuffer(string: text))
      channel.embeddedEventLoop.run()
    }

    func sent() throws -> String {
      channel.embeddedEventLoop.run()
      var text = ""
      while let buffer = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: buffer) }
      return text
    }
  }

  @Test func repliesAreAssignedInOrder() throws {
    let fixture = try Fixture()
    for word in ["a", "b", "c"] { fixture.send(word) }
    #expect(try fixture.sent() == "*1\r\n$1\r\na\r\n*1\r\n$1\r\nb\r\n*1\r\n$1\r\nc\r\n")
    try fixture.receive("+1\r\n+2")
    #expect(fixture.answers == ["a=1"])
    try fixture.receive("\r\n+3\r\n")
    #expect(fixture.answers == ["a=1", "b=2", "c=3"])
    #expect(fixture.end == nil)
  }

  @Test func pendingCommandsAreAnsweredWhenTheConnectionCloses() throws {
    let fixture = try Fixture()
    for word in ["a", "b"] { fixture.send(word) }
    try fixture.receive("+1\r\n")
    try fixture.channel.close().wait()
    #expect(fixture.answers == ["a=1", "b!"])
    #expect(fixture.end == "the connection was closed")
    fixture.send("c")
    #expect(fixture.answers == ["a=1", "b!", "c!"])
  }

  @Test func replyWithoutCommandClosesTheConnection() throws {
    let fixture = try Fixture()
    try fixture.receive("+1\r\n+2\r\n")
    #expect(fixture.end == "a reply of Redis answers no command")
    #expect(!fixture.channel.isActive)
  }

  @Test func otherBytesCloseTheConnection() throws {
    let fixture = try Fixture()
    fixture.send("a")
    try fixture.receive("SSH-2.0-OpenSSH\r\n")
    #expect(fixture.answers == ["a!"])
    #expect(fixture.end?.contains("not a reply of Redis") == true)
    #expect(!fixture.channel.isActive)
  }

  @Test func silentServerIsLostAfterTheLimitButNotWhileBytesArrive() throws {
    let fixture = try Fixture()
    let loop = fixture.channel.embeddedEventLoop
    loop.advanceTime(by: .seconds(60))
    #expect(fixture.end == nil)
    fixture.send("a")
    loop.advanceTime(by: .milliseconds(1_900))
    try fixture.receive("$5\r\nab")
    loop.advanceTime(by: .milliseconds(1_900))
    #expect(fixture.end == nil)
    loop.advanceTime(by: .milliseconds(100))
    #expect(fixture.end == "no answer for 2.0 s")
    #expect(fixture.answers == ["a!"])
  }

  @Test func messagesAreNoReplies() throws {
    let fixture = try Fixture()
    fixture.send("PING")
    try fixture.receive("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n+PONG\r\n")
    #expect(fixture.box.lines == ["c:hi"])
    #expect(fixture.answers == ["PING=PONG"])
  }
}
