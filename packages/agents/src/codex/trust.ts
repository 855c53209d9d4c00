import { type JsonValue, parseJson } from '@palyra/primitives';
import type { HookTrust, TrustAnswer } from '../client.ts';
import { isObject } from '../read-fields.ts';

const LIST = 2;

/**
 * Codex runs a hook only when somebody has trusted the very text of it, and says nothing of one that it leaves out. The program
 * behind its own windows is asked, by a line of JSON each, and writes nothing.
 */
export const trust: HookTrust = {
  argv: ['codex', 'app-server'],
  questions: (cwd) => [
    { id: 1, method: 'initialize', params: { clientInfo: { name: 'palyra', version: '0.1.0' } } },
    { method: 'initialized' },
    { id: LIST, method: 'hooks/list', params: { cwds: [cwd] } },
  ],
  read(line, hook): TrustAnswer | undefined {
    const said = messageIn(line);
    if (!isObject(said) || said['id'] !== LIST) return undefined;
    if (said['error'] !== undefined) return { kind: 'skips', why: 'it does not say which hooks it runs' };
    const states = hooksIn(said['result']).flatMap((each) => stateOf(each, hook));
    if (states.length === 0) return { kind: 'skips', why: 'it has not found the hook' };
    const [odd] = states.filter((state) => state !== 'trusted' && state !== 'managed');
    // SECURITY: T-58 — one that is not run is one that does not hold, whichever way it came to that.
    return odd === undefined ? { kind: 'runs' } : { kind: 'skips', why: `the hook is ${odd}` };
  },
};

function messageIn(line: string): JsonValue {
  try {
    return parseJson(line);
  } catch {
    return null;
  }
}

function hooksIn(result: JsonValue | undefined): readonly JsonValue[] {
  const data = isObject(result) ? result['data'] : undefined;
  if (!Array.isArray(data)) return [];
  return data.flatMap((each): readonly JsonValue[] => {
    const hooks = isObject(each) ? each['hooks'] : undefined;
    return Array.isArray(hooks) ? hooks : [];
  });
}

/** Of ours before a tool; those of others are nothing to us, and what is reported afterwards holds nothing. */
function stateOf(hook: JsonValue, command: string): readonly string[] {
  if (!isObject(hook) || hook['eventName'] !== 'preToolUse' || hook['command'] !== command) return [];
  if (hook['enabled'] !== true) return ['switched off'];
  const status = hook['trustStatus'];
  return [typeof status === 'string' ? status : 'of a state that is not known'];
}
