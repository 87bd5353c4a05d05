// contrast.mjs - WCAG's ratio of two colours

/** The contrast of colours as numbers, [r, g, b] from 0 to 255. */
export function contrast(a, b) {
  const luminance = (colour) => {
    const parts = colour.map((part) => part / 255);
    const [r, g, bl] = parts.map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * bl;
  };
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

export const AA_TEXT = 4.5;
export const AA_GRAPHICS = 3; // curves and areas that must be seen to be understood
