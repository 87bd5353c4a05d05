// durations.ts - durations of calls within an interval, from the document's figures for each slice of time
import type { DurationFields, PageDocument } from "./document";
import { unpack } from "./packed";
import { cachedFor } from "./cached";
import type { Edges, Recording } from "./recording";
import type { Span } from "../state";

const BAND_BITS = 3; // parts of a power of two
const QUANTILES = [
  ["p50_ns", 0.5],
  ["p90_ns", 0.9],
  ["p99_ns", 0.99],
  ["p99_9_ns", 0.999],
  ["p99_99_ns", 0.9999],
] as const;

/** The durations of one function's calls in one slice. */
interface Part {
  readonly slice: number;
  readonly untimed: number;
  readonly sumNs: number;
  readonly maxNs: number;
  /** band, calls */
  readonly bands: readonly (readonly [number, number])[];
}

export type EntryDurations = DurationFields & { readonly entry: string };

export interface Durations {
  /** one for each function that was called */
  readonly entries: readonly EntryDurations[];
  readonly all: DurationFields;
  /** whether it is for an interval or until a moment, not for the whole run */
  readonly isPart: boolean;
}

function bandFrom(band: number): number {
  const shift = (band >> BAND_BITS) - 1;
  return shift < 1 ? band : (band - (shift << BAND_BITS)) * 2 ** shift;
}

/** The duration that `share` of the calls do not exceed: the upper end of its band, or the longest call. */
function quantile(calls: number, maxNs: number, bands: readonly (readonly [number, number])[], share: number): number {
  let left = Math.ceil(calls * share - 1e-6); // 0.9 of 10 is 9, even if the product is rounded up
  for (const [band, count] of bands) {
    left -= count;
    if (left <= 0) return Math.min(maxNs, bandFrom(band + 1) - 1);
  }
  return maxNs;
}

function fieldsOf(parts: readonly Part[]): DurationFields {
  const sums = new Map<number, number>();
  let [untimed, total, max, calls] = [0, 0, 0, 0];
  for (const part of parts) {
    untimed += part.untimed;
    total += part.sumNs;
    max = Math.max(max, part.maxNs);
    for (const [band, count] of part.bands) {
      calls += count;
      sums.set(band, (sums.get(band) ?? 0) + count);
    }
  }
  if (calls === 0) return { calls, untimed_calls: untimed };
  const bands = [...sums].sort(([a], [b]) => a - b);
  const quantiles = QUANTILES.map(([key, share]) => [key, quantile(calls, max, bands, share)] as const);
  return {
    calls,
    untimed_calls: untimed,
    total_ns: total,
    mean_ns: Math.round((10 * total) / calls) / 10,
    ...(Object.fromEntries(quantiles) as Pick<Required<DurationFields>, (typeof QUANTILES)[number][0]>),
    max_ns: max,
    histogram: bands.map(([band, count]) => [bandFrom(band), bandFrom(band + 1) - 1, count]),
  };
}

class DurationSeries {
  readonly #entries: readonly string[];
  readonly #parts: readonly (readonly Part[])[]; // by entry, ascending by slice

  constructor({ durations = [], durations_series = "" }: PageDocument) {
    this.#entries = durations.map(({ entry }) => entry);
    const numbers = unpack(durations_series).values();
    const next = (): number => numbers.next().value ?? 0;
    const times = <T>(make: () => T): T[] => Array.from({ length: next() }, make);
    this.#parts = durations.map(() => {
      let slice = 0;
      return times(() => {
        const [untimed, sumNs, maxNs] = [((slice += next()), next()), next(), next()];
        let band = 0;
        return { slice, untimed, sumNs, maxNs, bands: times(() => [(band += next()), next()] as const) };
      });
    });
  }

  /** The durations within an interval, or until a moment. */
  within({ since, to }: Edges): Durations {
    const parts = this.#parts.map((all) => all.filter(({ slice }) => since <= slice && slice < to));
    const durations = parts.map((of, i) => ({ entry: this.#entries[i]!, ...fieldsOf(of) }));
    return {
      entries: durations.filter(({ calls, untimed_calls }) => calls + untimed_calls > 0),
      all: fieldsOf(parts.flat()),
      isPart: true,
    };
  }
}

const NOTHING: DurationFields = { calls: 0, untimed_calls: 0 };

const seriesOf = cachedFor((document: PageDocument) => new DurationSeries(document));

/**
 * The durations of the whole run, or of a part of it if known. They are unknown for a part of one thread, and if the
 * document was too large to contain them.
 */
export function durationsOf(recording: Recording, span: Span | null): Durations {
  const { document } = recording;
  const { durations = [], durations_of_all = NOTHING, durations_series } = document;
  if (span === null || document.thread !== undefined || durations_series === undefined)
    return { entries: durations, all: durations_of_all, isPart: false };
  return seriesOf(document).within(recording.edgesOf(span));
}
