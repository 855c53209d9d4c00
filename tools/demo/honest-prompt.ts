import { canonicalJson, createLogger, inspectHost, parseJson, Secret, visibleText } from '@palyra/primitives';
import { holds, type Stage } from './stage.ts';

/** The tricks that hide a command from the human who is asked about it. */
export function showHonestPrompt({ say }: Stage): void {
  const command = 'ls \u202e\u2066# fr- mr ;\u2069 \u001b[2K\u200b';
  say(`an agent sends   ${visibleText(command)}`);
  holds(!visibleText(command).includes('\u202e'), 'no bidirectional control reaches the screen');

  const host = 'p\u0430ypal.com';
  const { ascii, warnings } = inspectHost(host);
  say(`a host           ${host} is really ${ascii} (${warnings.map(({ kind }) => kind).join(', ')})`);
  holds(warnings.length > 0, 'a look-alike host is flagged');

  const twice = '{"path":"README.md","path":"/etc/shadow"}';
  say(`a duplicate key  ${twice} is refused: ${refusal(() => parseJson(twice))}`);
  const spelling = canonicalJson(parseJson('{"b":1.0,"a":"\\u20ac"}'));
  say(`one spelling     {"b":1.0,"a":"\\u20ac"} is hashed as ${spelling}`);
  holds(spelling === '{"a":"€","b":1}', 'there is one spelling of a value');

  const lines: string[] = [];
  createLogger({ level: 'info', destination: { write: (line) => lines.push(line) } }).info(
    { token: new Secret('hunter2') },
    'login',
  );
  say(`a secret, logged ${String(lines[0]).trim()}`);
  holds(!lines.join('').includes('hunter2'), 'a secret never reaches the log');
}

function refusal(attempt: () => unknown): string {
  try {
    attempt();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  throw new Error('The demo expected a refusal.');
}
