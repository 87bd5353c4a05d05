// crash.tsx - how a signal ended the process of a core dump: what the thread did that got it, and its stack
import type { JSX } from "preact";
import type { CrashFields, FrameFields } from "../data/memory";
import { baseName, type Place } from "../data/tree";
import { addressText, countText } from "../text/format";
import { Frames } from "./stack";

function nameOf({ function: name, module, address, frames_left_out: left }: FrameFields): string {
  if (left !== undefined) return `… ${countText(left)} more frames`;
  return name ?? `?? ${baseName(module ?? "")}${module === null ? "" : "+"}${addressText(address)}`;
}

function placeOf(frame: FrameFields): Place {
  return {
    name: nameOf(frame),
    file: frame.file ?? "",
    line: frame.line ?? 0,
    module: baseName(frame.module ?? ""),
    inlined: frame.inlined ?? false,
    reason: frame.reason ?? "",
    address: frame.address,
  };
}

/** A function that calls itself at the same place is listed once. */
function placesOf(frames: readonly FrameFields[]): Place[] {
  const places: Place[] = [];
  for (let i = 0, next = 0; i < frames.length; i = next) {
    const place = placeOf(frames[i]!);
    for (next = i + 1; next < frames.length && frames[next]!.address === place.address && frames[next]!.function === frames[i]!.function; next++);
    places.push(next - i > 1 ? { ...place, name: `${place.name}, ${countText(next - i)} times` } : place);
  }
  return places;
}

export function endText({ signal, signal_name: name }: CrashFields): string {
  return name ? `killed by ${name}` : `killed by signal ${signal}`;
}

/** null: no signal ended it, or its threads are not known. */
export function Crash(crash: CrashFields): JSX.Element | null {
  const { signal_thread: thread, signal_text: text = "", signal_stack: stack = [], crash_address: address, abort_message: message } = crash;
  if (crash.signal === 0 || (thread === undefined && message === null)) return null;
  return (
    <section class="panel crash">
      <h2>It was {endText(crash)}</h2>
      {thread !== undefined && (
        <p class="cause">
          Thread {thread} {text}
        </p>
      )}
      {message !== null && (
        <p class="cause">
          The C library ended it: <code>{message}</code>
        </p>
      )}
      {stack.length > 0 && <Frames places={placesOf(stack)} />}
      {address !== undefined && (
        <p class="faint">
          <code>heapwright core --around crash</code> shows what is {Number.isSafeInteger(address) ? `around ${addressText(address)}` : "there"}
        </p>
      )}
    </section>
  );
}
