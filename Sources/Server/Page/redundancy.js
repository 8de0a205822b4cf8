// Copies of sound (RFC 2198): on a path that loses packets, each packet of the microphone repeats the one before it.

/** From this loss on, 0…1, averaged over about five reports, so that one lost packet changes nothing; and for so long after it, in milliseconds. */
const LOSS = 0.01;
const REPORTS = 5;
const HOLD = 30_000;

/** Decides whether copies are worth their bits: they double what a microphone sends. */
export class CopiesWish {
  #loss = 0;
  #lossSeen = null;

  /** @param loss as the server last reported it. @param now in milliseconds. */
  follow(loss, now) {
    this.#loss += (loss - this.#loss) / REPORTS;
    if (this.#loss >= LOSS) this.#lossSeen = now;
    return this.#lossSeen !== null && now - this.#lossSeen < HOLD;
  }
}

/**
 * The copies of one sender of sound. A browser sends them if the answer has them before the plain format, where the server leaves
 * them if the offer has them there.
 */
export class Copies {
  #wish = new CopiesWish();
  #areSent = false;

  constructor(transceiver) { this.transceiver = transceiver; }

  /** @param now in milliseconds. @returns whether an offer is needed, because something has changed. */
  async check(now) {
    const wanted = this.#wish.follow(await this.#loss(), now);
    if (wanted === this.#areSent) return false;
    const codecs = RTCRtpSender.getCapabilities("audio")?.codecs ?? [];
    const isRed = ({ mimeType }) => mimeType.toLowerCase() === "audio/red";
    if (!codecs.some(isRed) || !this.transceiver.setCodecPreferences) return false;
    this.transceiver.setCodecPreferences(wanted ? [...codecs.filter(isRed), ...codecs.filter((one) => !isRed(one))] : []);
    this.#areSent = wanted;
    return true;
  }

  async #loss() {
    let loss = 0;
    for (const entry of (await this.transceiver.sender.getStats()).values()) {
      if (entry.type === "remote-inbound-rtp") loss = Math.max(loss, entry.fractionLost ?? 0);
    }
    return loss;
  }
}
