import { readFileSync } from 'node:fs';
import { type JsonObject, parseJson } from '@palyra/primitives';
import { describe, expect, test } from 'vitest';
import { CLIENT_NAMES, findClient } from './find-client.ts';
import { CANARY_TOOL } from './hook-message.ts';
import { readMessage } from './read-fields.ts';

interface Recorded {
  readonly what: string;
  readonly message: JsonObject;
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
    (_what, { message, act, after }) => {
      const kind = act === undefined ? { kind: 'after', ...after } : { kind: 'before', act };
      expect(hooksOf(client).readEvent(message)).toMatchObject({ cwd: '/work/app', ...kind });
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
