// kept.ts - what is made of an object once, and kept as long as the object is: views come and go, what they look at stays

export function keptFor<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, V>();
  return (key) => {
    let value = made.get(key);
    if (value === undefined) made.set(key, (value = make(key)));
    return value;
  };
}

/** Does at once what is left of what is done a piece at a time. */
export function finish(pieces: Generator<void>): void {
  while (pieces.next().done !== true);
}
