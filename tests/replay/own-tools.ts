import { globSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

type Input = Readonly<Record<string, unknown>>;
/** Throws what the tool would fail with. */
type OwnTool = (input: Input, workspace: string) => string;

/** What the agent's own tools do, done here in its place: on the host, with nothing in between. */
export const OWN_TOOLS: Readonly<Record<string, OwnTool>> = {
  Read: ({ file_path: path }) => readFileSync(text(path), 'utf8'),
  Write({ file_path: path, content }) {
    mkdirSync(dirname(text(path)), { recursive: true });
    writeFileSync(text(path), text(content));
    return 'written';
  },
  Edit({ file_path: path, old_string: old, new_string: made }) {
    edit(text(path), text(old), text(made));
    return 'edited';
  },
  MultiEdit({ file_path: path, edits }) {
    for (const each of edits as readonly Input[]) edit(text(path), text(each['old_string']), text(each['new_string']));
    return 'edited';
  },
  LS: ({ path }, workspace) => readdirSync(optional(path, workspace)).join('\n'),
  Glob: ({ pattern, path }, workspace) =>
    globSync(text(pattern), { cwd: optional(path, workspace), exclude: (name) => SKIPPED.has(name) }).join('\n'),
  Grep({ pattern, path, glob = '**/*' }, workspace) {
    const where = optional(path, workspace);
    const wanted = new RegExp(text(pattern));
    const among = statSync(where).isFile() ? [where] : filesBelow(where, text(glob));
    return among
      .filter((file) => wanted.test(readFileSync(file, 'utf8')))
      .map((file) => relative(workspace, file))
      .join('\n');
  },
};

const SKIPPED: ReadonlySet<string> = new Set(['.git', 'node_modules', 'dist']);

function filesBelow(directory: string, glob: string): readonly string[] {
  const wanted = glob.includes('/') ? glob : `**/${glob}`;
  return globSync([wanted, `**/.*`], { cwd: directory, exclude: (name) => SKIPPED.has(name) })
    .map((name) => join(directory, name))
    .filter((file) => statSync(file).isFile());
}

function edit(path: string, old: string, made: string): void {
  const before = readFileSync(path, 'utf8');
  if (before.split(old).length !== 2) throw new Error(`String to replace not found once in ${path}`);
  writeFileSync(
    path,
    before.replace(old, () => made),
  );
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new Error('The input is not what the tool takes.');
  return value;
}

function optional(value: unknown, otherwise: string): string {
  return value === undefined ? otherwise : text(value);
}
