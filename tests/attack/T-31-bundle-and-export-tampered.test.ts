// T-31: whoever passes a bundle or an export on changes it: edits, removes, reorders, cuts, or puts one call's receipt on another.
import { join } from 'node:path';
import { canonicalJson } from '@palyra/primitives';
import type { ReadQueries } from '@palyra/storage';
import {
  attestSampleCall,
  bodyDirectoryOf,
  createSampleCalls,
  createTemporaryHome,
  openJournalHome,
  SAMPLE_ACTOR,
} from '@palyra/testkit';
import { beforeAll, describe, expect, test } from 'vitest';
import { makeBundle } from '../../packages/journal/src/make-bundle.ts';
import { nodeCrypto } from '../../packages/journal/src/node-crypto.ts';
import type { JournalSchema } from '../../packages/journal/src/store/journal-schema.ts';
import { verifyBundle } from '../../packages/journal/src/verify/verify-bundle.ts';
import { verifyExport } from '../../packages/journal/src/verify/verify-export.ts';
import { writeExport } from '../../packages/journal/src/write-export.ts';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

async function openSample() {
  const home = await createTemporaryHome();
  const place = { directory: home.path, location: { kind: 'sqlite', path: join(home.path, 'palyra.db') } } as const;
  const { database, journal } = await openJournalHome(place, { inlineBytes: 100 });
  const calls = createSampleCalls();
  const read = database.read as unknown as ReadQueries<JournalSchema>;
  const deps = { read, bodyDirectory: bodyDirectoryOf(place) };
  const log = await read.selectFrom('journal_logs').selectAll().executeTakeFirstOrThrow();
  const callIds: string[] = [];
  for (const output of ['one', 'two']) {
    const { facts } = await attestSampleCall(journal, calls, { input: 'the input', output });
    callIds.push(facts.call_id);
  }
  await journal.rotateKey(SAMPLE_ACTOR, 'checkpoint');
  const { facts } = await attestSampleCall(journal, calls, { input: 'the input' });
  callIds.push(facts.call_id);
  const exported = async (filter?: object) => {
    const lines: string[] = [];
    const options = { bodies: true, ...(filter === undefined ? {} : { filter }) };
    for await (const line of writeExport(deps, options)) lines.push(line);
    return lines;
  };
  const bundles: string[] = [];
  for (const id of callIds) bundles.push(await makeBundle(deps, id, { bodies: true }));
  const sample = {
    bundles,
    range: await exported(),
    selection: await exported({ kinds: ['attestation', 'intent', 'decision'] }),
    pins: { rootKey: new Uint8Array(Buffer.from(log.root_key, 'hex')), witnesses: [], checkpoints: [] },
  };
  await database.close();
  await home[Symbol.asyncDispose]();
  return sample;
}

let sample: Awaited<ReturnType<typeof openSample>>;
beforeAll(async () => {
  sample = await openSample();
});

/** `sound`, or why not. */
async function verdict(check: Promise<{ kind: string; finding?: { code: string } }>): Promise<string> {
  try {
    const report = await check;
    return report.finding?.code ?? report.kind;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

const bundleVerdict = (bundle: JsonObject) =>
  verdict(verifyBundle(JSON.stringify(bundle), { crypto: nodeCrypto, pins: sample.pins }));
const exportVerdict = (lines: readonly string[] | string) =>
  verdict(verifyExport(typeof lines === 'string' ? lines : lines.join(''), { crypto: nodeCrypto, pins: sample.pins }));

const typeOf = (line: string) => (JSON.parse(line) as { type: string }).type;
/** The text of a snapshot is what its digest says, wherever it stands and however often. */
const isSnapshot = (line: string) => line.includes('"type":"snapshot"');

const OTHER_KEYS = /\/keys(?:\/\d+ left out| reversed)$/;

const bundleOf = (index: number) => JSON.parse(sample.bundles[index] ?? '') as JsonObject;

/** The document with each of its values changed a little, one at a time, and with each left out. */
function* mutations(value: Json, path: string): Generator<readonly [string, Json | undefined]> {
  yield [`${path} left out`, undefined];
  if (typeof value === 'number') yield [`${path} + 1`, value + 1];
  if (typeof value === 'string') {
    for (const at of [0, Math.floor(value.length / 2), value.length - 1]) {
      yield [`${path}[${at}]`, value.slice(0, at) + (value[at] === 'a' ? 'b' : 'a') + value.slice(at + 1)];
    }
    yield [`${path} longer`, `${value}a`];
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      for (const [name, changed] of mutations(item, `${path}/${index}`)) {
        yield [name, value.flatMap((each, at) => (at === index ? (changed === undefined ? [] : [changed]) : [each]))];
      }
    }
    if (value.length > 1) yield [`${path} reversed`, value.toReversed()];
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      for (const [name, changed] of mutations(item, `${path}/${key}`)) {
        const { [key]: _, ...rest } = value;
        yield [name, changed === undefined ? rest : { ...rest, [key]: changed }];
      }
    }
    yield [`${path} with more`, { ...value, more: 1 }];
  }
}

