/** Lets everything else have its turn first. For work that is cut into parts so that it never holds up the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
