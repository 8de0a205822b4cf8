import CPocketSphinx
public import Koine

/// Recognises English speech by CMU PocketSphinx, on this machine and without a network.
///
///     Transcribers.use(PocketSphinxTranscriber())
///
/// Each participant that speaks has a decoder of its own, which takes some 100 MB and a part of one core.
public struct PocketSphinxTranscriber: Transcriber {
  /// Files of an acoustic model, a language model and a dictionary.
  public struct Model: Sendable {
    /// The folder of the acoustic model.
    public var acoustic: String
    /// The file of the language model.
    public var language: String
    /// The file of the dictionary.
    public var dictionary: String

    /// Names the files of a model.
    public init(acoustic: String, language: String, dictionary: String) {
      (self.acoustic, self.language, self.dictionary) = (acoustic, language, dictionary)
    }

    /// The American English model of the Debian package pocketsphinx-en-us.
    public static let english = Model(
      acoustic: "/usr/share/pocketsphinx/model/en-us/en-us",
      language: "/usr/share/pocketsphinx/model/en-us/en-us.lm.bin",
      dictionary: "/usr/share/pocketsphinx/model/en-us/cmudict-en-us.dict")
  }

  /// The model cannot be loaded.
  public struct NoModel: Error, CustomStringConvertible {
    public let description: String
  }

  /// American English.
  public let languages = ["en-US"]
  private let model: Model

  /// Creates a transcriber. The model is loaded for each participant.
  public init(_ model: Model = .english) { self.model = model }

  public func start(_ request: TranscriberRequest, results: @escaping @Sendable (TranscriberResult) -> Void) throws
    -> any TranscriberSession
  {
    guard let decoder = cps_decoder(model.acoustic, model.language, model.dictionary) else {
      throw NoModel(description: "PocketSphinx cannot load the model \(model.acoustic)")
    }
    return Recognition(Decoder(owning: decoder), results)
  }
}

/// One decoder of PocketSphinx.
private struct Decoder: ~Copyable {
  let raw: OpaquePointer

  init(owning raw: OpaquePointer) {
    self.raw = raw
    ps_start_utt(raw)
  }

  deinit { ps_free(raw) }

  func decode(_ samples: [Int16]) {
    _ = samples.withUnsafeBufferPointer { ps_process_raw(raw, $0.baseAddress, $0.count, 0, 0) }
  }

  /// Whether the last audio was speech, as the decoder's own detector finds.
  var isInSpeech: Bool { ps_get_in_speech(raw) != 0 }

  /// The best text so far.
  var text: String { ps_get_hyp(raw, nil).map { String(cString: $0) } ?? "" }

  /// The words of the best text, with the numbers of their first and last frames of 10 ms.
  var words: [(text: String, first: Int, last: Int)] {
    var words: [(text: String, first: Int, last: Int)] = []
    var segment = ps_seg_iter(raw)
    while let present = segment {
      var (first, last): (Int32, Int32) = (0, 0)
      ps_seg_frames(present, &first, &last)
      let text = ps_seg_word(present).map { String(cString: $0) } ?? ""
      // Fillers such as <s>, <sil> and [NOISE]; a number in brackets names another pronunciation.
      if let word = text.split(separator: "(").first.map(String.init), let mark = word.first, mark != "<", mark != "[" {
        words.append((word, Int(first), Int(last)))
      }
      segment = ps_seg_next(present)
    }
    return words
  }

  func endUtterance() { ps_end_utt(raw) }
  func startUtterance() { ps_start_utt(raw) }
}

/// One participant's speech: the decoder finds where utterances begin and end.
///
/// `@unchecked Sendable`: the transcript service calls one method at a time.
private final class Recognition: TranscriberSession, @unchecked Sendable {
  /// The detector keeps so much audio from before the speech.
  private static let lead = Duration.milliseconds(200)
  /// How often a partial result is taken.
  private static let pace = Duration.milliseconds(300)

  private let decoder: Decoder
  private let results: @Sendable (TranscriberResult) -> Void
  /// Sampled down to the rate of the model.
  private let audio = AudioTap(sampleRate: 16_000, capacity: .milliseconds(100))
  private var utterance = 0
  /// When the present utterance began; nil: silence.
  private var start: Tick?
  private var end = Tick.zero
  private var lastPartial: (text: String, at: Tick) = ("", .zero)

  init(_ decoder: consuming Decoder, _ results: @escaping @Sendable (TranscriberResult) -> Void) {
    self.decoder = decoder
    self.results = results
  }

  func receiveAudio(_ block: AudioBlock) {
    audio.play(block)
    decoder.decode(audio.read(audio.available))
    end = block.captured + AudioBlock.duration
    if decoder.isInSpeech {
      if start == nil {
        (start, lastPartial) = (block.captured - Self.lead, ("", block.captured))
        utterance += 1
      }
      sendPartial()
    } else if start != nil {
      decoder.endUtterance()
      sendFinal()
      decoder.startUtterance()
    }
  }

  func finish() {
    decoder.endUtterance()
    sendFinal()
  }

  private func sendPartial() {
    guard end - lastPartial.at >= Self.pace else { return }
    let text = decoder.text
    guard !text.isEmpty, text != lastPartial.text else { return }
    lastPartial = (text, end)
    send(text, isFinal: false)
  }

  private func sendFinal() {
    let text = decoder.text
    if !text.isEmpty || !lastPartial.text.isEmpty { send(text, isFinal: true) }
    (start, lastPartial) = (nil, ("", end))
  }

  private func send(_ text: String, isFinal: Bool) {
    guard let start else { return }
    let words = decoder.words.map { word in
      TranscriptWord(
        text: word.text, start: start + .milliseconds(10 * word.first), end: start + .milliseconds(10 * (word.last + 1))
      )
    }
    results(
      TranscriberResult(utterance: utterance, text: text, isFinal: isFinal, start: start, end: end, words: words))
  }
}
