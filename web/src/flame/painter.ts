// painter.ts - one drawing of a flame graph, on a canvas for the screen or as SVG for a file

export interface Painter {
  rect(x: number, y: number, width: number, height: number, fill: string): void;
  text(x: number, y: number, text: string, fill: string): void;
}

export const FONT_PX = 11.5;
export const FONT = `${FONT_PX}px ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace`;

export function canvasPainter(context: CanvasRenderingContext2D): Painter {
  context.font = FONT;
  context.textBaseline = "middle";
  return {
    rect(x, y, width, height, fill) {
      context.fillStyle = fill;
      context.fillRect(x, y, width, height);
    },
    text(x, y, text, fill) {
      context.fillStyle = fill;
      context.fillText(text, x, y);
    },
  };
}

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };

/** Text for XML: control characters, which XML cannot contain, become U+FFFD. */
function xmlText(text: string): string {
  return text
     
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>"']/g, (character) => ESCAPES[character]!);
}

export interface SvgPainter extends Painter {
  finish(): string;
}

export function svgPainter(width: number, height: number, ground: string): SvgPainter {
  const parts: string[] = [];
  const round = (value: number): string => String(Math.round(value * 100) / 100);
  const painter: SvgPainter = {
    rect(x, y, w, h, fill) {
      parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}" fill="${fill}"/>`);
    },
    text(x, y, text, fill) {
      parts.push(`<text x="${round(x)}" y="${round(y)}" fill="${fill}">${xmlText(text)}</text>`);
    },
    finish() {
      const size = `width="${round(width)}" height="${round(height)}" viewBox="0 0 ${round(width)} ${round(height)}"`;
      const style = `font-family="DejaVu Sans Mono, monospace" font-size="${FONT_PX}" dominant-baseline="central"`;
      return `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${style} xml:space="preserve">\n${parts.join("\n")}\n</svg>\n`;
    },
  };
  painter.rect(0, 0, width, height, ground);
  return painter;
}
