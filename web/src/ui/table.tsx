// table.tsx - a table with sortable columns that draws only the visible rows, so that half a million rows are as fast
import type { ComponentChild, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { amountText, countText, errorText, shareText, type Kind as AmountKind } from "../text/format";
import type { State } from "../state";
import type { Change } from "./location";
import { saveCsv } from "./save";

const LEAST_PX = { text: 220, figure: 80 }; // of a column without a width; in less space the table is scrolled
const ROW_PX = 26; // the same as .table tr in style.css
const ROWS_BEYOND = 4; // drawn above and below the visible rows, so that scrolling shows no gap

/** share: a part of the whole, 0 to 1. word: short text, such as an ID. In a narrow table only text is cut. */
export type Kind = "bytes" | "count" | "share" | "word" | "text";

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  readonly kind: Kind;
  /** used for sorting and in the CSV file */
  readonly value: (row: Row) => number | string;
  /** of an estimate, half of its 95 % interval; absent or undefined: the value is exact */
  readonly error?: (row: Row) => number | undefined;
  /** how the value is shown, if not as its kind */
  readonly show?: (row: Row) => ComponentChild;
  /** the part of the whole, 0 to 1, shown by a bar in the background of the figure */
  readonly share?: (row: Row) => number;
  /** CSS width, which figures and words may exceed; text columns without one share the remaining width */
  readonly width?: string;
  readonly hint?: string;
}

interface Props<Row> {
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => number;
  readonly chosen?: number;
  readonly onChoose?: (row: Row) => void;
  /** called when a row is double-clicked */
  readonly onOpen?: (row: Row) => void;
  /** "": the rows keep their order */
  readonly sort: string;
  readonly onSort: (sort: string) => void;
  /** false: the rows are in their final order already (a tree) */
  readonly sorts?: boolean;
  readonly onKey?: (event: KeyboardEvent, row: Row) => void;
  readonly empty?: string;
}

function compare(a: number | string, b: number | string): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en");
}

/** The column and direction of "key+" or "key-"; descending without a sign, since the largest matters most. */
export function sortOf<Row>(sort: string, columns: readonly Column<Row>[]): [Column<Row> | undefined, number] {
  return [columns.find((column) => column.key === sort.slice(0, -1)), sort.endsWith("+") ? 1 : -1];
}

/** How a table is sorted, from the page's state; `first`: until the user chooses. */
export function sorting(
  { state, change }: { readonly state: State; readonly change: Change },
  first = "",
): Pick<Props<never>, "sort" | "onSort"> {
  return { sort: state.sort === "" ? first : state.sort, onSort: (sort) => change({ sort }) };
}

function isFigure<Row>({ kind }: Column<Row>): boolean {
  return kind !== "text" && kind !== "word";
}

/** The class for style.css: figures are right-aligned, and only names may be cut. */
function classOf<Row>(column: Column<Row>): string {
  return isFigure(column) ? "figure" : column.kind === "text" ? "name" : "name whole";
}

function nextSort<Row>(sort: string, column: Column<Row>): string {
  const first = isFigure(column) ? "-" : "+";
  const second = first === "+" ? "-" : "+";
  return `${column.key}${sort === column.key + first ? second : first}`;
}

function cellText<Row>(column: Column<Row>, row: Row): string {
  const value = column.value(row);
  if (typeof value === "string") return value;
  return column.kind === "share" ? shareText(value, 1) : amountText(column.kind as AmountKind, value);
}

function shownOf<Row>(column: Column<Row>, row: Row): ComponentChild {
  return column.show ? column.show(row) : cellText(column, row);
}

/** "± 3.2"; "": the figure is exact */
function errorOf<Row>(column: Column<Row>, row: Row): string {
  return errorText(column.kind as AmountKind, Number(column.value(row)), column.error?.(row));
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }): JSX.Element {
  const share = column.share?.(row) ?? 0;
  return (
    <td
      class={classOf(column)}
      style={share > 0 ? { backgroundSize: `${(100 * Math.min(1, share)).toFixed(2)}% 20px` } : undefined}
    >
      {shownOf(column, row)}
      <CellError text={errorOf(column, row)} />
    </td>
  );
}

