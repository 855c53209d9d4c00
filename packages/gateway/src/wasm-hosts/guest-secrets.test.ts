import type { Target } from '@palyra/egress';
import { Secret } from '@palyra/primitives';
import { createCaptureLogger } from '@palyra/testkit';
import { expect, test } from 'vitest';
import type { CallCredentials, CredentialedCall, NamedSecret } from '../connections/bound-credentials.ts';
import { createRedactor } from '../redact/create-redactor.ts';
import { createWasmSecrets } from './guest-secrets.ts';

const VALUE = 'tr0ub4dor-and-3-others';
const BOUND: Target = { host: 'bound.example', port: 443, scheme: 'https' };
const CALL = {
  id: 'call',
  toolName: 'palyra.wasm.run',
  run: { caller: { actor: 'agent:coder' }, workspace: { id: 'work' } },
} as unknown as CredentialedCall;

const inHeader = (value: string, header = `Bearer ${value}`): NamedSecret => ({
  value: new Secret(value),
  credential: async ({ host }) =>
    host === BOUND.host ? { headers: { Authorization: new Secret(header) } } : undefined,
});

/** A call that was granted `key`, with `secret` under that name. */
function lender(secret: () => NamedSecret | undefined, record: () => Promise<void> = async () => undefined) {
  const redactor = createRedactor();
  const logger = createCaptureLogger();
  const asked: string[] = [];
  const used: object[] = [];
  const bind = async (): Promise<CallCredentials> => {
    asked.push('bind');
    return {
      terminate: [],
      credential: async () => undefined,
      async secret(name) {
        asked.push(name);
        return secret();
      },
    };
  };
  const secrets = createWasmSecrets({
    bind,
    redactor,
    logger: logger.logger,
    async record({ secret: name, target }) {
      await record();
      used.push({ secret: name, target });
    },
  })(CALL, ['key']);
  return { secrets, redactor, asked, used, logger };
}

test('it is asked for once in a call, by a granted name, and recorded when it is handed over', async () => {
  const { secrets, redactor, asked, used } = lender(() => inHeader(VALUE));
  expect(await secrets.lend('other', BOUND)).toBeUndefined();
  expect(await secrets.lend('key', { ...BOUND, host: 'other.example' })).toBeUndefined();
  const lent = await secrets.lend('key', BOUND);
  expect([asked, used, lent?.headers]).toEqual([['bind', 'key', 'key'], [], ['Authorization']]);
  expect(redactor.maskHeld(`x ${VALUE} y`)).toBe('x [secret:key] y');
  expect(await lent?.credential(BOUND)).toMatchObject({ headers: { Authorization: expect.any(Secret) } });
  expect(used).toEqual([{ secret: 'key', target: 'https://bound.example:443' }]);
});

test('it is handed over for no other target than it was lent for, and not without a record', async () => {
  const { secrets, used } = lender(() => inHeader(VALUE));
  const lent = await secrets.lend('key', BOUND);
  const others = [
    { ...BOUND, host: 'other.example' },
    { ...BOUND, port: 444 },
    { ...BOUND, scheme: 'http' },
  ] as const;
  for (const other of others) await expect(lent?.credential(other)).rejects.toThrow('another host');
  expect(used).toEqual([]);
  const full = lender(
    () => inHeader(VALUE),
    () => Promise.reject(new Error('The disk is full.')),
  );
  await expect((await full.secrets.lend('key', BOUND))?.credential(BOUND)).rejects.toThrow('disk');
});

test('what stands in the header is masked as well, also where it is not the value', async () => {
  const header = 'signed-with-a-k\u00e9y-that-is-another';
  const { secrets, redactor } = lender(() => inHeader(VALUE, header));
  expect(await secrets.lend('key', BOUND)).toBeDefined();
  const echoed = redactor.maskHeldBytes(Buffer.from(header, 'latin1'));
  expect(Buffer.from(echoed).toString()).toBe('[secret:key]');
});

test('nor does it count as masked because another secret is a part of it', async () => {
  const { secrets, redactor } = lender(() => inHeader(VALUE, 'id=4n0ther-held-secret; signature=n0t-the-v4lue'));
  redactor.hold('other', new Secret('4n0ther-held-secret'));
  expect(await secrets.lend('key', BOUND)).toBeDefined();
  expect(redactor.maskHeld('id=4n0ther-held-secret; signature=n0t-the-v4lue')).not.toContain('n0t-the-v4lue');
  const basic = `Basic ${Buffer.from(`ada:${VALUE}`).toString('base64')}`;
  const encoded = lender(() => inHeader(VALUE, basic));
  expect(await encoded.secrets.lend('key', BOUND)).toBeDefined();
  expect(encoded.redactor.maskHeld(basic)).toBe('[secret:key]');
});

test('which hosts have been sent one is known, whoever sent it', async () => {
  const { secrets } = lender(() => inHeader(VALUE));
  const lent = await secrets.lend('key', BOUND);
  expect(secrets.wasSentTo(BOUND)).toBe(false);
  await lent?.credential(BOUND);
  expect([
    secrets.wasSentTo({ ...BOUND, port: 80, scheme: 'http' }),
    secrets.wasSentTo({ ...BOUND, host: 'a.b' }),
  ]).toEqual([true, false]);
});

test.each([
  ['nobody can mask the value', () => inHeader('4711'), 'guessable'],
  ['nobody can mask the header', () => inHeader(VALUE, 'abc'), 'guessable'],
  [
    'the vault fails',
    () => {
      throw new Error(`sealed: ${VALUE}`);
    },
    'internal',
  ],
])('where %s it is not lent, and only the operator is told why', async (_, secret, why) => {
  const { secrets, logger } = lender(secret);
  expect(await secrets.lend('key', BOUND)).toBeUndefined();
  expect(logger.lines).toMatchObject([{ name: 'key', host: 'bound.example', why }]);
  expect(JSON.stringify(logger.lines)).not.toContain(VALUE);
});

test('a name without a secret, or without a header, is not lent, and nobody is told', async () => {
  for (const secret of [undefined, { value: new Secret(VALUE), credential: async () => ({ headers: {} }) }]) {
    const { secrets, logger } = lender(() => secret);
    expect([await secrets.lend('key', BOUND), logger.lines]).toEqual([undefined, []]);
  }
});
