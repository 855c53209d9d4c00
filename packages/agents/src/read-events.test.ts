import { readFileSync } from 'node:fs';
import { type JsonObject, parseJson } from '@palyra/primitives';
import { describe, expect, test } from 'vitest';
import { CLIENT_NAMES, findClient } from './find-client.ts';
import { CANARY_TOOL } from './hook-message.ts';
import { readMessage } from './read-fields.ts';

interface Recorded {
  readonly what: string;
  readonly message: JsonObject;
  /** Where the call is; /work/app unless told. */
  readonly cwd?: string;
  readonly act?: JsonObject;
  readonly after?: JsonObject;
}

const HOOKED = CLIENT_NAMES.filter((name) => findClient(name).hooks !== undefined);

function recordedOf(client: string): readonly Recorded[] {
  const text = readFileSync(new URL(`recorded/${client}.json`, import.meta.url), 'utf8');
  return parseJson(text) as unknown as readonly Recorded[];
}

function hooksOf(client: string): NonNullable<ReturnType<typeof findClient>['hooks']> {
  const { hooks } = findClient(client);
  if (hooks === undefined) throw new Error(`${client} has no hooks.`);
  return hooks;
}

/** What each takes for nothing to say. */
const SILENCE: Readonly<Record<string, string>> = {
  'claude-code': '',
  codex: '',
  cursor: '{}\n',
  gemini: '{}\n',
  goose: '',
};

/** Of the first message of each; what else was in its input stays. */
const REWRITTEN: Readonly<Record<string, unknown>> = {
  'claude-code': {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'allow',
      permissionDecisionReason: 'Palyra runs it in the box.',
      updatedInput: { command: 'palyra x', description: 'Run tests', timeout: 120_000 },
    },
  },
  codex: {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'allow',
      updatedInput: { command: 'palyra x' },
    },
  },
  cursor: { permission: 'allow', updated_input: { command: 'palyra x', working_directory: '/work/app/ui' } },
  gemini: { hookSpecificOutput: { hookEventName: 'BeforeTool', tool_input: { command: 'palyra x' } } },
  // It takes no other command: then the answer is a no.
  goose: 2,
};

describe.each(HOOKED)('%s', (client) => {
  test.each(recordedOf(client).map((each) => [each.what, each] as const))(
    'says %s',
    (_what, { message, cwd = '/work/app', act, after }) => {
      const kind = act === undefined ? { kind: 'after', ...after } : { kind: 'before', act };
      expect(hooksOf(client).readEvent(message)).toMatchObject({ cwd, ...kind });
    },
  );

  test('is answered in its own words', () => {
    const { readEvent, reply } = hooksOf(client);
    const [command] = recordedOf(client);
    const event = readEvent(command?.message ?? {});
    const refused = reply({ kind: 'refused', reason: 'A human refused. Not on Fridays.' }, event);
    expect(refused).toMatchObject({ exitCode: 2, stderr: 'A human refused. Not on Fridays.\n' });
    expect(reply({ kind: 'no_objection' }, event)).toEqual({ exitCode: 0, stdout: SILENCE[client], stderr: '' });
    const instead = reply({ kind: 'run_instead', command: 'palyra x' }, event);
    expect(instead.stdout === '' ? instead.exitCode : JSON.parse(instead.stdout)).toEqual(REWRITTEN[client]);
  });

  test('never says that it allows what does not run in our box', () => {
    const { readEvent, reply } = hooksOf(client);
    for (const { message } of recordedOf(client)) {
      expect(reply({ kind: 'no_objection' }, readEvent(message)).stdout).not.toMatch(/allow/);
    }
  });

  test.each([
    ['no object', '[]'],
    ['two values for one key', '{"tool_name":"Read","tool_name":"Bash"}'],
    ['nothing', ''],
    ['half a message', '{"tool_name":'],
  ])('is not understood when it says %s', (_what, text) => {
    expect(() => hooksOf(client).readEvent(readMessage(text))).toThrow(
      expect.objectContaining({ code: 'agents.bad_event' }),
    );
  });

  test('is not understood without a session, a place or a tool', () => {
    const [first] = recordedOf(client);
    for (const missing of ['session_id', 'conversation_id', 'cwd', 'working_dir', 'tool_name', 'tool_input']) {
      const { [missing]: removed, ...rest } = first?.message ?? {};
      if (removed === undefined) continue;
      expect(() => hooksOf(client).readEvent(rest), `without ${missing}`).toThrow(
        expect.objectContaining({ code: 'agents.bad_event' }),
      );
    }
  });

  test('carries a canary', () => {
    const [first] = recordedOf(client);
    const message = { ...first?.message, tool_name: CANARY_TOOL, tool_input: { nonce: 'n1' } };
    expect(hooksOf(client).readEvent(message)).toEqual({ kind: 'canary', nonce: 'n1' });
  });
});