describe('a bundle', () => {
  test('verifies as it was made, however it is spaced', async () => {
    for (const index of [0, 1, 2]) expect(await bundleVerdict(bundleOf(index))).toBe('sound');
    const spaced = JSON.stringify(bundleOf(0), null, 2);
    expect(await verdict(verifyBundle(spaced, { crypto: nodeCrypto, pins: sample.pins }))).toBe('sound');
  });

  test('verifies with no value in it changed or left out, but for bodies, which may be left out', async () => {
    const passed: string[] = [];
    let tried = 0;
    for (const [name, changed] of mutations(bundleOf(0), '')) {
      if (changed === undefined) continue;
      tried += 1;
      if ((await bundleVerdict(changed as JsonObject)) === 'sound') passed.push(name);
    }
    expect(tried).toBeGreaterThan(200);
    // A statement about a key that did not sign this may be left out, but none may say something else.
    expect(passed.filter((name) => !OTHER_KEYS.test(name)).toSorted()).toEqual([
      '/input left out',
      '/input/body left out',
      '/output left out',
      '/output/body left out',
    ]);
  });

  test('says that a body was left out, instead of having checked it', async () => {
    const { input, ...without } = bundleOf(0);
    expect(input).toBeDefined();
    const report = await verifyBundle(JSON.stringify(without), { crypto: nodeCrypto, pins: sample.pins });
    expect(report).toMatchObject({ kind: 'sound', input: 'left out', output: 'checked' });
  });

  test('does not verify with any part of the bundle of another call', async () => {
    const own = bundleOf(0);
    const other = bundleOf(1);
    const found: Record<string, string> = {};
    for (const part of ['attestation', 'anchor', 'envelope', 'execution', 'input', 'output']) {
      found[part] = await bundleVerdict({ ...own, [part]: other[part] ?? null });
    }
    expect(found).toEqual({
      attestation: 'body_swapped',
      anchor: 'attestation_moved',
      envelope: 'body_swapped',
      execution: 'body_swapped',
      input: 'body_swapped',
      output: 'body_swapped',
    });
  });

  test('does not verify under the root key of somebody else', async () => {
    const pins = { ...sample.pins, rootKey: new Uint8Array(32).fill(7) };
    const report = await verifyBundle(sample.bundles[0] ?? '', { crypto: nodeCrypto, pins });
    expect(report).toMatchObject({ kind: 'broken', finding: { code: 'root_differs' } });
  });

  test('with a key twice is not read at all', async () => {
    const twice = (sample.bundles[0] ?? '').replace('{', '{"origin":"palyra/other",');
    expect(await verdict(verifyBundle(twice, { crypto: nodeCrypto, pins: sample.pins }))).toBe(
      'journal.invalid_export',
    );
  });
});

