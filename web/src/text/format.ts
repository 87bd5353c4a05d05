// format.ts - numbers as the text report prints them: commas, decimal units (MB = 10^6)

const BYTE_UNITS = ["kB", "MB", "GB", "TB", "PB", "EB"];
const COUNT_UNITS = ["k", "M", "G", "T", "P", "E"];
const EXACT_BELOW = 10_000; // bytes; larger amounts are rounded to a tenth of a unit

// Cached: creating one costs a thousand times as much as using it.
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const atMostTenths = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });

/** 12,481,903 */
export function countText(count: number): string {
  return whole.format(count);
}

/** 0x5581e0 */
export function addressText(address: number): string {
  return `0x${address.toString(16)}`;
}

function tenthsText(value: number, unit: string): string {
  return `${tenths.format(value)} ${unit}`;
}

/** The unit in which an amount is shown, as a power of 1000. */
function unitOf(bytes: number): number {
  if (bytes < EXACT_BELOW) return 0;
  let unit = 1;
  while (Math.round((bytes / 1000 ** unit) * 10) >= 10_000 && unit < BYTE_UNITS.length) unit++;
  return unit;
}

/** 0, 9,999 B, 10.0 kB, 412.6 MB; a decrease has a minus sign */
export function bytesText(bytes: number): string {
  if (bytes < 0) return `−${bytesText(-bytes)}`;
  if (bytes === 0) return "0";
  const unit = unitOf(bytes);
  return unit === 0 ? `${countText(bytes)} B` : tenthsText(bytes / 1000 ** unit, BYTE_UNITS[unit - 1]!);
}

/** 36.1 %, <0.1 %; "" for nothing */
export function shareText(part: number, whole: number): string {
  if (whole === 0 || part === 0) return "";
  const percent = (100 * part) / whole;
  return Math.abs(percent) < 0.05 ? "<0.1 %" : tenthsText(percent, "%");
}

/** 155 ns, 12.3 ms, 602.4 s, 3 h 12 min */
export function timeText(ns: number): string {
  const seconds = ns / 1e9;
  if (ns === 0) return "0 s";
  if (ns < 1e3) return `${whole.format(ns)} ns`;
  if (ns < 1e6) return tenthsText(ns / 1e3, "µs");
  if (ns < 1e9) return tenthsText(ns / 1e6, "ms");
  if (seconds < 10_000) return tenthsText(seconds, "s");
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/**
 * A moment, with enough decimals to distinguish it from its neighbour `stepNs` away: 2.490 s. If the step is the run's
 * thousandth, the unit is that of the axes (ticksText).
 */
export function momentText(ns: number, stepNs: number): string {
  const [unit, unitNs] = stepNs >= 2e6 || ns >= 1e10 ? ["s", 1e9] : stepNs >= 1e3 || ns >= 1e6 ? ["ms", 1e6] : ["µs", 1e3];
  const decimals = Math.min(6, Math.max(0, Math.ceil(Math.log10(unitNs / Math.max(stepNs, 1)))));
  return `${(ns / unitNs).toFixed(decimals)} ${unit}`;
}

/** Moments on an axis, in one unit and with as many decimals as needed; "" for 0, which the other axis shows. */
export function ticksText(ticks: readonly number[]): string[] {
  const step = (ticks[1] ?? 0) - (ticks[0] ?? 0);
  const last = ticks[ticks.length - 1] ?? 0;
  const [unit, name] = last >= 2e9 ? [1e9, "s"] : last >= 2e6 ? [1e6, "ms"] : [1e3, "µs"];
  let decimals = 0;
  while (decimals < 6 && Math.abs((step / unit) * 10 ** decimals - Math.round((step / unit) * 10 ** decimals)) > 1e-6) decimals++;
  return ticks.map((tick) => (tick === 0 ? "" : `${(tick / unit).toFixed(decimals)} ${name}`));
}

/** An error in the unit of its figure: 3.2 for 412.6 MB. A much larger one has its own unit. */
function bytesErrorText(bytes: number, error: number): string {
  const unit = unitOf(Math.abs(bytes));
  if (unitOf(error) > unit) return bytesText(error);
  if (unit === 0) return countText(Math.ceil(error));
  const tenth = error / 1000 ** unit;
  return tenth > 0 && tenth < 0.05 ? "<0.1" : tenths.format(tenth);
}

/** Whether a figure is an amount of bytes or of calls and blocks. */
export type Kind = "bytes" | "count";

export function amountText(kind: Kind, amount: number): string {
  return kind === "bytes" ? bytesText(amount) : countText(amount);
}

/** "± 3.2" for an estimate; "" for an exact figure, which has no error, and for nothing */
export function errorText(kind: Kind, amount: number, error: number | undefined): string {
  if (error === undefined || amount === 0) return "";
  return `± ${kind === "bytes" ? bytesErrorText(amount, error) : countText(Math.ceil(error))}`;
}

/** "412.6 MB ± 3.2": an amount with its error (95 %), if it is an estimate */
export function estimateText(kind: Kind, amount: number, error: number | undefined): string {
  const shown = errorText(kind, amount, error);
  return shown === "" ? amountText(kind, amount) : `${amountText(kind, amount)} ${shown}`;
}

/** The size of a sample as it was given: 512 KiB, 1 MiB */
export function sampleText(bytes: number): string {
  if (bytes % 2 ** 20 === 0) return `${countText(bytes / 2 ** 20)} MiB`;
  return bytes % 1024 === 0 ? `${countText(bytes / 1024)} KiB` : bytesText(bytes);
}

/** 1 call, 2 calls, 20 ± 3 calls */
export function countedText(count: number, noun: string, error?: number): string {
  return `${estimateText("count", count, error)} ${noun}${count === 1 && error === undefined ? "" : "s"}`;
}

/** 950, 12.5 k, 1.2 M: for the labels of an axis */
export function shortCountText(count: number): string {
  if (count < 1e4) return atMostTenths.format(count);
  const power = Math.min(COUNT_UNITS.length, Math.floor(Math.log10(count) / 3));
  return `${atMostTenths.format(count / 1000 ** power)} ${COUNT_UNITS[power - 1]}`;
}

/** 20,720/s; "" for none, or no time */
export function rateText(count: number, ns: number): string {
  return ns > 0 && count > 0 ? `${countText((count * 1e9) / ns)}/s` : "";
}

/** 69.4 MB/s; "" for none, or no time */
export function byteRateText(bytes: number, ns: number): string {
  return ns > 0 && bytes > 0 ? `${bytesText((bytes * 1e9) / ns)}/s` : "";
}
