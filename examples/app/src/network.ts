// A network's forward pass over plain arrays of numbers.

import { INPUT_SIZE } from "./encoder";

export interface Layer {
  /** By output, then input. */
  weights: Float32Array;
  bias: Float32Array;
}

/** Layers with rectified units between them; the input's bytes are scaled first. */
export interface Network {
  scale: Float32Array;
  layers: Layer[];
}

/** The logits of the 107 actions. */
export function logitsOf({ scale, layers }: Network, input: Uint8Array): Float32Array {
  let values = Float32Array.from({ length: INPUT_SIZE }, (_, i) => input[i]! * scale[i]!);
  layers.forEach(({ weights, bias }, depth) => {
    const next = new Float32Array(bias.length);
    for (let i = 0; i < next.length; i++) {
      let sum = bias[i]!;
      for (let j = 0; j < values.length; j++) sum += weights[i * values.length + j]! * values[j]!;
      next[i] = depth < layers.length - 1 ? Math.max(sum, 0) : sum;
    }
    values = next;
  });
  return values;
}
