import KoineJSONCodec

/// An event in a room, as the vendor's service sends it to apps' back ends.
package struct BackEndEvent: Sendable {
  /// The vendors' forms of events.
  package enum Form: String, Sendable, CaseIterable {
    /// Events of Amazon Chime and Amazon IVS, in the envelope of Amazon EventBridge.
    case aws
    /// Webhooks of VideoSDK.
    case videosdk
  }

  package var form: Form
  /// The name of the room. A receiver gets the events of one room in their order.
  package var room: String
  /// What happened, for the server's log.
  package var name: String
  /// The URL that the back end has registered for the event; nil: only the receivers of all events get it.
  package var webhook: String?
  /// The base64 text of the header `videosdk-signature`; nil: none.
  package var signature: String?
  /// JSON.
  package var body: [UInt8]

  package init(
    _ form: Form, room: String, name: String, webhook: String? = nil, signature: String? = nil, body: [UInt8]
  ) {
    (self.form, self.room, self.name) = (form, room, name)
    (self.webhook, self.signature, self.body) = (webhook, signature, body)
  }
}

/// Where the APIs' events go.
package struct EventOutput: Sendable {
  /// Forms of which every event is wanted, and not only those for which a back end has registered a URL.
  package var forms: Set<BackEndEvent.Form>
  /// Gets the events. Any thread calls it, in the order of the events of each room. It must return at once.
  package var send: @Sendable (BackEndEvent) -> Void

  package init(forms: Set<BackEndEvent.Form>, send: @escaping @Sendable (BackEndEvent) -> Void) {
    (self.forms, self.send) = (forms, send)
  }

  /// Nothing wants events.
  package static let none = EventOutput(forms: []) { _ in }
}

/// The envelope of an event of Amazon EventBridge.
///
/// Source: "Events reference" of the EventBridge user guide.
struct EventBridgeEvent<Detail: Encodable>: Encodable {
  let version = "0"
  var id: String
  var detailType: String
  var source: String
  var account: String
  /// In whole seconds, as `2026-11-25T10:17:38Z`.
  var time: String
  var region: String
  var resources: [String]
  var detail: Detail

  enum CodingKeys: String, CodingKey {
    case version, id
    case detailType = "detail-type"
    case source, account, time, region, resources, detail
  }
}

extension APIContext {
  /// Sends an event in the envelope of EventBridge.
  func send(_ event: EventBridgeEvent<some Encodable>, name: String, room: String) {
    do { events.send(BackEndEvent(.aws, room: room, name: name, body: try JSONCodec.encode(event))) } catch {
      log("an event of \(event.source) cannot be written: \(error)")
    }
  }
}
