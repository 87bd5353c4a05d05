// save.ts - saves a table or a picture as a file, by a download in the browser

function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000); // the download reads it after the click
}

/** One field, as RFC 4180 defines it. A text that a spreadsheet would take for a formula gets an apostrophe in front. */
function csvField(value: string | number): string {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function saveCsv(name: string, rows: readonly (readonly (string | number)[])[]): void {
  const lines = rows.map((row) => `${row.map(csvField).join(",")}\r\n`);
  save(name, new Blob(lines, { type: "text/csv;charset=utf-8" }));
}

export function saveSvg(name: string, svg: string): void {
  save(name, new Blob([svg], { type: "image/svg+xml" }));
}

/** The canvas on an opaque background, so that a pasted picture does not depend on what is below it. */
export function savePng(name: string, picture: HTMLCanvasElement, ground: string): void {
  const copy = document.createElement("canvas");
  copy.width = picture.width;
  copy.height = picture.height;
  const context = copy.getContext("2d");
  if (context === null) return;
  context.fillStyle = ground;
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(picture, 0, 0);
  copy.toBlob((blob) => {
    if (blob !== null) save(name, blob);
  });
}
