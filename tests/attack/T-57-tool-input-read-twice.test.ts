// T-57: the input of a tool is one thing to whoever decides and another to the tool. T-39: or too much for either. T-38: or
// the tool itself is another one of the same name. T-21, T-23: or a host is written so that it looks like another.
import { expect, test } from 'vitest';
import { createCatalog } from '../../packages/gateway/src/catalog/create-catalog.ts';
import { parseInput } from '../../packages/gateway/src/catalog/parse-input.ts';
import type { Tool } from '../../packages/gateway/src/catalog/tool.ts';
import { nameNetwork } from '../../packages/gateway/src/connections/named-network.ts';
import { enforcedBy } from '../../packages/gateway/src/runners/delegated/delegated-facts.ts';
import { createLocatePath } from '../../packages/gateway/src/runners/delegated/locate-path.ts';
import { PROCESS_INPUT } from '../../packages/gateway/src/tools/process-command.ts';

const TOOL = { name: 'palyra.process.run', inputSchema: PROCESS_INPUT };
const refused = { kind: 'refused', code: 'gateway.invalid_input' };

test.each([
  ['a key that is there twice', '{"argv":["ls"],"argv":["rm","-rf","."]}'],
  ['a key that is there twice by an escape', String.raw`{"argv":["ls"],"\u0061rgv":["rm"]}`],
  ['a field that nobody checks', '{"argv":["ls"],"allowProtected":true}'],
  ['a field that only looks like a known one', '{"argv":["ls"],"Sandbox":"limits"}'],
  ['a prototype', '{"argv":["ls"],"__proto__":{"sandbox":"limits"}}'],
  ['a prototype among the variables', '{"argv":["ls"],"environment":{"constructor":{}}}'],
  ['a variable whose name holds another', String.raw`{"argv":["ls"],"environment":{"A=1\u0000LD_PRELOAD":"x"}}`],
  ['half a character', String.raw`{"argv":["\ud800"]}`],
  ['a list that is none', '{"argv":"rm -rf ."}'],
  ['a list with holes of another kind', '{"argv":["ls",["-l"]]}'],
  ['a number that programs read differently', '{"argv":["ls"],"timeout_ms":9007199254740993}'],
  ['nothing but brackets', '['.repeat(500_000)],
  ['an endless list', `{"argv":[${'"",'.repeat(5000)}""]}`],
  ['more than a megabyte', `{"argv":["${'a'.repeat(1024 * 1024)}"]}`],
])('%s is refused', (_, text) => {
  expect(parseInput(text, TOOL)).toMatchObject(refused);
});

test('a tool cannot take the name of another', () => {
  const tool = (description: string): Tool => ({
    metadata: {
      ...TOOL,
      version: '1',
      description,
      capabilities: [],
      isSensitive: false,
      tier: 'built_in',
      isParallel: true,
      isHidden: false,
    },
    plan: () => Promise.reject(new Error('Nobody plans here.')),
    execute: () => Promise.reject(new Error('Nobody executes here.')),
  });
  expect(() => createCatalog([tool('ours'), tool('theirs')])).toThrow('There are two tools of the name');
});

test.each([
  '127.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '１２７.0.0.1',
  '[::ffff:127.0.0.1]',
  '[0:0:0:0:0:ffff:7f00:1]',
])('%s is an address in disguise, and taken from nobody', (written) => {
  expect(nameNetwork([written], [])).toMatchObject({ kind: 'malformed', at: 0 });
});

test.each([
  '127.0.0.1',
  '[::1]',
  'LOCALHOST.',
  'x.localhost',
  '169.254.169.254:80',
  '[fd00:ec2::254]',
  'metadata.google.internal',
  '[64:ff9b::169.254.169.254]',
  '100.100.100.200',
  'intranet',
])('%s is known to be no public host, however it is written', (written) => {
  const named = nameNetwork([written], []);
  expect(named).toMatchObject({ kind: 'named', privateHosts: [expect.any(String)] });
});

test.each([
  'evil.example#ok.example',
  'ok.example@evil.example',
  'evil.example/ok.example',
  'ftp://evil.example',
  'ok.example\\evil',
  'a%2eb',
])('%s is no host', (written) => {
  expect(nameNetwork([written], [])).toMatchObject({ kind: 'malformed', at: 0 });
});

const place = { runId: 'run', callId: 'call', workspace: '/work', timeoutMs: 1000, coverage: 'hooked' } as const;
const fetching = (url: string) =>
  enforcedBy(
    'fetch',
    { client: 'goose', tool: 'fetch', paths: [], arguments: '{}', url },
    { place, locate: createLocatePath([]) },
  );

test.each([
  String.raw`https://good.example\@evil.example/`,
  String.raw`https:\\good.example@evil.example`,
  'https://good.example@evil.example/',
  'https://good.example:443@evil.example/',
  'https://@evil.example',
  'https://good.exa\nmple/',
  'https:good.example',
  'file:///etc/passwd',
])('%j, whose host one program finds here and another one there, is no page of an agent’s own tool', async (url) => {
  expect(await fetching(url)).toBeUndefined();
});

test('a page with such signs behind its host is one', async () => {
  expect(await fetching('https://good.example/@evil.example?a=b@c')).toMatchObject({ hosts: ['good.example:443'] });
});
