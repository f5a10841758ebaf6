// Random 64-bit words. The same words give the same deals and choices as in the Python package.

const GOLDEN = 0x9e3779b97f4a7c15n;
const word64 = (value: bigint): bigint => BigInt.asUintN(64, value);

/** A well-mixed hash of a 64-bit word (the finaliser of SplitMix64, Steele et al. 2014). */
export function mix(value: bigint): bigint {
  let x = word64(value + GOLDEN);
  x = word64((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n);
  x = word64((x ^ (x >> 27n)) * 0x94d049bb133111ebn);
  return x ^ (x >> 31n);
}

/** A number in [0, 1) from a random word. */
export const unit = (word: bigint): number => Number(word >> 11n) * 2 ** -53;

/** A random word from the platform. */
export function randomWord(): bigint {
  const [low, high] = crypto.getRandomValues(new Uint32Array(2));
  return (BigInt(high!) << 32n) | BigInt(low!);
}

/** The shuffled deck of a game's hand: hand 0 is the first. */
export function shuffledDeck(key: bigint, handNumber: number): number[] {
  const deck = Array.from({ length: 52 }, (_, card) => card);
  let seed = mix(key ^ mix(BigInt(handNumber)));
  for (let i = 51; i > 0; i--) {
    seed = word64(seed + GOLDEN);
    const word = word64((seed ^ (seed >> 30n)) * 0xbf58476d1ce4e5b9n);
    const j = Number(((word >> 32n) * BigInt(i + 1)) >> 32n);
    [deck[i], deck[j]] = [deck[j]!, deck[i]!];
  }
  return deck;
}
