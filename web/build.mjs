// build.mjs - bundles src/ into dist/page.html: one file, the same bytes on every machine
// node build.mjs [FILE]   writes to FILE instead
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "dist/page.html");

const { outputFiles } = await build({
  absWorkingDir: here,
  entryPoints: ["src/main.tsx"],
  outdir: "out",
  bundle: true,
  minify: true,
  write: false,
  format: "iife",
  target: ["chrome100", "firefox100", "safari15.4"],
  charset: "ascii",
  legalComments: "inline",
  jsx: "automatic",
  jsxImportSource: "preact",
});
const textOf = (suffix) => outputFiles.find((file) => file.path.endsWith(suffix)).text.trim();

/** What would end an element, or a comment, must not be inside it. */
function inElement(text, element) {
  if (new RegExp(`</${element}|<!--`, "i").test(text)) throw new Error(`the bundle contains </${element} or <!--`);
  return text;
}

/** What is bundled asks for its licence to go with it. */
async function licences() {
  const { dependencies } = JSON.parse(await readFile(join(here, "package.json"), "utf8"));
  const texts = Object.entries(dependencies).map(async ([name, version]) => {
    const text = await readFile(join(here, "node_modules", name, "LICENSE"), "utf8");
    return `${name} ${version}\n\n${text.trim()}\n`;
  });
  return inElement((await Promise.all(texts)).join("\n"), "script").replaceAll("--", "- -");
}

const page = (await readFile(join(here, "src/page.html"), "utf8"))
  .replace("licences", await licences())
  .replace("/*style*/", () => inElement(textOf(".css"), "style"))
  .replace("/*script*/", () => inElement(textOf(".js"), "script"));
await mkdir(dirname(target), { recursive: true });
await writeFile(target, page);
