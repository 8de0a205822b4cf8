import NIOCore
import Testing

@testable import KoineRedisLedger

@Suite struct RedisCommandTests {
  @Test func commandIsWrittenAsTheProtocolHasIt() {
    var buffer = ByteBuffer()
    let command = RedisCommand([Array("SET".utf8), [], [0, 13, 10, 255], Array("é".utf8)])
    command.write(to: &buffer)
    let text: [UInt8] =
      Array("*4\r\n$3\r\nSET\r\n$0\r\n\r\n$4\r\n".utf8) + [0, 13, 10, 255] + Array("\r\n$2\r\né\r\n".utf8)
    #expect(Array(buffer.readableBytesView) == text)
    #expect(buffer.readableBytes <= command.size)
  }

  @Test func commandOfEmptyArgumentsIsWritten() {
    var buffer = ByteBuffer()
    RedisCommand([[], []]).write(to: &buffer)
    #expect(String(buffer: buffer) == "*2\r\n$0\r\n\r\n$0\r\n\r\n")
  }

  @Test func scriptsHaveTheDigestsThatRedisComputes() {
    // `printf 'return 1' | sha1sum`
    #expect(RedisScript.sha1(of: "return 1") == "e0e1f9fabfc9d4800c877a703b823ac0578ff8db")
    #expect(Set(RedisScript.all.map(\.digest)).count == RedisScript.all.count)
  }
}
