/** Lines around a change that are shown with it. */
const AROUND = 3;

export interface ShownDiff {
  readonly path: string;
  /** Undefined: there was no such file, or will be none. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** One hunk from the first line that differs to the last: for settings, where what is added stands together. */
export function renderDiff({ path, before, after }: ShownDiff): string {
  const [old, now] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(old.length, now.length) - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const from = Math.max(0, head - AROUND);
  const around = (lines: readonly string[]) => lines.map((line) => ` ${line}`);
  const hunk = [
    ...around(old.slice(from, head)),
    ...old.slice(head, old.length - tail).map((line) => `-${line}`),
    ...now.slice(head, now.length - tail).map((line) => `+${line}`),
    ...around(old.slice(old.length - tail, old.length - tail + AROUND)),
  ];
  const names = [`--- ${before === undefined ? '/dev/null' : path}`, `+++ ${after === undefined ? '/dev/null' : path}`];
  return `${[...names, ...hunk].join('\n')}\n`;
}

function linesOf(text: string | undefined): readonly string[] {
  return text === undefined || text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
