// A network's forward pass. It treats the four suits alike: every layer has equally many numbers for each suit, and some of none.

import { FACTS } from "./encoder";

/** How many numbers a layer reads and gives: of each suit, and of none. */
export interface Shape {
  suit_inputs: number;
  shared_inputs: number;
  suit_outputs: number;
  shared_outputs: number;
}

/** One matrix reads the numbers of a suit; another, the sums over the suits and what belongs to none. Both are stored row by row. */
interface Layer {
  own: Float32Array;
  pooled: Float32Array;
  bias: Float32Array;
}
export type Network = Layer[];

export function networkOf(shapes: Shape[], numbers: Float32Array): Network {
  let at = 0;
  const take = (count: number): Float32Array => numbers.subarray(at, (at += count));
  return shapes.map((shape) => {
    const outputs = shape.suit_outputs + shape.shared_outputs;
    return {
      own: take(shape.suit_outputs * shape.suit_inputs),
      pooled: take(outputs * (shape.suit_inputs + shape.shared_inputs)),
      bias: take(outputs),
    };
  });
}

const product = (matrix: Float32Array, values: Float32Array): Float32Array =>
  Float32Array.from({ length: matrix.length / values.length }, (_, row) => {
    let sum = 0;
    for (let i = 0; i < values.length; i++) sum += matrix[row * values.length + i]! * values[i]!;
    return sum;
  });
const rectified = (values: Float32Array): Float32Array => values.map((value) => Math.max(value, 0));

/** The logits of the 107 actions. The last layer gives each suit 13 discards and 13 knocks, and then the three other actions. */
export function logitsOf(network: Network, input: Uint8Array): Float32Array {
  const ofSuit = (suit: number): number[] =>
    Array.from({ length: 9 * 13 }, (_, i) => input[52 * Math.floor(i / 13) + 13 * suit + (i % 13)]!);
  let suits: Float32Array[] = [0, 1, 2, 3].map((suit) => Float32Array.from(ofSuit(suit)));
  let shared: Float32Array = Float32Array.from(input.subarray(FACTS));
  network.forEach(({ own, pooled, bias }, depth) => {
    if (depth > 0) {
      suits = suits.map(rectified);
      shared = rectified(shared);
    }
    const sums = suits[0]!.map((_, i) => suits.reduce((sum, suit) => sum + suit[i]!, 0));
    const common = product(pooled, Float32Array.of(...sums, ...shared)).map((value, i) => value + bias[i]!);
    suits = suits.map((suit) => product(own, suit).map((value, i) => value + common[i]!));
    shared = common.subarray(suits[0]!.length);
  });
  const decks = [0, 13].flatMap((first) => suits.flatMap((suit) => [...suit.subarray(first, first + 13)]));
  return Float32Array.of(...decks, ...shared);
}

/** Numbers that are stored in half precision (IEEE 754 binary16, little-endian) and base 64, as in levels.js. */
export function decodeHalves(text: string): Float32Array {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return Float32Array.from({ length: bytes.length / 2 }, (_, i) => {
    const bits = bytes[2 * i]! | (bytes[2 * i + 1]! << 8);
    const exponent = (bits >> 10) & 31;
    const size = exponent ? (1024 + (bits & 1023)) * 2 ** (exponent - 25) : (bits & 1023) * 2 ** -24;
    return bits >> 15 ? -size : size;
  });
}