function CellError({ text }: { text: string }): JSX.Element | null {
  return text === "" ? null : <span class="error"> {text}</span>;
}

/** The minimum width: text would otherwise shrink to nothing, and figures would look crowded. */
function leastWidth<Row>({ width, kind }: Column<Row>): string {
  return width?.endsWith("px") ? width : `${kind === "text" ? LEAST_PX.text : LEAST_PX.figure}px`;
}

/** The longest texts that the columns showed, by key, each with its error. */
type Widest = Map<string, readonly [shown: string, error: string]>;

/**
 * A row without height that gives each column the width of its longest figure, visible or not. Otherwise columns would
 * move while the table is scrolled. The longest text so far is kept, so that no column moves while an interval is
 * dragged.
 */
function WidestRow<Row>({ columns, rows, widest }: Pick<Props<Row>, "columns" | "rows"> & { widest: Widest }): JSX.Element {
  for (const column of columns.filter(isFigure)) {
    const size = (row: Row): number => Math.abs(Number(column.value(row)));
    const largest = rows.reduce<Row | null>((most, row) => (most === null || size(row) > size(most) ? row : most), null);
    const shown = largest === null ? "" : shownOf(column, largest);
    const error = largest === null ? "" : errorOf(column, largest);
    const [before, errorBefore] = widest.get(column.key) ?? ["", ""];
    if (typeof shown === "string" && shown.length + error.length > before.length + errorBefore.length) widest.set(column.key, [shown, error]);
  }
  return (
    <tr class="spacer widest" aria-hidden="true">
      {columns.map((column) => (
        <td key={column.key} class={classOf(column)}>
          {widest.get(column.key)?.[0]}
          <CellError text={widest.get(column.key)?.[1] ?? ""} />
        </td>
      ))}
    </tr>
  );
}

