import KoineBase
package import KoineSignaling

/// A message on its way to one client or to many: encoded once, by the first thread that needs the bytes, and kept with them until
/// all have acknowledged it.
package final class EncodedMessage: CountedMessage, Sendable {
  private enum Encoding {
    case pending(@Sendable () throws -> [UInt8])
    /// nil: the message cannot be encoded, because it is too large.
    case done((any Sendable)?)
  }

  /// nil for a message that only the front end's own protocol has.
  package let message: ServerMessage?
  package let isCounted: Bool
  package let weight: Int
  private let encoding: Lock<Encoding>

  package init(_ message: ServerMessage) {
    (self.message, isCounted, weight) = (message, message.isCounted, message.weight)
    encoding = Lock(.pending { try message.json() })
  }

  /// A counted message of a front end's own protocol.
  /// - Parameter weight: bytes that it holds, estimated.
  package init(weight: Int, encode: @escaping @Sendable () throws -> [UInt8]) {
    (message, isCounted, self.weight) = (nil, true, weight)
    encoding = Lock(.pending(encode))
  }

  /// The encoded message in the form that the owner's connections write. All callers give the same form, which is made once.
  /// - Returns: nil where the message is too large to be encoded.
  package func encoded<Form: Sendable>(as form: ([UInt8]) -> Form) -> Form? {
    encoding.withLock { encoding in
      if case .pending(let encode) = encoding { encoding = .done((try? encode()).map(form)) }
      if case .done(let done) = encoding { return done as? Form }
      return nil
    }
  }

  package var json: [UInt8]? { encoded { $0 } }
}
