// memory.ts - what a document has of a heap that was not recorded, but read from memory

/** Blocks and bytes by what became of them; cached: free, kept for a thread or a size; top: free, at the ends of arenas. */
export interface MemorySums {
  readonly live_blocks: number;
  readonly live_bytes: number;
  readonly cached_blocks: number;
  readonly cached_bytes: number;
  readonly free_blocks: number;
  readonly free_bytes: number;
  readonly top_bytes: number;
  readonly own_bytes: number;
  readonly system_bytes: number;
  readonly understood_bytes: number;
}

/** A frame of a thread; with `frames_left_out`, so many of them. */
export interface FrameFields {
  readonly function: string | null;
  readonly file: string | null;
  readonly line: number | null;
  readonly module: string | null;
  readonly address: number;
  readonly inlined?: boolean;
  readonly reason?: string;
  readonly frames_left_out?: number;
}

/** How a signal ended the process; only `signal` if none did, or if the threads are not known. */
export interface CrashFields {
  readonly signal: number; // 0: none
  readonly signal_thread?: number;
  readonly signal_name?: string | null;
  /** what the thread did: "accessed 0x18, near 0: a null pointer was followed" */
  readonly signal_text?: string;
  readonly signal_stack?: readonly FrameFields[];
  readonly crash_address?: number;
  readonly abort_message: string | null;
}

/** The heap of a core dump, a process or raw memory. */
export interface MemoryFields extends MemorySums, CrashFields {
  readonly allocator: string;
  readonly left_out: readonly { readonly bytes: number; readonly text: string; readonly coredump_filter?: number }[];
  readonly understood_percent: number;
  readonly parts: readonly (MemorySums & { readonly name: string })[];
  readonly free_page_bytes: number;
  readonly pins: readonly { readonly address: number; readonly blocks: number; readonly bytes: number; readonly held_bytes: number }[];
  readonly damages: number;
  readonly damage: readonly { readonly address: number; readonly text: string }[];
}
