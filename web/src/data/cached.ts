// cached.ts - caches values computed from an object, as long as the object lives, so that views can be opened again quickly

export function cachedFor<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, V>();
  return (key) => {
    let value = made.get(key);
    if (value === undefined) made.set(key, (value = make(key)));
    return value;
  };
}

/** Completes work that is done in pieces. */
export function finish(pieces: Generator<void>): void {
  while (pieces.next().done !== true);
}
