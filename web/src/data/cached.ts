// cached.ts - caches values computed from an object, as long as the object lives, so that views can be opened again quickly

/** What else `make` needs must be the same for the same key. */
export function cachedFor<K extends object, V, Others extends unknown[]>(
  make: (key: K, ...others: Others) => V,
): (key: K, ...others: Others) => V {
  const made = new WeakMap<K, V>();
  return (key, ...others) => {
    let value = made.get(key);
    if (value === undefined) made.set(key, (value = make(key, ...others)));
    return value;
  };
}

/** Completes work that is done in pieces. */
export function finish(pieces: Generator<void>): void {
  while (pieces.next().done !== true);
}
