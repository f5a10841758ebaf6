// A network's forward pass. It treats the four suits alike: every layer has equally many numbers for each suit, and some of none.

export const NUM_SUITS = 4;

/** One matrix reads the numbers of a suit, another the sums over the suits and what belongs to none. Both are stored row by row. */
export interface Layer {
  own: Float32Array;
  pooled: Float32Array;
  bias: Float32Array;
}

/** Layers with rectified units between them. */
export type Network = Layer[];

/** What a layer reads and gives: the numbers of each suit, and those of none. */
export interface BySuit {
  suits: Float32Array[];
  shared: Float32Array;
}

const multiplied = (matrix: Float32Array, values: Float32Array): Float32Array =>
  Float32Array.from({ length: matrix.length / values.length }, (_, row) => {
    let sum = 0;
    for (let i = 0; i < values.length; i++) sum += matrix[row * values.length + i]! * values[i]!;
    return sum;
  });

function apply({ own, pooled, bias }: Layer, { suits, shared }: BySuit): BySuit {
  const sums = suits[0]!.map((_, i) => suits.reduce((sum, suit) => sum + suit[i]!, 0));
  const common = multiplied(pooled, Float32Array.of(...sums, ...shared)).map((value, i) => value + bias[i]!);
  const size = own.length / sums.length;
  return {
    suits: suits.map((suit) => multiplied(own, suit).map((value, i) => value + common[i]!)),
    shared: common.subarray(size),
  };
}

/** The logits of the 107 actions. The last layer gives each suit 13 discards and 13 knocks, and then the three other actions. */
export function logitsOf(network: Network, inputs: BySuit): Float32Array {
  const positive = (values: Float32Array): Float32Array => values.map((value) => Math.max(value, 0));
  const { suits, shared } = network.reduce((values, layer, depth) => {
    const read = depth ? { suits: values.suits.map(positive), shared: positive(values.shared) } : values;
    return apply(layer, read);
  }, inputs);
  const decks = [0, 13].flatMap((first) => suits.flatMap((suit) => [...suit.subarray(first, first + 13)]));
  return Float32Array.of(...decks, ...shared);
}

/** Numbers that are stored as the upper halves of float32, in base 64. */
export function decode(text: string): Float32Array {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const bits = new Uint32Array(bytes.length / 2);
  for (let i = 0; i < bits.length; i++) bits[i] = (bytes[2 * i]! | (bytes[2 * i + 1]! << 8)) << 16;
  return new Float32Array(bits.buffer);
}
