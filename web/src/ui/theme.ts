// theme.ts - light or dark: the system's setting, until the user changes it
import { useLayoutEffect, useState } from "preact/hooks";
import { paletteOf, type Palette } from "./palette";

const KEY = "heapwright-theme";

/** A page opened from disk may have no storage: then the choice lasts until the page is closed. */
function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function store(theme: string): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // no storage available
  }
}

const system = matchMedia("(prefers-color-scheme: dark)");

function isDark(choice: string | null): boolean {
  return choice === null ? system.matches : choice === "dark";
}

export function useTheme(): [Palette, () => void] {
  const [choice, setChoice] = useState(stored);
  const [, followSystem] = useState(system.matches);
  useLayoutEffect(() => {
    const follow = (): void => followSystem(system.matches);
    system.addEventListener("change", follow);
    return () => system.removeEventListener("change", follow);
  }, []);
  useLayoutEffect(() => {
    if (choice !== null) store(choice);
  }, [choice]);
  const dark = isDark(choice);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  return [paletteOf(dark), () => setChoice((before) => (isDark(before) ? "light" : "dark"))];
}
