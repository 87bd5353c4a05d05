// memory.tsx - the heap of a core dump, a process or raw memory: what its allocator holds, and how sound it is
import type { JSX } from "preact";
import type { PageDocument } from "../data/document";
import type { MemoryFields, MemorySums } from "../data/memory";
import { addressText, bytesText, countedText, countText, shareText } from "../text/format";
import { FigureList, type Figure } from "../ui/figure_list";
import { Crash, endText } from "./crash";

/** undefined: a trace of a moment has only the blocks. */
function stateOf({ memory }: PageDocument): MemoryFields | undefined {
  return memory !== undefined && "allocator" in memory ? (memory as MemoryFields) : undefined;
}

function overheadOf({ system_bytes, live_bytes, cached_bytes, free_bytes, top_bytes }: MemorySums): number {
  return system_bytes - live_bytes - cached_bytes - free_bytes - top_bytes;
}

function blocksFigure(name: string, bytes: number, blocks: number, note: string): Figure {
  return { name, value: bytesText(bytes), note: `${countedText(blocks, "block")}${note}` };
}

function understoodNote({ damages }: MemoryFields): string {
  return damages === 0 ? "nothing is damaged" : `damaged at ${countedText(damages, "place")}`;
}

export function MemoryFigures({ document }: { document: PageDocument }): JSX.Element {
  const { run } = document;
  const state = stateOf(document);
  const { live_bytes_at_end: bytes, live_blocks_at_end: blocks } = run;
  if (state === undefined)
    return (
      <FigureList
        figures={[
          { name: "Live", value: bytesText(bytes), note: "" },
          { name: "Blocks", value: countText(blocks), note: blocks === 0 ? "none" : `${bytesText(bytes / blocks)} on average` },
        ]}
      />
    );
  const { system_bytes: system } = state;
  const ofSystem = (bytes: number): string => `${shareText(bytes, system) || "none"} of it`;
  return (
    <FigureList
      figures={[
        { name: "From the kernel", value: bytesText(system), note: `by ${state.allocator}` },
        blocksFigure("Live", state.live_bytes, state.live_blocks, " in use"),
        blocksFigure("Cached", state.cached_bytes, state.cached_blocks, " kept for threads"),
        blocksFigure("Free", state.free_bytes, state.free_blocks, " between others"),
        { name: "Top", value: bytesText(state.top_bytes), note: "free, at the ends" },
        { name: "Overhead", value: bytesText(overheadOf(state)), note: "of the allocator, or not understood" },
        { name: "Whole free pages", value: bytesText(state.free_page_bytes), note: ofSystem(state.free_page_bytes) },
        { name: "Understood", value: `${state.understood_percent} %`, note: understoodNote(state) },
      ]}
    />
  );
}

const PART_FIGURES: readonly (readonly [keyof MemorySums, string])[] = [
  ["live_bytes", "Live"],
  ["cached_bytes", "Cached"],
  ["free_bytes", "Free"],
  ["top_bytes", "Top"],
  ["system_bytes", "From the kernel"],
];
const PARTS_SHOWN = 32;

function Parts({ parts }: Pick<MemoryFields, "parts">): JSX.Element {
  const used = parts.filter(({ system_bytes, understood_bytes }) => system_bytes + understood_bytes > 0);
  const left = used.length - PARTS_SHOWN;
  return (
    <section class="panel">
      <h2>Parts of the heap</h2>
      <table class="small-table">
        <thead>
          <tr>
            <th />
            {PART_FIGURES.map(([key, title]) => (
              <th key={key}>{title}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {used.slice(0, PARTS_SHOWN).map((part) => (
            <tr key={part.name}>
              <th>{part.name}</th>
              {PART_FIGURES.map(([key]) => (
                <td key={key}>{bytesText(part[key])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {left > 0 && <p class="faint">{countText(left)} more</p>}
    </section>
  );
}

/** The memory that is not there, the blocks that keep free memory from being returned, and what is damaged. */
function Remarks({ left_out: leftOut, pins, damage, damages }: MemoryFields): JSX.Element | null {
  if (leftOut.length + pins.length + damage.length === 0) return null;
  return (
    <section class="panel">
      <h2>What stands out</h2>
      <ul class="findings">
        {leftOut.map(({ bytes, text, coredump_filter: filter }) => (
          <li key={text}>
            <span class="kind">left out</span>
            <span>
              {bytesText(bytes)}: {text}
              {filter !== undefined && ` (the bits ${addressText(filter)} of coredump_filter keep it)`}
            </span>
          </li>
        ))}
        {pins.map(({ address, blocks, bytes, held_bytes }) => (
          <li key={address}>
            <span class="kind">held</span>
            <span>
              {countedText(blocks, "block")} of {bytesText(bytes)} from {addressText(address)} on {blocks === 1 ? "keeps" : "keep"} {bytesText(held_bytes)} of free memory from being returned to the kernel
            </span>
          </li>
        ))}
        {damage.map(({ address, text }, i) => (
          <li key={i}>
            <span class="kind">damage</span>
            <span>
              at {addressText(address)}: {text}
            </span>
          </li>
        ))}
      </ul>
      {damages > damage.length && <p class="faint">{countText(damages - damage.length)} more places are damaged</p>}
    </section>
  );
}

/** null: no signal ended the process, or that is not known. */
export function MemoryCrash({ document }: { document: PageDocument }): JSX.Element | null {
  const state = stateOf(document);
  return state === undefined ? null : <Crash {...state} />;
}

/** null: a recording, or a trace of a moment, which has only the blocks. */
export function MemoryState({ document }: { document: PageDocument }): JSX.Element | null {
  const state = stateOf(document);
  if (state === undefined) return null;
  return (
    <>
      <Remarks {...state} />
      <Parts {...state} />
    </>
  );
}

export function memoryFacts(document: PageDocument): [string, string][] {
  const { run, version } = document;
  const state = stateOf(document);
  const lines: [string, string][] = [];
  if (run.pid > 0) lines.push(["Process", String(run.pid)]);
  if (state !== undefined) lines.push(["Allocator", state.allocator]);
  if (state !== undefined && state.signal > 0) lines.push(["Ended", endText(state)]);
  lines.push(["From", run.trace], ["Written by", `heapwright ${version}`]);
  return lines;
}
