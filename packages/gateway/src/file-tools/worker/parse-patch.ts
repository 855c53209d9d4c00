import { type Hunk, isHunkHeader, parseHunk } from './parse-hunk.ts';
import { malformed, type PatchLines } from './patch-lines.ts';
import { gitPaths, headerPath, mayMean, NOTHING, namesOnly, samePath } from './patch-paths.ts';

/** What a patch does to one file. Texts are bytes, one character each, so that any file can be patched exactly. */
export interface FilePatch {
  readonly action: 'create' | 'modify' | 'delete' | 'rename';
  /** Undefined for a file that is made. */
  readonly from: string | undefined;
  /** Undefined for one that is deleted. */
  readonly to: string | undefined;
  /** Permission bits, when the patch sets them. */
  readonly mode: number | undefined;
  readonly hunks: readonly Hunk[];
  /** Where in the patch it begins, counted from 1. */
  readonly line: number;
}

/** A unified diff as git or diff writes it. Throws `file.patch_malformed` with the line. */
export function parsePatch(text: string): readonly FilePatch[] {
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  const lines = bytes.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const patch: PatchLines = { lines, at: 0 };
  skipPrelude(patch);
  const files: FilePatch[] = [];
  while (patch.at < lines.length) {
    if (isTrailer(patch)) break;
    files.push(parseFile(patch));
    while (lines[patch.at] === '' || lines[patch.at]?.startsWith('Only in ') === true) patch.at += 1;
  }
  if (files.length === 0) throw malformed(patch, 'It holds no file: there is no line that begins with "--- ".');
  return files;
}

/** What mail and commit messages put in front. */
function skipPrelude(patch: PatchLines): void {
  while (patch.at < patch.lines.length && !isFileStart(patch)) {
    if (isHunkHeader(patch.lines[patch.at] ?? '')) throw malformed(patch, 'A hunk comes before the name of its file.');
    patch.at += 1;
  }
}

function isFileStart({ lines, at }: PatchLines): boolean {
  const line = lines[at] ?? '';
  return line.startsWith('diff ') || (line.startsWith('--- ') && lines[at + 1]?.startsWith('+++ ') === true);
}

/** `git format-patch` ends with a line of two dashes and one with a version. */
function isTrailer({ lines, at }: PatchLines): boolean {
  return lines[at] === '-- ' && at >= lines.length - 3;
}

interface Header {
  /** What stands behind `diff ` in its first line. */
  first: string | undefined;
  git: { readonly from: string; readonly to: string } | undefined;
  oldPath: string | undefined;
  newPath: string | undefined;
  renameFrom: string | undefined;
  renameTo: string | undefined;
  newMode: number | undefined;
  isNew: boolean;
  isDeleted: boolean;
  /** Words of git's lines that were there. */
  readonly words: Set<string>;
}

function parseFile(patch: PatchLines): FilePatch {
  const line = patch.at + 1;
  if (!isFileStart(patch))
    throw malformed(patch, 'Neither a file nor a hunk begins here; are the counts of the hunk above right?');
  const header = parseHeader(patch);
  const hunks: Hunk[] = [];
  while (isHunkHeader(patch.lines[patch.at] ?? '')) hunks.push(parseHunk(patch));
  const file = { ...filesOf(header, patch, line), mode: header.newMode, hunks, line };
  if (hunks.length === 0 && file.action === 'modify' && file.mode === undefined) {
    throw malformed({ ...patch, at: line - 1 }, 'It says nothing about this file.');
  }
  return file;
}

function parseHeader(patch: PatchLines): Header {
  const header: Header = {
    first: undefined,
    git: undefined,
    oldPath: undefined,
    newPath: undefined,
    renameFrom: undefined,
    renameTo: undefined,
    newMode: undefined,
    isNew: false,
    isDeleted: false,
    words: new Set(),
  };
  for (let isFirst = true; patch.at < patch.lines.length; isFirst = false) {
    const line = patch.lines[patch.at] ?? '';
    if (line.startsWith('--- ') && patch.lines[patch.at + 1]?.startsWith('+++ ') === true) {
      header.oldPath = nameIn(patch, line.slice(4));
      header.newPath = nameIn(patch, (patch.lines[patch.at + 1] ?? '').slice(4));
      patch.at += 2;
      return header;
    }
    if (line.startsWith('diff ')) {
      if (!isFirst) return header;
      header.first = line.slice('diff '.length);
      header.git = line.startsWith('diff --git ') ? gitPaths(line.slice('diff --git '.length)) : undefined;
    } else if (!takeExtended(header, line, patch)) return header;
    patch.at += 1;
  }
  return header;
}

