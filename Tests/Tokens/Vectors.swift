@testable import KoineTokens

/// Decodes base64url that a test itself has written.
func bytes(_ base64url: String) -> [UInt8] { Base64URL.decode(base64url.utf8) ?? [] }

func bytes(hex: String) -> [UInt8] {
  let digits = hex.compactMap(\.hexDigitValue)
  return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
}

func token(header: String, payload: String, signature: [UInt8] = []) -> String {
  [Array(header.utf8), Array(payload.utf8), signature].map { Base64URL.encode($0) }.joined(separator: ".")
}

/// What `body` throws; nil if nothing.
func failure(_ body: () throws(TokenError) -> Void) -> TokenError? {
  do throws(TokenError) {
    try body()
    return nil
  } catch {
    return error
  }
}

let now = NumericDate(1_700_000_000)
let secret = [UInt8](repeating: 7, count: 32)

/// RFC 7515, appendices A.1 and A.3: the same claims, signed in two ways.
enum RFC7515 {
  static let payload =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
  static let hs256 =
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9." + payload + ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
  static let secret = bytes("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow")
  static let es256 =
    "eyJhbGciOiJFUzI1NiJ9." + payload
    + ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
  static let x = bytes("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU")
  static let y = bytes("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")
  static let d = bytes("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI")
}

func base64url(_ text: String) -> String { Base64URL.encode(text.utf8) }
