// packed.ts - base64 of LEB128 varints back to numbers (docs/page-data.md, "Packed columns")
import type { Packed } from "./document";

/** All numbers of a packed string. Float64: they go up to 2^53. */
export function unpack(packed: Packed): Float64Array {
  if (typeof packed !== "string") return packed;
  const bytes = atob(packed);
  const values = new Float64Array(bytes.length); // at least a byte each
  let count = 0;
  let value = 0;
  let scale = 1;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes.charCodeAt(i);
    value += (byte & 127) * scale;
    scale *= 128;
    if (byte < 128) {
      values[count++] = value;
      value = 0;
      scale = 1;
    }
  }
  return values.slice(0, count);
}

/** 0, 1, 2, 3, 4 back to 0, -1, 1, -2, 2 */
export function unzigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}
