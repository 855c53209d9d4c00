import { sha256Hex } from '@palyra/primitives';

/** Names of tools as models may say them, and back. */
export interface ToolNames {
  forModel(tool: string): string;
  /** Undefined for a name that stands for no tool. */
  forPalyra(name: string): string | undefined;
}

/** Both providers take letters, digits, `_` and `-`, at most 64. */
const LONGEST = 64;
const MARK_LENGTH = 8;

/**
 * `palyra.fs.read` becomes `palyra_fs_read`. Two tools that would become one, and those that are too long, end in a mark of
 * their own: a name always leads back to the tool that it was made from.
 */
export function createToolNames(tools: readonly string[]): ToolNames {
  const plain = new Map(tools.map((tool) => [tool, tool.replaceAll(/[^A-Za-z0-9_-]/g, '_')]));
  const names = new Map<string, string>();
  const back = new Map<string, string>();
  const give = (tool: string, name: string): void => {
    names.set(tool, name);
    back.set(name, tool);
  };
  const [simple, difficult] = partition(plain);
  for (const [tool, name] of simple) give(tool, name);
  for (const [tool, name] of difficult.toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    let length = MARK_LENGTH;
    // SECURITY: T-38 — a server that names its tool like another's mark must not be called in its place.
    while (back.has(marked(name, tool, length))) length += 1;
    give(tool, marked(name, tool, length));
  }
  return { forModel: (tool) => names.get(tool) ?? '', forPalyra: (name) => back.get(name) };
}

type Named = readonly [tool: string, name: string];

function partition(plain: ReadonlyMap<string, string>): readonly [readonly Named[], readonly Named[]] {
  const times = new Map<string, number>();
  for (const name of plain.values()) times.set(name, (times.get(name) ?? 0) + 1);
  const isSimple = ([, name]: Named): boolean => times.get(name) === 1 && name !== '' && name.length <= LONGEST;
  const all = [...plain];
  return [all.filter(isSimple), all.filter((each) => !isSimple(each))];
}

function marked(name: string, tool: string, length: number): string {
  return `${name.slice(0, LONGEST - length - 1)}_${sha256Hex(tool).slice(0, length)}`;
}
