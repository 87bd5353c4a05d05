// palette.ts - the colours of charts: colour-blind users can distinguish them, and text is readable on each

/** After Paul Tol's "muted" scheme; the hues differ also under protanopia, deuteranopia and tritanopia. */
const HUES = ["#4477aa", "#cc6677", "#44aa99", "#ddaa44", "#aa4499", "#88bbdd", "#999933", "#aa6688"];
const REST = "#a4abb3"; // for items without a colour of their own

export interface Palette {
  readonly dark: boolean;
  readonly ground: string;
  readonly panel: string;
  readonly text: string;
  readonly faint: string;
  readonly line: string;
  readonly accent: string;
  readonly mark: string;
}

const LIGHT: Palette = {
  dark: false,
  ground: "#f7f7f5",
  panel: "#ffffff",
  text: "#1d2127",
  faint: "#5a626c",
  line: "#e1e3e6",
  accent: "#1f5fa8",
  mark: "#b3261e",
};

const DARK: Palette = {
  dark: true,
  ground: "#14171b",
  panel: "#1b1f25",
  text: "#e4e7eb",
  faint: "#a1a9b3",
  line: "#2f353d",
  accent: "#7db8f0",
  mark: "#ff8a80",
};

export function paletteOf(dark: boolean): Palette {
  return dark ? DARK : LIGHT;
}

type Rgb = readonly [number, number, number];

function rgbOf(hex: string): Rgb {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** Mixes `share` of `hex` with the rest of `ground`. */
export function mix(hex: string, ground: string, share: number): string {
  const [a, b] = [rgbOf(hex), rgbOf(ground)];
  const parts = a.map((value, i) => Math.round(value * share + b[i]! * (1 - share)));
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** The colour of the n-th curve or area; -1: of the sum of all others. */
export function curveColour(index: number, palette: Palette): string {
  const hue = HUES[index] ?? REST;
  return palette.dark ? mix(hue, "#ffffff", 0.88) : mix(hue, "#000000", 0.82);
}

/** A step of an ordered scale from 0 to 1; larger steps are stronger. */
export function ramp(step: number, palette: Palette): string {
  return mix(palette.accent, palette.panel, 0.18 + 0.82 * step);
}

/** A background for text, in the hue of the n-th item of a list; neighbours of one hue differ by their shade, 0 to 2. */
export function tint(index: number, palette: Palette, shade = 1): string {
  const hue = HUES[index] ?? REST;
  return mix(hue, palette.panel, 0.36 + 0.06 * shade);
}

/** A paler background, for items that the search did not find. */
export function faded(ground: string, palette: Palette): string {
  return mix(ground, palette.panel, 0.3);
}

export const SHADES = 3;

const [LESS, MORE] = ["#3a78b5", "#d9722a"]; // a pair that colour-blind users can distinguish

/** The colour of a relative change: -1 is gone, 0 unchanged, 1 new. */
export function changeColour(share: number, palette: Palette): string {
  if (share === 0) return mix(REST, palette.panel, 0.25);
  return mix(share < 0 ? LESS : MORE, palette.panel, 0.12 + 0.4 * Math.abs(share));
}

export const HUE_COUNT = HUES.length;
