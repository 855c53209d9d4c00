import { expect, test } from 'vitest';
import { createErasures } from './check-erasures.ts';
import type { LogRecord, LogSource } from './log-source.ts';

const BODY = 'b'.repeat(64);
const OTHER = 'c'.repeat(64);

function sourceOf(erased: Readonly<Record<number, string>>): Pick<LogSource, 'records'> {
  return {
    async *records(from) {
      yield Object.entries(erased)
        .filter(([seq]) => Number(seq) >= from)
        .map(([seq, body]): LogRecord => {
          const data = JSON.stringify({ body, reason: 'operator' });
          const entry = { seq: Number(seq), time: 1, actor: 'user:ada', kind: 'body.erased', version: 1, data };
          return { kind: 'entry', entry, hash: new Uint8Array(32) };
        });
    },
  };
}

test.each(['before', 'after'])('a claim that is made %s the statement is met by it', async (order) => {
  for (const erasedBy of [9, undefined]) {
    const erasures = createErasures(sourceOf({}));
    if (order === 'after') erasures.stated(BODY, 9);
    erasures.claim(BODY, { seq: 4, erasedBy });
    if (order === 'before') erasures.stated(BODY, 9);
    expect(await erasures.settle()).toBeUndefined();
  }
});

test('of the claims that nothing meets, the first in the log is reported', async () => {
  const erasures = createErasures(sourceOf({}));
  erasures.claim(OTHER, { seq: 6, erasedBy: undefined });
  erasures.claim(BODY, { seq: 4, erasedBy: 8 });
  erasures.stated(BODY, 9);
  expect(await erasures.settle()).toMatchObject({ code: 'body_missing', seq: 4 });
});

test('a statement that was not remembered is looked up where it should be', async () => {
  const erasures = createErasures(sourceOf({ 8: OTHER, 9: BODY }), 0);
  erasures.stated(BODY, 9);
  erasures.claim(BODY, { seq: 4, erasedBy: 9 });
  expect(await erasures.settle()).toBeUndefined();
  erasures.claim(BODY, { seq: 4, erasedBy: 8 });
  expect(await erasures.settle()).toMatchObject({ code: 'body_missing', seq: 4 });
});