/** git's lines between the names and the hunks. */
function takeExtended(header: Header, line: string, patch: PatchLines): boolean {
  const [, word, value = ''] =
    /^(new file mode|deleted file mode|old mode|new mode|rename from|rename to|similarity index|dissimilarity index|index) (.*)$/.exec(
      line,
    ) ?? [];
  if (/^(?:GIT binary patch|Binary files .* differ)$/.test(line))
    throw malformed(patch, 'Binary files cannot be patched.');
  if (/^copy (?:from|to) /.test(line)) throw malformed(patch, 'Copies are not supported: write the new file out.');
  if (word === undefined) return false;
  if (header.words.has(word)) throw malformed(patch, `It says "${word}" twice of one file.`);
  header.words.add(word);
  if (word === 'new file mode' || word === 'new mode') header.newMode = modeOf(value, patch);
  if (word === 'new file mode') header.isNew = true;
  if (word === 'deleted file mode') header.isDeleted = true;
  if (word === 'rename from') header.renameFrom = nameIn(patch, value);
  if (word === 'rename to') header.renameTo = nameIn(patch, value);
  return true;
}

function nameIn(patch: PatchLines, written: string): string {
  const name = headerPath(written);
  if (name === undefined) throw malformed(patch, 'The name of the file cannot be read.');
  return name;
}

function modeOf(text: string, patch: PatchLines): number {
  if (text === '100644' || text === '100755') return Number.parseInt(text.slice(-3), 8);
  throw malformed(patch, 'Only regular files can be patched (100644 and 100755), no links and no submodules.');
}

type Files = Pick<FilePatch, 'action' | 'from' | 'to'>;

function filesOf(header: Header, patch: PatchLines, line: number): Files {
  const at = { ...patch, at: line - 1 };
  const files = namedFiles(header, at);
  const contradiction = whyContradictory(header, files);
  if (contradiction !== undefined) throw malformed(at, `Its lines contradict one another: ${contradiction}.`);
  return files;
}

function namedFiles(header: Header, at: PatchLines): Files {
  const { renameFrom, renameTo, git } = header;
  if (renameFrom !== undefined && renameTo !== undefined) return { action: 'rename', from: renameFrom, to: renameTo };
  const from = header.oldPath ?? (header.isNew ? NOTHING : git?.from);
  const to = header.newPath ?? (header.isDeleted ? NOTHING : git?.to);
  const isGit = git !== undefined;
  if (from === undefined || to === undefined) throw malformed(at, 'The names of the file cannot be read.');
  if (from === NOTHING && to === NOTHING) throw malformed(at, 'The file has no name.');
  if (from === NOTHING) return { action: 'create', from: undefined, to: samePath(to, to, isGit) };
  if (to === NOTHING) return { action: 'delete', from: samePath(from, from, isGit), to: undefined };
  const path = samePath(from, to, isGit);
  if (path === undefined) throw malformed(at, 'The two names differ, and it is no rename; write a/name and b/name.');
  return { action: 'modify', from: path, to: path };
}

/**
 * SECURITY: T-08 — an approver is shown the patch as it is written: lines that name another file, or say that another thing
 * becomes of it, would be shown and not be done.
 */
function whyContradictory(header: Header, { action, from, to }: Files): string | undefined {
  const { words, first, oldPath, newPath } = header;
  if (words.has('rename from') !== words.has('rename to')) return 'a rename needs both names';
  if (header.isNew && action !== 'create') return 'it says that the file is new';
  if (header.isDeleted && action !== 'delete') return 'it says that the file is deleted';
  if (words.has('new mode') && action !== 'modify' && action !== 'rename') return 'the mode of no old file changes';
  if (words.has('old mode') && !words.has('new mode')) return 'an old mode needs a new one';
  const isNamed =
    (oldPath === undefined || mayMean(oldPath, from)) &&
    (newPath === undefined || mayMean(newPath, to)) &&
    // Also where nobody can tell what it names: whoever reads it would guess.
    (first === undefined || namesOnly(first, { from, to }));
  return isNamed ? undefined : 'it names more than one file';
}