describe('an export of a range', () => {
  test('verifies as it was made', async () => {
    expect(await exportVerdict(sample.range)).toBe('sound');
  });

  test('does not verify with any one line removed, doubled or exchanged with the next', async () => {
    const lines = sample.range;
    const passed: string[] = [];
    for (let at = 0; at < lines.length; at += 1) {
      const [line = '', next = ''] = lines.slice(at, at + 2);
      const changes = {
        removed: lines.toSpliced(at, 1),
        doubled: lines.toSpliced(at, 0, line),
        exchanged: lines.toSpliced(at, 2, next, line),
      };
      for (const [what, changed] of Object.entries(changes)) {
        if (changed.join('') === lines.join('')) continue;
        const found = await exportVerdict(changed);
        if (found === 'sound' && ![line, next].some(isSnapshot)) passed.push(`${what} ${typeOf(line)}`);
      }
    }
    // One checkpoint among others, said twice or not at all, is one signature more or less over the same entries.
    expect([...new Set(passed)].toSorted()).toEqual(['doubled checkpoint', 'removed checkpoint']);
  });

  test('does not verify with any value of any entry changed', async () => {
    const passed: string[] = [];
    for (const [at, line] of sample.range.entries()) {
      const value = JSON.parse(line) as JsonObject;
      if (value['type'] !== 'entry') continue;
      for (const [name, changed] of mutations(value, '')) {
        if (changed === undefined) continue;
        const edited = `${canonicalJson(changed)}\n`;
        if ((await exportVerdict(sample.range.toSpliced(at, 1, edited))) === 'sound') passed.push(`${at}${name}`);
      }
    }
    expect(passed).toEqual([]);
  });

  test('that was cut off anywhere is told apart from a shorter log', async () => {
    const text = sample.range.join('');
    const header = (sample.range[0] ?? '').length;
    for (let at = header; at < text.length; at += 97) {
      expect(await exportVerdict(text.slice(0, at))).toBe('truncated');
    }
    expect(await exportVerdict(text.slice(0, -1))).toBe('truncated');
    expect(await exportVerdict(`${text}${sample.range[1]}`)).toBe('not_a_log');
  });

  test('that was cut and given a new end does not verify against a checkpoint that is known', async () => {
    const last = sample.range.findLastIndex((line) => line.includes('"type":"checkpoint"'));
    const note = (JSON.parse(sample.range[last] ?? '') as { note: string }).note;
    const upTo = sample.range.findLastIndex((line, at) => at < last && line.includes('"type":"checkpoint"'));
    const size = (JSON.parse(sample.range[upTo] ?? '') as { size: number }).size;
    const header = (sample.range[0] ?? '').replace(/"end":\d+/, `"end":${size}`);
    const cut = [header, ...sample.range.slice(1, upTo + 1), `{"entries":${size},"size":${size},"type":"end"}\n`];
    expect(await exportVerdict(cut)).toBe('sound');
    const pins = { ...sample.pins, checkpoints: [note] };
    expect(await verdict(verifyExport(cut.join(''), { crypto: nodeCrypto, pins }))).toBe('truncated');
  });

  test('with a body of another entry does not verify', async () => {
    const withBodies = sample.range.flatMap((line, at) => (line.includes('"bodies":[') ? [at] : []));
    const [first = 0, second = 0] = withBodies.filter((at) => sample.range[at]?.includes('"kind":"outcome"'));
    const parsed = [first, second].map((at) => JSON.parse(sample.range[at] ?? '') as { bodies: { body: string }[] });
    const swapped = (sample.range[first] ?? '').replace(
      `"body":"${parsed[0]?.bodies[0]?.body}"`,
      `"body":"${parsed[1]?.bodies[0]?.body}"`,
    );
    expect(swapped).not.toBe(sample.range[first]);
    expect(await exportVerdict(sample.range.toSpliced(first, 1, swapped))).toBe('body_swapped');
  });
});

describe('an export of a selection', () => {
  test('verifies as it was made', async () => {
    expect(await exportVerdict(sample.selection)).toBe('sound');
  });

  test('does not verify with entries removed, doubled or exchanged unless the end says so too', async () => {
    const lines = sample.selection;
    const [first = 0] = lines.flatMap((line, at) => (line.includes('"type":"entry"') ? [at] : []));
    const second = lines.findIndex((line, at) => at > first && line.includes('"type":"entry"'));
    const [one = '', two = ''] = [lines[first], lines[second]];
    expect(await exportVerdict(lines.toSpliced(second, 1))).toBe('truncated');
    expect(await exportVerdict(lines.toSpliced(first, 0, one))).toBe('entry_repeated');
    expect(await exportVerdict(lines.with(first, two).with(second, one))).toBe('entry_repeated');
  });

  test('does not verify with any value of any line changed', async () => {
    const passed: string[] = [];
    for (const [at, line] of sample.selection.entries()) {
      for (const [name, changed] of mutations(JSON.parse(line) as JsonObject, '')) {
        if (changed === undefined) continue;
        const edited = `${canonicalJson(changed)}\n`;
        if ((await exportVerdict(sample.selection.toSpliced(at, 1, edited))) === 'sound') passed.push(`${at}${name}`);
      }
    }
    // What the maker of the file says it looked for proves nothing.
    expect(passed.filter((name) => !OTHER_KEYS.test(name) && !name.startsWith('0/filter'))).toEqual([]);
  });
});

test('a policy snapshot that is not the one with its digest is found, wherever its line stands', async () => {
  const at = sample.range.findIndex((line) => line.includes('"type":"snapshot"'));
  const line = sample.range[at] as string;
  const forged = canonicalJson({ ...(JSON.parse(line) as JsonObject), text: '{}' });
  for (const place of [at, at + 1, sample.range.length - 1]) {
    const lines = sample.range.toSpliced(place, 0, `${forged}\n`);
    expect(await verdict(verifyExport(lines.join(''), { crypto: nodeCrypto, pins: sample.pins }))).toBe(
      'snapshot_wrong',
    );
  }
});
