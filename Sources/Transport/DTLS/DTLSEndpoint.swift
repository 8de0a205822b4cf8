import CKoineOpenSSL
package import KoineBase

/// One end of a DTLS 1.2 association that yields SRTP keys (RFC 6347, RFC 5764).
///
/// `start`, then `handle` each datagram, `handleTimeout` at `deadline`, and after every call drain `poll` and look at
/// `state`. Keys appear with `.connected`, which is reached only after the peer's certificate has matched the
/// fingerprint from signalling.
///
/// Time is the caller's: OpenSSL's timer, which reads the system clock, is set beyond reach, and the last flight is kept
/// and sent again from here (RFC 6347 section 4.2.4). One owner, no thread of its own.
package final class DTLSEndpoint {
  package enum Role: Sendable, Hashable { case client, server }

  package enum State: Sendable, Hashable {
    case new
    /// Also while the fingerprint to expect is still unknown.
    case handshaking
    case connected(SRTPKeys)
    case failed(DTLSError)
    case closed
  }

  /// `poll` never yields more bytes than this.
  package static let maximumDatagramSize = DatagramPort.maximumSize
  /// From `start` to `.connected`.
  package static let handshakeLimit = Duration.seconds(30)
  /// Until a flight is sent for the second time; doubles from time to time up to `slowestRepeat`.
  package static let firstRepeat = Duration.milliseconds(75)
  package static let slowestRepeat = Duration.milliseconds(600)
  /// An alert without protection may be forged: the handshake has this long to go on in spite of it.
  private static let alertGrace = Duration.seconds(2)
  /// The shortest interval between two answers to a repeated last flight, so that an attacker cannot use the endpoint to amplify
  /// traffic.
  private static let answerPause = Duration.milliseconds(20)

  @exclusivity(unchecked) package private(set) var state = State.new
  package var isConnected: Bool { if case .connected = state { true } else { false } }
  /// nil until `setRole`, where the descriptions decide.
  @exclusivity(unchecked) package private(set) var role: Role?
  /// Datagrams that were not DTLS, made no sense, or came at the wrong time.
  package private(set) var dropped = 0
  /// How often a flight was sent again.
  package private(set) var repeated = 0

  private let certificate: Certificate
  private let ssl: OpaquePointer
  private let port = DatagramPort()
  private var remoteFingerprint: Fingerprint?
  private var handshakeIsDone = false

  @exclusivity(unchecked) private var outgoing: [[UInt8]] = []
  @exclusivity(unchecked) private var polled = 0
  /// The handshake datagrams last sent, for sending again.
  private var flight: [[UInt8]] = []
  private var flightSentAt = Tick.zero
  private var repeatAfter = DTLSEndpoint.firstRepeat
  @exclusivity(unchecked) private var repeatAt: Tick?
  @exclusivity(unchecked) private var handshakeEnds: Tick?
  @exclusivity(unchecked) private var notedAlert: (graceEnds: Tick, description: UInt8)?

  /// - Parameters:
  ///   - remoteFingerprint: may follow by `setRemote`, at the latest before `handshakeLimit`.
  ///   - profiles: the SRTP profiles that a client offers, or from which a server chooses in this order.
  package init(
    role: Role?, certificate: Certificate, remoteFingerprint: Fingerprint? = nil,
    profiles: [SRTPProfile] = SRTPProfile.preferred
  ) throws(DTLSError) {
    self.certificate = certificate
    self.remoteFingerprint = remoteFingerprint
    guard let ssl = SSL_new(certificate.context) else { throw .fromQueue("SSL_new") }
    self.ssl = ssl
    guard let bio = port.makeBIO() else { throw .fromQueue("BIO_new") }
    SSL_set_bio(ssl, bio, bio)
    // Returns 0 on success, unlike its neighbours.
    guard SSL_set_tlsext_use_srtp(ssl, profiles.map(\.name).joined(separator: ":")) == 0 else {
      throw .fromQueue("use_srtp")
    }
    DTLS_set_timer_cb(ssl) { _, _ in 4_000_000_000 }  // µs; the largest that fits
    if let role { setRole(role) }
  }

  /// Before `start`.
  package func setRole(_ role: Role) {
    precondition(state == .new)
    self.role = role
    switch role {
    case .client: SSL_set_connect_state(ssl)
    case .server: SSL_set_accept_state(ssl)
    }
  }

  deinit { SSL_free(ssl) }

  /// Sets the fingerprint from signalling. Completes a handshake that was only waiting for it.
  package func setRemote(_ fingerprint: Fingerprint) {
    remoteFingerprint = fingerprint
    if case .handshaking = state { finishIfReady() }
  }

  /// Sends the ClientHello, or begins to wait for one. Datagrams that come before it are dropped.
  package func start(at now: Tick) {
    guard case .new = state, role != nil else { return }
    state = .handshaking
    handshakeEnds = now + Self.handshakeLimit
    if role == .client { advanceHandshake(at: now) }
  }

  package func handle(_ datagram: UnsafeRawBufferPointer, at now: Tick) {
    guard let content = DTLSDatagram(datagram) else {
      dropped += 1
      return
    }
    switch state {
    case .handshaking where !handshakeIsDone:
      if let alert = content.plaintextFatalAlert {
        noteAlert(alert, at: now)
      } else {
        port.withIncoming(datagram) { advanceHandshake(at: now) }
      }
    case .handshaking, .connected:
      if content.hasProtectedOther { port.withIncoming(datagram) { readRecords() } }
      if content.hasHandshake { answerRepetition(content, at: now) }
    case .new, .failed, .closed:
      dropped += 1
    }
  }

  /// When `handleTimeout` next has work to do.
  package var deadline: Tick? { repeatAt.sooner(handshakeEnds).sooner(notedAlert?.graceEnds) }

  package func handleTimeout(at now: Tick) {
    if let notedAlert, now >= notedAlert.graceEnds {
      finish(.failed(.alert(notedAlert.description)))
    } else if let handshakeEnds, now >= handshakeEnds {
      finish(.failed(.timedOut))
    } else if let due = repeatAt, now >= due {
      repeatAfter = min(repeatAfter * 2, Self.slowestRepeat)
      repeatAt = now + repeatAfter
      sendFlightAgain(at: now)
    }
  }

  /// Of the datagram that `poll` would give next.
  package var nextSize: Int? { polled < outgoing.count ? outgoing[polled].count : nil }

  /// The next datagram to send, written to `buffer`, which holds `maximumDatagramSize` bytes.
  /// - Returns: its length, or nil if there is none.
  package func poll(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    guard polled < outgoing.count else { return nil }
    let datagram = outgoing[polled]
    precondition(datagram.count <= buffer.count, "the buffer holds DTLSEndpoint.maximumDatagramSize bytes")
    polled += 1
    if polled == outgoing.count {
      outgoing.removeAll()
      polled = 0
    }
    buffer.copyBytes(from: datagram)
    return datagram.count
  }

  /// Ends the association. Sends close_notify if the endpoint is connected; `poll` still yields the datagrams to send.
  package func close() {
    switch state {
    case .connected:
      sayGoodbye()
      finish(.closed)
    case .new, .handshaking:
      finish(.closed)
    case .failed, .closed:
      return
    }
  }

  // MARK: The handshake

  private func advanceHandshake(at now: Tick) {
    ERR_clear_error()
    let result = SSL_do_handshake(ssl)
    let status = result == 1 ? SSL_ERROR_NONE : status(of: result)
    sendWritten(at: now)
    switch status {
    case SSL_ERROR_NONE:
      handshakeIsDone = true
      repeatAt = nil
      if role == .client { flight = [] }  // the server spoke last, so only a server is asked to repeat
      finishIfReady()
      if case .connected = state { readRecords() }  // what came in the same datagram
    case SSL_ERROR_WANT_READ:
      break
    case SSL_ERROR_ZERO_RETURN:
      finish(.closed)
    default:
      finish(.failed(.fromQueue("handshake")))
    }
    ERR_clear_error()
  }

  /// Queues what OpenSSL wrote. A new flight takes the place of the one kept; alerts are never sent again.
  private func sendWritten(at now: Tick) {
    let written = port.takeWritten()
    outgoing += written
    let handshake = written.filter { $0.first != 21 }
    guard !handshake.isEmpty else { return }
    flight = handshake
    flightSentAt = now
    repeatAfter = Self.firstRepeat
    repeatAt = now + repeatAfter
    notedAlert = nil  // the handshake went on, so the alert was forged
  }

  private func sendFlightAgain(at now: Tick) {
    guard polled == outgoing.count else { return }  // it still waits to leave
    outgoing += flight
    flightSentAt = now
    repeated += 1
  }

  /// The peer repeats the end of its flight because our last one got lost (RFC 6347 section 4.2.4). Not left to
  /// OpenSSL, which gives up after a dozen repetitions.
  private func answerRepetition(_ content: DTLSDatagram, at now: Tick) {
    guard content.hasProtectedHandshake, !flight.isEmpty, now - flightSentAt >= Self.answerPause else { return }
    sendFlightAgain(at: now)
  }

  private func noteAlert(_ alert: UInt8, at now: Tick) {
    if notedAlert == nil { notedAlert = (now + Self.alertGrace, alert) }
  }

  // MARK: The end of the handshake

  /// First the fingerprint, then the keys.
  private func finishIfReady() {
    guard handshakeIsDone, let remoteFingerprint else { return }
    do throws(DTLSError) {
      guard try peerFingerprint().matches(remoteFingerprint) else { throw .fingerprintMismatch }
      let keys = try exportKeys()
      handshakeEnds = nil
      notedAlert = nil
      state = .connected(keys)
    } catch {
      sayGoodbye()
      finish(.failed(error))
    }
  }

  private func peerFingerprint() throws(DTLSError) -> Fingerprint {
    guard let peer = SSL_get1_peer_certificate(ssl) else { throw .fingerprintMismatch }
    defer { X509_free(peer) }
    return try Certificate.fingerprint(of: peer)
  }

  /// RFC 5764 section 4.2: client key, server key, client salt, server salt.
  private func exportKeys() throws(DTLSError) -> SRTPKeys {
    guard let selected = SSL_get_selected_srtp_profile(ssl),
      let profile = UInt16(exactly: selected.pointee.id).flatMap(SRTPProfile.init)
    else { throw .noCommonProfile }
    let (key, salt) = (profile.keyLength, profile.saltLength)
    var material = [UInt8](repeating: 0, count: 2 * (key + salt))
    defer { OPENSSL_cleanse(&material, material.count) }
    let label = "EXTRACTOR-dtls_srtp"
    guard SSL_export_keying_material(ssl, &material, material.count, label, label.utf8.count, nil, 0, 0) == 1 else {
      throw .fromQueue("exporting keys")
    }
    let client = (key: Array(material[..<key]), salt: Array(material[2 * key..<2 * key + salt]))
    let server = (key: Array(material[key..<2 * key]), salt: Array(material[(2 * key + salt)...]))
    let (local, remote) = role == .client ? (client, server) : (server, client)
    return SRTPKeys(
      profile: profile, localKey: local.key, localSalt: local.salt, remoteKey: remote.key, remoteSalt: remote.salt)
  }

  /// Runs `body` with OpenSSL's buffers for records, two of 17 kB, and lets go of them: after the handshake they are hardly ever
  /// used. Of DTLS, unlike TLS, OpenSSL does not allocate them again by itself when it writes.
  private func withRecordBuffers(_ body: () -> Void) {
    guard SSL_alloc_buffers(ssl) == 1 else { return finish(.failed(.fromQueue("memory for records"))) }
    body()
    SSL_free_buffers(ssl)  // without effect while one holds data
  }

  /// After the handshake only alerts are expected; anything else is read and counted as dropped.
  private func readRecords() {
    withRecordBuffers { readRecordsInBuffers() }
    outgoing += port.takeWritten()
  }

  private func readRecordsInBuffers() {
    withUnsafeTemporaryAllocation(byteCount: 2048, alignment: 16) { scratch in
      while true {
        ERR_clear_error()
        let count = SSL_read(ssl, scratch.baseAddress, Int32(scratch.count))
        if count > 0 {
          dropped += 1
          continue
        }
        switch status(of: count) {
        case SSL_ERROR_WANT_READ: break
        case SSL_ERROR_ZERO_RETURN:
          sayGoodbye()
          finish(.closed)
        default: finish(.failed(.fromQueue("reading")))
        }
        break
      }
    }
    ERR_clear_error()
  }

  /// The result of `SSL_get_error`, except for discarded records. Any sender can send an invalid record, so DTLS discards it without
  /// an answer (RFC 6347, 4.1.2.7). OpenSSL before 3.0.22 reports that as a failed system call without an error.
  private func status(of result: Int32) -> Int32 {
    let status = SSL_get_error(ssl, result)
    guard status == SSL_ERROR_SYSCALL, ERR_peek_error() == 0 else { return status }
    dropped += 1
    return SSL_ERROR_WANT_READ
  }

  private func sayGoodbye() {
    ERR_clear_error()
    guard SSL_alloc_buffers(ssl) == 1 else { return ERR_clear_error() }
    SSL_shutdown(ssl)
    ERR_clear_error()
    outgoing += port.takeWritten()
  }

  private func finish(_ last: State) {
    state = last
    flight = []
    repeatAt = nil
    handshakeEnds = nil
    notedAlert = nil
  }
}
