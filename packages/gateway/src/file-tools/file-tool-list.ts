import type { InputSchema, ObjectSchema } from '../catalog/input-schema.ts';
import { DEFAULT_FILE_LIMITS as LIMITS } from './worker/limits.ts';
import type { FileToolName } from './worker/protocol.ts';

export interface FileTool {
  readonly name: FileToolName;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly capabilities: readonly 'filesystem_write'[];
  /** Reads so much and no more. A search or a list is as long as its directory is large, and is on record while it lasts. */
  readonly changesNothing?: true;
}

const path = (description: string): InputSchema => ({ type: 'string', description, minLength: 1, maxLength: 4096 });
const whole = (description: string, minimum: number, maximum: number): InputSchema => ({
  type: 'integer',
  description,
  minimum,
  maximum,
});
const flag = (description: string): InputSchema => ({ type: 'boolean', description });
const globs: InputSchema = {
  type: 'array',
  description: 'Globs (*, ?, **, [a-z], {a,b}); with ! in front: leave out. Without a slash they are about names.',
  maxItems: 50,
  items: { type: 'string', minLength: 1, maxLength: 500 },
};
const schema = (properties: ObjectSchema['properties'], required: readonly string[]): ObjectSchema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const MAX_SAFE = Number.MAX_SAFE_INTEGER;

const READ: FileTool = {
  name: 'palyra.fs.read',
  description:
    'Reads lines of a text file, or bytes of any file, in the workspace. Answers with the digest of the file.',
  capabilities: [],
  changesNothing: true,
  inputSchema: schema(
    {
      path: path('Relative to the workspace.'),
      first_line: whole('Counted from 1.', 1, MAX_SAFE),
      line_limit: whole('How many lines at most.', 1, 1_000_000),
      encoding: { type: 'string', description: 'base64 for files that are not text.', enum: ['utf8', 'base64'] },
      byte_offset: whole('Where to begin, with base64.', 0, MAX_SAFE),
      max_bytes: whole('How much at most; 262144 unless told.', 1, LIMITS.readBytes),
    },
    ['path'],
  ),
};

const LIST: FileTool = {
  name: 'palyra.fs.list',
  description: 'Lists what is in a directory of the workspace, with kinds and sizes, in order of names.',
  capabilities: [],
  inputSchema: schema(
    {
      path: path('A directory; the workspace itself unless told.'),
      depth: whole('1: only what is directly in it (so unless told).', 1, LIMITS.depth),
      limit: whole('How many entries at most; 1000 unless told.', 1, LIMITS.listEntries),
      globs,
      ignore_files: flag('Leave out what .gitignore and .ignore name, and .git. No unless told.'),
      hidden: flag('Names that begin with a dot. Yes unless told.'),
    },
    [],
  ),
};

const SEARCH: FileTool = {
  name: 'palyra.fs.search',
  description: 'Finds lines in the files of the workspace, by text or by a regular expression without look-around.',
  capabilities: [],
  inputSchema: schema(
    {
      pattern: { type: 'string', description: 'What to look for, in each line.', minLength: 1, maxLength: 1000 },
      kind: { type: 'string', description: 'literal unless told.', enum: ['literal', 'regex'] },
      ignore_case: flag('No unless told.'),
      path: path('A directory or file; the workspace itself unless told.'),
      globs,
      ignore_files: flag('Leave out what .gitignore and .ignore name, and .git. Yes unless told.'),
      hidden: flag('Names that begin with a dot. No unless told.'),
      context_lines: whole('Lines around each match; 0 unless told.', 0, 10),
      limit: whole('How many matches at most; 200 unless told.', 1, LIMITS.matches),
    },
    ['pattern'],
  ),
};

const WRITE: FileTool = {
  name: 'palyra.fs.write',
  description:
    'Writes a whole file in the workspace, and directories above it. What was there is kept and can be put back.',
  capabilities: ['filesystem_write'],
  inputSchema: schema(
    {
      path: path('Relative to the workspace.'),
      content: { type: 'string', description: 'All of it.', maxLength: LIMITS.fileBytes * 2 },
      encoding: { type: 'string', description: 'Of content; utf8 unless told.', enum: ['utf8', 'base64'] },
      executable: flag('Whether it may be run; as before unless told.'),
      expect: {
        type: 'string',
        description: 'The digest (SHA-256) of what must be there now, or "absent". Nothing is written otherwise.',
        pattern: '^(?:absent|[0-9a-f]{64})$',
      },
    },
    ['path', 'content'],
  ),
};

const APPLY_PATCH: FileTool = {
  name: 'palyra.fs.apply_patch',
  description:
    'Applies a unified diff to files of the workspace: all of it or nothing. Makes, changes, deletes and renames files.',
  capabilities: ['filesystem_write'],
  inputSchema: schema(
    {
      patch: {
        type: 'string',
        description: 'As git diff or diff -u writes it.',
        minLength: 1,
        maxLength: LIMITS.patchBytes,
      },
      max_offset: whole('How many lines a hunk may be away from where it says; 0 unless told.', 0, 1000),
    },
    ['patch'],
  ),
};

export const FILE_TOOLS: readonly FileTool[] = [READ, LIST, SEARCH, WRITE, APPLY_PATCH];
