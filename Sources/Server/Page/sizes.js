// Sizes of video: the layers that a camera is sent in, and the rows that a tile asks for.

/** Pixels from which Chromium sends a second and a third layer; of more encodings it leaves out the last, largest ones. */
const STEPS = [480 * 270, 960 * 540];
/** In bit/s, for 1280×720. Less for fewer pixels, which need a little more each. */
const FULL_RATE = 1_500_000;
const FULL_PIXELS = 1_280 * 720;
const HIGHEST_RATE = 2_500_000;

/**
 * The encodings of a camera (`sendEncodings`), the smallest first and the camera's own size last.
 * @param settings those of its track. Without a size, one encoding: it is sent whatever the size is.
 */
export function encodings({ width, height } = {}) {
  const pixels = width * height || 0;
  const count = 1 + STEPS.filter((step) => pixels >= step).length;
  return Array.from({ length: count }, (_, layer) => {
    const scaleResolutionDownBy = 2 ** (count - 1 - layer);
    const share = pixels / FULL_PIXELS / scaleResolutionDownBy ** 2;
    const maxBitrate = pixels ? Math.round(Math.min(FULL_RATE * share ** 0.9, HIGHEST_RATE)) : FULL_RATE;
    return count === 1 ? { maxBitrate } : { rid: `l${layer}`, scaleResolutionDownBy, maxBitrate };
  });
}

/** Rows of the screen that a video covers in a tile which shows all of it, in the screen's own pixels. */
export function rowsShown({ clientWidth, clientHeight }, { videoWidth, videoHeight }, pixelRatio) {
  const rows = videoWidth ? Math.min(clientHeight, clientWidth * videoHeight / videoWidth) : clientHeight;
  return Math.round(rows * pixelRatio);
}

const STEP = 30;
const SHRINKS_AFTER = 3_000;

/** The rows that are asked for of one track. They follow a tile that grows at once, and one that shrinks after a while. */
export class RowsWish {
  #asked = null;
  #smallerSince = null;

  /**
   * @param rows that are shown now; the answer is a multiple of 30, so that a small change is none.
   * @param now in milliseconds.
   * @returns the rows to ask for, or null where what was asked for stays right.
   */
  follow(rows, now) {
    const wanted = Math.ceil(rows / STEP) * STEP;
    if (wanted >= this.#asked) this.#smallerSince = null;
    else this.#smallerSince ??= now;
    if (wanted === this.#asked || this.#smallerSince !== null && now - this.#smallerSince < SHRINKS_AFTER) return null;
    this.#smallerSince = null;
    return this.#asked = wanted;
  }
}
