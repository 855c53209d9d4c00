// T-54: the arguments of a call were erased, and are guessed from what a human's signed answer says they were.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ApprovalPromptRecord, type ApprovalSubject, subjectDigest } from '@palyra/approvals';
import {
  type JournalSchema,
  makeBundle,
  nodeCrypto,
  openJournalKeys,
  parseActor,
  verifyBundle,
  verifyExport,
  writeExport,
} from '@palyra/journal';
import { canonicalJson, sha256Hex, sha256OfJson, sha256OfParts } from '@palyra/primitives';
import { openForReading } from '@palyra/storage';
import { decideAsShown } from '@palyra/testkit';
import { afterEach, expect, test, vi } from 'vitest';
import { type GatewayHouse, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { LEAVES_THE_BOX, testTool } from '../integration/gateway-tools-for-tests.ts';

let house: (GatewayHouse & { readonly root: string }) | undefined;

afterEach(async () => {
  await house?.close();
  if (house !== undefined) removeHouse(house.root);
  house = undefined;
});

const SECRET = 'the patient is called Ada';
const WORDS = ['Ada', 'Bob', 'Eve'].map((name) => SECRET.replace('Ada', name));
const DAEMON = parseActor('daemon:palyrad');
const SUBJECT_V2 = 'palyra/approval-subject/v2';

const ANSWERS = [{ decision: 'approve', scope: 'once' }, { decision: 'deny' }] as const;

test.each(ANSWERS)('nothing that is left tells which it was, whether the answer was to $decision', async (answer) => {
  house = await openHouse({ tools: [testTool({ enforced: LEAVES_THE_BOX })] });
  const { gateway, agent, workspace, approvals, ada } = house;
  const run = await gateway.startRun(agent, { workspace });
  const calling = run.call({ tool: 'test.echo', input: JSON.stringify({ text: SECRET }) });
  const card = await openCard(house);
  await decideAsShown(approvals, card.approvalId, { ...answer, by: ada });
  const { call_id: callId } = await calling;
  const plain = (text: string) => subjectDigest(subjectOf(text, card.prompt));

  // Whoever has all of it before the erasure reads the words, and finds the digest by which equal calls are found.
  const before = await everythingIn(house, callId);
  expect([SECRET, plain(SECRET)].filter((text) => !before.text.includes(text))).toEqual([]);

  await eraseAllWith(SECRET, house);
  await approvals.forget(0);
  const left = await everythingIn(house, callId);
  expect(left.text.includes(SECRET)).toBe(false);
  // The answer is there, and verifies.
  expect(left.text.includes(card.prompt.what.subject)).toBe(true);
  expect(await house.verdict()).toBe('sound');
  expect(await left.verdicts()).toEqual(['sound', 'sound']);

  const digests = digestsIn(left.text);
  const guessed = (salts: Iterable<string>) =>
    WORDS.filter((word) =>
      [...salts].some((salt) => guessesOf(plain(word), word, salt).some((guess) => digests.has(guess))),
    );
  expect(guessed(['', ...digests])).toEqual([]);
  // The search would find it: with the salt, which went with the prompt, it does.
  expect(digests.has(card.prompt.salt)).toBe(false);
  expect(guessed([card.prompt.salt])).toEqual([SECRET]);
});

test('two cards about equal arguments do not show that they are equal', async () => {
  house = await openHouse({ tools: [testTool({ enforced: LEAVES_THE_BOX })] });
  const { gateway, agent, workspace, approvals, ada } = house;
  const run = await gateway.startRun(agent, { workspace });
  const subjects: string[] = [];
  for (let times = 0; times < 2; times += 1) {
    const calling = run.call({ tool: 'test.echo', input: JSON.stringify({ text: SECRET }) });
    const card = await openCard(house);
    subjects.push(card.subject, card.prompt.what.subject);
    await decideAsShown(approvals, card.approvalId, { decision: 'approve', scope: 'once', by: ada });
    expect(await calling).toMatchObject({ outcome: { kind: 'completed' } });
  }
  expect(new Set(subjects).size).toBe(2);
});

function openCard({ approvals }: GatewayHouse) {
  const find = async () => {
    const [found] = await approvals.pending({ limit: 1 });
    if (found === undefined) throw new Error('nobody was asked yet');
    return found;
  };
  return vi.waitFor(find, { timeout: 20_000 });
}

/** All but the text is known to the attacker. */
function subjectOf(text: string, { what }: ApprovalPromptRecord): ApprovalSubject {
  return {
    action: 'test.echo@1',
    arguments: { text },
    bound: [],
    skill: null,
    profile: sha256OfJson({ ...LEAVES_THE_BOX }),
    workspace: 'work',
    principal: 'agent:coder',
    session: what.session,
  };
}

/** With a salt and without, in the ways that we make digests. */
function guessesOf(subject: string, word: string, salt: string): readonly string[] {
  const bytes = Buffer.from(salt, 'hex');
  const salted = [subject, canonicalJson({ text: word })].flatMap((text) => [
    sha256Hex(text),
    sha256Hex(Buffer.concat([bytes, Buffer.from(text)])),
    sha256Hex(`${salt}${text}`),
    sha256OfParts(SUBJECT_V2, [salt, text]),
  ]);
  return [subject, ...salted];
}

/** Wherever they begin: in a row of the database one follows the other. */
function digestsIn(text: string): ReadonlySet<string> {
  return new Set(Array.from(text.matchAll(/(?=([0-9a-f]{64}))/g), ([, digest]) => String(digest)));
}

/** As `palyra journal erase` does with each of them. */
async function eraseAllWith(text: string, { journal }: GatewayHouse): Promise<void> {
  const { entries } = await journal.query({ limit: 1000 });
  for (const { data } of entries) {
    for (const value of Object.values(data as Readonly<Record<string, unknown>>)) {
      if (typeof value !== 'string' || !/^[0-9a-f]{64}$/.test(value)) continue;
      const found = await journal.bodies.read(value).catch(() => undefined);
      if (found !== undefined && Buffer.from(found.bytes).includes(text)) {
        await journal.erase(DAEMON, value, 'request');
      }
    }
  }
}

/** Every file of the home byte by byte, an export with bodies and a bundle, and what is packed within them. */
async function everythingIn({ root }: { readonly root: string }, callId: string) {
  const location = { kind: 'sqlite', path: join(root, 'palyra.db') } as const;
  const bodyDirectory = join(root, 'bodies');
  const database = await openForReading<JournalSchema>({ location, lockTimeoutMs: 5_000 });
  const deps = { read: database.read, bodyDirectory };
  let exported = '';
  for await (const line of writeExport(deps, { bodies: true })) exported += line;
  const bundle = await makeBundle(deps, callId, { bodies: true }).catch(() =>
    makeBundle(deps, callId, { bodies: false }),
  );
  await database.close();
  const files = await readdir(root, { recursive: true, withFileTypes: true });
  const texts = await Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), 'latin1')),
  );
  const pins = {
    rootKey: openJournalKeys(join(root, 'identity')).root().publicKey,
    witnesses: [],
    checkpoints: [],
  };
  return {
    text: unpacked(unpacked([...texts, exported, bundle].join('\n'))),
    async verdicts() {
      const [whole, one] = [
        await verifyExport(() => parts(exported), { crypto: nodeCrypto, pins }),
        await verifyBundle(bundle, { crypto: nodeCrypto, pins }),
      ];
      return [whole.kind, one.kind];
    },
  };
}

async function* parts(text: string): AsyncGenerator<string> {
  yield text;
}

/** With all that is in base64, as envelopes are, beside it. */
function unpacked(text: string): string {
  const packed = text.match(/[A-Za-z0-9+/]{40,}={0,2}/g) ?? [];
  return [text, ...packed.map((each) => Buffer.from(each, 'base64').toString('latin1'))].join('\n');
}
