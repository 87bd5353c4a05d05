// errors.ts - the errors of estimates in a sampled recording, which follow from calls and sizes (docs/sampling.md)
//
// error      half of the interval that has the exact figure in 95 % of all cases: 1.96 standard deviations.
// square     the square of an error: that of a sum is the sum of its parts' squares.
// rate       the square for each call, or for each byte, of blocks of one size. A row of several sizes has their mean, so that a
//            part of it, as within an interval or of a thread, has its share of the row's square.

import type { Kind } from "../text/format";

const INTERVAL_95 = 1.96; // standard deviations

/** By row or node; undefined: the figures are exact. */
export type Squares = Float64Array | undefined;

export function errorOf(square: number): number {
  return Math.max(0, Math.ceil(Math.sqrt(square) - 0.05)); // without what is only rounding
}

/** The error of the sum of parts with these squares; undefined: it is exact. */
export function errorOfSum(squares: Squares): number | undefined {
  return squares && errorOf(squares.reduce((sum, square) => sum + square, 0));
}

/** The error at a row or node; undefined: it is exact. */
export function errorAt(squares: Squares, at: number): number | undefined {
  return squares && errorOf(squares[at]!);
}

export function rateOf(amount: number, error: number): number {
  return amount > 0 ? (error * error) / amount : 0;
}

/** The square for each call of blocks of `size` bytes, if one allocation per `sampleBytes` is recorded. */
function rateOfSize(sampleBytes: number, size: number): number {
  const p = -Math.expm1(-Math.max(size, 1) / sampleBytes);
  const q = 1 / p - Math.floor(1 / p);
  return INTERVAL_95 ** 2 * ((1 - p) / p + p * q * (1 - q));
}

/** The error of an amount of blocks of `size` bytes; undefined: the recording is exact, and has no `sampleBytes`. */
export function errorOfSize(sampleBytes: number | undefined, size: number, kind: Kind, amount: number): number | undefined {
  if (sampleBytes === undefined) return undefined;
  return errorOf(amount * rateOfSize(sampleBytes, size) * (kind === "bytes" ? size : 1));
}
