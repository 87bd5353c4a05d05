// palette.mjs - drawings on canvases have contrast; a browser cannot report it, so it is computed from the palette
import assert from "node:assert/strict";
import { AA_GRAPHICS, AA_TEXT, contrast } from "./contrast.mjs";
import { moduleOf } from "./module.mjs";

const { changeColour, curveColour, faded, HUE_COUNT, paletteOf, SHADES, tint } = await moduleOf("ui/palette.ts");

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const faint = [];
const expect = (least, what, ink, ground) => {
  const ratio = contrast(rgb(ink), rgb(ground));
  if (ratio < least) faint.push(`${what}: ${ink} on ${ground} has ${ratio.toFixed(2)}`);
};

for (const dark of [false, true]) {
  const palette = paletteOf(dark);
  const theme = dark ? "dark" : "light";
  const label = (what, ground) => {
    expect(AA_TEXT, `${theme}: the label of ${what}`, palette.text, ground);
    expect(AA_TEXT, `${theme}: the label of ${what}, not found`, palette.faint, faded(ground, palette));
  };
  for (let hue = -1; hue < HUE_COUNT; hue++) {
    for (let shade = 0; shade < SHADES; shade++) label(`a frame of hue ${hue}, shade ${shade}`, tint(hue, palette, shade));
    expect(AA_GRAPHICS, `${theme}: curve ${hue}`, curveColour(hue, palette), palette.panel);
  }
  for (let tenth = -10; tenth <= 10; tenth++) label(`a frame that changed by ${tenth / 10}`, changeColour(tenth / 10, palette));
  expect(AA_TEXT, `${theme}: an axis`, palette.faint, palette.panel);
  expect(AA_TEXT, `${theme}: a mark`, palette.mark, palette.panel);
}
assert.deepEqual(faint, []);
