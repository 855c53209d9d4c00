/* oxlint-disable typescript/restrict-template-expressions, typescript/no-misused-spread -- these are the mistakes under test */
import { format, inspect } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { reveal, Secret, type SecretBytes, wipeSecret, withSecretBytes } from './secret.ts';

const VALUE = 'hunter2-hunter2';

/** Every common way a value ends up as text. */
function everyWayToPrint(secret: Secret<string>): string[] {
  const holder = { nested: [{ secret }] };
  const error = new Error(`failed with ${secret}`, { cause: secret });
  return [
    String(secret),
    `${secret}`,
    `${[secret, secret]}`,
    // biome-ignore lint/style/useTemplate: concatenation asks for a primitive in its own way.
    'a' + secret,
    JSON.stringify(secret),
    JSON.stringify(holder),
    inspect(secret),
    inspect(holder, { depth: 9, showHidden: true, getters: true }),
    inspect(secret, { customInspect: false, showHidden: true, depth: 9 }),
    inspect(new Proxy(secret, {}), { showProxy: true, customInspect: false }),
    inspect(error, { showHidden: true, depth: 9 }),
    format('%s %o %O %j %d', secret, secret, secret, secret, secret),
    error.message,
    JSON.stringify(Object.entries(secret)),
    JSON.stringify({ ...secret }),
    JSON.stringify(Object.assign({}, secret)),
    inspect(structuredClone(secret)),
    JSON.stringify(Reflect.ownKeys(secret)),
    JSON.stringify(Object.getOwnPropertyDescriptors(secret)),
  ];
}

test('no way of printing shows the value', () => {
  for (const printed of everyWayToPrint(new Secret(VALUE))) expect(printed).not.toContain(VALUE);
});

test('no way of printing shows any value', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z0-9]{12,24}$/), (value) => {
      for (const printed of everyWayToPrint(new Secret(value))) expect(printed).not.toContain(value);
    }),
    { numRuns: 30 },
  );
});

test('what is printed instead says that it was a secret', () => {
  const secret = new Secret(VALUE);
  expect([String(secret), JSON.stringify({ secret }), inspect({ secret })]).toEqual([
    '[secret]',
    '{"secret":"[secret]"}',
    '{ secret: [secret] }',
  ]);
});

test('a secret has no properties to read, add or replace', () => {
  const secret = new Secret(VALUE);
  expect(Reflect.ownKeys(secret)).toEqual([]);
  expect(Object.isFrozen(secret)).toBe(true);
});

test('structured cloning loses the value', () => {
  expect(structuredClone({ secret: new Secret(VALUE) })).toEqual({ secret: {} });
});

test('reveal gives the value, and only of a real secret', () => {
  expect(reveal(new Secret(VALUE))).toBe(VALUE);
  expect(() => reveal(structuredClone(new Secret(VALUE)))).toThrow(TypeError);
});

test('the compiler keeps secrets of different kinds apart', () => {
  const text = new Secret(VALUE);
  // @ts-expect-error -- a secret text is no secret bytes
  const bytes: SecretBytes = text;
  expect(reveal(bytes)).toBe(VALUE);
});

test('the borrowed bytes of a text are zero after use', async () => {
  let kept = new Uint8Array();
  const length = await withSecretBytes(new Secret('gehört'), (bytes) => {
    kept = bytes as Uint8Array<ArrayBuffer>;
    return bytes.length;
  });
  expect({ length, kept }).toEqual({ length: 7, kept: new Uint8Array(7) });
});

test('the borrowed bytes are zero after a failure too, and the secret stays readable', async () => {
  const secret = new Secret(Uint8Array.of(1, 2, 3));
  let kept = new Uint8Array();
  const using = withSecretBytes(secret, async (bytes) => {
    kept = bytes as Uint8Array<ArrayBuffer>;
    await Promise.resolve();
    throw new Error('refused');
  });
  await expect(using).rejects.toThrow('refused');
  expect({ kept, secret: reveal(secret) }).toEqual({ kept: new Uint8Array(3), secret: Uint8Array.of(1, 2, 3) });
});

test('a wiped secret is zero in memory and can no longer be read', () => {
  const bytes = Uint8Array.of(1, 2, 3);
  const secret = new Secret<Uint8Array>(bytes);
  wipeSecret(secret);
  wipeSecret(secret);
  expect(bytes).toEqual(new Uint8Array(3));
  expect(() => reveal(secret)).toThrow(
    expect.objectContaining({
      code: 'primitives.secret_wiped',
      message: 'This secret was wiped and can no longer be read.',
    }),
  );
});
