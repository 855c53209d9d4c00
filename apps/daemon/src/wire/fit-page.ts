/** As many items as a message takes, and at least one: it would else be asked for again and again. */
export function fitPage<Item>(items: readonly Item[], room: number, bytesOf: (item: Item) => number): readonly Item[] {
  let left = room;
  const fitting = items.findIndex((item, at) => {
    left -= bytesOf(item);
    return left < 0 && at > 0;
  });
  return fitting === -1 ? items : items.slice(0, fitting);
}
