internal import CKoineVPX

/// The temporal layer of each frame, and for VP8 the reference buffers that the frame may read and write.
///
/// Frames of an upper layer refer to frames of their own and of lower layers only. No frame refers to the highest layer. A
/// router may therefore drop the upper layers:
/// ```
/// 1 layer    every picture as the encoder likes it
/// 2 layers   0 1 0 1        layer 0 → LAST; layer 1 reads LAST, writes nothing
/// 3 layers   0 2 1 2 0 2 1 2   layer 1 → GOLDEN; the 2 after it reads LAST and GOLDEN, the 2 before it LAST
/// ```
struct TemporalPattern {
  struct Step: Equatable {
    var layer: Int
    /// `VP8_EFLAG_…`.
    var flags: Int32
    /// No later picture reads this one.
    var isDiscardable: Bool
  }

  let layers: Int
  let steps: [Step]
  private var position = 0

  init(layers: Int) {
    self.layers = layers
    let keepAlternate = VP8_EFLAG_NO_REF_ARF | VP8_EFLAG_NO_UPD_ARF
    // Probabilities written by a picture that is dropped would be missing from those after it.
    let writeNothing = keepAlternate | VP8_EFLAG_NO_UPD_LAST | VP8_EFLAG_NO_UPD_GF | VP8_EFLAG_NO_UPD_ENTROPY
    let base = Step(
      layer: 0, flags: keepAlternate | VP8_EFLAG_NO_REF_GF | VP8_EFLAG_NO_UPD_GF, isDiscardable: false)
    let middle = Step(
      layer: 1,
      flags: keepAlternate | VP8_EFLAG_NO_REF_GF | VP8_EFLAG_NO_UPD_LAST | VP8_EFLAG_NO_UPD_ENTROPY,
      isDiscardable: false)
    func top(_ layer: Int, readsGolden: Bool) -> Step {
      Step(layer: layer, flags: writeNothing | (readsGolden ? 0 : VP8_EFLAG_NO_REF_GF), isDiscardable: true)
    }
    steps =
      switch layers {
      case 2: [base, top(1, readsGolden: false)]
      case 3: [base, top(2, readsGolden: false), middle, top(2, readsGolden: true)]
      default: [Step(layer: 0, flags: 0, isDiscardable: false)]
      }
  }

  /// The step of the next picture; a key frame begins the pattern anew and writes every buffer.
  mutating func next(isKey: Bool) -> Step {
    if isKey { position = 0 }
    let step = steps[position % steps.count]
    position = (position + 1) % steps.count
    return isKey ? Step(layer: 0, flags: 0, isDiscardable: false) : step
  }

  /// What part of the bitrate layers 0...`layer` take together, of a hundred.
  func share(upTo layer: Int) -> Int {
    switch layers {
    case 2: [60, 100][layer]
    case 3: [40, 60, 100][layer]
    default: 100
    }
  }

  /// How many times less often than all pictures those of layers 0...`layer` come.
  func decimator(of layer: Int) -> Int { 1 << (layers - 1 - layer) }
}
