/** As git reads a line of `git-rebase-todo`: `exec` or `x`, and what the shell shall run. */
const PROGRAM = /^[ \t]*(?:exec|x)(?:[ \t\r\0]|$)/;

/** Lines by which `git rebase --continue` runs a program. */
export function programLines(todo: Buffer): readonly string[] {
  return linesOf(todo).filter((line) => PROGRAM.test(line));
}

/** The same steps without the programs that were not there before. */
export function withoutPrograms(todo: Buffer, known: readonly string[]): Buffer {
  const lines = linesOf(todo).filter((line) => !PROGRAM.test(line) || known.includes(line));
  return Buffer.from(lines.join('\n'), 'latin1');
}

function linesOf(todo: Buffer): readonly string[] {
  return todo.toString('latin1').split('\n');
}
