// scopes.ts - the names of instances of scopes, and what they did, in the words of the text report
import type { Instances } from "../data/instances";
import type { Scopes } from "../data/scopes";
import { bytesText, countText } from "./format";

/** +1,168 B, −24 B, +0 */
export function changeText(bytes: number): string {
  return bytes < 0 ? bytesText(bytes) : `+${bytesText(bytes)}`;
}

function signedText(count: number): string {
  return count < 0 ? `−${countText(-count)}` : `+${countText(count)}`;
}

/** frame 1812, request "/index", step */
export function instanceName(scopes: Scopes, instances: Instances, instance: number): string {
  const name = scopes.names[instances.column("scope")[instance]!] ?? "";
  const [number, text] = [instances.numberOf(instance), instances.textOf(instance)];
  if (text !== undefined) return `${name} "${text}"`;
  return Number.isNaN(number) ? name : `${name} ${number}`;
}

/** instance 813 of 1,000; a task's stretches have no number */
export function sequenceText(scopes: Scopes, instances: Instances, instance: number): string {
  const sequence = instances.column("sequence")[instance]!;
  if (sequence === 0) return "a stretch of a task";
  return `instance ${countText(sequence)} of ${countText(scopes.column("instances")[instances.column("scope")[instance]!]!)}`;
}

/** 8 B −1, 16 B +2, total +24 B, inside +1,144 B */
export function sizesText(instances: Instances, instance: number): string {
  const { sizes, hasOthers } = instances.sizesOf(instance);
  const [net, inside] = [instances.column("net_bytes")[instance]!, instances.column("inside_bytes")[instance]!];
  const parts = sizes.map(([size, blocks]) => `${countText(size)} B ${signedText(blocks)}`);
  if (hasOthers) {
    const listed = sizes.reduce((sum, [size, blocks]) => sum + size * blocks, 0);
    parts.push(`other sizes ${signedText(net - inside - listed)} B`);
  }
  parts.push(`total ${signedText(net - inside)} B`);
  if (inside !== 0) parts.push(`inside ${signedText(inside)} B`);
  return parts.join(", ");
}