function Head<Row>({ columns, sort, onSort }: Pick<Props<Row>, "columns" | "sort" | "onSort">): JSX.Element {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const way = sort.slice(0, -1) === column.key ? sort.slice(-1) : "";
          const order = way === "+" ? "ascending" : way === "-" ? "descending" : "none";
          return (
            <th key={column.key} class={classOf(column)} aria-sort={order} style={{ minWidth: leastWidth(column) }}>
              <button type="button" title={column.hint ?? ""} onClick={() => onSort(nextSort(sort, column))}>
                {column.title}
                <i class="way">{way === "+" ? "▲" : way === "-" ? "▼" : ""}</i>
              </button>
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

/** The visible rows of a scrolled element: the first one, and their number. */
function useWindow(count: number): [{ current: HTMLDivElement | null }, number, number, () => void] {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const watcher = new ResizeObserver(() => setHeight(element.clientHeight));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  const first = Math.max(0, Math.min(Math.floor(top / ROW_PX) - ROWS_BEYOND, count - 1));
  const shown = Math.min(count - first, Math.ceil(height / ROW_PX) + 2 * ROWS_BEYOND);
  return [box, first, shown, () => setTop(box.current?.scrollTop ?? 0)];
}

interface BodyProps<Row> extends Pick<Props<Row>, "columns" | "idOf"> {
  readonly chosen: number | undefined;
  /** in their order */
  readonly rows: readonly Row[];
  readonly first: number;
  readonly shown: number;
  readonly onChoose: (row: Row) => void;
  readonly onOpen: (row: Row) => void;
}

function Body<Row>({ columns, rows, idOf, chosen, first, shown, onChoose, onOpen }: BodyProps<Row>): JSX.Element {
  return (
    <tbody>
      <tr class="spacer" style={{ height: `${first * ROW_PX}px` }} />
      {rows.slice(first, first + shown).map((row) => (
        <tr
          key={idOf(row)}
          class={idOf(row) === chosen ? "chosen" : ""}
          aria-selected={idOf(row) === chosen}
          onClick={() => onChoose(row)}
          onDblClick={() => onOpen(row)}
        >
          {columns.map((column) => (
            <Cell key={column.key} column={column} row={row} />
          ))}
        </tr>
      ))}
      <tr class="spacer" style={{ height: `${(rows.length - first - shown) * ROW_PX}px` }} />
    </tbody>
  );
}

export function Table<Row>(props: Props<Row>): JSX.Element {
  const { columns, rows, idOf, sort, chosen, onChoose, name } = props;
  const latest = useRef(props);
  latest.current = props;
  const sorted = useMemo(() => {
    const [by, sign] = sortOf(sort, columns);
    if (by === undefined || props.sorts === false) return rows;
    const keyed = rows.map((row) => ({ row, value: by.value(row), id: idOf(row) })); // computed once, not with each comparison
    return keyed.sort((a, b) => sign * compare(a.value, b.value) || a.id - b.id).map(({ row }) => row);
  }, [rows, sort, columns]);
  const [box, first, shown, onScroll] = useWindow(sorted.length);
  const at = chosen === undefined ? -1 : sorted.findIndex((row) => idOf(row) === chosen);

  const widest = useRef<Widest>(new Map());
  const widestRow = useMemo(() => <WidestRow {...{ columns, rows }} widest={widest.current} />, [columns, rows]);

  // Cached, so that rows on screen are not made again: a drag changes other things with every step.
  const body = useMemo(
    () => (
      <Body
        {...{ columns, idOf, chosen, first, shown }}
        rows={sorted}
        onChoose={(row) => latest.current.onChoose?.(row)}
        onOpen={(row) => latest.current.onOpen?.(row)}
      />
    ),
    [columns, sorted, chosen, first, shown],
  );

  const scrollTo = (index: number): void => {
    const element = box.current;
    if (element === null) return;
    const [above, below] = [index * ROW_PX, (index + 2) * ROW_PX]; // the head covers one row
    if (above < element.scrollTop) element.scrollTop = above;
    else if (below > element.scrollTop + element.clientHeight) element.scrollTop = below - element.clientHeight;
  };
  useEffect(() => {
    if (at >= 0) scrollTo(at);
  }, [chosen]);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== box.current && (event.key === "Enter" || event.key === " ")) return; // on a heading: it sorts
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 0) / ROW_PX) - 2);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const ends: Record<string, number> = { Home: 0, End: sorted.length - 1 };
    const step = steps[event.key];
    const to = step === undefined ? ends[event.key] : Math.max(0, Math.min(sorted.length - 1, at + step));
    const current = sorted[at];
    if (to !== undefined && sorted[to] !== undefined && onChoose) {
      onChoose(sorted[to]);
      event.preventDefault();
    } else if (current !== undefined && event.key === "Enter" && props.onOpen) props.onOpen(current);
    else if (current !== undefined) props.onKey?.(event, current);
  };

  const saveRows = (): void => {
    const hasError = (column: Column<Row>): boolean => sorted.some((row) => column.error?.(row) !== undefined);
    const saved = columns.map((column) => ({ column, error: hasError(column) ? column.error : undefined }));
    saveCsv(`${name}.csv`, [
      saved.flatMap(({ column, error }) => (error ? [column.title, `± ${column.title}`] : [column.title])),
      ...sorted.map((row) => saved.flatMap(({ column, error }) => (error ? [column.value(row), error(row) ?? ""] : [column.value(row)]))),
    ]);
  };

  return (
    <div class="table-frame">
      <div class="table" ref={box} onScroll={onScroll} tabIndex={0} onKeyDown={onKeyDown} data-table={name}>
        <table aria-rowcount={sorted.length} aria-label={name}>
          <colgroup>
            {columns.map((column) => (
              <col key={column.key} style={{ width: column.width ?? (column.kind === "text" ? "auto" : leastWidth(column)) }} />
            ))}
          </colgroup>
          <Head columns={columns} sort={sort} onSort={props.onSort} />
          <tbody>{widestRow}</tbody>
          {body}
        </table>
        {sorted.length === 0 && <p class="empty">{props.empty ?? "Nothing here."}</p>}
      </div>
      <div class="table-foot">
        <span>{sorted.length === 1 ? "1 row" : `${countText(sorted.length)} rows`}</span>
        <button type="button" onClick={saveRows}>
          CSV
        </button>
      </div>
    </div>
  );
}
