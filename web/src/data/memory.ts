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

/** The heap of a core dump, a process or raw memory. */
export interface MemoryFields extends MemorySums {
  readonly allocator: string;
  readonly signal: number;
  readonly understood_percent: number;
  readonly parts: readonly (MemorySums & { readonly name: string })[];
  readonly free_page_bytes: number;
  readonly pins: readonly { readonly address: number; readonly blocks: number; readonly bytes: number; readonly held_bytes: number }[];
  readonly damages: number;
  readonly damage: readonly { readonly address: number; readonly text: string }[];
}
