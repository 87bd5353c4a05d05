// largest.ts - the rows of a list that has only the largest

/** The rows with the largest amounts, the largest first, among the wanted ones. */
export function largest(amounts: Float64Array, count: number, isWanted: (row: number) => boolean): number[] {
  const top: number[] = [];
  amounts.forEach((amount, row) => {
    if (amount <= (top.length < count ? 0 : amounts[top.at(-1)!]!) || !isWanted(row)) return;
    const at = top.findIndex((other) => amounts[other]! < amount);
    top.splice(at < 0 ? top.length : at, 0, row);
    top.length = Math.min(top.length, count);
  });
  return top;
}