/** The act of one tool, of an agent that works in /work/app. */
function actOf(client: string, tool: string, input: JsonObject): unknown {
  const [first] = recordedOf(client);
  const event = hooksOf(client).readEvent({ ...first?.message, tool_name: tool, tool_input: input });
  return event.kind === 'before' ? event.act : event;
}

describe('a pattern is a path as well', () => {
  const AIMED = [
    '.env',
    '.en*',
    '**/.env',
    '?env',
    '?{e..e}nv',
    '*.staging',
    '[.]env',
    '*env',
    '*.pem',
    'server*.pem',
    '*.{ts,key}',
    '{a,.env}',
    '*.ts,.env',
    '.npmrc',
    'credentials.json',
    'cred*',
    'ID_RSA',
    '.ssh/*',
    'a/.git/config',
    '/home/ada/.ssh/*',
    '~/x',
    '../*',
    'src/../../x',
    'a/{..,b}/x',
    '{/etc/passwd,a}',
    '!(a)',
    '\\.env',
    'a b',
    '{a,b',
    '',
    'a'.repeat(300),
    '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}',
  ];
  const TOOLS: readonly (readonly [string, string, string])[] = [
    ['claude-code', 'Grep', 'glob'],
    ['claude-code', 'Glob', 'pattern'],
    ['cursor', 'Grep', 'glob'],
    ['cursor', 'Glob', 'glob_pattern'],
    ['gemini', 'read_many_files', 'include'],
    ['gemini', 'glob', 'pattern'],
    ['gemini', 'grep_search', 'include'],
    ['gemini', 'search_file_content', 'include_pattern'],
  ];

  test.each(TOOLS)('%s: %s with one that may be meant for a secret is asked about', (client, tool, field) => {
    for (const pattern of [...AIMED, 7]) {
      const value = tool === 'read_many_files' ? ['src/a.ts', pattern] : pattern;
      expect(actOf(client, tool, { [field]: value }), `with ${pattern}`).toEqual({ kind: 'unknown' });
    }
  });

  test.each(TOOLS)('%s: %s with an ordinary one is a read', (client, tool, field) => {
    for (const pattern of ['*.ts', 'src/**/*.{ts,tsx}', './README.md', 'a[0-9].txt', 'package.json']) {
      expect(actOf(client, tool, { [field]: pattern }), `with ${pattern}`).toMatchObject({ kind: 'read' });
    }
  });

  test('everything is a search of the directory, but not a list of files to read', () => {
    expect(actOf('claude-code', 'Glob', { pattern: '**/*' })).toEqual({ kind: 'read', paths: ['/work/app'] });
    expect(actOf('gemini', 'read_many_files', { include: ['**/*'] })).toEqual({ kind: 'unknown' });
    const many = { include: ['src/**/*.ts', 'docs/a.md'] };
    expect(actOf('gemini', 'read_many_files', many)).toEqual({
      kind: 'read',
      paths: ['/work/app/src', '/work/app/docs/a.md'],
    });
  });
});

test('a server of our name with another tool is somebody else’s', () => {
  const upstream = { kind: 'upstream', server: 'palyra' };
  expect(actOf('claude-code', 'mcp__palyra__rm_rf', {})).toEqual(upstream);
  expect(actOf('goose', 'palyra__shell', {})).toEqual(upstream);
  expect(actOf('goose', 'palyra__palyra_process_run', {})).toEqual({ kind: 'ours' });
});
